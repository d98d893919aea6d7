//! Runs code with the best instructions of the machine. All instruction sets give the same bits.
//!
//! Code that should be compiled for an instruction set is a [`Work`], generic over the kernel.
//! [`AnyKernel::call`] calls it, once per operation or per batch: inside, everything is inlined and compiled
//! with those instructions.
#![allow(clippy::inline_always)] // see `Work`

use super::bins::BinKernel;
use super::claims::ClaimKernel;
#[cfg(target_arch = "x86_64")]
use super::instructions::Sse2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::instructions::{Avx2, Avx512};
use super::instructions::{Instructions, Portable};
use super::rows::RowKernel;

/// An instruction set with the code of every layout for it. A layout that has code for instruction sets adds
/// its trait here.
pub(crate) trait Kernel: RowKernel + BinKernel + ClaimKernel {
    /// Calls work that is compiled for these instructions.
    fn call<W: Work>(self, work: W) -> W::Output;
}

/// Code to be compiled for each kernel. Implementations of `call`, and all that they call for an item, must
/// be `#[inline(always)]`: only inlined code is compiled with the kernel's instructions.
pub(crate) trait Work {
    type Output;
    fn call<K: Kernel>(self, kernel: K) -> Self::Output;
}

/// The kernel that a filter uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyKernel {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512),
}

impl AnyKernel {
    /// Returns the fastest kernel of this machine.
    pub(crate) fn fastest() -> Self {
        let fastest = Instructions::ALL.iter().rev().find_map(|instructions| Self::new(*instructions));
        fastest.unwrap_or(Self::Portable(Portable))
    }

    /// Returns the kernel for these instructions, if the machine has them.
    pub(crate) fn new(instructions: Instructions) -> Option<Self> {
        match instructions {
            Instructions::Portable => Some(Self::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Sse2 => Some(Self::Sse2(Sse2)),
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Sse2 => None,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx2 => Avx2::detect().map(Self::Avx2),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx512 => Avx512::detect().map(Self::Avx512),
            #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
            Instructions::Avx2 | Instructions::Avx512 => None,
        }
    }

    pub(crate) fn instructions(self) -> Instructions {
        match self {
            Self::Portable(_) => Instructions::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Sse2(_) => Instructions::Sse2,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2(_) => Instructions::Avx2,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512(_) => Instructions::Avx512,
        }
    }

    #[inline(always)]
    pub(crate) fn call<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable(portable) => portable.call(work),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2(sse2) => sse2.call(work),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2(avx2) => avx2.call(work),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512(avx512) => avx512.call(work),
        }
    }
}

impl Kernel for Portable {
    #[inline]
    fn call<W: Work>(self, work: W) -> W::Output {
        work.call(self)
    }
}

/// Every function is compiled for SSE2.
#[cfg(target_arch = "x86_64")]
impl Kernel for Sse2 {
    #[inline]
    fn call<W: Work>(self, work: W) -> W::Output {
        work.call(self)
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[allow(unsafe_code)]
impl Kernel for Avx2 {
    #[inline(always)]
    fn call<W: Work>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn compiled<W: Work>(avx2: Avx2, work: W) -> W::Output {
            work.call(avx2)
        }
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe { compiled(self, work) }
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[allow(unsafe_code)]
impl Kernel for Avx512 {
    #[inline(always)]
    fn call<W: Work>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx2,bmi1,bmi2")]
        fn compiled<W: Work>(avx512: Avx512, work: W) -> W::Output {
            work.call(avx512)
        }
        // SAFETY: `self` is proof that the machine has these instructions.
        unsafe { compiled(self, work) }
    }
}
