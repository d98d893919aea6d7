//! Answers of a shared time window for a later time, without changing the filter.

use super::SharedFilter;
use super::progress::Ages;
use crate::ageing::AgeRange;
use crate::filter::as_of::{AsOf, aged};
use crate::filter::operation::check_lengths;
use crate::filter::statistics::Statistics;
use crate::item::Item;
use crate::ring::Ring;

impl SharedFilter {
    /// See [`Filter::as_of`](crate::Filter::as_of). Each query of the view waits for a shift in progress.
    #[must_use]
    pub fn as_of(&self, now_ms: u64) -> AsOf<'_, SharedFilter> {
        AsOf { filter: self, now_ms: Some(now_ms), later: self.ring }
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
        let later = self.later(&ages);
        if later == ages.ring {
            // Without a lock, as the filter itself answers.
            drop(ages);
            return self.filter.contains_hash(hash);
        }
        self.filter.newest_run(hash, &ages, &later).is_some()
    }

    /// See [`Filter::contains_batch`](crate::Filter::contains_batch).
    ///
    /// # Panics
    /// If `items` and `seen` differ in length.
    pub fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]) {
        // The lock is released at once: hashing may run the caller's code, which must not run while it is held.
        if self.is_present() {
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
        let (newest, oldest) = self.filter.newest_run(hash, &ages, &self.later(&ages))?;
        let (ring, ageing) = aged(&ages.ring, &ages.ageing, self.now_ms);
        Some(ageing.age_range(&ring, newest, oldest))
    }

    /// Returns true if no shift is due until the view's time.
    fn is_present(&self) -> bool {
        let ages = self.filter.progress.ages();
        self.later(&ages) == ages.ring
    }

    /// The ring at the view's time.
    fn later(&self, ages: &Ages) -> Ring {
        self.now_ms.map_or(ages.ring, |now_ms| ages.ageing.ring_at(now_ms, &ages.ring))
    }

    /// See [`SharedFilter::statistics`].
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let copy = self.filter.to_filter();
        self.now_ms.map_or_else(|| copy.statistics(), |now_ms| copy.as_of(now_ms).statistics())
    }
}
