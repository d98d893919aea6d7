//! The code of rows that each instruction set has in its own way: `portable` is the reference, `avx2` and
//! `avx512` give the same bits, faster.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::part_ages::Generation;
#[cfg(feature = "std")]
use crate::layout::claims;
use crate::layout::instructions::InstructionSet;
#[cfg(feature = "std")]
use crate::sync::AtomicU64;

/// The operations on one row. `WORDS` is its size; `last` is its last word, whose stamp tells how far the row
/// is behind.
pub(crate) trait RowKernel: InstructionSet {
    /// A [`Generation`] in the form that suits these instructions, for one row or for many.
    type Loaded<'a, const WORDS: usize>;
    fn load_generation<const WORDS: usize>(
        self,
        generation: Generation<'_, WORDS>,
    ) -> Self::Loaded<'_, WORDS>;
    fn contains<const WORDS: usize>(
        self,
        row: &[u64; WORDS],
        item: u64,
        last: u64,
        generation: &Self::Loaded<'_, WORDS>,
    ) -> bool;
    /// Returns whether the row contained the item, and writes it. Once everything is inlined, an answer that
    /// is not used costs nothing.
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        generation: &Self::Loaded<'_, WORDS>,
    ) -> bool;
    /// Loads a row that many threads use, whose last word was read before. The words are at least as new as
    /// that one.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        claims::load(row, last)
    }
    /// The same right after a claim, which found that last word. It is not read again, because the read would
    /// have to wait until the claim is written.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load_just_claimed<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        claims::load(row, last)
    }
    /// Stores a row, its last word last, while other threads may read it.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn store<const WORDS: usize>(self, row: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
        claims::store(row, words);
    }
}
