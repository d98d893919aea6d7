//! The code of rows that each instruction set has in its own way: `portable` is the reference, `avx2` and
//! `avx512` give the same bits, faster.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::part_ages::Generation;
use crate::layout::instructions::InstructionSet;

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
}
