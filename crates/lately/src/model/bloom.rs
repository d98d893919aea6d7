//! The plain partitioned Bloom filter (paper, section 3): the yardstick for efficiency.

use libm::{ceil, exp2, log2};

/// Bits per item of a Bloom filter at its best (half full) with this false positive rate and as many hashes as the
/// rate takes, not rounded to an integer: log2(1/rate) / ln 2.
pub fn bits_per_item(false_positive_rate: f64) -> f64 {
    -log2(false_positive_rate) / core::f64::consts::LN_2
}

/// A row of the paper's table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BloomMetrics {
    /// Hash functions, rounded up.
    pub hashes: u32,
    /// Bits of memory per item.
    pub bits_per_item: f64,
    /// The rate that so many hashes really give.
    pub false_positive_rate: f64,
    /// Accesses of a query that is answered yes.
    pub accesses_if_reported: f64,
    /// Expected accesses of a query that is answered no.
    pub accesses_if_absent: f64,
}

/// The half-full partitioned Bloom filter for an aimed rate.
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
