//! Active-active (A2) buffering: Yoon, *Aging Bloom Filter with Two Active Buffers for Dynamic Sets*, 2010
//! (the paper's `Yoon10`).
//!
//! Inserts go to active1; queries read both filters. When active1 is full, active2 is dropped, active1 takes
//! its place, and an empty filter becomes active1. If a lookup finds an item in active2 only, its bits are
//! copied to active1. Our queries change nothing, so the bits are copied when the item arrives again: that is
//! what an insert into active1 does. Unlike in a sequence of two filters, an item that active1 already has
//! takes none of its room; with repeats, the window counts different items.
//!
//! Parameters: each filter has half the memory, and is full after w items that were new to it; the best
//! number of hashes for two filters of w items.

use super::bloom::{Bloom, best_hashes_for_any_of};
use super::{Budget, Rival};

pub(super) struct A2Buffering {
    active1: Bloom,
    active2: Bloom,
    new_to_active1: u64,
    window: u64,
}

impl A2Buffering {
    pub(super) fn new(budget: Budget) -> Self {
        let bits = budget.memory_bits / 2;
        let (hashes, _) = best_hashes_for_any_of(2, budget.window as f64, bits as f64);
        let [active1, active2] = [(); 2].map(|()| Bloom::new(bits, hashes));
        Self { active1, active2, new_to_active1: 0, window: budget.window }
    }
}

impl Rival for A2Buffering {
    fn insert(&mut self, hash: u64) {
        if self.active1.contains(hash) {
            return;
        }
        if self.new_to_active1 == self.window {
            std::mem::swap(&mut self.active1, &mut self.active2);
            self.active1.clear();
            self.new_to_active1 = 0;
        }
        self.active1.insert(hash);
        self.new_to_active1 += 1;
    }

    fn contains(&self, hash: u64) -> bool {
        self.active1.contains(hash) || self.active2.contains(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.active1.memory_bits() + self.active2.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}", self.active1.hashes())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut A2Buffering::new(BUDGET));
    }

    #[test]
    fn items_older_than_two_windows_are_forgotten() {
        // A few items are taken for known ones and do not count, so the filters change places a little later.
        assert_forgets_after(&mut A2Buffering::new(BUDGET), 2 * BUDGET.window + BUDGET.window / 20);
    }

    #[test]
    fn repeats_take_no_room() {
        let mut filter = A2Buffering::new(BUDGET);
        (0..100 * BUDGET.window).for_each(|i| filter.insert(hash_of(i % 100)));
        assert!(filter.new_to_active1 <= 100);
    }
}
