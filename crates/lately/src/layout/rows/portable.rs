//! The reference implementation: processes rows word by word, on any platform.

use super::kernel::RowKernel;
use super::part_ages::Generation;
use crate::hash::remix;
use crate::layout::instructions::Portable;
#[cfg(target_arch = "x86_64")]
use crate::layout::instructions::Sse2;

/// The bits of an item, one in each part of a row. An insert uses those of the k newest segments; a query
/// compares all. A word has four parts, and each takes four bits of hash.
#[inline]
pub(super) fn pattern_word(item: u64, word: usize) -> u64 {
    let hash = remix(item, 1 + word as u64 / 4) >> (word % 4 * 16);
    1 << (hash & 15)
        | 1 << 16 << (hash >> 4 & 15)
        | 1 << 32 << (hash >> 8 & 15)
        | 1 << 48 << (hash >> 12 & 15)
}

/// Returns a bit for each part: is the item's bit set there?
pub(super) fn matching<const WORDS: usize>(row: &[u64; WORDS], item: u64) -> u64 {
    let mut matching = 0;
    for (word, bits) in row.iter().enumerate() {
        let common = bits & pattern_word(item, word);
        for part in 0..4 {
            let is_set = common >> (part * 16) & 0xffff != 0;
            matching |= u64::from(is_set) << (word * 4 + part);
        }
    }
    matching
}

/// Clears the segments that have been recycled since the row was last written.
pub(super) fn refresh<const WORDS: usize>(
    row: &mut [u64; WORDS],
    last: u64,
    generation: Generation<'_, WORDS>,
) {
    let staleness = u64::from(generation.staleness(last));
    for (bits, ages) in row.iter_mut().zip(generation.ages.by_part) {
        let mut keep = 0;
        for part in 0..4 {
            let age = ages >> (part * 16) & 0xffff;
            // No segment has the age -1, here 0xffff: the stamp and unused bits are cleared.
            if age >= staleness && age != 0xffff {
                keep |= 0xffff << (part * 16);
            }
        }
        *bits &= keep;
    }
    row[WORDS - 1] |= u64::from(generation.stamp.bits()) << 48;
}

/// Implements the operations on a row with the code of this file.
macro_rules! portable_rows {
    ($instructions:ty) => {
        impl RowKernel for $instructions {
            type Loaded<'a, const WORDS: usize> = Generation<'a, WORDS>;

            #[inline]
            fn load_generation<const WORDS: usize>(
                self,
                generation: Generation<'_, WORDS>,
            ) -> Generation<'_, WORDS> {
                generation
            }

            #[inline]
            fn contains<const WORDS: usize>(
                self,
                row: &[u64; WORDS],
                item: u64,
                last: u64,
                generation: &Generation<'_, WORDS>,
            ) -> bool {
                generation.ages.reports(matching(row, item) & generation.live(last))
            }

            #[inline]
            fn check_and_insert<const WORDS: usize>(
                self,
                row: &mut [u64; WORDS],
                item: u64,
                last: u64,
                generation: &Generation<'_, WORDS>,
            ) -> bool {
                let seen = self.contains(row, item, last, generation);
                refresh(row, last, *generation);
                for (word, bits) in row.iter_mut().enumerate() {
                    *bits |= pattern_word(item, word) & generation.ages.active[word];
                }
                seen
            }
        }
    };
}

portable_rows!(Portable);
// SSE2 cannot shift lanes by different numbers of bits.
#[cfg(target_arch = "x86_64")]
portable_rows!(Sse2);
