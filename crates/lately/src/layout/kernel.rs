//! The instructions a filter runs on: portable ones, or AVX2 where the machine has it. The bits are the same.
//!
//! A kernel is a value: whoever holds an [`Avx2`] has proof that the instructions are there. Work that should be compiled for the
//! machine is a [`Work`], generic over the kernel, and is started by [`Instructions::run`], once per call or per batch:
//! inside, everything is inlined and compiled with those instructions.

#[cfg(feature = "std")]
use super::rows::shared;
use super::rows::{Moment, portable};
#[cfg(feature = "std")]
use crate::sync::AtomicU64;

/// What rows need of a set of instructions. `WORDS` is the size of a row.
pub(crate) trait Kernel: Copy {
    fn contains<const WORDS: usize>(self, row: &[u64; WORDS], item: u64, now: Moment<'_, WORDS>) -> bool;
    fn insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, now: Moment<'_, WORDS>);
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        now: Moment<'_, WORDS>,
    ) -> bool;
    /// Asks for the cache lines of something that will be needed soon.
    fn prefetch<T>(self, target: &T);
    /// A row that threads share, with its last word as it was read before.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        shared::load(row, last)
    }
    /// Stores a row that others read meanwhile, its last word last.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn store<const WORDS: usize>(self, row: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
        shared::store(row, words);
    }
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
    fn contains<const WORDS: usize>(self, row: &[u64; WORDS], item: u64, now: Moment<'_, WORDS>) -> bool {
        portable::contains(row, item, now)
    }

    #[inline]
    fn insert<const WORDS: usize>(self, row: &mut [u64; WORDS], item: u64, now: Moment<'_, WORDS>) {
        portable::insert(row, item, now);
    }

    #[inline]
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        now: Moment<'_, WORDS>,
    ) -> bool {
        let seen = portable::contains(row, item, now);
        portable::insert(row, item, now);
        seen
    }

    /// Stable Rust has no portable prefetch.
    #[inline]
    fn prefetch<T>(self, _target: &T) {}
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(crate) use with_avx2::Avx2;

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[allow(unsafe_code)]
mod with_avx2 {
    use super::Work;

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
}
