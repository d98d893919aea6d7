//! Counting Bloom filter with a queue of the window: Metwally, Agrawal, El Abbadi, *Duplicate Detection in
//! Click Streams*, 2005 (the paper's `MetwallyAA05`), on the counters of Bonomi, Mitzenmacher, Panigrahy,
//! Singh, Varghese, *An Improved Construction for Counting Bloom Filters*, 2006 (`BonomiMPSV06`).
//!
//! Counters hold the window as a multiset; a circular queue of its items tells which counters to lower when
//! an item leaves. The window is exact. There is no slack, and there are no false negatives, because a
//! counter that has reached its limit is never lowered.
//!
//! The source keeps the items themselves in the queue. That would not fit into the memory, so we keep
//! fingerprints of f bits, and derive the counters' positions from them. Parameters: counters of 4 bits; f
//! and k with the lowest expected rate, 1 - (1 - 2^-f)^w for the fingerprints and the Bloom filter's for the
//! counters.

use super::bloom::{best_hashes, fill};
use super::pieces::{Packed, fold, position};
use super::{Budget, Rival};

const COUNTER_BITS: u32 = 4;
const STUCK: u64 = (1 << COUNTER_BITS) - 1;

pub(super) struct CountingQueue {
    counters: Packed,
    hashes: u32,
    /// Fingerprints of the last w inserts.
    queue: Packed,
    inserts: u64,
}

impl CountingQueue {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let bits = budget.bits_per_item();
        let counters_per_item =
            |fingerprint_bits: u32| (bits - f64::from(fingerprint_bits)) / f64::from(COUNTER_BITS);
        let rate = |fingerprint_bits: u32| {
            let counters = counters_per_item(fingerprint_bits);
            let hashes = best_hashes(counters);
            let in_queue =
                -(budget.window as f64 * (-(-f64::from(fingerprint_bits)).exp2()).ln_1p()).exp_m1();
            let in_counters = fill(1.0, hashes, counters).powf(f64::from(hashes));
            1.0 - (1.0 - in_queue) * (1.0 - in_counters)
        };
        let choices = (4..=48).filter(|&fingerprint_bits| counters_per_item(fingerprint_bits) > 0.1);
        let fingerprint_bits = choices.min_by(|&a, &b| rate(a).total_cmp(&rate(b)))?;
        let queue = Packed::new(budget.window as usize, fingerprint_bits);
        let counters = Packed::fitting(budget.memory_bits.checked_sub(queue.memory_bits())?, COUNTER_BITS)?;
        let hashes = best_hashes(counters_per_item(fingerprint_bits));
        Some(Self { counters, hashes, queue, inserts: 0 })
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        hash >> (64 - self.queue.width())
    }

    fn positions(&self, fingerprint: u64) -> impl Iterator<Item = usize> + use<> {
        let (spread, counters) = (fold(fingerprint), self.counters.len());
        (0..self.hashes).map(move |i| position(spread, i, counters))
    }
}

impl Rival for CountingQueue {
    fn insert(&mut self, hash: u64) {
        let place = (self.inserts % self.queue.len() as u64) as usize;
        if self.inserts >= self.queue.len() as u64 {
            for i in self.positions(self.queue.get(place)) {
                let count = self.counters.get(i);
                if count != STUCK {
                    self.counters.set(i, count - 1);
                }
            }
        }
        let fingerprint = self.fingerprint(hash);
        for i in self.positions(fingerprint) {
            self.counters.set(i, (self.counters.get(i) + 1).min(STUCK));
        }
        self.queue.set(place, fingerprint);
        self.inserts += 1;
    }

    fn contains(&self, hash: u64) -> bool {
        self.positions(self.fingerprint(hash)).all(|i| self.counters.get(i) > 0)
    }

    fn memory_bits(&self) -> u64 {
        self.counters.memory_bits() + self.queue.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("f={} k={} counters={}", self.queue.width(), self.hashes, self.counters.len())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.queue.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_exact() {
        assert_never_forgets_the_window(&mut CountingQueue::new(BUDGET).expect("fits"));
        assert_forgets_after(&mut CountingQueue::new(BUDGET).expect("fits"), BUDGET.window);
    }

    #[test]
    fn items_that_leave_the_queue_leave_the_counters() {
        let mut filter = CountingQueue::new(BUDGET).expect("fits");
        (0..10 * BUDGET.window).for_each(|key| filter.insert(crate::rivals::hash_of(key)));
        let counters = filter.counters.len() as f64;
        let above_zero = (0..filter.counters.len()).filter(|&i| filter.counters.get(i) > 0).count() as f64;
        let expected = fill(BUDGET.window as f64, filter.hashes, counters);
        assert!((above_zero / counters / expected - 1.0).abs() < 0.03, "{above_zero}, expected {expected}");
    }

    #[test]
    fn a_counter_at_its_limit_never_causes_a_false_negative() {
        let mut filter = CountingQueue::new(BUDGET).expect("fits");
        let item = crate::rivals::hash_of;
        // One item often enough that its counters stick, then others that may share its counters while it
        // leaves.
        (0..100).for_each(|_| filter.insert(item(0)));
        for key in 1..3 * BUDGET.window {
            filter.insert(item(key));
            assert!(filter.contains(item(key)));
            assert!(key < BUDGET.window || filter.contains(item(key + 1 - BUDGET.window)));
        }
    }
}
