//! Bins with SSE2, which every x86-64 processor has: a line is four vectors.
#![allow(unsafe_code)]
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm_set1_epi8, _mm_set1_epi16,
};

use super::kernel::{BinKernel, Line};
use super::portable::{move_lanes, nth_one};
use crate::layout::instructions::Sse2;

/// Words in a vector.
const VECTOR: usize = 2;

#[inline]
#[target_feature(enable = "sse2")]
fn load(line: &Line, vector: usize) -> __m128i {
    let words: &[u64] = &line[vector * VECTOR..][..VECTOR];
    // SAFETY: the slice has the 16 bytes that are read; the load needs no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn equal_lanes<const LANE: u32>(line: &Line, fingerprint: u64) -> u64 {
    let sixteen =
        |quarter: u32, equal: __m128i| u64::from(_mm_movemask_epi8(equal).cast_unsigned()) << (quarter * 16);
    if LANE == 16 {
        let wanted = _mm_set1_epi16(fingerprint as i16);
        let equal = |vector| _mm_cmpeq_epi16(load(line, vector), wanted);
        sixteen(0, _mm_packs_epi16(equal(0), equal(1))) | sixteen(1, _mm_packs_epi16(equal(2), equal(3)))
    } else {
        let wanted = _mm_set1_epi8(fingerprint as i8);
        (0..4)
            .fold(0, |all, vector| all | sixteen(vector, _mm_cmpeq_epi8(load(line, vector as usize), wanted)))
    }
}

impl BinKernel for Sse2 {
    #[inline(always)]
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64 {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { equal_lanes::<LANE>(line, fingerprint) }
    }

    #[inline(always)]
    fn nth_one(self, bits: u64, n: u32) -> u32 {
        nth_one(bits, n)
    }

    #[inline(always)]
    fn move_lanes<const LANE: u32>(self, line: &mut Line, places: u64, last: u32) {
        move_lanes::<LANE>(line, places, last);
    }
}
