//! Rows and lines that threads share. A writer claims one by its last bit, then reads and writes it as a whole; see
//! `rows::shared` and `bins::shared`.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
#[cfg(feature = "std")]
mod shared_row;

#[cfg(target_arch = "x86_64")]
use super::instructions::Sse2;
use super::instructions::{InstructionSet, Portable};
#[cfg(feature = "std")]
pub(super) use shared_row::{SharedRow, claim, claim_unchanged, load, store, try_claim};

/// The last bit of a row or a line: set while a thread writes to it; only in shared filters.
pub(super) const CLAIM: u64 = 1 << 63;

/// How an instruction set reads and writes a row that threads share. `WORDS` is its size.
pub(crate) trait ClaimKernel: InstructionSet {
    /// Loads a row whose last word was read before. The words are at least as new as that one.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &SharedRow<WORDS>, last: u64) -> [u64; WORDS] {
        load(row, last)
    }
    /// The same right after a claim, which found that last word. It is not read again, because the read would
    /// have to wait until the claim is written.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load_just_claimed<const WORDS: usize>(self, row: &SharedRow<WORDS>, last: u64) -> [u64; WORDS] {
        load(row, last)
    }
    /// Stores a row, its last word last, while other threads may read it.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn store<const WORDS: usize>(self, row: &SharedRow<WORDS>, words: &[u64; WORDS]) {
        store(row, words);
    }
}

impl ClaimKernel for Portable {}
#[cfg(target_arch = "x86_64")]
impl ClaimKernel for Sse2 {}
