//! Times as people read them, and the system's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time may be this far ahead of the system's clock: clocks differ, and local times may lack their zone.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The system's clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Formats a time as RFC 3339 in UTC. Only times after the year 9999 have no date.
pub(crate) fn date(ms: u64) -> String {
    let timestamp = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    timestamp.map_or_else(|| format!("{ms} ms since 1970"), |timestamp| timestamp.to_string())
}

const UNITS: [(u128, &str); 6] =
    [(365 * 86_400_000, "y"), (86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];

/// Formats a span in its two largest units: `31d5h`. A remainder is left out.
pub(crate) fn about(span: Duration) -> String {
    in_units(span, &UNITS, 2)
}

/// Formats a span exactly, as flags take it: `1h30m`. Flags know no years.
pub(crate) fn exactly(span: Duration) -> String {
    in_units(span, &UNITS[1..], UNITS.len())
}

/// Writes at most this many parts, without those that are zero.
fn in_units(span: Duration, units: &[(u128, &str)], most: usize) -> String {
    let mut rest = span.as_millis();
    let parts = units.iter().filter_map(|(unit, name)| {
        let count = rest / unit;
        rest %= unit;
        (count > 0).then(|| format!("{count}{name}"))
    });
    let text: String = parts.take(most).collect();
    if text.is_empty() { "0ms".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_dates_and_the_two_largest_units() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms since 1970");
        for (millis, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_500, "1s500ms"),
            (90_000, "1m30s"),
            (86_400_000, "1d"),
            (86_460_000, "1d1m"),
            (31 * 86_400_000 + 5 * 3_600_000 + 1, "31d5h"),
            (90 * 365 * 86_400_000, "90y"),
        ] {
            assert_eq!(about(Duration::from_millis(millis)), text);
        }
        for (millis, text) in [
            (0, "0ms"),
            (600_000, "10m"),
            (90_000, "1m30s"),
            (93_601_234, "1d2h1s234ms"),
            (366 * DAY_MS, "366d"),
        ] {
            assert_eq!(exactly(Duration::from_millis(millis)), text);
        }
    }
}
