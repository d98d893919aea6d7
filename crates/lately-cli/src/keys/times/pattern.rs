//! `--time-format`: times as the user describes them, with the fields of strftime.

use std::fmt;
use std::str::FromStr;

use jiff::civil::date;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;

use super::calendar::Calendar;

#[derive(Clone, Debug)]
pub(crate) struct Pattern(String);

impl FromStr for Pattern {
    type Err = String;

    /// Writes a time and reads it again, to find every mistake before the first record.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |problem: String| format!("{problem}; write for example '%Y-%m-%d %H:%M:%S'");
        let sample =
            date(2024, 5, 11).at(12, 30, 45, 0).to_zoned(TimeZone::UTC).map_err(|error| error.to_string())?;
        let written = strtime::format(text, &sample).map_err(|error| wrong(error.to_string()))?;
        let parts = strtime::parse(text, &written).map_err(|error| wrong(error.to_string()))?;
        let has_date = parts.timestamp().is_some()
            || parts.to_date().is_ok()
            || (parts.year().is_none() && parts.month().is_some() && parts.day().is_some());
        has_date.then(|| Self(text.to_string())).ok_or_else(|| wrong("it has no date".into()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    pub(super) fn read(&self, text: &[u8], calendar: &Calendar) -> Option<u64> {
        read(&self.0, text, calendar)
    }
}

/// Reads a text with the fields of strftime. A date alone is its first moment.
pub(super) fn read(pattern: &str, text: &[u8], calendar: &Calendar) -> Option<u64> {
    let mut parts = strtime::parse(pattern, text).ok()?;
    if parts.timestamp().is_none() && parts.year().is_none() {
        return calendar.nearest(|year| {
            parts.set_year(Some(year)).ok()?;
            time_of(&parts, calendar)
        });
    }
    time_of(&parts, calendar)
}

fn time_of(parts: &BrokenDownTime, calendar: &Calendar) -> Option<u64> {
    let has_zone =
        parts.timestamp().is_some() || parts.offset().is_some() || parts.iana_time_zone().is_some();
    if has_zone {
        parts.to_timestamp().ok()?.as_millisecond().try_into().ok()
    } else {
        calendar.local(parts.to_datetime().ok()?)
    }
}
