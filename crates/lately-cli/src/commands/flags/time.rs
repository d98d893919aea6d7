//! The flags that describe the times in records.

use std::time::Duration;

use clap::Args;

use super::units;
use crate::dates::{DAY_MS, now_ms};
use crate::deciding::{EventRules, OnLate};
use crate::keys::{Pattern, TimeFormat, TimeUnit, Times, Zone};

#[derive(Args, Debug)]
#[command(next_help_heading = "Window")]
pub(crate) struct TimeFlags {
    /// Take the time from the record, not from the clock: a field number, or with --csv a column, with --json
    /// a path; several, with commas between them, if date, time and zone are separate
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        requires = "within",
        conflicts_with = "window"
    )]
    time_field: Vec<String>,
    /// The format of that time
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "auto",
        requires = "time_field",
        conflicts_with = "window"
    )]
    time_unit: TimeUnit,
    /// The format of that time, with the fields of strftime: '%d.%m.%Y %H:%M:%S'
    #[arg(long, value_name = "FORMAT", requires = "time_field", conflicts_with_all = ["time_unit", "window"])]
    time_format: Option<Pattern>,
    /// The time zone of times that have none: UTC, Europe/Berlin, +02:00
    #[arg(
        long,
        value_name = "ZONE",
        default_value = "UTC",
        allow_hyphen_values = true,
        requires = "time_field",
        conflicts_with = "window"
    )]
    time_zone: Zone,
    /// What to do with a late record: one that is behind the latest time by more than --within
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "pass",
        requires = "time_field",
        conflicts_with = "window"
    )]
    late: OnLate,
    /// Do not believe a time that is further ahead of the latest one than this; the record counts as one
    /// without a time [default: a day ahead of the system's clock]
    #[arg(
        long,
        value_name = "SPAN",
        allow_hyphen_values = true,
        value_parser = jump,
        requires = "time_field",
        conflicts_with = "window"
    )]
    max_jump: Option<Duration>,
}

impl TimeFlags {
    /// Returns the fields that hold the time; none if records have no time.
    pub(crate) fn fields(&self) -> &[String] {
        &self.time_field
    }

    /// Returns the reader of times, or `None` if records have no time.
    pub(crate) fn times(&self) -> Option<Times> {
        let format = match &self.time_format {
            Some(pattern) => TimeFormat::Pattern(pattern.clone()),
            None => TimeFormat::Unit(self.time_unit),
        };
        let max_ahead_ms =
            self.max_jump.map_or(DAY_MS, |jump| u64::try_from(jump.as_millis()).unwrap_or(u64::MAX));
        let times = || Times::new(format, self.time_zone.clone(), now_ms(), max_ahead_ms);
        (!self.time_field.is_empty()).then(times)
    }

    /// Returns the rules for times, or `None` if records have no time.
    pub(crate) fn rules(&self) -> Option<EventRules> {
        let rules = EventRules { on_late: self.late, max_jump: self.max_jump };
        (!self.time_field.is_empty()).then_some(rules)
    }
}

fn jump(text: &str) -> Result<Duration, String> {
    let span = units::span(text)?;
    if span.is_zero() {
        return Err("no later time would be believed; write for example 1h or 7d".into());
    }
    Ok(span)
}
