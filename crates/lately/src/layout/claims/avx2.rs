//! Shared rows with AVX2, in assembly: Rust's atomics end at a word.
#![allow(unsafe_code)]
#![cfg_attr(loom, allow(unused))] // loom must see every access

use core::arch::asm;
use core::arch::x86_64::__m256i;

use super::ClaimKernel;
use crate::layout::instructions::Avx2;
use crate::layout::words::vectors::avx2::{VECTOR, load, store};
use crate::sync::AtomicU64;

impl ClaimKernel for Avx2 {
    #[cfg(not(loom))]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &[AtomicU64; WORDS], _last: u64) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for vector in 0..WORDS / VECTOR {
            // SAFETY: `self` is proof that the machine has these instructions.
            unsafe { store(&mut words, vector, load_shared(row, vector)) };
        }
        words
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn load_just_claimed<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe {
            for vector in 0..WORDS / VECTOR - 1 {
                store(&mut words, vector, load_shared(row, vector));
            }
            store(&mut words, WORDS / VECTOR - 1, load_last_just_claimed(row, last));
        }
        words
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn store<const WORDS: usize>(self, row: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
        let last = WORDS / VECTOR - 1;
        for vector in 0..last {
            // SAFETY: `self` is proof that the machine has these instructions.
            unsafe { store_shared(row, vector, load(words, vector)) };
        }
        // SAFETY: as above.
        unsafe { store_last_shared(row, load(words, last)) };
    }
}

/// Loads four words that other threads may be writing.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn load_shared(row: &[AtomicU64], vector: usize) -> __m256i {
    let four: &[AtomicU64] = &row[vector * VECTOR..][..VECTOR];
    let loaded;
    // SAFETY: the slice has the 32 bytes that are read. Loads that precede this one in the program happen
    // before it: x86 loads in order, and the compiler does not move assembly that reads memory across an
    // acquire load. No word needs to be read atomically. In rows, every bit that a writer must keep is set both
    // in the word before its store and in the word after it. In bins, a reader that finds nothing checks that
    // the header has not changed meanwhile.
    unsafe {
        asm!(
            "vmovdqu {four}, [{from}]",
            from = in(reg) four.as_ptr(),
            four = lateout(ymm_reg) loaded,
            options(nostack, preserves_flags, readonly)
        );
    }
    loaded
}

/// Loads the last four words of a row, with the very last one as the claim found it.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn load_last_just_claimed<const WORDS: usize>(row: &[AtomicU64; WORDS], last: u64) -> __m256i {
    let four: &[AtomicU64] = &row[WORDS - VECTOR..];
    let loaded;
    // SAFETY: as in `load_shared`.
    unsafe {
        asm!(
            "vmovq {high}, [{from} + 16]",
            "vpinsrq {high}, {high}, {last}, 1",
            "vmovdqu {four:x}, [{from}]",
            "vinserti128 {four}, {four}, {high}, 1",
            from = in(reg) four.as_ptr(),
            last = in(reg) last,
            high = out(xmm_reg) _,
            four = out(ymm_reg) loaded,
            options(nostack, preserves_flags, readonly)
        );
    }
    loaded
}

/// Stores four words that other threads may be reading.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn store_shared(row: &[AtomicU64], vector: usize, words: __m256i) {
    let four: &[AtomicU64] = &row[vector * VECTOR..][..VECTOR];
    // SAFETY: the slice has the 32 bytes that are written, through `UnsafeCell`s. Only the thread that has
    // claimed the row writes them. Readers need no word to be written atomically, see `load_shared`.
    unsafe {
        asm!("vmovdqu [{}], {}", in(reg) four.as_ptr(), in(ymm_reg) words, options(nostack, preserves_flags));
    }
}

/// Stores the last four words of a row, the very last one separately. x86 makes stores visible in order, and
/// an aligned word at once. So a thread that sees the end of the claim and the stamp also sees everything
/// that was stored before. The order within one store of several words is not guaranteed.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn store_last_shared<const WORDS: usize>(row: &[AtomicU64; WORDS], words: __m256i) {
    let four: &[AtomicU64] = &row[WORDS - VECTOR..];
    // SAFETY: as in `store_shared`.
    unsafe {
        asm!(
            "vmovdqu [{to}], {words:x}",
            "vextracti128 {high}, {words}, 1",
            "vmovlps [{to} + 16], {high}",
            "vmovhps [{to} + 24], {high}",
            to = in(reg) four.as_ptr(),
            words = in(ymm_reg) words,
            high = out(xmm_reg) _,
            options(nostack, preserves_flags)
        );
    }
}
