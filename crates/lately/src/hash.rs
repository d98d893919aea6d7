//! Maps an item's bytes to one 64-bit hash, and that hash to as many positions as a filter needs.
//!
//! Everything here is part of the format: changing a constant changes every filter, and the golden tests
//! fail. See docs/format.md, "Hashing".

use core::fmt;
use core::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::item::Item;

/// The hash that turns an item's bytes into 64 bits.
///
/// ```
/// use lately::{Filter, HashFunction};
///
/// let mut seen = Filter::builder()
///     .window(10_000)
///     .false_positive_rate(1e-3)
///     .hash_function(HashFunction::SipHash13 { key: *b"sixteen secret b" })
///     .build()?;
/// seen.insert("nobody can aim at a collision without the key");
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum HashFunction {
    /// XXH3-64. Fast, specified and available in every language; anyone who knows the seed can find
    /// collisions.
    Xxh3 {
        /// Filters that exchange hashes must use the same seed.
        seed: u64,
    },
    /// SipHash-1-3 with a secret key, for streams whose senders are hostile. About a third of the speed of
    /// XXH3.
    SipHash13 {
        /// Must stay secret. Snapshots contain it, so keep them secret too.
        key: [u8; 16],
    },
}

impl Default for HashFunction {
    fn default() -> Self {
        Self::Xxh3 { seed: 0 }
    }
}

impl fmt::Debug for HashFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xxh3 { seed } => f.debug_struct("Xxh3").field("seed", seed).finish(),
            Self::SipHash13 { .. } => f.debug_struct("SipHash13").finish_non_exhaustive(),
        }
    }
}

impl HashFunction {
    /// Returns true if it has a secret key.
    #[must_use]
    pub const fn is_keyed(&self) -> bool {
        matches!(self, Self::SipHash13 { .. })
    }

    /// Returns the 64-bit hash of an item.
    #[inline]
    #[must_use]
    pub fn hash_of<T: Item>(&self, item: T) -> u64 {
        item.with_bytes(|bytes| self.hash(bytes))
    }

    /// Returns the 64-bit hash of an item's bytes.
    #[inline]
    #[must_use]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        match self {
            // Without a seed it uses constants where the seeded form computes; it is short enough to be
            // inlined into the caller's loop.
            Self::Xxh3 { seed: 0 } => xxh3_64(bytes),
            keyed => keyed.hash_keyed(bytes),
        }
    }

    #[inline(never)]
    fn hash_keyed(&self, bytes: &[u8]) -> u64 {
        match self {
            Self::Xxh3 { seed } => xxh3_64_with_seed(bytes, *seed),
            Self::SipHash13 { key } => {
                let mut hasher = SipHasher13::new_with_key(key);
                hasher.write(bytes);
                hasher.finish()
            }
        }
    }
}

/// 2^64 divided by the golden ratio: its multiples are spread evenly, so lanes differ in all bits.
const LANE_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// An odd constant with about half its bits set (the first 64 fractional bits of pi).
const MULTIPLIER: u64 = 0x243f_6a88_85a3_08d3;

/// Returns an independent-looking 64-bit value for each `lane` of an item's hash.
///
/// Computes a full 64 x 64 -> 128 bit product and folds it. Double hashing (`h1 + i * h2`, paper section 3)
/// is cheaper but has a floor on small slices: if both derived values of two items collide, the items collide
/// in *every* lane. Here a collision in one lane says nothing about the next; `tests/hashing.rs` measures
/// that against independent hashes.
#[inline]
pub(crate) fn remix(hash: u64, lane: u64) -> u64 {
    let product = u128::from(hash ^ (lane + 1).wrapping_mul(LANE_STEP)) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

/// Returns a value below `limit`, by multiply-high: the top bits of `value` decide.
#[inline]
pub(crate) fn reduce(value: u64, limit: u64) -> u64 {
    ((u128::from(value) * u128::from(limit)) >> 64) as u64
}
