//! Asking a time window what it will say at a later time, without telling it the time.

use crate::ageing::{AgeRange, Ageing};
use crate::filter::Filter;
use crate::layout::Sample;
use crate::operations::check_lengths;
use crate::query::{self, Matches as _};
use crate::ring::{Age, Ring};
use crate::statistics::Statistics;
use crate::window::Window;

/// A sample with fewer items than this says too little: it is off by a fifth and more.
const FEW: f64 = 30.0;

/// A filter as it will be at a later time; made by [`Filter::as_of`].
///
/// Whatever is asked of it, it answers as the filter would after [`advance_to`](Filter::advance_to), but nothing
/// changes: so readers that may not write, as those of a replica, still see an idle filter expire.
#[derive(Clone, Copy, Debug)]
pub struct AsOf<'a> {
    filter: &'a Filter,
    /// `None`: as it is.
    now_ms: Option<u64>,
    /// The shifts that are due until then. Afterwards the segments of so many of the youngest ages are empty, and every
    /// other one is by so much older.
    shifts: u32,
}

impl Filter {
    /// The filter as it will be at `now_ms`. An earlier time than the latest told is the latest told, as always, and is
    /// not counted; count windows have no clock.
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
    /// assert!(recent.contains("click"), "nobody has told the filter itself");
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[inline]
    pub fn as_of(&self, now_ms: u64) -> AsOf<'_> {
        let shifts = self.ageing.shifts_until(now_ms, &self.ring);
        AsOf { filter: self, now_ms: Some(now_ms), shifts }
    }

    /// What the filter has been through and what its bits say now. Reads all of its memory.
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
    /// [`Filter::contains`].
    #[inline]
    pub fn contains<T: AsRef<[u8]>>(&self, item: T) -> bool {
        self.contains_hash(self.filter.hash_of(item))
    }

    /// [`Filter::contains_hash`].
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        if self.shifts == 0 {
            return self.filter.contains_hash(hash);
        }
        query::is_reported(self, hash, &self.filter.ring)
    }

    /// [`Filter::contains_batch`].
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn contains_batch<T: AsRef<[u8]>>(&self, items: &[T], seen: &mut [bool]) {
        if self.shifts == 0 {
            return self.filter.contains_batch(items, seen);
        }
        check_lengths(items, seen);
        items.iter().zip(seen).for_each(|(item, seen)| *seen = self.contains(item));
    }

    /// [`Filter::age_of`].
    pub fn age_of<T: AsRef<[u8]>>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.filter.hash_of(item))
    }

    /// [`Filter::age_of_hash`].
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ring = &self.filter.ring;
        let (newest, oldest) = query::newest_run(ring, |age| self.matches_at(hash, ring, age))?;
        let (ring, ageing) = self.aged();
        Some(ageing.age_range(&ring, newest, oldest))
    }

    /// [`Filter::statistics`]. Reads all of the filter's memory.
    pub fn statistics(&self) -> Statistics {
        self.statistics_from(Sample::ALL)
    }

    /// [`statistics`](Self::statistics), with estimates from about so many bytes of the filter's memory: for large
    /// filters whose owner cannot wait. The fewer, the rougher. Where so few items were inserted that hardly any of them
    /// can be in the sample, their number is taken for that of different items.
    pub fn estimate(&self, bytes: u64) -> Statistics {
        self.statistics_from(self.sample(bytes))
    }

    /// [`Statistics::estimated_distinct_items`] alone, from about so many bytes of the filter's memory.
    pub fn estimate_distinct_items(&self, bytes: u64) -> f64 {
        let (ring, ageing) = self.aged();
        self.distinct_items(&ring, &ageing, self.sample(bytes))
    }

    fn sample(&self, bytes: u64) -> Sample {
        Sample((bytes as f64 / self.filter.dimensions.memory_bytes as f64).min(1.0))
    }

    /// The age which a segment of this later age has now; `None` if it will be new, and empty.
    fn age_now(&self, age: Age) -> Option<Age> {
        Ring::age_before(age, self.shifts)
    }

    /// All of the filter that ages but its memory.
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

    /// The segment of age a holds the generations a - k + 1 to a, so the segments of the ages l, l - k, l - 2k, ... hold
    /// each of the generations 0 to l once. They reach a little further back than the window; the sum is scaled to it.
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
            Window::Time { span_ms, .. } => (span_ms, ageing.now_or_zero() - start.millis),
        };
        if reach > window { held * window as f64 / reach as f64 } else { held }
    }
}
