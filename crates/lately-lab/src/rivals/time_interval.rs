//! Time interval Bloom filter, the paper's `LeeC11` (2011).
//!
//! Like the [timing filter](super::timing), but each cell holds an interval: from its first to its last
//! write. An item was written to all its cells at one time, so their intervals have a time in common; a
//! stranger's often have none. The paper says only that intervals lower the rate; the common time is our
//! reading. If an interval began before the window, the sweep and the query cut it off at the beginning of
//! the window.
//!
//! There are no false negatives. An item that has left the window may still be reported while others keep its
//! cells alive: the intervals of its cells then all reach back to the beginning of the window. Parameters:
//! two stamps per cell; the best number of hashes for w items, but at least two, because one interval has
//! nothing to be compared with.

use super::bloom::best_hashes;
use super::pieces::{Packed, Sweep, position};
use super::timing::Clock;
use super::{Budget, Rival};

pub(super) struct TimeInterval {
    firsts: Packed,
    lasts: Packed,
    hashes: u32,
    clock: Clock,
    sweep: Sweep,
}

impl TimeInterval {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let clock = Clock::new(budget.window);
        let make = || Packed::fitting(budget.memory_bits / 2, clock.stamp_bits());
        let (firsts, lasts) = (make()?, make()?);
        let hashes = best_hashes(lasts.len() as f64 / budget.window as f64).max(2);
        let sweep = Sweep::new(lasts.len(), budget.window);
        Some(Self { firsts, lasts, hashes, clock, sweep })
    }
}

impl Rival for TimeInterval {
    fn insert(&mut self, hash: u64) {
        let now = self.clock.tick();
        for i in self.sweep.advance() {
            if !self.clock.is_live(self.lasts.get(i)) {
                self.lasts.set(i, 0);
            } else if !self.clock.is_live(self.firsts.get(i)) {
                self.firsts.set(i, self.clock.stamp_of_age(self.clock.window() - 1));
            }
        }
        for i in 0..self.hashes {
            let i = position(hash, i, self.lasts.len());
            if !self.clock.is_live(self.lasts.get(i)) {
                self.firsts.set(i, now);
            }
            self.lasts.set(i, now);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        // In ages, small to large: an interval goes from its last to its first write.
        let (mut from, mut to) = (0, self.clock.window() - 1);
        for i in 0..self.hashes {
            let i = position(hash, i, self.lasts.len());
            let last = self.lasts.get(i);
            if !self.clock.is_live(last) {
                return false;
            }
            from = from.max(self.clock.age(last));
            to = to.min(self.clock.age(self.firsts.get(i)));
        }
        from <= to
    }

    fn memory_bits(&self) -> u64 {
        self.firsts.memory_bits() + self.lasts.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}, {} cells of 2 x {} bits", self.hashes, self.lasts.len(), self.lasts.width())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.clock.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, assert_never_reports_again_after,
        strangers_reported,
    };

    #[test]
    fn the_window_is_never_forgotten_and_old_items_are_forgotten_after_a_few_windows() {
        assert_never_forgets_the_window(&mut TimeInterval::new(BUDGET).expect("fits"));
        assert_forgets_after(&mut TimeInterval::new(BUDGET).expect("fits"), 6 * BUDGET.window);
    }

    #[test]
    fn no_expired_stamp_is_taken_for_a_young_one_when_the_clock_wraps() {
        assert_never_reports_again_after(&mut TimeInterval::new(BUDGET).expect("fits"), BUDGET.window);
    }

    #[test]
    fn intervals_lower_the_rate_of_the_same_cells() {
        let mut filter = TimeInterval::new(BUDGET).expect("fits");
        (0..5 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
        let with_intervals = strangers_reported(&filter, 20_000);
        let only_last = (0..20_000_u64).filter(|key| {
            let hash = hash_of(crate::rivals::testing::STRANGERS + key);
            let mut cells = (0..filter.hashes).map(|i| position(hash, i, filter.lasts.len()));
            cells.all(|i| filter.clock.is_live(filter.lasts.get(i)))
        });
        let only_last = only_last.count();
        assert!(with_intervals * 10 < only_last * 9, "{with_intervals} with, {only_last} without intervals");
    }
}
