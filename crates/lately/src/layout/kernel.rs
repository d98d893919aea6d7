//! The instruction set that a filter uses: portable code, or AVX2 or AVX-512 if the machine has them. All
//! give the same bits.
//!
//! A kernel is a value: an [`Avx2`] is proof that the machine has these instructions. Code that should be
//! compiled for the machine is a [`Work`], generic over the kernel. [`Instructions::run`] starts it, once per
//! call or per batch: inside, everything is inlined and compiled with those instructions.

#[cfg(feature = "std")]
use super::rows::shared;
use super::rows::{Moment, portable};
#[cfg(feature = "std")]
use crate::sync::AtomicU64;

/// An instruction set.
pub(crate) trait Run: Copy {
    /// Calls a function that is compiled for these instructions.
    fn run<W: Work>(self, work: W) -> W::Output;
}

/// The operations on rows that an instruction set provides. `WORDS` is the size of a row.
pub(crate) trait Kernel: Run {
    /// A [`Moment`] in the form that suits these instructions, for one row or for many.
    type Loaded<'a, const WORDS: usize>;
    fn loaded<const WORDS: usize>(self, moment: Moment<'_, WORDS>) -> Self::Loaded<'_, WORDS>;
    /// Here and below, `last` is the row's last word, whose stamp tells how far the row is behind.
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
    /// Once everything is inlined, the unused answer costs nothing.
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
    /// Prefetches the cache lines of a value that will be needed soon.
    fn prefetch<T>(self, target: &T);
    /// The same for a value that will be written, and that another core may hold in its cache.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn prefetch_to_write<T>(self, target: &T) {
        self.prefetch(target);
    }
    /// Loads a row that many threads use, whose last word was read before. The words are at least as new as
    /// that one.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        shared::load(row, last)
    }
    /// The same right after a claim, which found that last word. It is not read again, because the read would
    /// have to wait until the claim is written.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn load_just_claimed<const WORDS: usize>(self, row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
        shared::load(row, last)
    }
    /// Stores a row, its last word last, while other threads may read it.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn store<const WORDS: usize>(self, row: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
        shared::store(row, words);
    }
}

/// Code to be compiled for each kernel. Implementations of `run` must be `#[inline(always)]`.
pub(crate) trait Work {
    type Output;
    fn run<K: Kernel>(self, kernel: K) -> Self::Output;
}

/// The kernel that a filter uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instructions {
    Portable,
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512),
}

impl Instructions {
    /// Returns the fastest instruction set of this machine.
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

    /// Returns the next slower instruction set. Every machine that has this one has that one too.
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

    /// A proof that the machine has some instructions. Only `detect` creates it.
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
                    // SAFETY: `self` is proof that the machine has these instructions.
                    unsafe { run(self, work) }
                }
            }
        };
    }

    proof! {
        /// AVX2, and BMI 1 and 2, which were introduced with it.
        Avx2: "avx2,bmi1,bmi2" = "avx2", "bmi1", "bmi2"
    }
    proof! {
        /// AVX-512 with instructions for 16-bit numbers. VBMI itself is not used; it is required because the
        /// processors that have it do not slow down for long vectors.
        Avx512: "avx512f,avx512bw,avx2,bmi1,bmi2" = "avx512f", "avx512bw", "avx512vbmi", "avx2", "bmi1", "bmi2"
    }
}
