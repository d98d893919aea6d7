//! Rows with AVX-512: a cache line is one vector, and a comparison gives a bit for each of its parts at once.
//!
//! Gives the same bits as `portable`; a test compares them.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m512i, _mm_set_epi64x, _mm512_cmpge_epi16_mask, _mm512_cvtepu8_epi32, _mm512_mask_blend_epi16,
    _mm512_mask_test_epi16_mask, _mm512_maskz_mov_epi16, _mm512_maskz_set1_epi16, _mm512_set1_epi16,
    _mm512_set1_epi32, _mm512_slli_epi32, _mm512_sllv_epi16, _mm512_ternarylogic_epi64,
    _mm512_testn_epi32_mask,
};

use super::kernel::RowKernel;
use super::part_ages::{Generation, has_few_parts};
use crate::hash::remix;
use crate::layout::instructions::Avx512;
use crate::layout::words::vectors::avx512::{VECTOR, load, store};

/// Vectors in the longest row.
const MOST_VECTORS: usize = 2;

/// A [`Generation`] in registers, so that a loop need not read it again after every row it writes.
pub(crate) struct LoadedGeneration<'a, const WORDS: usize> {
    source: Generation<'a, WORDS>,
    /// The cache lines of the `PartAges`. For `ages` and `active`, the lines of a row, repeated from the
    /// first line up to `MOST_VECTORS`.
    ages: [__m512i; MOST_VECTORS],
    active: [__m512i; MOST_VECTORS],
    runs: [__m512i; 2],
    /// The last line of a row, with only the stamp set.
    stamp: __m512i,
}

impl<'a, const WORDS: usize> LoadedGeneration<'a, WORDS> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
    fn new(source: Generation<'a, WORDS>) -> Self {
        let Generation { ages, stamp } = source;
        let vectors =
            |words: &[u64; WORDS]| core::array::from_fn(|vector| load(words, vector % (WORDS / VECTOR)));
        Self {
            source,
            ages: vectors(&ages.by_part),
            active: vectors(&ages.active),
            runs: [load(&ages.runs, 0), load(&ages.runs, 1)],
            stamp: _mm512_maskz_set1_epi16(1 << 31, stamp.bits().cast_signed()),
        }
    }
}

/// `portable::pattern_word` for the eight words of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn pattern(item: u64, vector: usize) -> __m512i {
    /// (a | b) & c.
    const OR_THEN_AND: i32 = 0b1010_1000;
    let lane = |lane: u64| remix(item, 1 + 2 * vector as u64 + lane).cast_signed();
    let bytes = _mm512_cvtepu8_epi32(_mm_set_epi64x(lane(1), lane(0)));
    // The two four-bit numbers of a byte belong to neighbouring parts.
    let nibbles = _mm512_set1_epi32(0x000f_000f);
    let bit = _mm512_ternarylogic_epi64::<OR_THEN_AND>(bytes, _mm512_slli_epi32::<12>(bytes), nibbles);
    _mm512_sllv_epi16(_mm512_set1_epi16(1), bit)
}

/// The live parts of a vector, as the mask of a comparison; `last` tells how far the row is behind.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn live<const WORDS: usize>(vector: usize, last: u64, generation: &LoadedGeneration<'_, WORDS>) -> u32 {
    let staleness = generation.source.staleness(last);
    // -1, the "age" of the stamp and of unused bits, is below any staleness.
    _mm512_cmpge_epi16_mask(generation.ages[vector], _mm512_set1_epi16(staleness as i16))
}

/// A bit for each live part where the item's bit is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn compare(row: __m512i, pattern: __m512i, live: u32, vector: usize) -> u64 {
    u64::from(_mm512_mask_test_epi16_mask(live, row, pattern)) << (vector * 32)
}

/// The same as `PartAges::reports`. If parts are few, it compares with every possible run: a run is found if
/// none of its parts is missing.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn reports<const WORDS: usize>(matching: u64, generation: &LoadedGeneration<'_, WORDS>) -> bool {
    if !has_few_parts::<WORDS>() {
        return generation.source.ages.reports(matching);
    }
    let missing = _mm512_set1_epi32((!matching as u32).cast_signed());
    let [found, more] = generation.runs.map(|runs| _mm512_testn_epi32_mask(runs, missing));
    found | more != 0
}

/// Returns one vector of a row with an item written into it, and with recycled segments cleared.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
fn written<const WORDS: usize>(
    row: __m512i,
    pattern: __m512i,
    live: u32,
    vector: usize,
    generation: &LoadedGeneration<'_, WORDS>,
) -> __m512i {
    /// a | (b & c).
    const OR_BOTH: i32 = 0b1111_1000;
    let is_last = vector == WORDS / VECTOR - 1;
    let kept = if is_last {
        _mm512_mask_blend_epi16(live, generation.stamp, row)
    } else {
        _mm512_maskz_mov_epi16(live, row)
    };
    _mm512_ternarylogic_epi64::<OR_BOTH>(kept, pattern, generation.active[vector])
}

/// See `avx2`: no target features here, so that everything is inlined into the calling loop.
impl RowKernel for Avx512 {
    type Loaded<'a, const WORDS: usize> = LoadedGeneration<'a, WORDS>;

    #[inline(always)]
    fn load_generation<const WORDS: usize>(
        self,
        generation: Generation<'_, WORDS>,
    ) -> LoadedGeneration<'_, WORDS> {
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe { LoadedGeneration::new(generation) }
    }

    #[inline(always)]
    fn contains<const WORDS: usize>(
        self,
        row: &[u64; WORDS],
        item: u64,
        last: u64,
        generation: &LoadedGeneration<'_, WORDS>,
    ) -> bool {
        let mut matching = 0;
        for vector in 0..WORDS / VECTOR {
            // SAFETY: `self` is proof that the machine has these instructions.
            matching |= unsafe {
                let live = live(vector, last, generation);
                compare(load(row, vector), pattern(item, vector), live, vector)
            };
        }
        // SAFETY: as above.
        unsafe { reports(matching, generation) }
    }

    #[inline(always)]
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        generation: &LoadedGeneration<'_, WORDS>,
    ) -> bool {
        let mut matching = 0;
        for vector in 0..WORDS / VECTOR {
            // SAFETY: `self` is proof that the machine has these instructions.
            unsafe {
                let (before, pattern) = (load(row, vector), pattern(item, vector));
                let live = live(vector, last, generation);
                matching |= compare(before, pattern, live, vector);
                store(row, vector, written(before, pattern, live, vector, generation));
            }
        }
        // SAFETY: as above.
        unsafe { reports(matching, generation) }
    }

    // Loom must see every access.
}
