//! What a filter has been through, and what its bits say now. Only looks in.

use alloc::vec::Vec;

use crate::ageing::AgeRange;
use crate::filter::Filter;
use crate::ring::Age;
use crate::window::Window;

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

impl Statistics {
    pub(crate) fn of(filter: &Filter) -> Self {
        let Filter { dimensions, ring, ageing, memory, .. } = filter;
        let segments = memory.segments();
        Self {
            inserts: ageing.inserts,
            generation: ring.generation(),
            fill_by_age: ring.ages().map(|age| segments.fill(ring, age)).collect(),
            items_by_age: ring.ages().map(|age| items_of(filter, age)).collect(),
            estimated_false_positive_rate: segments.false_positive_rate(ring),
            estimated_distinct_items: distinct_items(filter),
            backward_steps: ageing.backward_steps,
            overloaded_generations: ageing.overloaded_generations,
            latest_ms: ageing.latest_ms,
            memory_bytes: dimensions.memory_bytes,
        }
    }
}

/// A segment was written during its own generation and the k - 1 after it.
fn items_of(filter: &Filter, age: Age) -> AgeRange {
    let youngest = age.0.saturating_sub(filter.ring.required_matches() - 1);
    filter.ageing.age_range(&filter.ring, Age(youngest), age)
}

/// The segment of age a holds the generations a - k + 1 to a, so the segments of the ages l, l - k, l - 2k, ... hold
/// each of the generations 0 to l once. They reach a little further back than the window; the sum is scaled to it.
fn distinct_items(filter: &Filter) -> f64 {
    let Filter { dimensions, ring, ageing, memory, .. } = filter;
    let (k, l) = (ring.required_matches(), ring.window_generations());
    let ages = core::iter::successors(Some(l), |age| age.checked_sub(k)).map(Age);
    let held: f64 = ages.map(|age| memory.segments().distinct_items(ring, age)).sum();
    let start = ageing.start_of(ring, Age(l));
    let (window, reach) = match dimensions.window {
        Window::Count { .. } => (dimensions.guaranteed_items(), ageing.inserts - start.inserts),
        Window::Time { span_ms, .. } => (span_ms, ageing.now_or_zero() - start.millis),
    };
    if reach > window { held * window as f64 / reach as f64 } else { held }
}
