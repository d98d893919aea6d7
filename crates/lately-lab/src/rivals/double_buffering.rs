//! Double buffering: Chang, Feng, Li, *Approximate Caches for Packet Classification*, 2004 (the paper's
//! `ChangLF04`).
//!
//! An active and a warm-up Bloom filter: inserts go to both, queries to the active one. When the warm-up
//! filter is half full it becomes the active one, and the old active filter is emptied and becomes the next
//! warm-up filter. The warm-up filter is always a subset of the active one.
//!
//! Parameters: the two change places every w inserts, because a new active filter must contain the whole
//! window; so each is made for 2w items, with half the memory. Between w and 2w inserts are remembered.

use super::bloom::{Bloom, best_hashes};
use super::{Budget, Rival};

pub(super) struct DoubleBuffering {
    active: Bloom,
    warm_up: Bloom,
    warmed_up: u64,
    window: u64,
}

impl DoubleBuffering {
    pub(super) fn new(budget: Budget) -> Self {
        let bits = budget.memory_bits / 2;
        let hashes = best_hashes(bits as f64 / (2 * budget.window) as f64);
        let [active, warm_up] = [(); 2].map(|()| Bloom::new(bits, hashes));
        Self { active, warm_up, warmed_up: 0, window: budget.window }
    }
}

impl Rival for DoubleBuffering {
    fn insert(&mut self, hash: u64) {
        self.active.insert(hash);
        self.warm_up.insert(hash);
        self.warmed_up += 1;
        if self.warmed_up == self.window {
            std::mem::swap(&mut self.active, &mut self.warm_up);
            self.warm_up.clear();
            self.warmed_up = 0;
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.active.contains(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.active.memory_bits() + self.warm_up.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}", self.active.hashes())
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
        assert_never_forgets_the_window(&mut DoubleBuffering::new(BUDGET));
    }

    #[test]
    fn up_to_two_windows_are_reported_and_older_items_are_forgotten() {
        assert_forgets_after(&mut DoubleBuffering::new(BUDGET), 2 * BUDGET.window);
        let mut filter = DoubleBuffering::new(BUDGET);
        (0..2 * BUDGET.window - 1).for_each(|key| filter.insert(hash_of(key)));
        assert!((0..2 * BUDGET.window - 1).all(|key| filter.contains(hash_of(key))));
    }
}
