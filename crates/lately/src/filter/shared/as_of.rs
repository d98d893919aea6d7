//! Answers of a shared time window for a later time, without changing the filter.

use super::SharedFilter;
use super::progress::Ages;
use crate::ageing::AgeRange;
use crate::filter::as_of::{AsOf, aged};
use crate::filter::operation::check_lengths;
use crate::filter::statistics::Statistics;
use crate::item::Item;

impl SharedFilter {
    /// See [`Filter::as_of`](crate::Filter::as_of). Each query of the view waits for a shift in progress.
    #[must_use]
    pub fn as_of(&self, now_ms: u64) -> AsOf<'_, SharedFilter> {
        AsOf { filter: self, now_ms: Some(now_ms), shifts: 0 }
    }
}

impl AsOf<'_, SharedFilter> {
    /// See [`Filter::contains`](crate::Filter::contains).
    #[must_use]
    pub fn contains<T: Item>(&self, item: T) -> bool {
        self.contains_hash(self.filter.hash_of(item))
    }

    /// See [`Filter::contains_hash`](crate::Filter::contains_hash).
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let ages = self.filter.progress.ages();
        match self.shifts_due(&ages) {
            0 => {
                // Without a lock, as the filter itself answers.
                drop(ages);
                self.filter.contains_hash(hash)
            }
            shifts => self.filter.newest_run(hash, &ages, shifts).is_some(),
        }
    }

    /// See [`Filter::contains_batch`](crate::Filter::contains_batch).
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]) {
        // The lock is released at once: hashing may run the caller's code, which must not run while it is held.
        if self.shifts_due(&self.filter.progress.ages()) == 0 {
            return self.filter.contains_batch(items, seen);
        }
        check_lengths(items, seen);
        items.iter().zip(seen).for_each(|(item, seen)| *seen = self.contains(item));
    }

    /// See [`Filter::age_of`](crate::Filter::age_of).
    #[must_use]
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.filter.hash_of(item))
    }

    /// See [`SharedFilter::age_of_hash`].
    #[must_use]
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ages = self.filter.progress.ages();
        let (newest, oldest) = self.filter.newest_run(hash, &ages, self.shifts_due(&ages))?;
        let (ring, ageing) = aged(&ages.ring, &ages.ageing, self.now_ms);
        Some(ageing.age_range(&ring, newest, oldest))
    }

    /// The shifts that are due until the view's time.
    fn shifts_due(&self, ages: &Ages) -> u32 {
        self.now_ms.map_or(0, |now_ms| ages.ageing.shifts_until(now_ms, &ages.ring))
    }

    /// See [`SharedFilter::statistics`].
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let copy = self.filter.to_filter();
        self.now_ms.map_or_else(|| copy.statistics(), |now_ms| copy.as_of(now_ms).statistics())
    }
}
