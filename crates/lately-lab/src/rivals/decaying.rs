//! Decaying Bloom filter (DBF): Shen, Zhang, *Improved Approximate Detection of Duplicates for Data Streams
//! over Sliding Windows*, 2008 (the paper's `ShenZ08`).
//!
//! An insert lowers all counters by one, and sets the item's k counters to w. An item is reported if none of
//! its counters is zero: exactly the window, no slack, no false negatives. The time of an insert grows with
//! the number of counters, so it is raced in small windows only.
//!
//! Parameters: counters of 16 bits (14 would be enough for 1e4 inserts), because the processor lowers many
//! 16-bit counters at a time; the best number of hashes for w items in this number of counters.

use super::bloom::best_hashes;
use super::pieces::position;
use super::{Budget, Rival};

pub(super) struct Decaying {
    counters: Vec<u16>,
    hashes: u32,
    window: u16,
}

impl Decaying {
    /// `None` if the window is too large for the counters.
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let window = u16::try_from(budget.window).ok()?;
        let counters = vec![0; (budget.memory_bits / 16) as usize];
        let hashes = best_hashes(counters.len() as f64 / budget.window as f64);
        Some(Self { counters, hashes, window })
    }
}

impl Rival for Decaying {
    fn insert(&mut self, hash: u64) {
        self.counters.iter_mut().for_each(|counter| *counter = counter.saturating_sub(1));
        for i in 0..self.hashes {
            let i = position(hash, i, self.counters.len());
            self.counters[i] = self.window;
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.counters[position(hash, i, self.counters.len())] > 0)
    }

    fn memory_bits(&self) -> u64 {
        self.counters.len() as u64 * 16
    }

    fn parameters(&self) -> String {
        format!("k={}, {} counters", self.hashes, self.counters.len())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.window.into())
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
