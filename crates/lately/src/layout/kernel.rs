//! The instructions a filter runs on: portable ones, or AVX2 or AVX-512 where the machine has them. The bits are the same.
//!
//! A kernel is a value: whoever holds an [`Avx2`] has proof that the instructions are there. Work that should be compiled for the
//! machine is a [`Work`], generic over the kernel, and is started by [`Instructions::run`], once per call or per batch:
//! inside, everything is inlined and compiled with those instructions.

#[cfg(feature = "std")]
use super::rows::shared;
use super::rows::{Moment, portable};
#[cfg(feature = "std")]
use crate::sync::AtomicU64;

/// A set of instructions.
pub(crate) trait Run: Copy {
    /// Calls a function that is compiled for these instructions.
    fn run<W: Work>(self, work: W) -> W::Output;
}

/// What rows need of a set of instructions. `WORDS` is the size of a row.
pub(crate) trait Kernel: Run {
    /// A [`Moment`] as these instructions want it, for one row or for many.
    type Loaded<'a, const WORDS: usize>;
    fn loaded<const WORDS: usize>(self, moment: Moment<'_, WORDS>) -> Self::Loaded<'_, WORDS>;
    /// Here and below, `last` is the row's last word, whose stamp says how far the row is behind.
    fn contains<const WORDS: usize>(
        self,
        row: &[u64; WORDS],
        item: u64,
        last: u64,
        now: &Self::Loaded<'_, WORDS>,
    ) -> bool;
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        now: &Self::Loaded<'_, WORDS>,
    ) -> bool;
    /// The answer that nobody takes costs nothing, where all is inlined.
    #[inline(always)]
    fn insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        now: &Self::Loaded<'_, WORDS>,
    ) {
        _ = self.check_and_insert(row, item, last, now);
    }
    /// Asks for the cache lines of something that will be needed soon.
    fn prefetch<T>(self, target: &T);
    /// The same for something that will be written, and that another core may have.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn prefetch_to_write<T>(self, target: &T) {
        self.prefetch(target);
    }
    /// A row that threads share, whose last word was read before; that is as it was then, or newer.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        shared::load(row, last)
    }
    /// The same right after a claim, which found that last word: it is not read again, for that would have to wait until the
    /// claim is written.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load_just_claimed<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
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
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512),
}

impl Instructions {
    /// The best this machine has.
    pub(crate) fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            let avx512 = Avx512::detect().map(Self::Avx512);
            if let Some(best) = avx512.or_else(|| Avx2::detect().map(Self::Avx2)) {
                return best;
            }
        }
        Self::Portable
    }

    /// The next slower ones, which a machine that has these has too.
    pub(crate) fn slower(self) -> Option<Self> {
        match self {
            Self::Portable => None,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2(_) => Some(Self::Portable),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512(_) => Avx2::detect().map(Self::Avx2),
        }
    }

    #[inline(always)]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable => Portable.run(work),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2(avx2) => avx2.run(work),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512(avx512) => avx512.run(work),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Run for Portable {
    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }
}

impl Kernel for Portable {
    type Loaded<'a, const WORDS: usize> = Moment<'a, WORDS>;

    #[inline]
    fn loaded<const WORDS: usize>(self, moment: Moment<'_, WORDS>) -> Moment<'_, WORDS> {
        moment
    }

    #[inline]
    fn contains<const WORDS: usize>(
        self,
        row: &[u64; WORDS],
        item: u64,
        last: u64,
        now: &Moment<'_, WORDS>,
    ) -> bool {
        portable::contains(row, item, last, *now)
    }

    #[inline]
    fn check_and_insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        now: &Moment<'_, WORDS>,
    ) -> bool {
        let seen = portable::contains(row, item, last, *now);
        portable::insert(row, item, last, *now);
        seen
    }

    #[inline]
    fn insert<const WORDS: usize>(
        self,
        row: &mut [u64; WORDS],
        item: u64,
        last: u64,
        now: &Moment<'_, WORDS>,
    ) {
        portable::insert(row, item, last, *now);
    }

    /// Stable Rust has no portable prefetch.
    #[inline]
    fn prefetch<T>(self, _target: &T) {}
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::is_x86_feature_detected;

    use super::{Run, Work};

    /// A proof that the machine has some instructions, made only by `detect`.
    macro_rules! proof {
        ($(#[$doc:meta])* $name:ident: $all:literal = $($one:tt),+) => {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name(());

            impl $name {
                pub(crate) fn detect() -> Option<Self> {
                    ($(is_x86_feature_detected!($one))&&+).then_some(Self(()))
                }
            }

            impl Run for $name {
                #[inline(always)]
                fn run<W: Work>(self, work: W) -> W::Output {
                    #[target_feature(enable = $all)]
                    fn run<W: Work>(proof: $name, work: W) -> W::Output {
                        work.run(proof)
                    }
                    // SAFETY: `self` is proof that the instructions are there.
                    unsafe { run(self, work) }
                }
            }
        };
    }

    proof! {
        /// AVX2, and BMI 1 and 2, which came with it.
        Avx2: "avx2,bmi1,bmi2" = "avx2", "bmi1", "bmi2"
    }
    proof! {
        /// AVX-512 with instructions for 16-bit numbers. VBMI is not used: the processors that have it are those that do
        /// not slow down for long vectors.
        Avx512: "avx512f,avx512bw,avx2,bmi1,bmi2" = "avx512f", "avx512bw", "avx512vbmi", "avx2", "bmi1", "bmi2"
    }
}
