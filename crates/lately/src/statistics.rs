//! What a filter has been through, and what its bits say now.

use alloc::vec::Vec;

use crate::ageing::AgeRange;

/// A filter's counters, and estimates from its real bits.
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
    /// Probability, for the bits as they are, that an item never inserted is reported.
    pub estimated_false_positive_rate: f64,
    /// About how many different items the window holds. An item inserted again k or more generations later is counted
    /// again, so where repeats are inserted this may be up to (l + 1) / k times too many.
    pub estimated_distinct_items: f64,
    /// Times the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that brought more than their share of the capacity.
    pub overloaded_generations: u64,
    /// The latest time the caller told, for time windows.
    pub latest_ms: Option<u64>,
    /// Bytes on the heap; fixed since construction.
    pub memory_bytes: u64,
}

/// A filter's counters alone, which cost nothing to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Inserts since the filter was built or cleared.
    pub inserts: u64,
    /// Shifts since then.
    pub generation: u64,
    /// Times the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that brought more than their share of the capacity.
    pub overloaded_generations: u64,
}
