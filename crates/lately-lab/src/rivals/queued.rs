//! A Bloom filter of counters, with a queue of the window that tells which counters to lower when an item
//! leaves: the common part of the [counting](super::counting_queue), the [spectral](super::spectral) and the
//! [floating counter](super::floating_counter) Bloom filter.
//!
//! The window is exact: no slack, no false negatives.
//!
//! The sources keep the items themselves in the queue. That would not fit into the memory, so we keep
//! fingerprints of f bits, and derive the counters' positions from them. Parameters: f and k with the lowest
//! expected rate, 1 - (1 - 2^-f)^w for the fingerprints and the Bloom filter's for the counters.

use super::bloom::{best_hashes, fill};
use super::pieces::{Packed, fold, position};
use super::{Budget, Rival};

/// Counters that are raised when an item comes, and lowered when it leaves.
pub(super) trait Counters: Send + Sized {
    /// The memory of one counter.
    const BITS: f64;
    /// The most raises per counter that the counters are made for, on average.
    const MOST_RAISES: f64 = f64::INFINITY;

    /// Returns as many counters as fit into `bits` bits, or `None` if not even one fits.
    fn fitting(bits: u64) -> Option<Self>;
    fn len(&self) -> usize;
    fn raise(&mut self, i: usize);
    /// Takes back one `raise`.
    fn lower(&mut self, i: usize);
    /// Returns true if more raises than lowers were made.
    fn is_raised(&self, i: usize) -> bool;
    fn memory_bits(&self) -> u64;
}

pub(super) struct Queued<C> {
    counters: C,
    hashes: u32,
    /// Fingerprints of the last w inserts.
    queue: Packed,
    inserts: u64,
}

impl<C: Counters> Queued<C> {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let bits = budget.bits_per_item();
        let counters_per_item = |fingerprint_bits: u32| (bits - f64::from(fingerprint_bits)) / C::BITS;
        let rate = |fingerprint_bits: u32| {
            let counters = counters_per_item(fingerprint_bits);
            let hashes = best_hashes(counters);
            let in_queue =
                -(budget.window as f64 * (-(-f64::from(fingerprint_bits)).exp2()).ln_1p()).exp_m1();
            let in_counters = fill(1.0, hashes, counters).powf(f64::from(hashes));
            1.0 - (1.0 - in_queue) * (1.0 - in_counters)
        };
        let is_possible =
            |counters: f64| counters > 0.1 && f64::from(best_hashes(counters)) / counters <= C::MOST_RAISES;
        let choices = (4..=48).filter(|&fingerprint_bits| is_possible(counters_per_item(fingerprint_bits)));
        let fingerprint_bits = choices.min_by(|&a, &b| rate(a).total_cmp(&rate(b)))?;
        let queue = Packed::new(budget.window as usize, fingerprint_bits);
        let counters = C::fitting(budget.memory_bits.checked_sub(queue.memory_bits())?)?;
        let hashes = best_hashes(counters_per_item(fingerprint_bits));
        Some(Self { counters, hashes, queue, inserts: 0 })
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        hash >> (64 - self.queue.width())
    }

    fn positions(&self, fingerprint: u64) -> impl Iterator<Item = usize> + use<C> {
        let (spread, counters) = (fold(fingerprint), self.counters.len());
        (0..self.hashes).map(move |i| position(spread, i, counters))
    }

    /// Returns the share of counters that are raised, and the share expected for a window of distinct items.
    #[cfg(test)]
    pub(super) fn raised(&self) -> (f64, f64) {
        let len = self.counters.len();
        let raised = (0..len).filter(|&i| self.counters.is_raised(i)).count();
        (raised as f64 / len as f64, fill(self.queue.len() as f64, self.hashes, len as f64))
    }

    #[cfg(test)]
    pub(super) fn counters(&self) -> &C {
        &self.counters
    }
}

impl<C: Counters> Rival for Queued<C> {
    fn insert(&mut self, hash: u64) {
        let place = (self.inserts % self.queue.len() as u64) as usize;
        if self.inserts >= self.queue.len() as u64 {
            for i in self.positions(self.queue.get(place)) {
                self.counters.lower(i);
            }
        }
        let fingerprint = self.fingerprint(hash);
        for i in self.positions(fingerprint) {
            self.counters.raise(i);
        }
        self.queue.set(place, fingerprint);
        self.inserts += 1;
    }

    fn contains(&self, hash: u64) -> bool {
        self.positions(self.fingerprint(hash)).all(|i| self.counters.is_raised(i))
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
