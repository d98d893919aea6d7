//! Block decaying Bloom filter (`b_DBF`): Shen, Zhang, like the [decaying filter](super::decaying) (the
//! paper's `ShenZ08`).
//!
//! Counters count generations of g inserts instead of single inserts, which needs few bits: an insert sets
//! the item's k counters to J + 1, and each new generation lowers all counters by one. The paper says that
//! bursts are avoided by spreading the subtractions over time. Here each insert lowers a share of the
//! counters; counters that the present generation has not yet lowered count as one less than they hold.
//!
//! The window is J * g, and the slack one generation. Parameters: counters of 3 bits, so J = 5; the best
//! number of hashes for the J + 1 generations held.

use super::bloom::best_hashes;
use super::pieces::{Generations, Packed, Sweep, bits_for, position};
use super::{Budget, GENERATIONS, Rival};

/// J + 1: the value that an insert gives to a counter. A counter holds one more until the sweep has passed
/// it.
const FULL: u64 = GENERATIONS + 1;

pub(super) struct BlockDecaying {
    counters: Packed,
    hashes: u32,
    sweep: Sweep,
    generations: Generations,
}

impl BlockDecaying {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let counters = Packed::fitting(budget.memory_bits, bits_for(FULL + 1))?;
        let generations = Generations::new(budget.window, GENERATIONS);
        let hashes = best_hashes(counters.len() as f64 / (FULL * generations.per_generation()) as f64);
        let sweep = Sweep::new(counters.len(), generations.per_generation());
        Some(Self { counters, hashes, sweep, generations })
    }

    /// Returns how much more a counter holds than its value.
    fn surplus(&self, i: usize) -> u64 {
        u64::from(i >= self.sweep.visited())
    }
}

impl Rival for BlockDecaying {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.sweep.restart();
        }
        self.counters.decrement_all(self.sweep.advance_to_end());
        for i in 0..self.hashes {
            let i = position(hash, i, self.counters.len());
            self.counters.set(i, FULL + self.surplus(i));
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| {
            let i = position(hash, i, self.counters.len());
            self.counters.get(i) > self.surplus(i)
        })
    }

    fn memory_bits(&self) -> u64 {
        self.counters.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("J={GENERATIONS} g={} k={}", self.generations.per_generation(), self.hashes)
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, STRANGERS, assert_forgets_after, assert_never_forgets_the_window,
        assert_never_reports_again_after,
    };

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut BlockDecaying::new(BUDGET).expect("fits"));
    }

    #[test]
    fn expired_items_are_never_reported_again() {
        let age = BUDGET.window + BUDGET.window.div_ceil(GENERATIONS);
        assert_never_reports_again_after(&mut BlockDecaying::new(BUDGET).expect("fits"), age);
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        assert_forgets_after(&mut BlockDecaying::new(BUDGET).expect("fits"), BUDGET.window + generation);
    }

    #[test]
    fn a_generation_expires_at_once_and_not_with_the_sweep() {
        let mut filter = BlockDecaying::new(BUDGET).expect("fits");
        let generation = filter.generations.per_generation();
        let reported =
            |filter: &BlockDecaying| (0..generation).filter(|&key| filter.contains(hash_of(key))).count();
        (0..FULL * generation).for_each(|key| filter.insert(hash_of(key)));
        assert_eq!(reported(&filter) as u64, generation);
        filter.insert(hash_of(STRANGERS));
        assert!(reported(&filter) <= 20, "{} of {generation}", reported(&filter));
    }

    #[test]
    fn three_bits_are_enough() {
        assert_eq!(BlockDecaying::new(BUDGET).expect("fits").counters.width(), 3);
    }
}
