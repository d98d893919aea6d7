//! Shared rows with AVX-512, in assembly; see `avx2`.
#![allow(unsafe_code)]
#![cfg_attr(loom, allow(unused))] // loom must see every access

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_alignr_epi64, _mm512_castsi256_si512, _mm512_castsi512_si256, _mm512_extracti32x4_epi32,
    _mm512_inserti64x4,
};

use super::{ClaimKernel, avx2};
use crate::layout::instructions::Avx512;
use crate::layout::words::vectors::avx512::{VECTOR, load, store};
use crate::sync::AtomicU64;

impl ClaimKernel for Avx512 {
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
        let last_vector = WORDS / VECTOR - 1;
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe {
            for vector in 0..last_vector {
                store(&mut words, vector, load_shared(row, vector));
            }
            let lower = _mm512_castsi256_si512(avx2::load_shared(row, 2 * last_vector));
            let upper = avx2::load_last_just_claimed(row, last);
            store(&mut words, last_vector, _mm512_inserti64x4::<1>(lower, upper));
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

/// Loads a cache line that other threads may be writing; see `avx2`.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn load_shared(row: &[AtomicU64], vector: usize) -> __m512i {
    let line: &[AtomicU64] = &row[vector * VECTOR..][..VECTOR];
    let loaded;
    // SAFETY: the slice has the 64 bytes that are read; for the rest see `avx2`.
    unsafe {
        asm!(
            "vmovdqu64 {line}, [{from}]",
            from = in(reg) line.as_ptr(),
            line = lateout(zmm_reg) loaded,
            options(nostack, preserves_flags, readonly)
        );
    }
    loaded
}

/// Stores a cache line that other threads may be reading; see `avx2`.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn store_shared(row: &[AtomicU64], vector: usize, words: __m512i) {
    let line: &[AtomicU64] = &row[vector * VECTOR..][..VECTOR];
    // SAFETY: the slice has the 64 bytes that are written, through `UnsafeCell`s; for the rest see `avx2`.
    unsafe {
        asm!("vmovdqu64 [{}], {}", in(reg) line.as_ptr(), in(zmm_reg) words, options(nostack, preserves_flags));
    }
}

/// Stores the last line of a row, the very last word separately; see `avx2`. The fourth word is stored twice:
/// two stores of four words end at the seventh.
#[cfg(not(loom))]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn store_last_shared<const WORDS: usize>(row: &[AtomicU64; WORDS], words: __m512i) {
    let line: &[AtomicU64] = &row[WORDS - VECTOR..];
    let first = _mm512_castsi512_si256(words);
    let next = _mm512_castsi512_si256(_mm512_alignr_epi64::<3>(words, words));
    let last = _mm512_extracti32x4_epi32::<3>(words);
    // SAFETY: as in `store_shared`. These instructions can address only the lower half of the registers, and
    // the register classes are limited to that half.
    unsafe {
        asm!(
            "vmovdqu [{to}], {first}",
            "vmovdqu [{to} + 24], {next}",
            "vmovhps [{to} + 56], {last}",
            to = in(reg) line.as_ptr(),
            first = in(ymm_reg) first,
            next = in(ymm_reg) next,
            last = in(xmm_reg) last,
            options(nostack, preserves_flags)
        );
    }
}
