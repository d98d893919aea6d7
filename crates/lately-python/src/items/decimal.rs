//! Integers as decimal text, four digits at a time. This is twice as fast as two digits at a time; columns of
//! integers spend most of their time here.

/// Space for the longest text and its sign. The digits are at the end.
const ROOM: usize = 24;

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
#[derive(Clone, Copy)]
pub(crate) struct Decimal {
    digits: [u8; ROOM],
    start: usize,
}

impl Decimal {
    pub(crate) const EMPTY: Self = Self { digits: [0; ROOM], start: ROOM };

    #[inline]
    pub(crate) fn new(is_negative: bool, magnitude: u64) -> Self {
        // Split into 4 + 8 + 8 digits, so that no step depends on more than two others.
        let top = magnitude / 10_000_000_000_000_000;
        let rest = magnitude - top * 10_000_000_000_000_000;
        let middle = (rest / 100_000_000) as u32;
        let low = (rest - u64::from(middle) * 100_000_000) as u32;
        let groups = [top as u32, middle / 10_000, middle % 10_000, low / 10_000, low % 10_000];
        let mut digits = [0; ROOM];
        for (place, group) in digits[4..].as_chunks_mut().0.iter_mut().zip(groups) {
            *place = FOUR_DIGITS[group as usize];
        }
        let mut start = ROOM - digit_count(magnitude);
        if is_negative {
            start -= 1;
            digits[start] = b'-';
        }
        Self { digits, start }
    }

    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
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
