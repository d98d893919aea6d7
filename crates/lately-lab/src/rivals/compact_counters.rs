//! Counters of variable length, in blocks of 64 counters and 192 bits: three bits per counter.
//!
//! ```text
//! block:   | code of counter 0 | code of counter 1 | ... | unused | bits in use: 8 |
//! code:    n zeros, a one, n bits: the n + 1 bits of counter + 1, in Elias' gamma code
//! ```
//! A zero takes 1 bit, 1 and 2 take 3 bits, 3 to 6 take 5. If half of the counters are zero, as in a Bloom
//! filter of the best size, 64 codes take 132 bits, give or take 9; 184 have room.
//!
//! A block that overflows sticks: from then on all its counters count as raised, which can cause false
//! positives, but no false negatives.

use super::queued::Counters;

const PER_BLOCK: usize = 64;
const WORDS: usize = 3;
const LENGTH_BITS: u32 = 8;
const ROOM: u32 = WORDS as u32 * 64 - LENGTH_BITS;
/// The length of a block that has overflowed.
const STUCK: u32 = (1 << LENGTH_BITS) - 1;

pub(super) struct CompactCounters {
    blocks: Vec<Block>,
}

impl CompactCounters {
    #[cfg(test)]
    pub(super) fn stuck_share(&self) -> f64 {
        self.blocks.iter().filter(|block| block.is_stuck()).count() as f64 / self.blocks.len() as f64
    }

    fn change(&mut self, i: usize, change: impl Fn(u64) -> u64) {
        let block = &mut self.blocks[i / PER_BLOCK];
        if !block.is_stuck() {
            let code = block.code(i % PER_BLOCK);
            block.replace(code, change(code.counter));
        }
    }
}

impl Counters for CompactCounters {
    const BITS: f64 = (WORDS * 64 / PER_BLOCK) as f64;
    const MOST_RAISES: f64 = 1.0;

    fn fitting(bits: u64) -> Option<Self> {
        let blocks = bits / (WORDS as u64 * 64);
        (blocks > 0).then(|| Self { blocks: vec![Block::new(); blocks as usize] })
    }

    fn len(&self) -> usize {
        self.blocks.len() * PER_BLOCK
    }

    fn raise(&mut self, i: usize) {
        self.change(i, |counter| counter + 1);
    }

    fn lower(&mut self, i: usize) {
        self.change(i, |counter| counter - 1);
    }

    fn is_raised(&self, i: usize) -> bool {
        let block = &self.blocks[i / PER_BLOCK];
        block.is_stuck() || block.code(i % PER_BLOCK).counter > 0
    }

    fn memory_bits(&self) -> u64 {
        self.blocks.len() as u64 * WORDS as u64 * 64
    }
}

/// A counter in its block.
#[derive(Clone, Copy)]
struct Code {
    /// Its first bit.
    start: u32,
    counter: u64,
}

/// Returns the number of bits of a counter's code.
fn code_bits(counter: u64) -> u32 {
    2 * (counter + 1).ilog2() + 1
}

#[derive(Clone, Copy)]
struct Block([u64; WORDS]);

impl Block {
    /// All counters are zero: a one for each.
    fn new() -> Self {
        let mut block = Self([u64::MAX, 0, 0]);
        block.set_length(PER_BLOCK as u32);
        block
    }

    fn length(&self) -> u32 {
        (self.0[WORDS - 1] >> (64 - LENGTH_BITS)) as u32
    }

    fn set_length(&mut self, length: u32) {
        let codes = self.0[WORDS - 1] & u64::MAX >> LENGTH_BITS;
        self.0[WORDS - 1] = codes | u64::from(length) << (64 - LENGTH_BITS);
    }

    fn is_stuck(&self) -> bool {
        self.length() == STUCK
    }

    /// Returns 64 bits from this one on.
    #[inline]
    fn bits_from(&self, start: u32) -> u64 {
        let (word, shift) = ((start / 64) as usize, start % 64);
        let next = self.0.get(word + 1).map_or(0, |next| u128::from(*next) << 64);
        ((u128::from(self.0[word]) | next) >> shift) as u64
    }

    #[inline]
    fn code(&self, number: usize) -> Code {
        let mut start = 0;
        for _ in 0..number {
            start += 2 * self.bits_from(start).trailing_zeros() + 1;
        }
        let bits = self.bits_from(start);
        let n = bits.trailing_zeros();
        // The leading one of the number, and then its n lower bits.
        let lower = bits >> (n + 1) & ((1 << n) - 1);
        Code { start, counter: (1 << n | lower) - 1 }
    }

    /// Replaces a counter, and moves those after it.
    fn replace(&mut self, code: Code, counter: u64) {
        let (before, after) = (code_bits(code.counter), code_bits(counter));
        let length = self.length() + after - before;
        if length > ROOM {
            self.set_length(STUCK);
            return;
        }
        let n = (counter + 1).ilog2();
        let lower = counter + 1 - (1 << n);
        let written = [1 << n | lower << (n + 1), 0, 0];
        self.set_length(0);
        let later = shifted_up(shifted_down(self.0, code.start + before), code.start + after);
        let earlier = shifted_down(shifted_up(self.0, 192 - code.start), 192 - code.start);
        let written = shifted_up(written, code.start);
        self.0 = std::array::from_fn(|word| earlier[word] | written[word] | later[word]);
        self.set_length(length);
    }
}

/// Moves all bits towards the higher end.
fn shifted_up(words: [u64; WORDS], by: u32) -> [u64; WORDS] {
    let (whole, rest) = ((by / 64) as usize, by % 64);
    let word = |i: usize, back: usize| i.checked_sub(back).map_or(0, |from| words[from]);
    std::array::from_fn(|i| {
        let both = u128::from(word(i, whole)) << 64 | u128::from(word(i, whole + 1));
        (both << rest >> 64) as u64
    })
}

/// Moves all bits towards the lower end.
fn shifted_down(words: [u64; WORDS], by: u32) -> [u64; WORDS] {
    let (whole, rest) = ((by / 64) as usize, by % 64);
    let word = |i: usize| words.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| {
        let both = u128::from(word(i + whole + 1)) << 64 | u128::from(word(i + whole));
        (both >> rest) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::pieces::Random;

    #[test]
    fn they_count_like_plain_integers() {
        let mut counters = CompactCounters::fitting(5 * 192 + 100).expect("fits");
        assert_eq!((counters.len(), counters.memory_bits()), (320, 960));
        let mut expected = vec![0_u64; counters.len()];
        let mut random = Random::new(3);
        let mut raises: Vec<usize> = Vec::new();
        for step in 0..20_000 {
            // Some counters become large: one in four raises hits one of them.
            let limit = if random.happens(0.25) { 3 } else { expected.len() };
            let i = random.below(limit) * 17 % expected.len();
            counters.raise(i);
            expected[i] += 1;
            raises.push(i);
            if raises.len() > 150 {
                let i = raises.swap_remove(random.below(raises.len()));
                counters.lower(i);
                expected[i] -= 1;
            }
            if step % 31 == 0 {
                let all = counters.blocks.iter().flat_map(|block| (0..64).map(|i| block.code(i).counter));
                assert!(all.eq(expected.iter().copied()), "step {step}");
            }
        }
        raises.into_iter().for_each(|i| counters.lower(i));
        assert!((0..320).all(|i| !counters.is_raised(i)));
        assert!(counters.blocks.iter().all(|block| block.length() == 64));
    }

    #[test]
    fn a_block_that_overflows_reports_all_its_counters_and_leaves_the_others_alone() {
        let mut counters = CompactCounters::fitting(3 * 192).expect("fits");
        (64..128).for_each(|i| (0..3).for_each(|_| counters.raise(i)));
        assert!(counters.blocks[1].is_stuck());
        (64..128).for_each(|i| (0..3).for_each(|_| counters.lower(i)));
        assert!((0..192).all(|i| counters.is_raised(i) == (64..128).contains(&i)));
    }
}
