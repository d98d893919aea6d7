//! Rows with AVX2: a row is two or four vectors, and each instruction processes all parts of a vector at
//! once.
//!
//! Gives the same bits as `portable`; a test compares them.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m256i, _mm_and_si128, _mm_cvtsi64_si128, _mm_set1_epi8, _mm_srli_epi16, _mm_unpacklo_epi8,
    _mm256_and_si256, _mm256_cmpeq_epi16, _mm256_cmpgt_epi16, _mm256_cvtepu8_epi16, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set_epi64x, _mm256_set1_epi16,
    _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_xor_si256,
};

use super::kernel::RowKernel;
use super::part_ages::Generation;
use crate::hash::remix;
use crate::layout::instructions::Avx2;
use crate::layout::words::vectors::avx2::{VECTOR, load, store};

/// Vectors in the longest row.
const MOST_VECTORS: usize = 4;

/// `portable::pattern_word` for the four words of a vector.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn pattern(item: u64, vector: usize) -> __m256i {
    let hash = _mm_cvtsi64_si128(remix(item, 1 + vector as u64).cast_signed());
    // One four-bit number for each part, in the order of the parts.
    let nibble = _mm_set1_epi8(15);
    let (even, odd) = (_mm_and_si128(hash, nibble), _mm_and_si128(_mm_srli_epi16::<4>(hash), nibble));
    let bit = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(even, odd));
    // A table lookup turns 0..8 into one bit of a byte, and 8..16 into zero. The upper byte looks up the
    // number with its 8 flipped, so exactly one of the two bytes gets the bit.
    let flipped = _mm256_xor_si256(_mm256_slli_epi16::<8>(bit), _mm256_set1_epi16(0x0800));
    #[rustfmt::skip]
    let one_bit = _mm256_setr_epi8(
        1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0,
        1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    _mm256_shuffle_epi8(one_bit, _mm256_or_si256(bit, flipped))
}

/// All ones in the parts where the item's bit is set.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compare(row: __m256i, pattern: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(_mm256_and_si256(row, pattern), pattern)
}

/// Returns a bit for each part, from the vectors of [`compare`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn gather<const WORDS: usize>(compared: impl Fn(usize) -> __m256i) -> u64 {
    let mut matching = 0;
    for pair in 0..WORDS / VECTOR / 2 {
        // Packing works on halves of vectors; the permutation puts the quarters in order.
        let packed = _mm256_packs_epi16(compared(2 * pair), compared(2 * pair + 1));
        let thirty_two = _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
        matching |= u64::from(thirty_two.cast_unsigned()) << (pair * 32);
    }
    matching
}

/// Writes one vector of an item into its row, and clears recycled segments.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn write<const WORDS: usize>(
    row: &mut [u64; WORDS],
    vector: usize,
    pattern: __m256i,
    staleness: u32,
    generation: &Generation<'_, WORDS>,
) {
    // -1, the "age" of the stamp and of unused bits, is never above `staleness - 1`: they are cleared.
    let younger = _mm256_set1_epi16(staleness as i16 - 1);
    let keep = _mm256_cmpgt_epi16(load(&generation.ages.by_part, vector), younger);
    let kept = _mm256_and_si256(load(row, vector), keep);
    let written = _mm256_or_si256(kept, _mm256_and_si256(pattern, load(&generation.ages.active, vector)));
    let is_last = vector == WORDS / VECTOR - 1;
    // Uses a vector: extracting a word and inserting it again would take longer than everything else here.
    let stamp = u64::from(generation.stamp.bits()).cast_signed() << 48;
    let stamped = if is_last { _mm256_or_si256(written, _mm256_set_epi64x(stamp, 0, 0, 0)) } else { written };
    store(row, vector, stamped);
}

/// The operations must be inlined into the loop that calls them, which cannot be forced for a function with a
/// target feature. So they have none; instead they have the proof that the machine has the instructions.
impl RowKernel for Avx2 {
    type Loaded<'a, const WORDS: usize> = Generation<'a, WORDS>;

    #[inline(always)]
    fn load_generation<const WORDS: usize>(self, generation: Generation<'_, WORDS>) -> Generation<'_, WORDS> {
        generation
    }

    #[inline(always)]
    fn contains<const WORDS: usize>(
        self,
        row: &[u64; WORDS],
        item: u64,
        last: u64,
        generation: &Generation<'_, WORDS>,
    ) -> bool {
        // SAFETY: `self` is proof that the machine has these instructions.
        let matching = unsafe { gather::<WORDS>(|vector| compare(load(row, vector), pattern(item, vector))) };
        generation.ages.reports(matching & generation.live(last))
    }

    #[inline(always)]
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        generation: &Generation<'_, WORDS>,
    ) -> bool {
        // SAFETY: `self` is proof that the machine has these instructions.
        let matching = unsafe {
            let mut compared = [_mm256_set1_epi16(0); MOST_VECTORS];
            for (vector, compared) in compared.iter_mut().enumerate().take(WORDS / VECTOR) {
                let pattern = pattern(item, vector);
                *compared = compare(load(row, vector), pattern);
                write(row, vector, pattern, generation.staleness(last), generation);
            }
            gather::<WORDS>(|vector| compared[vector])
        };
        generation.ages.reports(matching & generation.live(last))
    }

    // Loom must see every access.
}
