//! Detached counting Bloom filter array (DCBA): Wei, Jiang, Zhou, Feng, Wang, *Detecting Duplicates over
//! Sliding Windows with RAM-Efficient Detached Counting Bloom Filter Arrays*, 2011 (the paper's `WeiJZFW11`).
//!
//! The window is divided into Q sub-windows. Each has a filter whose cells hold the time of their last write
//! *within the sub-window*, which takes fewer bits than a time within the window. As in the [group
//! filter](super::group), the bits "written in this sub-window" of one position are side by side in a word. A
//! query reads the bits of the newest and the inner sub-windows, and the times of the expiring one. The
//! window is exact: no slack, no false negatives.
//!
//! The source detaches the times of the inner sub-windows from main memory; here all memory counts.
//! Parameters: Q from 2 to 30 and k with the lowest expected rate; g = w / Q, rounded up. The bits of an
//! expired sub-window are reset at once; its times need not be reset, because a time is only read if its bit
//! is set.

use super::bloom::best_hashes_for_any_of;
use super::pieces::{Generations, Packed, bits_for, position};
use super::{Budget, Rival};

pub(super) struct Detached {
    /// Bits of all sub-windows, by position.
    words: Packed,
    /// For each sub-window, when each position was last written: 1 to g, or 0.
    times: Vec<Packed>,
    hashes: u32,
    newest: usize,
    sub_windows: Generations,
    window: u64,
}

impl Detached {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let layout = |sub_windows: u64| {
            let items = budget.window.div_ceil(sub_windows);
            // At most Q complete sub-windows, and the expiring one.
            let bits_per_position = (sub_windows + 1) * u64::from(bits_for(items) + 1);
            let overhead = 128 * (sub_windows + 2);
            let positions = budget.memory_bits.saturating_sub(overhead) / bits_per_position;
            let (hashes, rate) = best_hashes_for_any_of(sub_windows, items as f64, positions.max(1) as f64);
            (items, positions, hashes, rate)
        };
        let sub_windows = (2..=30).min_by(|&a, &b| layout(a).3.total_cmp(&layout(b).3))?;
        let (items, positions, hashes, _) = layout(sub_windows);
        let slots = sub_windows as usize + 1;
        let time_bits = bits_for(items);
        (positions > 0).then(|| Self {
            words: Packed::new(positions as usize, slots as u32),
            times: (0..slots).map(|_| Packed::new(positions as usize, time_bits)).collect(),
            hashes,
            newest: 0,
            sub_windows: Generations::new(budget.window, sub_windows),
            window: budget.window,
        })
    }

    fn oldest(&self) -> usize {
        (self.newest + 1) % self.times.len()
    }

    fn positions(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let positions = self.words.len();
        (0..self.hashes).map(move |i| position(hash, i, positions))
    }

    /// Returns the last time in the oldest sub-window that has left the window.
    fn last_expired_time(&self) -> u64 {
        let inner = (self.times.len() as u64 - 2) * self.sub_windows.per_generation();
        let of_oldest = self.window.saturating_sub(self.sub_windows.in_newest() + inner);
        self.sub_windows.per_generation().saturating_sub(of_oldest)
    }
}

impl Rival for Detached {
    fn insert(&mut self, hash: u64) {
        if self.sub_windows.insert_begins_new() {
            self.newest = self.oldest();
            self.words.reset_in_all(0..self.words.len(), self.newest as u32);
        }
        let time = self.sub_windows.in_newest();
        for i in self.positions(hash) {
            self.times[self.newest].set(i, time);
            self.words.set(i, self.words.get(i) | 1 << self.newest);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let mut sub_windows = u64::MAX;
        for i in self.positions(hash) {
            sub_windows &= self.words.get(i);
            if sub_windows == 0 {
                return false;
            }
        }
        let (oldest, expired) = (self.oldest(), self.last_expired_time());
        sub_windows & !(1 << oldest) != 0 || self.positions(hash).all(|i| self.times[oldest].get(i) > expired)
    }

    fn memory_bits(&self) -> u64 {
        self.words.memory_bits() + self.times.iter().map(Packed::memory_bits).sum::<u64>()
    }

    fn parameters(&self) -> String {
        format!("Q={} g={} k={}", self.times.len() - 1, self.sub_windows.per_generation(), self.hashes)
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    /// Times take much memory; this is enough for a low rate.
    const LARGE: Budget = Budget { memory_bits: 160 * BUDGET.window, window: BUDGET.window };

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut Detached::new(BUDGET).expect("fits"));
    }

    #[test]
    fn the_window_is_exact_at_every_phase_of_a_sub_window() {
        for more in [0, 100, 333, 512] {
            let mut filter = Detached::new(LARGE).expect("fits");
            (0..more).for_each(|key| filter.insert(crate::rivals::hash_of(1 << 41 | key)));
            assert_forgets_after(&mut filter, BUDGET.window);
        }
    }
}
