//! What dates need beyond their text: the zone, and a year if none is written.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::dates::DAY_MS;

/// A 29 February may be this many years away from the next one.
const YEARS_AROUND: i16 = 8;

/// `--time-zone`
#[derive(Clone, Debug)]
pub(crate) struct Zone(TimeZone);

impl FromStr for Zone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let zone = TimeZone::get(text).or_else(|_| {
            let parser = jiff::fmt::temporal::DateTimeParser::new();
            parser.parse_time_zone(text)
        });
        zone.map(Self).map_err(|_| {
            format!("`{text}` is not a time zone; write for example UTC, Europe/Berlin or +02:00")
        })
    }
}

#[derive(Debug)]
pub(super) struct Calendar {
    zone: Zone,
    now_ms: u64,
    previous_ms: Option<u64>,
}

impl Calendar {
    pub(super) fn new(zone: Zone, now_ms: u64) -> Self {
        Self { zone, now_ms, previous_ms: None }
    }

    /// Notes the time of a record: the next one is near it.
    pub(super) fn note(&mut self, ms: u64) {
        self.previous_ms = Some(ms);
    }

    /// A date and time without a zone. If clocks were set back, and it came twice, the one nearest to the
    /// previous record's time is meant, or without one the first. If clocks were set forward, and it never came,
    /// the time is as long after the change as it says.
    pub(super) fn local(&self, datetime: DateTime) -> Option<u64> {
        self.local_in(&self.zone.0, datetime)
    }

    /// The same in the zone that a record names.
    pub(super) fn local_in(&self, zone: &TimeZone, datetime: DateTime) -> Option<u64> {
        let possible = zone.to_ambiguous_timestamp(datetime);
        let millis = |found: Result<Timestamp, jiff::Error>| found.ok()?.as_millisecond().try_into().ok();
        if let (AmbiguousOffset::Fold { .. }, Some(previous)) = (possible.offset(), self.previous_ms) {
            let both = [possible.earlier(), possible.later()].into_iter().filter_map(millis);
            return both.min_by_key(|ms: &u64| ms.abs_diff(previous));
        }
        millis(possible.compatible())
    }

    /// A time whose year is not written: the one nearest to the previous record's time or, without one, the
    /// latest that is at most a day after the system's clock. `in_year` returns the time in a year.
    pub(super) fn nearest(&self, in_year: impl FnMut(i16) -> Option<u64>) -> Option<u64> {
        let around = self.previous_ms.unwrap_or(self.now_ms);
        let year = Timestamp::from_millisecond(around.try_into().ok()?).ok()?;
        let year = year.to_zoned(TimeZone::UTC).year();
        let possible = (year - YEARS_AROUND..=year + YEARS_AROUND).filter_map(in_year);
        match self.previous_ms {
            Some(previous) => possible.min_by_key(|ms| ms.abs_diff(previous)),
            None => possible.filter(|ms| *ms <= self.now_ms.saturating_add(DAY_MS)).max(),
        }
    }
}
