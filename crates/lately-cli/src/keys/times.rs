//! Parses the times of records: epoch seconds, epoch milliseconds or RFC 3339, as milliseconds since 1970.

/// The format of the time field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimeUnit {
    /// By value: numbers below 1e11 are seconds (until the year 5138), up to 1e14 milliseconds (from 1973),
    /// any other text is RFC 3339
    Auto,
    /// Seconds since 1970; decimals are allowed
    S,
    /// Milliseconds since 1970
    Ms,
    /// 2024-05-01T12:30:00Z, with any offset and decimals
    Rfc3339,
}

/// Numbers from here on are not accepted as seconds: no time that this program will see is that late.
const END_OF_SECONDS: u64 = 100_000_000_000;
const END_OF_MILLIS: u64 = END_OF_SECONDS * 1_000;

/// Returns `None` if the text is not a time in this format, or is before 1970.
pub(crate) fn parse_ms(text: &[u8], unit: TimeUnit) -> Option<u64> {
    let text = text.trim_ascii();
    match unit {
        TimeUnit::S => seconds(text),
        TimeUnit::Ms => whole(text).filter(|&ms| ms < END_OF_MILLIS),
        TimeUnit::Rfc3339 => rfc3339(text),
        TimeUnit::Auto => {
            let integer = text.split(|&byte| byte == b'.').next().unwrap_or_default();
            match whole(integer) {
                Some(value) if value < END_OF_SECONDS => seconds(text),
                Some(value) if value < END_OF_MILLIS && integer.len() == text.len() => Some(value),
                Some(_) => None,
                None => rfc3339(text),
            }
        }
    }
}

fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |value, byte| Some(value * 10 + u64::from(byte.checked_sub(b'0').filter(|d| *d < 10)?)))
}

/// Parses seconds with optional decimals, of which the milliseconds are kept.
fn seconds(text: &[u8]) -> Option<u64> {
    let (integer, decimals) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], Some(&text[point + 1..])),
        None => (text, None),
    };
    let seconds = whole(integer).filter(|&seconds| seconds < END_OF_SECONDS)?;
    Some(seconds * 1_000 + decimals.map_or(Some(0), thousandths)?)
}

/// Returns the first three decimals as a number.
fn thousandths(decimals: &[u8]) -> Option<u64> {
    if decimals.is_empty() || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = &decimals[..decimals.len().min(3)];
    Some(whole(kept)? * [100, 10, 1][kept.len() - 1])
}

/// `YYYY-MM-DDThh:mm:ss[.fff](Z|+hh:mm|-hh:mm)`; a space may replace the `T`, and letters may be lower case.
fn rfc3339(text: &[u8]) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| whole(text.get(range)?);
    let is = |at: usize, wanted: &[u8]| text.get(at).is_some_and(|byte| wanted.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    // 60 is a leap second.
    if !(1..=12).contains(&month)
        || day == 0
        || day > days_in(year, month)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut rest = &text[19..];
    let mut millis = 0;
    if let Some(decimals) = rest.strip_prefix(b".") {
        let len = decimals.iter().take_while(|byte| byte.is_ascii_digit()).count();
        millis = thousandths(&decimals[..len])?;
        rest = &decimals[len..];
    }
    let local = (days_since_year_0(year, month, day) * 24 + hour) * 60 + minute;
    let minutes = match rest {
        [b'Z' | b'z'] => local,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (whole(&[*h1, *h2])?, whole(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = hours * 60 + minutes;
            if *sign == b'-' { local + offset } else { local.checked_sub(offset)? }
        }
        _ => return None,
    };
    Some((minutes * 60 + second).checked_sub(DAYS_BEFORE_1970 * 86_400)? * 1_000 + millis)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const DAYS_BEFORE_1970: u64 = 719_528;

/// Returns the number of days from 1 January of the year 0 to this day.
fn days_since_year_0(year: u64, month: u64, day: u64) -> u64 {
    let leap_days = match year.checked_sub(1) {
        // The year 0 is a leap year too.
        Some(before) => before / 4 - before / 100 + before / 400 + 1,
        None => 0,
    };
    let of_year: u64 = (1..month).map(|month| days_in(year, month)).sum();
    year * 365 + leap_days + of_year + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the times of these texts, and expects none for the others.
    #[track_caller]
    fn check(unit: TimeUnit, times: &[(&str, u64)], others: &[&str]) {
        for (text, ms) in times {
            assert_eq!(parse_ms(text.as_bytes(), unit), Some(*ms), "{text}");
        }
        for text in others {
            assert_eq!(parse_ms(text.as_bytes(), unit), None, "{text}");
        }
    }

    #[test]
    fn the_unit_of_a_time_follows_from_its_value() {
        let times = [
            ("1700000000", 1_700_000_000_000),
            ("1700000000.25", 1_700_000_000_250),
            ("1700000000.123456", 1_700_000_000_123),
            ("1700000000123", 1_700_000_000_123),
            (" 99999999999 ", 99_999_999_999_000),
            ("100000000000", 100_000_000_000),
            ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ];
        let others = ["", "x", "-5", "1.", "1700000000123456", "1700000000123.5", "12e3", "2023-11-14"];
        check(TimeUnit::Auto, &times, &others);
    }

    #[test]
    fn a_fixed_unit_overrides_the_guess() {
        check(TimeUnit::S, &[("5", 5_000)], &[]);
        check(TimeUnit::Ms, &[("5", 5)], &["5.5"]);
        check(TimeUnit::Rfc3339, &[], &["5"]);
    }

    #[test]
    fn rfc3339_in_all_its_forms() {
        let times = [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("2000-02-29t12:00:00.5z", 951_825_600_500),
            ("2024-12-31 23:59:60Z", 1_735_689_600_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ];
        let others = [
            "1969-12-31T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2023-13-01T00:00:00Z",
            "2023-00-01T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:60:00Z",
            "2023-01-01T00:00:00",
            "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00+0100",
            "2023-01-01",
        ];
        check(TimeUnit::Rfc3339, &times, &others);
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = 0;
        for year in 0..=2_800 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    assert_eq!(days_since_year_0(year, month, day), expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
    }
}
