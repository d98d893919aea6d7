//! Temporal counting Bloom filter (TCBF): Zhao, Wu, *The Design and Evaluation of an Information Sharing
//! System for Human Networks*, 2014 (the paper's `ZhaoW14`).
//!
//! The paper says only that it is similar to the [block decaying filter](super::block_decaying). Our reading:
//! an insert sets the item's k counters to C, and at each tick of a clock all counters are lowered by one, at
//! once. The clock ticks every g inserts.
//!
//! An item lives for C - 1 whole ticks, so g = w / (C - 1), rounded up, and the slack is one tick.
//! Parameters: 3 bits per counter, the fewest with which the slack is at most a fifth of the window, and all
//! their values, so C = 7; the best number of hashes for the C ticks held.

use super::bloom::best_hashes;
use super::pieces::{Generations, Packed, position};
use super::{Budget, Rival};

const COUNTER_BITS: u32 = 3;
/// C.
const FULL: u64 = (1 << COUNTER_BITS) - 1;

pub(super) struct TemporalCounting {
    counters: Packed,
    hashes: u32,
    ticks: Generations,
}

impl TemporalCounting {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let counters = Packed::fitting(budget.memory_bits, COUNTER_BITS)?;
        let ticks = Generations::new(budget.window, FULL - 1);
        let hashes = best_hashes(counters.len() as f64 / (FULL * ticks.per_generation()) as f64);
        Some(Self { counters, hashes, ticks })
    }

    /// Advances the clock by one tick.
    fn tick(&mut self) {
        self.counters.decrement_all(0..self.counters.len());
    }
}

impl Rival for TemporalCounting {
    fn insert(&mut self, hash: u64) {
        if self.ticks.insert_begins_new() {
            self.tick();
        }
        for i in 0..self.hashes {
            self.counters.set(position(hash, i, self.counters.len()), FULL);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.counters.get(position(hash, i, self.counters.len())) > 0)
    }

    fn memory_bits(&self) -> u64 {
        self.counters.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("C={FULL} g={} k={}", self.ticks.per_generation(), self.hashes)
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.ticks.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};
    use crate::rivals::{GENERATIONS, hash_of};

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut TemporalCounting::new(BUDGET).expect("fits"));
    }

    #[test]
    fn everything_is_forgotten_one_tick_after_the_window() {
        let tick = BUDGET.window.div_ceil(FULL - 1);
        assert_forgets_after(&mut TemporalCounting::new(BUDGET).expect("fits"), BUDGET.window + tick);
    }

    #[test]
    fn with_fewer_bits_the_slack_would_be_more_than_a_fifth() {
        let bits = TemporalCounting::new(BUDGET).expect("fits").counters.width();
        let ticks_with = |bits: u32| (1 << bits) - 2;
        assert!(ticks_with(bits) >= GENERATIONS && ticks_with(bits - 1) < GENERATIONS, "{bits} bits");
    }

    #[test]
    fn an_item_lives_for_as_many_ticks_as_the_value_of_its_counters() {
        let mut filter = TemporalCounting::new(BUDGET).expect("fits");
        filter.insert(hash_of(1));
        (0..FULL - 1).for_each(|_| filter.tick());
        assert!(filter.contains(hash_of(1)));
        filter.tick();
        assert!(!filter.contains(hash_of(1)));
    }
}
