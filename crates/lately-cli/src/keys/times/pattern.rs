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
            date(2024, 5, 11).at(15, 30, 45, 0).to_zoned(TimeZone::UTC).map_err(|error| error.to_string())?;
        let written = strtime::format(text, &sample).map_err(|error| wrong(error.to_string()))?;
        let parts = strtime::parse(text, &written).map_err(|error| wrong(error.to_string()))?;
        let has_date = parts.timestamp().is_some()
            || parts.to_date().is_ok()
            || (parts.year().is_none() && parts.month().is_some() && parts.day().is_some());
        if !has_date {
            return Err(wrong("it has no date".into()));
        }
        let sample_ms = sample.timestamp().as_millisecond().unsigned_abs();
        let mut calendar = Calendar::new("UTC".parse()?, sample_ms);
        calendar.note(sample_ms);
        let lost_ms = read(text, written.as_bytes(), &calendar).and_then(|ms| sample_ms.checked_sub(ms));
        // The seconds, the minutes too, or the whole time of day may be left out.
        match lost_ms {
            Some(0 | 45_000 | 1_845_000 | 55_845_000) => Ok(Self(text.to_string())),
            _ => Err(wrong(
                "it does not tell the time of day: %M needs %H, %I needs %p, and %S needs both hour and minute".into(),
            )),
        }
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
    let timestamp = if let Some(zone) = parts.iana_time_zone() {
        if parts.timestamp().is_none() && parts.offset().is_none() {
            return calendar.local_in(&TimeZone::get(zone).ok()?, parts.to_datetime().ok()?);
        }
        parts.to_zoned().ok()?.timestamp()
    } else if parts.timestamp().is_some() || parts.offset().is_some() {
        parts.to_timestamp().ok()?
    } else {
        return calendar.local(parts.to_datetime().ok()?);
    };
    timestamp.as_millisecond().try_into().ok()
}
