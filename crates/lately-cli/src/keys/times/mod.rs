//! Reads the times of records, in any of the known spellings or in one that the user describes, as
//! milliseconds since 1970.
//!
//! The first time of a file decides its spelling. A time in another one is not guessed: it would be wrong
//! whenever the guess is.

mod calendar;
mod minute;
mod numbers;
mod pattern;
mod spelling;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use calendar::Calendar;
pub(crate) use calendar::Zone;
use minute::Minute;
pub(crate) use pattern::Pattern;
use spelling::Spelling;
pub(crate) use spelling::TimeUnit;

use super::missing::Missing;
use crate::shown::shown;

/// How times are written.
#[derive(Clone, Debug)]
pub(crate) enum TimeFormat {
    Unit(TimeUnit),
    Pattern(Pattern),
}

/// Reads the times of a stream.
#[derive(Debug)]
pub(crate) struct Times {
    format: TimeFormat,
    calendar: Calendar,
    /// The spelling of the current file's first time.
    spelling: Option<Spelling>,
    /// Later times are not believed at first, so they do not decide a spelling.
    believed_until_ms: u64,
    minute: Minute,
}

impl Times {
    /// `zone` is that of times without one; `now_ms` is the system's clock, for years that are not written. First
    /// times that are further ahead of it than `max_ahead_ms` are not believed.
    pub(crate) fn new(format: TimeFormat, zone: Zone, now_ms: u64, max_ahead_ms: u64) -> Self {
        let believed_until_ms = now_ms.saturating_add(max_ahead_ms);
        let calendar = Calendar::new(zone, now_ms);
        Self { format, calendar, spelling: None, believed_until_ms, minute: Minute::default() }
    }

    /// Starts another file, which may have another spelling.
    pub(super) fn start_file(&mut self) {
        self.spelling = None;
        self.minute.forget();
    }

    #[inline]
    pub(super) fn read(&mut self, text: &[u8]) -> Result<u64, Missing> {
        let text = text.trim_ascii();
        let ms = match self.minute.read(text) {
            Some(ms) => ms,
            None => self.read_whole(text)?,
        };
        self.calendar.note(ms);
        Ok(ms)
    }

    fn read_whole(&mut self, text: &[u8]) -> Result<u64, Missing> {
        let Self { format, calendar, spelling: first, believed_until_ms, minute } = self;
        let unit = match format {
            TimeFormat::Unit(unit) => *unit,
            TimeFormat::Pattern(pattern) => {
                return pattern.read(text, calendar).ok_or(Missing::UnreadableTime);
            }
        };
        let (spelling, ms) = unit.read(text, calendar).ok_or(Missing::UnreadableTime)?;
        // Zero is the same time in every unit.
        if ms == 0 || (first.is_none() && ms > *believed_until_ms) {
            return Ok(ms);
        }
        if *first.get_or_insert(spelling) != spelling {
            return Err(Missing::OtherSpelling);
        }
        if let Some(at) = spelling.seconds_at(text) {
            minute.remember(text, at, ms);
        }
        Ok(ms)
    }

    /// Says why a text was not read: "`2024-05-01` is a date without a time of day".
    #[cold]
    pub(super) fn explain(&self, text: &[u8]) -> String {
        let text = text.trim_ascii();
        let mut told = format!("`{}` ", shown(text, 60));
        // Writing to a string does not fail.
        let _ = match (&self.format, self.spelling, Spelling::detect(text, &self.calendar)) {
            (TimeFormat::Pattern(pattern), ..) => write!(told, "does not match --time-format '{pattern}'"),
            (TimeFormat::Unit(TimeUnit::Auto), Some(first), Some((other, _))) => {
                write!(told, "is {other}, but the file's first time is {first}")
            }
            (TimeFormat::Unit(TimeUnit::Auto), ..) => write!(told, "{}", Spelling::problem(text)),
            (TimeFormat::Unit(unit), ..) => {
                write!(told, "is not in the format of --time-unit {}", unit.name())
            }
        };
        told
    }
}
