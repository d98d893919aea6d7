//! The instructions a filter runs on: portable ones, or AVX2 where the machine has it. The bits are the same.
//!
//! A kernel is a value: whoever holds an [`Avx2`] has proof that the instructions are there. Work that should be compiled for the
//! machine is a [`Work`], generic over the kernel, and is started by [`Instructions::run`], once per call or per batch:
//! inside, everything is inlined and compiled with those instructions.

use super::rows::{Turn, portable};

/// What rows need of a set of instructions. `WORDS` is the size of a row.
pub(crate) trait Kernel: Copy {
    fn contains<const WORDS: usize>(self, row: &[u64; WORDS], item: u64, turn: &Turn) -> bool;
    fn insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, turn: &Turn);
    fn check_and_insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, turn: &Turn) -> bool;
    /// Asks for the cache lines of words that will be needed soon.
    fn prefetch(self, words: &[u64]);
}

/// Something to be compiled for each kernel. Implementations of `run` must be `#[inline(always)]`.
pub(crate) trait Work {
    type Output;
    fn run<K: Kernel>(self, kernel: K) -> Self::Output;
}

/// Which kernel a filter uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instructions {
    Portable,
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
}

impl Instructions {
    /// The best this machine has.
    pub(crate) fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(avx2) = Avx2::detect() {
            return Self::Avx2(avx2);
        }
        Self::Portable
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // a call here would be one more per item
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable => work.run(Portable),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2(avx2) => avx2.run(work),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Kernel for Portable {
    #[inline]
    fn contains<const WORDS: usize>(self, row: &[u64; WORDS], item: u64, turn: &Turn) -> bool {
        portable::contains(row, item, turn)
    }

    #[inline]
    fn insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, turn: &Turn) {
        portable::insert(row, item, turn);
    }

    #[inline]
    fn check_and_insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, turn: &Turn) -> bool {
        let seen = portable::contains(row, item, turn);
        portable::insert(row, item, turn);
        seen
    }

    /// Stable Rust has no portable prefetch.
    #[inline]
    fn prefetch(self, _words: &[u64]) {}
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(crate) use with_avx2::Avx2;

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[allow(unsafe_code)]
#[allow(clippy::inline_always)] // so that the AVX2 code ends up in, and is compiled for, the function that has AVX2
mod with_avx2 {
    use super::{Kernel, Turn, Work};
    use crate::layout::rows::avx2;

    /// Proof that the machine has AVX2, and BMI 1 and 2, which came with it: made only by [`Avx2::detect`].
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        pub(crate) fn detect() -> Option<Self> {
            use std::arch::is_x86_feature_detected;
            let has_all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            has_all.then_some(Self(()))
        }

        #[inline(always)]
        pub(super) fn run<W: Work>(self, work: W) -> W::Output {
            // SAFETY: `self` is proof that the instructions are there.
            unsafe { run(self, work) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn run<W: Work>(avx2: Avx2, work: W) -> W::Output {
        work.run(avx2)
    }

    impl Kernel for Avx2 {
        #[inline(always)]
        fn contains<const WORDS: usize>(self, row: &[u64; WORDS], item: u64, turn: &Turn) -> bool {
            // SAFETY: `self` is proof that the instructions are there.
            unsafe { avx2::contains(row, item, turn) }
        }

        #[inline(always)]
        fn insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, turn: &Turn) {
            // SAFETY: `self` is proof that the instructions are there.
            unsafe { avx2::insert(row, item, turn) }
        }

        #[inline(always)]
        fn check_and_insert<const WORDS: usize>(
            self,
            row: &mut [u64; WORDS],
            item: u64,
            turn: &Turn,
        ) -> bool {
            // SAFETY: `self` is proof that the instructions are there.
            unsafe { avx2::check_and_insert(row, item, turn) }
        }

        #[inline(always)]
        fn prefetch(self, words: &[u64]) {
            avx2::prefetch(words);
        }
    }
}
