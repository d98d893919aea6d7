//! A row or a line that threads share: claiming it, and reading and writing it word by word.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::CLAIM;
use crate::sync::{AtomicU64, Ordering, fence, wait_for};

pub(in crate::layout) type SharedRow<const WORDS: usize> = [AtomicU64; WORDS];

/// Claims a row by its last word and returns that word, if no other thread holds the row.
#[inline(always)]
pub(in crate::layout) fn try_claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> Option<u64> {
    let found = row[WORDS - 1].load(Ordering::Relaxed);
    (found & CLAIM == 0 && claim_unchanged(row, found)).then_some(found)
}

/// Claims a row whose last word is still this one, which has no claim.
#[inline(always)]
pub(in crate::layout) fn claim_unchanged<const WORDS: usize>(row: &SharedRow<WORDS>, last: u64) -> bool {
    row[WORDS - 1].compare_exchange(last, last | CLAIM, Ordering::SeqCst, Ordering::Relaxed).is_ok()
}

/// Claims a row as soon as no other thread holds it.
#[inline(always)]
pub(in crate::layout) fn claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> u64 {
    try_claim(row).unwrap_or_else(|| wait_to_claim(row))
}

#[cold]
#[inline(never)]
fn wait_to_claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> u64 {
    wait_for(|| try_claim(row))
}

/// Returns the row, with its last word as it was read before.
#[inline(always)]
pub(in crate::layout) fn load<const WORDS: usize>(row: &SharedRow<WORDS>, last: u64) -> [u64; WORDS] {
    core::array::from_fn(|word| if word == WORDS - 1 { last } else { row[word].load(Ordering::Acquire) })
}

/// Stores a row, its last word last, which ends the claim. A thread that sees any of the words also sees the
/// generation in which it was written.
#[inline(always)]
pub(in crate::layout) fn store<const WORDS: usize>(row: &SharedRow<WORDS>, words: &[u64; WORDS]) {
    fence(Ordering::Release);
    for (word, &bits) in row[..WORDS - 1].iter().zip(words) {
        word.store(bits, Ordering::Relaxed);
    }
    row[WORDS - 1].store(words[WORDS - 1], Ordering::Release);
}
