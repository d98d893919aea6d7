//! Elastic bins: how much the rate rises while the table grows.
//!
//! A fingerprint that was written when the table had p pairs tells as much about its item, however many pairs there
//! are later, as if the table still had p. So the rate is 2^-bits times the sum, over the generations of the window, of
//! their items per pair at their start. In steady traffic the sum is the items of a full pair. If the table grows from
//! its least to its most lines within a window, the sum is, in full pairs, at most about
//!
//! - 2 for the first generation, which fills the least table, doubles it, and fills it again;
//! - 1/2 for each further doubling, at which a generation begins early, and fills the other half;
//! - 1/2 + 1/3 + ... + 1/l, about ln(l), if the traffic then stays as high: the clock starts a generation before each
//!   further growth.

use libm::{exp2, expm1, log, log1p, log2};

use crate::shape::{BinShape, LEAST_ELASTIC_LINES, Segment, Shape};

/// Probability that an item which was never inserted is reported, if the lines are filled after the fastest growth to
/// `lines`. `None` if the shape is another one.
pub(crate) fn worst_rate(shape: &Shape, lines: f64) -> Option<f64> {
    let Segment::ElasticBins { fingerprint_bits } = shape.segment else { return None };
    let full_pair = BinShape::elastic(fingerprint_bits)?.elastic_capacity(LEAST_ELASTIC_LINES) as f64
        / (LEAST_ELASTIC_LINES / 2) as f64;
    let doublings = log2((lines / LEAST_ELASTIC_LINES as f64).max(1.0));
    let full_pairs = 2.0 + doublings / 2.0 + log(f64::from(shape.window_generations));
    let chance = exp2(-f64::from(fingerprint_bits));
    Some(-expm1(full_pairs * full_pair * log1p(-chance)))
}
