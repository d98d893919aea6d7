//! Statistics: counters of a filter, and estimates from its bits.

use alloc::vec::Vec;

use super::{AsOf, Filter};
use crate::ageing::{AgeRange, Ageing, GenerationStart};
use crate::layout::bins::elastic::History;
use crate::layout::{Held, Memory, Sample};
use crate::ring::{Age, Ring};
use crate::window::Window;

/// A sample with fewer items than this is too inaccurate: its error is a fifth or more.
const FEW: f64 = 30.0;

/// A filter's counters, and estimates from its actual bits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// Inserts since the filter was built, or since [`Filter::clear`].
    pub inserts: u64,
    /// Shifts since then. [`SharedFilter::clear`](crate::SharedFilter::clear) resets nothing, and makes k + l
    /// shifts.
    pub generation: u64,
    /// Share of set bits in each segment, newest first; in [`Layout::Bins`](crate::Layout), the share of places
    /// taken by items of each age.
    pub fill_by_age: Vec<f64>,
    /// How long ago the items of each segment were inserted, newest first.
    pub items_by_age: Vec<AgeRange>,
    /// Probability that an item which was never inserted is reported, with the bits as they are now.
    pub estimated_false_positive_rate: f64,
    /// The estimated number of distinct items in the window. In [`Layout::Bins`](crate::Layout) it is nearly
    /// exact. In the other layouts an item inserted again k or more generations later is counted again, so if
    /// repeats are inserted, the estimate may be up to (l + 1) / k times too high.
    pub estimated_distinct_items: f64,
    /// In [`Layout::Bins`](crate::Layout), the estimated number of those items that found both their lines full. They
    /// are in a spare, where a stranger is mistaken more often. 0 in the other layouts.
    pub estimated_spilled_items: f64,
    /// How often the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that received more inserts than they had room for; repeats count too. See
    /// [`Overload`](crate::Overload).
    pub overloaded_generations: u64,
    /// The latest time passed by the caller, for time windows.
    pub latest_ms: Option<u64>,
    /// Bytes on the heap: fixed since construction, except for an elastic window.
    pub memory_bytes: u64,
    /// The most bytes on the heap since the filter was built, or since [`Filter::clear`].
    pub peak_memory_bytes: u64,
    /// How often the memory of an elastic window grew; 0 for other windows.
    pub growths: u64,
    /// How often it shrank.
    pub shrinks: u64,
}

/// Only a filter's counters, which are cheap to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Inserts since the filter was built, or since [`Filter::clear`].
    pub inserts: u64,
    /// Shifts since then. [`SharedFilter::clear`](crate::SharedFilter::clear) resets nothing, and makes k + l
    /// shifts.
    pub generation: u64,
    /// How often the caller's clock went backwards.
    pub backward_steps: u64,
    /// Generations of a time window that received more inserts than they had room for; repeats count too. See
    /// [`Overload`](crate::Overload).
    pub overloaded_generations: u64,
    /// The most bytes on the heap since the filter was built, or since [`Filter::clear`].
    pub peak_memory_bytes: u64,
    /// How often the memory of an elastic window grew; 0 for other windows.
    pub growths: u64,
    /// How often it shrank.
    pub shrinks: u64,
}

impl Filter {
    /// Returns counters, and estimates from the filter's bits. Reads all of its memory.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        AsOf { filter: self, now_ms: None, later: self.ring }.statistics()
    }

    /// Returns the filter's counters. Unlike [`statistics`](Self::statistics), this does not read the
    /// segments.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let Self { dimensions, memory, .. } = self;
        let fixed = Counters::of(&self.ring, &self.ageing, dimensions.memory_bytes);
        let Memory::Elastic(bins) = memory else { return fixed };
        let History { growths, shrinks, peak_lines, .. } = *bins.history();
        Counters { growths, shrinks, peak_memory_bytes: dimensions.bytes_with(peak_lines), ..fixed }
    }
}

impl Counters {
    /// The counters of a filter whose memory has always had this size.
    pub(super) fn of(ring: &Ring, ageing: &Ageing, memory_bytes: u64) -> Self {
        let Ageing { inserts, backward_steps, overloaded_generations, .. } = *ageing;
        Self {
            inserts,
            generation: ring.generation(),
            backward_steps,
            overloaded_generations,
            peak_memory_bytes: memory_bytes,
            growths: 0,
            shrinks: 0,
        }
    }
}

impl AsOf<'_> {
    /// See [`Filter::statistics`]. Reads all of the filter's memory.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics_from(Sample::ALL)
    }

    /// The same as [`statistics`](Self::statistics), but estimates from a sample of about `bytes` bytes of
    /// the filter's memory: for large filters whose callers cannot wait. A smaller sample gives a rougher
    /// estimate. If too few items were inserted for the sample to contain some of them, the number of inserts
    /// serves as the number of distinct items.
    #[must_use]
    pub fn estimate(&self, bytes: u64) -> Statistics {
        self.statistics_from(self.sample(bytes))
    }

    /// Returns only [`Statistics::estimated_distinct_items`], from a sample of about `bytes` bytes of the
    /// filter's memory.
    #[must_use]
    pub fn estimate_distinct_items(&self, bytes: u64) -> f64 {
        let (ring, ageing) = self.aged();
        let sample = self.sample(bytes);
        self.distinct_items(&ring, &ageing, &self.held_by_age(sample), sample)
    }

    fn sample(&self, bytes: u64) -> Sample {
        Sample((bytes as f64 / self.filter.memory_bytes() as f64).min(1.0))
    }

    fn statistics_from(&self, sample: Sample) -> Statistics {
        let Filter { ring: ring_now, memory, .. } = self.filter;
        let (ring, ageing) = self.aged();
        let Counters { peak_memory_bytes, growths, shrinks, .. } = self.filter.counters();
        let held = self.held_by_age(sample);
        // A segment was written during its own generation and the k - 1 after it.
        let items_of = |age: Age| {
            let youngest = age.0.saturating_sub(ring.required_matches() - 1);
            ageing.age_range(&ring, Age(youngest), age)
        };
        Statistics {
            inserts: ageing.inserts,
            generation: ring.generation(),
            fill_by_age: held.iter().map(|held| held.fill).collect(),
            items_by_age: ring.ages().map(items_of).collect(),
            estimated_false_positive_rate: memory.contents().false_positive_rate(
                ring_now,
                &self.later,
                sample,
            ),
            estimated_distinct_items: self.distinct_items(&ring, &ageing, &held, sample),
            estimated_spilled_items: memory.contents().spilled_items(ring_now, &self.later, sample),
            backward_steps: ageing.backward_steps,
            overloaded_generations: ageing.overloaded_generations,
            latest_ms: ageing.latest_ms,
            memory_bytes: self.filter.memory_bytes(),
            peak_memory_bytes,
            growths,
            shrinks,
        }
    }

    /// What will be in the segments at the view's time, the newest first.
    fn held_by_age(&self, sample: Sample) -> Vec<Held> {
        let Filter { ring, memory, .. } = self.filter;
        let held = memory.contents().by_age(ring, sample);
        let at_age = |age| self.age_now(age).map_or_else(Held::default, |Age(now)| held[now as usize]);
        ring.ages().map(at_age).collect()
    }

    /// The segment of age a holds the generations a - k + 1 to a, so the segments of the ages l, l - k, l -
    /// 2k, ... hold each of the generations 0 to l once. The oldest of these segments reaches further back than the
    /// window, so only a part of it counts.
    fn distinct_items(&self, ring: &Ring, ageing: &Ageing, held: &[Held], sample: Sample) -> f64 {
        let dimensions = self.filter.dimensions;
        let (k, Age(l)) = (ring.required_matches(), ring.oldest_in_window());
        let now = GenerationStart { inserts: ageing.inserts, millis: ageing.now_or_zero() };
        let start = ageing.start_of(ring, Age(l));
        let end = l.checked_sub(k).map_or(now, |age| ageing.start_of(ring, Age(age)));
        let (window, since, length) = match dimensions.window {
            Window::Count { .. } => {
                (dimensions.guaranteed_items(), now.inserts - end.inserts, end.inserts - start.inserts)
            }
            Window::Time { .. } | Window::Elastic { .. } => {
                (dimensions.window.span_ms(), now.millis - end.millis, end.millis - start.millis)
            }
        };
        let in_window = window.saturating_sub(since).min(length);
        let part = if length == 0 { 1.0 } else { in_window as f64 / length as f64 };
        let younger = core::iter::successors(l.checked_sub(k), |age| age.checked_sub(k));
        let younger: f64 = younger.map(|age| held[age as usize].items).sum();
        // Each of them was inserted since the start of the window; and the last insert is in it.
        let inserted = (now.inserts - start.inserts) as f64;
        if inserted * sample.0 < FEW && sample.0 < 1.0 {
            return inserted;
        }
        (younger + held[l as usize].items * part).clamp(inserted.min(1.0), inserted)
    }
}
