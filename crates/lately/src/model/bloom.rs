//! The plain partitioned Bloom filter (paper, section 3): the reference for efficiency.

use libm::{ceil, exp2, log2};

/// Returns the bits per item of an optimal (half-full) Bloom filter with this false positive rate:
/// log2(1/rate) / ln 2. The number of hashes is not rounded to an integer.
pub fn bits_per_item(false_positive_rate: f64) -> f64 {
    -log2(false_positive_rate) / core::f64::consts::LN_2
}

/// One row of the paper's table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BloomMetrics {
    /// Hash functions, rounded up.
    pub hashes: u32,
    /// Bits of memory per item.
    pub bits_per_item: f64,
    /// The actual rate with this number of hashes.
    pub false_positive_rate: f64,
    /// Accesses of a query that returns true.
    pub accesses_if_reported: f64,
    /// Expected accesses of a query that returns false.
    pub accesses_if_absent: f64,
}

/// Returns the metrics of the half-full partitioned Bloom filter for a target rate.
pub fn metrics(aimed_rate: f64) -> BloomMetrics {
    let hashes = ceil(-log2(aimed_rate)).max(1.0);
    let false_positive_rate = exp2(-hashes);
    let k = hashes as u32;
    let weighted: f64 = (1..=k).map(|i| f64::from(i) * exp2(-f64::from(i))).sum();
    BloomMetrics {
        hashes: k,
        bits_per_item: hashes / core::f64::consts::LN_2,
        false_positive_rate,
        accesses_if_reported: hashes,
        accesses_if_absent: weighted / (1.0 - false_positive_rate),
    }
}
