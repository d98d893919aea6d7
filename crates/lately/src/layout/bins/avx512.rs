//! Bins with AVX-512: a line is one vector, and a comparison gives a bit for each lane at once.
#![allow(unsafe_code)]
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::arch::x86_64::{
    _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi16_mask, _mm512_loadu_si512, _mm512_mask_permutexvar_epi8,
    _mm512_mask_permutexvar_epi16, _mm512_maskz_mov_epi8, _mm512_maskz_mov_epi16, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_storeu_si512, _pdep_u64,
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
fn nth_one(bits: u64, n: u32) -> u32 {
    _pdep_u64(1 << n, bits).trailing_zeros()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx2,bmi1,bmi2")]
fn move_lanes<const LANE: u32>(line: &mut Line, places: u64, last: u32) {
    let wraps = 1_u64 << last;
    // SAFETY: a line has the 64 bytes that are read and written, and so have the numbers; nothing needs alignment.
    unsafe {
        let words = _mm512_loadu_si512(line.as_ptr().cast());
        let moved = if LANE == 16 {
            let next = _mm512_loadu_si512(NEXT_16.as_ptr().cast());
            let from = _mm512_maskz_mov_epi16(!wraps as u32, next);
            _mm512_mask_permutexvar_epi16(words, places as u32, from, words)
        } else {
            let next = _mm512_loadu_si512(NEXT_8.as_ptr().cast());
            let from = _mm512_maskz_mov_epi8(!wraps, next);
            _mm512_mask_permutexvar_epi8(words, places, from, words)
        };
        _mm512_storeu_si512(line.as_mut_ptr().cast(), moved);
    }
}

/// The number of the lane after each lane.
static NEXT_16: [u16; 32] = {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = lane as u16 + 1;
        lane += 1;
    }
    lanes
};
static NEXT_8: [u8; 64] = {
    let mut lanes = [0; 64];
    let mut lane = 0;
    while lane < 64 {
        lanes[lane] = lane as u8 + 1;
        lane += 1;
    }
    lanes
};

/// See `rows::avx2`: no target features here, so that everything is inlined into the calling loop.
impl BinKernel for Avx512 {
    #[inline(always)]
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64 {
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe { equal_lanes::<LANE>(line, fingerprint) }
    }

    #[inline(always)]
    fn nth_one(self, bits: u64, n: u32) -> u32 {
        // SAFETY: as above.
        unsafe { nth_one(bits, n) }
    }

    #[inline(always)]
    fn move_lanes<const LANE: u32>(self, line: &mut Line, places: u64, last: u32) {
        // SAFETY: as above.
        unsafe { move_lanes::<LANE>(line, places, last) }
    }
}
