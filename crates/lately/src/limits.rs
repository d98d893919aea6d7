//! The limits of what can be requested.

/// The largest window, in items; counts up to this limit are exact in floating point.
pub const MAX_WINDOW: u64 = 1 << 48;
/// The smallest rate that can be requested.
pub const MIN_RATE: f64 = 1e-15;
/// The most segments (k + l) a filter may have.
pub const MAX_SEGMENTS: u32 = 1024;
/// The most parts a segment of [`Layout::Slices`](crate::Layout::Slices) may have.
pub const MAX_PARTS: u32 = 64;
