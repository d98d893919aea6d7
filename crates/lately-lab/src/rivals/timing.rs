//! Timing Bloom filter: Zhang, Guan, *Detecting Click Fraud in Pay-Per-Click Streams of Online Advertising
//! Networks*, 2008 (the paper's `ZhangG08`).
//!
//! Each of an item's k cells holds the time, in inserts, at which it was last written, modulo twice the
//! window. An item is reported if all its cells were written within the window. Each insert checks a few
//! cells and empties those that have expired, so that none is taken for a young one when the clock wraps.
//!
//! The window is exact: no slack, no false negatives. Parameters: cells wide enough for 2w and for "empty";
//! the best number of hashes for w items in this number of cells.

use super::bloom::best_hashes;
use super::pieces::{Packed, Sweep, bits_for, position};
use super::{Budget, Rival};

/// Time in inserts, modulo twice the window. Stamps are never zero, which means "empty".
pub(super) struct Clock {
    inserts: u64,
    window: u64,
}

impl Clock {
    pub(super) fn new(window: u64) -> Self {
        Self { inserts: 0, window }
    }

    pub(super) fn stamp_bits(&self) -> u32 {
        bits_for(2 * self.window)
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Counts an insert; returns its stamp.
    pub(super) fn tick(&mut self) -> u64 {
        self.inserts += 1;
        self.stamp_of_age(0)
    }

    /// Returns the stamp of the insert that was `age` inserts ago, which must exist.
    pub(super) fn stamp_of_age(&self, age: u64) -> u64 {
        (self.inserts + 2 * self.window - age) % (2 * self.window) + 1
    }

    /// Returns how many inserts ago the stamp was made; less than twice the window.
    pub(super) fn age(&self, stamp: u64) -> u64 {
        (self.inserts + 2 * self.window - (stamp - 1)) % (2 * self.window)
    }

    pub(super) fn is_live(&self, stamp: u64) -> bool {
        stamp != 0 && self.age(stamp) < self.window
    }
}

pub(super) struct Timing {
    stamps: Packed,
    hashes: u32,
    clock: Clock,
    sweep: Sweep,
}

impl Timing {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let clock = Clock::new(budget.window);
        let stamps = Packed::fitting(budget.memory_bits, clock.stamp_bits())?;
        let hashes = best_hashes(stamps.len() as f64 / budget.window as f64);
        // A stamp must be visited once between its expiry and the wrap of the clock: in w inserts.
        let sweep = Sweep::new(stamps.len(), budget.window);
        Some(Self { stamps, hashes, clock, sweep })
    }

    /// Returns for each of an item's cells how many inserts ago it was last written; `None` if not within the
    /// window.
    pub(super) fn ages(&self, hash: u64) -> impl Iterator<Item = Option<u64>> {
        let stamps = (0..self.hashes).map(move |i| self.stamps.get(position(hash, i, self.stamps.len())));
        stamps.map(|stamp| self.clock.is_live(stamp).then(|| self.clock.age(stamp)))
    }

    /// Returns m / k, the mean number of inserts between two writes to the same cell.
    pub(super) fn cells_per_hash(&self) -> f64 {
        self.stamps.len() as f64 / f64::from(self.hashes)
    }
}

impl Rival for Timing {
    fn insert(&mut self, hash: u64) {
        let now = self.clock.tick();
        for i in self.sweep.advance() {
            if !self.clock.is_live(self.stamps.get(i)) {
                self.stamps.set(i, 0);
            }
        }
        for i in 0..self.hashes {
            self.stamps.set(position(hash, i, self.stamps.len()), now);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.ages(hash).all(|age| age.is_some())
    }

    fn memory_bits(&self) -> u64 {
        self.stamps.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}, {} cells of {} bits", self.hashes, self.stamps.len(), self.stamps.width())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.clock.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, assert_never_reports_again_after,
    };

    #[test]
    fn the_window_is_exact() {
        assert_never_forgets_the_window(&mut Timing::new(BUDGET).expect("fits"));
        assert_forgets_after(&mut Timing::new(BUDGET).expect("fits"), BUDGET.window);
    }

    #[test]
    fn no_expired_stamp_is_taken_for_a_young_one_when_the_clock_wraps() {
        assert_never_reports_again_after(&mut Timing::new(BUDGET).expect("fits"), BUDGET.window);
    }

    #[test]
    fn the_age_of_a_stamp_is_exact() {
        let mut clock = Clock::new(10);
        let stamps: Vec<u64> = (0..100).map(|_| clock.tick()).collect();
        for age in 0..20 {
            assert_eq!(clock.age(stamps[99 - age]), age as u64);
            assert_eq!(clock.stamp_of_age(age as u64), stamps[99 - age]);
            assert_eq!(clock.is_live(stamps[99 - age]), age < 10);
        }
    }
}
