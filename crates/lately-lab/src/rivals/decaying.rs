//! Decaying Bloom filter (DBF): Shen, Zhang, *Improved Approximate Detection of Duplicates for Data Streams over Sliding
//! Windows*, 2008 (the paper's `ShenZ08`).
//!
//! An insert lowers all counters by one, and sets the item's k counters to w. An item is reported if none of its counters is
//! zero: exactly the window, no slack, no false negatives. An insert takes as long as there are counters, so it is raced in
//! small windows only.
//!
//! Parameters: counters wide enough for w, and the best hashes for w items in so many counters.

use super::bloom::best_hashes;
use super::pieces::{Packed, bits_for, position};
use super::{Budget, Rival};

pub(super) struct Decaying {
    counters: Packed,
    hashes: u32,
    window: u64,
}

impl Decaying {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let counters = Packed::fitting(budget.memory_bits, bits_for(budget.window))?;
        let hashes = best_hashes(counters.len() as f64 / budget.window as f64);
        Some(Self { counters, hashes, window: budget.window })
    }
}

impl Rival for Decaying {
    fn insert(&mut self, hash: u64) {
        (0..self.counters.len()).for_each(|i| self.counters.decrement(i));
        for i in 0..self.hashes {
            self.counters.set(position(hash, i, self.counters.len()), self.window);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.counters.get(position(hash, i, self.counters.len())) > 0)
    }

    fn memory_bits(&self) -> u64 {
        self.counters.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}, {} counters of {} bits", self.hashes, self.counters.len(), self.counters.width())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_exact() {
        assert_never_forgets_the_window(&mut Decaying::new(BUDGET).expect("fits"));
        assert_forgets_after(&mut Decaying::new(BUDGET).expect("fits"), BUDGET.window);
    }
}
