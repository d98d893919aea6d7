//! Parses numbers as people write them in flags: `1M`, `1e6`, `10m`, `64MiB`. The result is exact: no
//! floating point is used.

use std::time::Duration;

/// Parses a count: plain, `1_000_000`, `1e6`, or with `k`, `M`, `G`, `T`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of a count; write for example 5000, 1e6, 250k or 1M"
            ));
        }
    };
    whole(number, factor).ok_or_else(|| {
        format!("not a whole number between 0 and {}; write for example 5000, 1e6, 250k or 1M", u64::MAX)
    })
}

/// Parses bytes: plain, `kB`, `MB`, `GB` (thousands), or `KiB`, `MiB`, `GiB` (1024s).
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "" | "B" => 1,
        "k" | "K" | "kB" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "T" | "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(format!("`{unit}` is not a unit of memory; write for example 500kB, 64MiB or 2GiB")),
    };
    whole(number, factor).ok_or_else(|| {
        format!("not a whole number of bytes up to {}; write for example 64MiB or 2GiB", u64::MAX)
    })
}

/// Parses a span of time: `ms`, `s`, `m`, `h`, `d`, `w`, or several from large to small: `1h30m`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    const EXAMPLES: &str = "write for example 500ms, 30s, 1h30m, 7d or 2w";
    let (mut rest, mut millis, mut last_factor) = (text, Some(0_u64), u64::MAX);
    if text.starts_with('-') {
        return Err(format!("a span cannot be negative; {EXAMPLES}"));
    }
    loop {
        let (number, after) = split(rest);
        let unit = &after[..after.find(|letter: char| !letter.is_alphabetic()).unwrap_or(after.len())];
        rest = &after[unit.len()..];
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            // Zero needs no unit.
            "" if rest.is_empty() && whole(text, 1) == Some(0) => 1,
            "" => return Err(format!("a span needs a unit; {EXAMPLES}")),
            _ => return Err(format!("`{unit}` is not a unit of time; {EXAMPLES}")),
        };
        if factor >= last_factor {
            return Err(format!("units of time go from large to small, each once; {EXAMPLES}"));
        }
        last_factor = factor;
        millis = millis.zip(whole(number, factor)).and_then(|(sum, part)| sum.checked_add(part));
        if rest.is_empty() {
            break;
        }
    }
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| format!("not a whole number of milliseconds up to {}; {EXAMPLES}", u64::MAX))
}

/// Splits a text into the number and the unit after it. The `e` of an exponent belongs to the number, and so
/// does a minus sign, which [`whole`] rejects.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = usize::from(text.starts_with('-'));
    while end < bytes.len() {
        end += match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' => 1,
            b'e' | b'E' if bytes.get(end + 1).is_some_and(u8::is_ascii_digit) => 2,
            b'e' | b'E'
                if matches!(bytes.get(end + 1), Some(b'+' | b'-'))
                    && bytes.get(end + 2).is_some_and(u8::is_ascii_digit) =>
            {
                3
            }
            _ => break,
        };
    }
    text.split_at(end)
}

/// Returns `number * factor`, if it is a whole number and fits.
fn whole(number: &str, factor: u64) -> Option<u64> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value: u128 = 0;
    let mut digits = 0;
    for digit in integer.bytes().chain(fraction.bytes()).filter(|byte| *byte != b'_') {
        value =
            value.checked_mul(10)?.checked_add(u128::from(digit.checked_sub(b'0').filter(|d| *d < 10)?))?;
        digits += 1;
    }
    if digits == 0 {
        return None;
    }
    value = value.checked_mul(u128::from(factor))?;
    let decimals = fraction.bytes().filter(|byte| *byte != b'_').count();
    let places = exponent.checked_sub(i32::try_from(decimals).ok()?)?;
    for _ in 0..places.unsigned_abs().min(64) {
        if places < 0 {
            value = Some(value).filter(|value| value % 10 == 0)? / 10;
        } else {
            value = value.checked_mul(10)?;
        }
    }
    u64::try_from(value).ok().filter(|&value| places.unsigned_abs() <= 64 || value == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_exactly() {
        for (text, value) in [
            ("0", 0),
            ("1000", 1_000),
            ("1_000", 1_000),
            ("1k", 1_000),
            ("1M", 1_000_000),
            ("2.5M", 2_500_000),
            ("1G", 1_000_000_000),
            ("1e6", 1_000_000),
            ("1.5e3", 1_500),
            ("1500e-2", 15),
            ("1E+2", 100),
            ("0.001k", 1),
            ("18446744073709551615", u64::MAX),
            ("0e99", 0),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in
            ["", "M", "-1", "1.5", "1e-1", "1x", "1 M", "e6", ".", "18446744073709551616", "1e99", "1.2.3"]
        {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_and_bytes_have_units() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1.5h", 5_400_000),
            ("7d", 604_800_000),
            ("1e3ms", 1_000),
            ("0", 0),
            ("1w", 604_800_000),
            ("1h30m", 5_400_000),
            ("1w2d3h4m5s6ms", 788_645_006),
            ("1.5h30m", 7_200_000),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "10",
            "10min",
            "0.5ms",
            "m",
            "-1s",
            "",
            "1h30",
            "30m1h",
            "1h1h",
            "1h-30m",
            "1h 30m",
            "1y",
            "1e30d",
            "1h18446744073709551615ms",
        ] {
            assert!(span(text).is_err(), "{text}");
        }
        for (text, value) in
            [("64MiB", 64 << 20), ("1GB", 1_000_000_000), ("1.5KiB", 1_536), ("17", 17), ("1e3B", 1_000)]
        {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for text in ["64mib", "1.0001KiB", "MiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
