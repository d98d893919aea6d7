//! Bins with AVX-512: a line is one vector, and a comparison gives a bit for each lane at once.
#![allow(unsafe_code)]
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::arch::x86_64::{
    _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi16_mask, _mm512_loadu_si512, _mm512_set1_epi8, _mm512_set1_epi16,
    _pdep_u64,
};

use super::kernel::{BinKernel, Line};
use crate::layout::instructions::Avx512;

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn equal_lanes<const LANE: u32>(line: &Line, fingerprint: u64) -> u64 {
    // SAFETY: a line has the 64 bytes that are read; the load needs no alignment.
    let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    if LANE == 16 {
        u64::from(_mm512_cmpeq_epi16_mask(line, _mm512_set1_epi16(fingerprint as i16)))
    } else {
        _mm512_cmpeq_epi8_mask(line, _mm512_set1_epi8(fingerprint as i8))
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn nth_zero(bits: u64, n: u32) -> u32 {
    _pdep_u64(1 << n, !bits).trailing_zeros()
}

/// See `rows::avx2`: no target features here, so that everything is inlined into the calling loop.
impl BinKernel for Avx512 {
    #[inline(always)]
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64 {
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe { equal_lanes::<LANE>(line, fingerprint) }
    }

    #[inline(always)]
    fn nth_zero(self, bits: u64, n: u32) -> u32 {
        // SAFETY: as above.
        unsafe { nth_zero(bits, n) }
    }
}
