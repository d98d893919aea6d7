//! Arrays of bits in 64-bit words.

use core::ops::{Deref, DerefMut, Range};

use crate::layout::instructions::InstructionSet;

/// Words that can be read: owned by a filter, or shared by threads.
pub(crate) trait Words {
    fn word(&self, index: usize) -> u64;
    /// Prefetches the cache line of a word that will be needed soon.
    fn prefetch<I: InstructionSet>(&self, instructions: I, index: usize);
}

/// Words in which bits can be set.
pub(crate) trait WordsMut: Words {
    fn set_bits(&mut self, index: usize, bits: u64);
    fn clear(&mut self, range: Range<usize>);
}

impl<W: Deref<Target = [u64]>> Words for W {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self[index]
    }

    #[inline(always)]
    fn prefetch<I: InstructionSet>(&self, instructions: I, index: usize) {
        instructions.prefetch(&self[index]);
    }
}

impl<W: DerefMut<Target = [u64]>> WordsMut for W {
    #[inline(always)]
    fn set_bits(&mut self, index: usize, bits: u64) {
        self[index] |= bits;
    }

    fn clear(&mut self, range: Range<usize>) {
        self[range].fill(0);
    }
}

/// Returns how many bits of `from..to` are set.
pub(crate) fn count_ones(words: &[u64], from: u64, to: u64) -> u64 {
    if from >= to {
        return 0;
    }
    let (first, last) = ((from / 64) as usize, ((to - 1) / 64) as usize);
    let from_mask = u64::MAX << (from % 64);
    let to_mask = u64::MAX >> (63 - (to - 1) % 64);
    if first == last {
        return u64::from((words[first] & from_mask & to_mask).count_ones());
    }
    let between: u64 = words[first + 1..last].iter().map(|word| u64::from(word.count_ones())).sum();
    u64::from((words[first] & from_mask).count_ones())
        + between
        + u64::from((words[last] & to_mask).count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_agrees_with_bit_by_bit_counting_on_every_range() {
        let words = [0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, u64::MAX];
        for from in 0..=192 {
            for to in from..=192 {
                let one_by_one =
                    (from..to).filter(|bit| words[(bit / 64) as usize] >> (bit % 64) & 1 == 1).count() as u64;
                assert_eq!(count_ones(&words, from, to), one_by_one, "{from}..{to}");
            }
        }
    }
}
