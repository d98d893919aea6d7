//! The decimal text of an integer, the bytes of an item that is one.
//!
//! The core's own, which is faster, comes with a table that would be an eighth of the module's size.

/// The digits of the longest number, and a sign.
const LONGEST: usize = 20;

#[derive(Debug)]
pub(crate) struct Decimal {
    text: [u8; LONGEST],
    start: usize,
}

impl Decimal {
    pub(crate) fn new(is_negative: bool, mut magnitude: u64) -> Self {
        let (mut text, mut start) = ([b'-'; LONGEST], LONGEST);
        loop {
            start -= 1;
            text[start] = b'0' + (magnitude % 10) as u8;
            magnitude /= 10;
            if magnitude == 0 {
                break;
            }
        }
        // A negative number has at most 19 digits.
        Self { text, start: start - usize::from(is_negative) }
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lately::Item;

    #[test]
    fn texts_are_those_of_the_core() {
        let numbers = (0..20).flat_map(|digits| {
            let power = 10_u64.pow(digits);
            [power - 1, power, power + 7, power.wrapping_mul(9)]
        });
        for number in numbers.chain([u64::MAX, 1 << 63]) {
            number.with_bytes(|bytes| assert_eq!(Decimal::new(false, number).text(), bytes));
        }
        for number in [i64::MIN, -1, -10, -99, 0, 7, i64::MAX] {
            number.with_bytes(|bytes| {
                assert_eq!(Decimal::new(number < 0, number.unsigned_abs()).text(), bytes);
            });
        }
    }
}
