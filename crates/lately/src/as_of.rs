//! Answers of a time window for a later time, without changing the filter.

use crate::ageing::{AgeRange, Ageing};
use crate::filter::Filter;
use crate::item::Item;
use crate::layout::Sample;
use crate::operations::check_lengths;
use crate::query::{self, Matches as _};
use crate::ring::{Age, Ring};
use crate::statistics::Statistics;
use crate::window::Window;

/// A sample with fewer items than this is too inaccurate: its error is a fifth or more.
const FEW: f64 = 30.0;

/// A read-only view of a filter at a later time; created by [`Filter::as_of`].
///
/// Every method answers as the filter would after [`advance_to`](Filter::advance_to), but the filter does not
/// change. So readers that must not write, for example those of a replica, still see an idle filter expire.
#[derive(Clone, Copy, Debug)]
pub struct AsOf<'a> {
    filter: &'a Filter,
    /// `None`: the filter's own time.
    now_ms: Option<u64>,
    /// The number of shifts due until then. After n shifts, the segments of the n youngest ages are empty,
    /// and every other segment is older by n generations.
    shifts: u32,
}

impl Filter {
    /// Returns a view of the filter at `now_ms`. A time before the filter's latest time means the latest
    /// time, and is not counted as a backward step. Count windows have no clock: the view is the filter
    /// itself.
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let minute = Duration::from_secs(60);
    /// let mut recent = Filter::builder().time_window(minute, 1000).false_positive_rate(1e-4).build()?;
    /// recent.advance_to(1_700_000_000_000);
    /// recent.insert("click");
    /// assert!(recent.as_of(1_700_000_060_000).contains("click"));
    /// assert!(!recent.as_of(1_700_000_180_000).contains("click"), "well past window and slack");
    /// assert!(recent.contains("click"), "the filter's own clock has not moved");
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[inline]
    pub fn as_of(&self, now_ms: u64) -> AsOf<'_> {
        let shifts = self.ageing.shifts_until(now_ms, &self.ring);
        AsOf { filter: self, now_ms: Some(now_ms), shifts }
    }

    /// Returns counters, and estimates from the filter's bits. Reads all of its memory.
    pub fn statistics(&self) -> Statistics {
        AsOf { filter: self, now_ms: None, shifts: 0 }.statistics()
    }
}

impl query::Matches for AsOf<'_> {
    #[inline]
    fn matches_at(&self, hash: u64, ring: &Ring, age: Age) -> bool {
        self.age_now(age).is_some_and(|age| self.filter.memory.segments().matches(hash, ring, age))
    }
}

impl AsOf<'_> {
    /// See [`Filter::contains`].
    #[inline]
    pub fn contains<T: Item>(&self, item: T) -> bool {
        self.contains_hash(self.filter.hash_of(item))
    }

    /// See [`Filter::contains_hash`].
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        if self.shifts == 0 {
            return self.filter.contains_hash(hash);
        }
        query::is_reported(self, hash, &self.filter.ring)
    }

    /// See [`Filter::contains_batch`].
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]) {
        if self.shifts == 0 {
            return self.filter.contains_batch(items, seen);
        }
        check_lengths(items, seen);
        items.iter().zip(seen).for_each(|(item, seen)| *seen = self.contains(item));
    }

    /// See [`Filter::age_of`].
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.filter.hash_of(item))
    }

    /// See [`Filter::age_of_hash`].
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ring = &self.filter.ring;
        let (newest, oldest) = query::newest_run(ring, |age| self.matches_at(hash, ring, age))?;
        let (ring, ageing) = self.aged();
        Some(ageing.age_range(&ring, newest, oldest))
    }

    /// See [`Filter::statistics`]. Reads all of the filter's memory.
    pub fn statistics(&self) -> Statistics {
        self.statistics_from(Sample::ALL)
    }

    /// The same as [`statistics`](Self::statistics), but estimates from a sample of about `bytes` bytes of
    /// the filter's memory: for large filters whose callers cannot wait. A smaller sample gives a rougher
    /// estimate. If too few items were inserted for the sample to contain some of them, the number of inserts
    /// serves as the number of distinct items.
    pub fn estimate(&self, bytes: u64) -> Statistics {
        self.statistics_from(self.sample(bytes))
    }

    /// Returns only [`Statistics::estimated_distinct_items`], from a sample of about `bytes` bytes of the
    /// filter's memory.
    pub fn estimate_distinct_items(&self, bytes: u64) -> f64 {
        let (ring, ageing) = self.aged();
        self.distinct_items(&ring, &ageing, self.sample(bytes))
    }

    fn sample(&self, bytes: u64) -> Sample {
        Sample((bytes as f64 / self.filter.dimensions.memory_bytes as f64).min(1.0))
    }

    /// Returns the present age of the segment that will have this age; `None` if that segment will be new and
    /// empty.
    fn age_now(&self, age: Age) -> Option<Age> {
        Ring::age_before(age, self.shifts)
    }

    /// Returns the ring and the ageing state at the view's time: all state that ages, except the memory.
    fn aged(&self) -> (Ring, Ageing) {
        let (mut ring, mut ageing) = (self.filter.ring.clone(), self.filter.ageing.clone());
        if let Some(now_ms) = self.now_ms {
            for start_ms in ageing.advance_clock(now_ms.max(ageing.now_or_zero()), &ring) {
                ring.advance_generation();
                ageing.start_generation(&ring, start_ms);
            }
        }
        (ring, ageing)
    }

    fn statistics_from(&self, sample: Sample) -> Statistics {
        let Filter { dimensions, ring: ring_now, memory, .. } = self.filter;
        let (ring, ageing) = self.aged();
        let fill = |age| memory.segments().fill(ring_now, age, sample);
        // A segment was written during its own generation and the k - 1 after it.
        let items_of = |age: Age| {
            let youngest = age.0.saturating_sub(ring.required_matches() - 1);
            ageing.age_range(&ring, Age(youngest), age)
        };
        Statistics {
            inserts: ageing.inserts,
            generation: ring.generation(),
            fill_by_age: ring.ages().map(|age| self.age_now(age).map_or(0.0, fill)).collect(),
            items_by_age: ring.ages().map(items_of).collect(),
            estimated_false_positive_rate: memory.segments().false_positive_rate(
                ring_now,
                self.shifts,
                sample,
            ),
            estimated_distinct_items: self.distinct_items(&ring, &ageing, sample),
            backward_steps: ageing.backward_steps,
            overloaded_generations: ageing.overloaded_generations,
            latest_ms: ageing.latest_ms,
            memory_bytes: dimensions.memory_bytes,
        }
    }

    /// The segment of age a holds the generations a - k + 1 to a, so the segments of the ages l, l - k,
    /// l - 2k, ... hold each of the generations 0 to l once. They reach a little further back than the window,
    /// so the sum is scaled down to it.
    fn distinct_items(&self, ring: &Ring, ageing: &Ageing, sample: Sample) -> f64 {
        let Filter { dimensions, ring: ring_now, memory, .. } = self.filter;
        let (k, l) = (ring.required_matches(), ring.window_generations());
        let ages = core::iter::successors(Some(l), |age| age.checked_sub(k)).map(Age);
        let held = ages.filter_map(|age| self.age_now(age));
        let held: f64 = held.map(|age| memory.segments().distinct_items(ring_now, age, sample)).sum();
        let start = ageing.start_of(ring, Age(l));
        let inserted = (ageing.inserts - start.inserts) as f64;
        let held = if inserted * sample.0 < FEW && sample.0 < 1.0 { inserted } else { held };
        let (window, reach) = match dimensions.window {
            Window::Count { .. } => (dimensions.guaranteed_items(), ageing.inserts - start.inserts),
            Window::Time { .. } => (dimensions.window.span_ms(), ageing.now_or_zero() - start.millis),
        };
        if reach > window { held * window as f64 / reach as f64 } else { held }
    }
}
