//! Bins with AVX2: a line is two vectors.
#![allow(unsafe_code)]
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_movemask_epi8, _mm256_packs_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi16, _pdep_u64,
};

use super::kernel::{BinKernel, Line};
use super::portable::move_lanes;
use crate::layout::instructions::Avx2;
use crate::layout::words::vectors::avx2::load;

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn equal_lanes<const LANE: u32>(line: &Line, fingerprint: u64) -> u64 {
    if LANE == 16 {
        let wanted = _mm256_set1_epi16(fingerprint as i16);
        let equal = |vector| _mm256_cmpeq_epi16(load(line, vector), wanted);
        // Packing works on halves of vectors; the permutation puts the quarters in order.
        let packed = _mm256_packs_epi16(equal(0), equal(1));
        u64::from(_mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed)).cast_unsigned())
    } else {
        let wanted = _mm256_set1_epi8(fingerprint as i8);
        let equal =
            |vector| _mm256_movemask_epi8(_mm256_cmpeq_epi8(load(line, vector), wanted)).cast_unsigned();
        u64::from(equal(0)) | u64::from(equal(1)) << 32
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn nth_one(bits: u64, n: u32) -> u32 {
    _pdep_u64(1 << n, bits).trailing_zeros()
}

/// See `rows::avx2`: no target features here, so that everything is inlined into the calling loop.
impl BinKernel for Avx2 {
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
        move_lanes::<LANE>(line, places, last);
    }
}
