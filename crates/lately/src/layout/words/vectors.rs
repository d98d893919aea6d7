//! Vectors of words, for each instruction set.
#![allow(unsafe_code)]

pub(in crate::layout) mod avx2 {
    use core::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};

    /// Words in a vector.
    pub(in crate::layout) const VECTOR: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(in crate::layout) fn load(words: &[u64], vector: usize) -> __m256i {
        let words: &[u64] = &words[vector * VECTOR..][..VECTOR];
        // SAFETY: the slice has the 32 bytes that are read; the load needs no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(in crate::layout) fn store(words: &mut [u64], vector: usize, value: __m256i) {
        let words: &mut [u64] = &mut words[vector * VECTOR..][..VECTOR];
        // SAFETY: the slice has the 32 bytes that are written; the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
    }
}

pub(in crate::layout) mod avx512 {
    use core::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_storeu_si512};

    /// Words in a vector.
    pub(in crate::layout) const VECTOR: usize = 8;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
    pub(in crate::layout) fn load(words: &[u64], vector: usize) -> __m512i {
        let words: &[u64] = &words[vector * VECTOR..][..VECTOR];
        // SAFETY: the slice has the 64 bytes that are read; the load needs no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2")]
    pub(in crate::layout) fn store(words: &mut [u64], vector: usize, value: __m512i) {
        let words: &mut [u64] = &mut words[vector * VECTOR..][..VECTOR];
        // SAFETY: the slice has the 64 bytes that are written; the store needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
    }
}
