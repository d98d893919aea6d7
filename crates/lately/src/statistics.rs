//! Statistics: counters of a filter, and estimates from its bits.

use alloc::vec::Vec;

use crate::ageing::AgeRange;

/// A filter's counters, and estimates from its actual bits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// Inserts since the filter was built or cleared.
    pub inserts: u64,
    /// Shifts since then.
    pub generation: u64,
    /// Share of set bits in each segment, newest first.
    pub fill_by_age: Vec<f64>,
    /// How long ago the items of each segment were inserted, newest first.
    pub items_by_age: Vec<AgeRange>,
    /// Probability that an item which was never inserted is reported, with the bits as they are now.
    pub estimated_false_positive_rate: f64,
    /// The estimated number of distinct items in the window. An item inserted again k or more generations
    /// later is counted again, so if repeats are inserted, the estimate may be up to (l + 1) / k times too
    /// high.
    pub estimated_distinct_items: f64,
    /// How often the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that received more than their share of the capacity.
    pub overloaded_generations: u64,
    /// The latest time passed by the caller, for time windows.
    pub latest_ms: Option<u64>,
    /// Bytes on the heap; fixed since construction.
    pub memory_bytes: u64,
}

/// Only a filter's counters, which are cheap to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Inserts since the filter was built or cleared.
    pub inserts: u64,
    /// Shifts since then.
    pub generation: u64,
    /// How often the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that received more than their share of the capacity.
    pub overloaded_generations: u64,
}
