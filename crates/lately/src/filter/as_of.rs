//! Answers of a time window for a later time, without changing the filter.

use super::Filter;
use super::operation::check_lengths;
use crate::ageing::{AgeRange, Ageing};
use crate::item::Item;
use crate::ring::{Age, Ring};

/// A read-only view of a filter at a later time; created by [`Filter::as_of`].
///
/// Every method answers as the filter would after [`advance_to`](Filter::advance_to), but the filter does not
/// change. So readers that must not write, for example those of a replica, still see an idle filter expire.
#[derive(Debug)]
pub struct AsOf<'a, F = Filter> {
    pub(super) filter: &'a F,
    /// `None`: the filter's own time, which may be unset.
    pub(super) now_ms: Option<u64>,
    /// The filter's ring at that time: the shifts due until then leave its youngest segments empty. Not used for a
    /// shared filter, which may shift meanwhile.
    pub(super) later: Ring,
}

impl<F> Clone for AsOf<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for AsOf<'_, F> {}

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
    /// let mut recent = Filter::builder().time_window(minute).capacity(1000).false_positive_rate(1e-4).build()?;
    /// recent.advance_to(1_700_000_000_000);
    /// recent.insert("click");
    /// assert!(recent.as_of(1_700_000_060_000).contains("click"));
    /// assert!(!recent.as_of(1_700_000_180_000).contains("click"), "well past window and slack");
    /// assert!(recent.contains("click"), "the filter's own clock has not moved");
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn as_of(&self, now_ms: u64) -> AsOf<'_> {
        AsOf { filter: self, now_ms: Some(now_ms), later: self.ageing.ring_at(now_ms, &self.ring) }
    }
}

impl AsOf<'_> {
    /// See [`Filter::contains`].
    #[inline]
    #[must_use]
    pub fn contains<T: Item>(&self, item: T) -> bool {
        self.contains_hash(self.filter.hash_of(item))
    }

    /// See [`Filter::contains_hash`].
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        if self.is_present() {
            return self.filter.contains_hash(hash);
        }
        self.filter.memory.contents().newest_run(hash, &self.filter.ring, &self.later).is_some()
    }

    /// See [`Filter::contains_batch`].
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]) {
        if self.is_present() {
            return self.filter.contains_batch(items, seen);
        }
        check_lengths(items, seen);
        items.iter().zip(seen).for_each(|(item, seen)| *seen = self.contains(item));
    }

    /// See [`Filter::age_of`].
    #[must_use]
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.filter.hash_of(item))
    }

    /// See [`Filter::age_of_hash`].
    #[must_use]
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ring = &self.filter.ring;
        let (newest, oldest) = self.filter.memory.contents().newest_run(hash, ring, &self.later)?;
        let (ring, ageing) = self.aged();
        Some(ageing.age_range(&ring, newest, oldest))
    }

    /// Returns true if no shift is due until the view's time.
    fn is_present(&self) -> bool {
        self.later == self.filter.ring
    }

    /// Returns the present age of the segment that will have this age; `None` if that segment will be new and
    /// empty.
    pub(super) fn age_now(&self, age: Age) -> Option<Age> {
        self.filter.ring.age_before(age, &self.later)
    }

    /// Returns the ring and the ageing state at the view's time: all state that ages, except the memory.
    pub(super) fn aged(&self) -> (Ring, Ageing) {
        aged(&self.filter.ring, &self.filter.ageing, self.now_ms)
    }
}

/// Returns the ring and the ageing state at a later time.
pub(super) fn aged(ring: &Ring, ageing: &Ageing, now_ms: Option<u64>) -> (Ring, Ageing) {
    let (mut ring, mut ageing) = (*ring, ageing.clone());
    if let Some(now_ms) = now_ms {
        for start_ms in ageing.advance_clock(now_ms.max(ageing.now_or_zero()), &ring) {
            ring.advance_generation();
            ageing.start_generation(&mut ring, start_ms);
        }
    }
    (ring, ageing)
}
