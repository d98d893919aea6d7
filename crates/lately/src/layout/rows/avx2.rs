//! Rows with AVX2: a row is two or four vectors, and each instruction processes all parts of a vector at
//! once.
//!
//! Gives the same bits as `portable`; a test compares them.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m256i, _mm_and_si128, _mm_cvtsi64_si128, _mm_set1_epi8, _mm_srli_epi16, _mm_unpacklo_epi8,
    _mm256_and_si256, _mm256_cmpeq_epi16, _mm256_cmpgt_epi16, _mm256_cvtepu8_epi16, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set_epi64x,
    _mm256_set1_epi16, _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_storeu_si256,
    _mm256_xor_si256,
};

#[cfg(not(loom))]
use core::arch::asm;

use super::kernel::RowKernel;
use super::part_ages::Generation;
use crate::hash::remix;
use crate::layout::instructions::Avx2;
#[cfg(not(loom))]
use crate::sync::AtomicU64;

/// Words in a vector.
const VECTOR: usize = 4;
/// Vectors in the longest row.
const MOST_VECTORS: usize = 4;

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn load(words: &[u64], vector: usize) -> __m256i {
    let words: &[u64] = &words[vector * VECTOR..][..VECTOR];
    // SAFETY: the slice has the 32 bytes that are read; the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn store(words: &mut [u64], vector: usize, value: __m256i) {
    let words: &mut [u64] = &mut words[vector * VECTOR..][..VECTOR];
    // SAFETY: the slice has the 32 bytes that are written; the store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}

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
    // acquire load. No word needs to be read atomically: every bit that a writer must keep is set both in the
    // word before its store and in the word after it (`shared`).
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
