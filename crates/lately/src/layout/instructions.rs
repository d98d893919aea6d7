//! The instruction sets that layouts have code for.
//!
//! A value of one of these types is proof that the machine has the instructions: an [`Avx2`] exists only
//! where they were detected.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::names::names;

/// The instructions that a filter computes with. All give the same bits and answers.
// Slowest first: `AnyKernel::fastest` takes the last that the machine has.
///
/// ```
/// use lately::{Filter, Instructions};
///
/// let mut filter = Filter::new(1000, 1e-3)?;
/// let fastest = filter.instructions();
/// assert!(filter.set_instructions(Instructions::Portable), "every machine has them");
/// assert!(filter.set_instructions(fastest));
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Instructions {
    /// Those that every machine has.
    Portable,
    /// SSE2, which every x86-64 processor has.
    Sse2,
    /// AVX2 of x86-64 processors.
    Avx2,
    /// AVX-512 of x86-64 processors.
    Avx512,
}

names!(Instructions, "instruction set": Portable = "portable", Sse2 = "sse2", Avx2 = "avx2", Avx512 = "avx512");

impl Instructions {
    /// Returns true if this machine has these instructions.
    #[must_use]
    pub fn are_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Sse2 => cfg!(target_arch = "x86_64"),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2 => Avx2::detect().is_some(),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512 => Avx512::detect().is_some(),
            #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// A cache line, in bytes.
pub(crate) const LINE_BYTES: usize = 64;

/// An instruction set.
pub(crate) trait InstructionSet: Copy {
    /// Prefetches the cache lines of a value that will be needed soon.
    fn prefetch<T>(self, target: &T);
    /// The same for a value that will be written, and that another core may hold in its cache.
    #[cfg(feature = "std")]
    #[inline(always)]
    fn prefetch_to_write<T>(self, target: &T) {
        self.prefetch(target);
    }
    /// Calls work that is compiled for these instructions, in a function of its own.
    #[inline(never)]
    fn outlined<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// What every machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl InstructionSet for Portable {
    /// Stable Rust has no portable prefetch; every x86-64 processor has one.
    #[inline(always)]
    fn prefetch<T>(self, target: &T) {
        #[cfg(target_arch = "x86_64")]
        Sse2.prefetch(target);
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Sse2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    #[cfg(feature = "std")]
    use core::arch::asm;
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    #[cfg(feature = "std")]
    use std::arch::is_x86_feature_detected;

    use super::{InstructionSet, LINE_BYTES};

    /// SSE2, and SSE before it.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Sse2;

    impl InstructionSet for Sse2 {
        #[inline(always)]
        fn prefetch<T>(self, target: &T) {
            for line in lines_of(target) {
                // SAFETY: a prefetch reads nothing, and the address lies within a live reference.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
            }
        }
    }

    /// AVX2, and BMI 1 and 2, which were introduced with it.
    #[cfg(feature = "std")]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx2(());

    #[cfg(feature = "std")]
    impl Avx2 {
        pub(crate) fn detect() -> Option<Self> {
            let has_all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            has_all.then_some(Self(()))
        }
    }

    #[cfg(feature = "std")]
    impl InstructionSet for Avx2 {
        #[inline(always)]
        fn prefetch<T>(self, target: &T) {
            Sse2.prefetch(target);
        }

        #[inline(always)]
        fn outlined<T>(self, work: impl FnOnce() -> T) -> T {
            #[inline(never)]
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            fn compiled<T>(work: impl FnOnce() -> T) -> T {
                work()
            }
            // SAFETY: `self` is proof that the machine has these instructions.
            unsafe { compiled(work) }
        }
    }

    /// AVX-512 with instructions for 8-bit and 16-bit numbers. The processors that have VBMI do not slow down for
    /// long vectors.
    #[cfg(feature = "std")]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx512(Avx2);

    #[cfg(feature = "std")]
    impl Avx512 {
        pub(crate) fn detect() -> Option<Self> {
            let has_all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vbmi");
            Avx2::detect().filter(|_| has_all).map(Self)
        }
    }

    #[cfg(feature = "std")]
    impl InstructionSet for Avx512 {
        #[inline(always)]
        fn prefetch<T>(self, target: &T) {
            self.0.prefetch(target);
        }

        #[inline(always)]
        fn outlined<T>(self, work: impl FnOnce() -> T) -> T {
            #[inline(never)]
            #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx2,bmi1,bmi2")]
            fn compiled<T>(work: impl FnOnce() -> T) -> T {
                work()
            }
            // SAFETY: `self` is proof that the machine has these instructions.
            unsafe { compiled(work) }
        }

        /// Fetches the lines for exclusive use by this core; otherwise a claim would have to request that
        /// from the other cores. Older processors, which have only AVX2, may ignore this instruction.
        #[inline(always)]
        fn prefetch_to_write<T>(self, target: &T) {
            for line in lines_of(target) {
                // SAFETY: a prefetch changes nothing, and the address lies within a live reference.
                unsafe { asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly)) };
            }
        }
    }

    /// The addresses of the cache lines of a value that begins at a cache line.
    #[inline]
    fn lines_of<T>(target: &T) -> impl Iterator<Item = *const u8> {
        let start = core::ptr::from_ref(target).cast::<u8>();
        (0..size_of::<T>()).step_by(LINE_BYTES).map(move |offset| start.wrapping_add(offset))
    }
}
