//! The predictions behind a filter's promises: pure probability, no bits.
//!
//! There are two models. The *paper* model reproduces the printed tables, including their linear fill
//! gradient. The *exact* model uses the true expected fill; sizing, planning and every promise use this one.
//! docs/theory.md derives both and lists where they differ. [`Profile`] computes everything that follows from
//! the segments' match probabilities (false positive rate, accesses, slack), for any list of probabilities.
//!
//! ```
//! use lately::model::{Model, metrics};
//! use lately::Shape;
//!
//! let shape = Shape::slices(10, 7);
//! assert_eq!(format!("{:.6}", metrics(Model::Paper, &shape).false_positive_rate), "0.001211"); // printed
//! assert_eq!(format!("{:.6}", metrics(Model::Exact, &shape).false_positive_rate), "0.001474"); // measured
//! ```

mod accesses;
pub(crate) mod bins;
mod bloom;
mod cell_load;
mod elastic;
mod probe;
mod profile;
mod row_runs;
pub(crate) mod rows;
mod runs;
mod segment;

pub use accesses::QueryAccesses;
pub use bloom::{BloomMetrics, bits_per_item as bloom_bits_per_item, metrics as bloom_metrics};
pub use probe::SegmentProbe;
pub use profile::Profile;
pub use runs::run_probability;
pub(crate) use segment::power;
pub use segment::{Cells, half_full_load, match_probability, part_fill, relative_capacity};

use crate::shape::{Segment, Shape};

/// Selects the expected fill of the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Model {
    /// The paper's model: fills grow linearly to one half. Only for reproducing the paper; the true rate is
    /// higher.
    Paper,
    /// The true expectation. The planner uses this model.
    Exact,
}

/// All values in the paper's tables for a shape, at the paper's design load (parts are half full when a
/// segment is no longer written), for segments of many cells, just before a shift.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metrics {
    /// Probability that an item which was never inserted is reported.
    pub false_positive_rate: f64,
    /// Expected memory accesses of a query, by outcome.
    pub accesses: QueryAccesses,
    /// Peak normalised probability-weighted slack: just-expired items that are still reported, divided by the
    /// window.
    pub npws: f64,
    /// Bits of memory per item of the window.
    pub bits_per_item: f64,
    /// Memory of a Bloom filter with the same rate and capacity, divided by ours.
    pub efficiency: f64,
    /// Blocks only: capacity relative to slices of the same memory.
    pub relative_capacity: Option<f64>,
}

/// Returns the paper's metrics of a shape, by either model.
pub fn metrics(model: Model, shape: &Shape) -> Metrics {
    let load = half_full_load(&shape.segment);
    let profile = match model {
        Model::Paper => Profile::paper(shape),
        Model::Exact => Profile::exact(shape, load, Cells::Many, 1.0),
    };
    let false_positive_rate = profile.false_positive_rate();
    let bits_per_item = bits_per_item(shape, load);
    Metrics {
        false_positive_rate,
        accesses: profile.accesses(),
        npws: match model {
            Model::Paper => profile.paper_npws(),
            Model::Exact => profile.npws(),
        },
        bits_per_item,
        efficiency: bloom::bits_per_item(false_positive_rate) / bits_per_item,
        relative_capacity: relative_capacity(&shape.segment),
    }
}

/// Returns the bits of memory per item of the window, if a segment takes `load` items per cell in its k
/// generations.
///
/// A generation is `load / k` items per cell, and the window is l generations. Slices and blocks have cells
/// in each of the k + l segments. A cell of rows is a row, which holds all segments.
pub fn bits_per_item(shape: &Shape, load: f64) -> f64 {
    let k = f64::from(shape.required_matches);
    let l = f64::from(shape.window_generations);
    let bits = match shape.segment {
        Segment::Slices { parts } => (k + l) * f64::from(parts),
        Segment::Blocks { block_bits, .. } => (k + l) * f64::from(block_bits),
        Segment::Rows { row_bytes, .. } => f64::from(row_bytes * 8),
        // A line, and its share of the spare.
        Segment::Bins { .. } | Segment::ElasticBins { .. } => 520.0,
    };
    bits * k / (l * load)
}
