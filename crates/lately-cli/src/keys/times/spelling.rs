//! The spellings of time that need no description, told apart by their shape.

use std::fmt;

use clap::ValueEnum as _;
use jiff::fmt::temporal::DateTimeParser;

use super::calendar::Calendar;
use super::{numbers, pattern};

static DATES: DateTimeParser = DateTimeParser::new();

/// The format of the time field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimeUnit {
    /// By its shape: the first time of a file decides
    Auto,
    /// Seconds since 1970; decimals are allowed
    S,
    /// Milliseconds since 1970
    Ms,
    /// Microseconds since 1970
    Us,
    /// Nanoseconds since 1970
    Ns,
    /// 2024-05-01T12:30:00Z, with any offset and decimals
    Rfc3339,
}

impl TimeUnit {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }

    /// Returns `None` if the text is not a time in this unit, or is before 1970.
    #[inline]
    pub(super) fn read(self, text: &[u8], calendar: &Calendar) -> Option<(Spelling, u64)> {
        let spelling = match self {
            Self::Auto => return Spelling::detect(text, calendar),
            Self::Rfc3339 => {
                return date(text, calendar).filter(|(spelling, _)| *spelling == Spelling::Zoned);
            }
            Self::S => Spelling::Seconds,
            Self::Ms => Spelling::Millis,
            Self::Us => Spelling::Micros,
            Self::Ns => Spelling::Nanos,
        };
        let (value, thousandths) = numbers::decimal(text)?;
        Some((spelling, spelling.millis(value, thousandths)?))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Seconds,
    Millis,
    Micros,
    Nanos,
    Zoned,
    Local,
    CommonLog,
    Syslog,
}

impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "in seconds since 1970",
            Self::Millis => "in milliseconds since 1970",
            Self::Micros => "in microseconds since 1970",
            Self::Nanos => "in nanoseconds since 1970",
            Self::Zoned => "a date with a zone",
            Self::Local => "a date without a zone",
            Self::CommonLog => "as in the common log format",
            Self::Syslog => "as in syslog",
        })
    }
}

impl Spelling {
    /// Returns the spelling of a text and its time, or `None` if it is not a time or before 1970.
    #[inline]
    pub(super) fn detect(text: &[u8], calendar: &Calendar) -> Option<(Self, u64)> {
        match numbers::whole(text) {
            Some(value) => number(text, value, 0),
            None => Self::detect_other(text, calendar),
        }
    }

    fn detect_other(text: &[u8], calendar: &Calendar) -> Option<(Self, u64)> {
        match text.first()? {
            b'[' => common_log(text, calendar),
            first if first.is_ascii_alphabetic() => {
                let ms = pattern::read("%b %e %H:%M:%S%.f", text, calendar)?;
                Some((Self::Syslog, ms))
            }
            _ if numbers::is_number(text) => {
                let (value, thousandths) = numbers::decimal(text)?;
                number(text, value, thousandths)
            }
            _ if text.get(2) == Some(&b'/') => common_log(text, calendar),
            _ => date(text, calendar),
        }
    }

    /// Converts a number in this unit, whose further decimals were cut off, to milliseconds. Returns `None` if
    /// it is after all times.
    #[inline]
    fn millis(self, value: u64, thousandths: u64) -> Option<u64> {
        match self {
            Self::Seconds => (value < numbers::END_OF_SECONDS).then(|| value * 1_000 + thousandths),
            Self::Millis => (value < numbers::END_OF_MILLIS).then_some(value),
            Self::Micros => (value < numbers::END_OF_MICROS).then_some(value / 1_000),
            Self::Nanos => Some(value / 1_000_000),
            Self::Zoned | Self::Local | Self::CommonLog | Self::Syslog => None,
        }
    }

    /// Returns where the seconds are in a date.
    pub(super) fn seconds_at(self, text: &[u8]) -> Option<usize> {
        match self {
            // Years of six digits and times without minutes are longer or shorter.
            Self::Zoned | Self::Local => {
                let has_minutes = text.get(13) == Some(&b':') && text.get(16) == Some(&b':');
                has_minutes.then_some("2024-05-01T12:30:".len())
            }
            Self::CommonLog => Some("10/Oct/2000:13:55:".len() + usize::from(text.first() == Some(&b'['))),
            Self::Syslog => memchr::memrchr(b':', text).map(|colon| colon + 1),
            Self::Seconds | Self::Millis | Self::Micros | Self::Nanos => None,
        }
    }

    /// Says why a text is not a time.
    pub(super) fn problem(text: &[u8]) -> &'static str {
        let is_any_number = || str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok());
        if text.is_empty() {
            "is empty"
        } else if text.starts_with(b"\"") {
            "is in quotes; if the file is CSV, use --csv"
        } else if numbers::is_date_in_digits(text) {
            "may be a date or a number; describe it with --time-format %Y%m%d, or use --time-unit s"
        } else if text.starts_with(b"-") {
            "is before 1970, or not a time that lately knows"
        } else if is_any_number() {
            "is a number, but not a time since 1970 in digits, with or without a decimal point"
        } else if let Ok(pieces) = DATES.parse_pieces(text) {
            match pieces.time() {
                Some(_) if pieces.time_zone_annotation().is_some() => {
                    "names a zone, but not its offset; describe it with --time-format '%Y-%m-%dT%H:%M:%S[%Q]'"
                }
                Some(_) if pieces.date().year() > 1970 => {
                    "is after the last time that lately knows, in the year 9999"
                }
                Some(_) => "is before 1970",
                None => {
                    "is a date without a time of day; if its first moment is meant, use --time-format '%Y-%m-%d'"
                }
            }
        } else if DATES.parse_time(text).is_ok() {
            "is a time of day without a date; if the date is another field, use --time-field DATE,TIME with both"
        } else {
            "is not a time that lately knows; describe it with --time-format"
        }
    }
}

/// Reads a number, whose size tells its unit.
#[inline]
fn number(text: &[u8], value: u64, thousandths: u64) -> Option<(Spelling, u64)> {
    if numbers::is_date_in_digits(text) {
        return None;
    }
    let spelling = match value {
        ..numbers::END_OF_SECONDS => Spelling::Seconds,
        numbers::END_OF_SECONDS..numbers::END_OF_MILLIS => Spelling::Millis,
        numbers::END_OF_MILLIS..numbers::END_OF_MICROS => Spelling::Micros,
        _ => Spelling::Nanos,
    };
    Some((spelling, spelling.millis(value, thousandths)?))
}

/// `[10/Oct/2000:13:55:36 -0700]`; the brackets and the zone may be missing, because blanks separate fields.
fn common_log(text: &[u8], calendar: &Calendar) -> Option<(Spelling, u64)> {
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let text = text.strip_suffix(b"]").unwrap_or(text);
    let has_zone = text.contains(&b' ');
    let pattern = if has_zone { "%d/%b/%Y:%H:%M:%S%.f %z" } else { "%d/%b/%Y:%H:%M:%S%.f" };
    Some((Spelling::CommonLog, pattern::read(pattern, text, calendar)?))
}

/// RFC 3339 and its neighbours: a space instead of the `T`, no zone, a zone without a colon or after a space.
fn date(text: &[u8], calendar: &Calendar) -> Option<(Spelling, u64)> {
    let Ok(pieces) = DATES.parse_pieces(text) else { return date_and_zone(text, calendar) };
    let datetime = pieces.date().to_datetime(pieces.time()?);
    match pieces.to_numeric_offset() {
        Some(offset) => {
            let ms = offset.to_timestamp(datetime).ok()?.as_millisecond();
            Some((Spelling::Zoned, ms.try_into().ok()?))
        }
        // Only the name of a zone, in brackets.
        None if pieces.time_zone_annotation().is_some() => None,
        None => Some((Spelling::Local, calendar.local(datetime)?)),
    }
}

/// `2024-05-01 12:30:00 +0200`: moves the zone beside the time.
#[cold]
fn date_and_zone(text: &[u8], calendar: &Calendar) -> Option<(Spelling, u64)> {
    // Much longer than any time.
    let text = Some(text).filter(|text| text.len() < 100)?;
    let space = memchr::memrchr(b' ', text).filter(|space| *space > "2024-05-01".len())?;
    let zone = match &text[space + 1..] {
        b"UTC" | b"GMT" | b"Z" => b"Z",
        zone @ [b'+' | b'-', ..] => zone,
        _ => return None,
    };
    let joined = [&text[..space], zone].concat();
    date(&joined, calendar)
}
