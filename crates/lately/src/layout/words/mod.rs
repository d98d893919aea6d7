//! Words in memory: how they are allocated, read, and written, by one thread or by many.

pub(crate) mod aligned;
#[cfg(feature = "std")]
pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod huge_pages;
pub(crate) mod lanes;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
pub(crate) mod vectors;
