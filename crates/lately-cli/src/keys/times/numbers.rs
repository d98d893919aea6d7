//! Times as numbers since 1970.

/// No time that this program will see is this many seconds, or in its unit this many milliseconds and so on,
/// after 1970: the units of numbers follow from these limits.
pub(super) const END_OF_SECONDS: u64 = 100_000_000_000;
pub(super) const END_OF_MILLIS: u64 = END_OF_SECONDS * 1_000;
pub(super) const END_OF_MICROS: u64 = END_OF_MILLIS * 1_000;

/// Returns true if the text has only digits, and possibly a decimal point.
pub(super) fn is_number(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit)
        && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

#[inline]
pub(super) fn whole(digits: &[u8]) -> Option<u64> {
    // 19 digits fit, and reach the year 2286 in nanoseconds.
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        Some(value * 10 + u64::from(digit))
    })
}

/// Splits a number into its whole part and the digits after the decimal point, if it has one.
pub(super) fn parts(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], Some(&text[point + 1..])),
        None => (text, None),
    }
}

/// Parses a number with optional decimals: the whole part, and the first three decimals as a number.
pub(super) fn decimal(text: &[u8]) -> Option<(u64, u64)> {
    let (integer, decimals) = parts(text);
    Some((whole(integer)?, decimals.map_or(Some(0), thousandths)?))
}

/// Returns the first three decimals as a number.
pub(super) fn thousandths(decimals: &[u8]) -> Option<u64> {
    if !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = decimals.get(..decimals.len().min(3)).filter(|kept| !kept.is_empty())?;
    Some(whole(kept)? * [100, 10, 1][kept.len() - 1])
}

/// Returns true for `20240501` and `20240501123000`, also with decimals: as numbers they would be a day in 1970 and
/// the year 2611.
pub(super) fn is_date_in_digits(text: &[u8]) -> bool {
    let (digits, _) = parts(text);
    let number = |range: std::ops::Range<usize>| digits.get(range).and_then(whole);
    matches!(digits.len(), 8 | 14)
        && matches!(number(0..4), Some(1900..=2100))
        && matches!(number(4..6), Some(1..=12))
        && matches!(number(6..8), Some(1..=31))
}
