//! Inferential Timing Bloom filter: Dautrich, Ravishankar, *Inferring Insertion Times and Optimizing Error
//! Penalties in Time-decaying Bloom Filters*, 2019 (the paper's `DautrichR19`).
//!
//! A [Timing](super::timing) Bloom filter whose queries weigh what the ages of the cells say. The paper says
//! only that it infers the most likely age of an item. What follows is our own derivation.
//!
//! Let a be the age of the oldest of an item's k cells, c the number of cells of this age, and m the number
//! of all cells. A cell is written by any insert with probability k / m, so a cell of age x was written at
//! that time and never since with probability (k / m) e^(-kx / m). If the item itself came x inserts ago, its
//! cells of age x need only that last factor. No cell of an item is older than the item itself. So:
//!
//! ```text
//! it came                               likelihood, divided by that of a stranger
//! a inserts ago                         (m / k)^c
//! at a certain time before that         1
//! after that                            0
//! ```
//! The most likely age is a, as m is larger than k. It is exact if at least one cell was not written since,
//! and else too young.
//!
//! To report an item or not is a matter of priors and penalties. We chose that strangers are asked for as
//! often as items of the window, that all ages are equally likely, and that both mistakes cost the same. Then
//! an item is reported if the mean likelihood over the window is at least one: (m / k)^c + w - 1 - a >= w.
//! With m / k > w, which the best number of hashes brings with it, every item with k live cells is reported.
//! The answers are those of the Timing Bloom filter, and the window is exact. With less memory, k = 1, and
//! the oldest items are given up. Parameters: those of the Timing Bloom filter.

use std::ops::RangeInclusive;

use super::timing::Timing;
use super::{Budget, Rival};

pub(super) struct InferentialTiming {
    timing: Timing,
    window: u64,
}

/// What an item's cells say about it.
struct Inference {
    most_likely_age: u64,
    /// How much more likely its cells are if it is in the window than if it is a stranger.
    odds: f64,
}

impl Inference {
    fn is_reported(&self) -> bool {
        self.odds >= 1.0
    }
}

impl InferentialTiming {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        Some(Self { timing: Timing::new(budget)?, window: budget.window })
    }

    /// `None` if a cell was not written within the window: then the item is certain to be a stranger.
    fn infer(&self, hash: u64) -> Option<Inference> {
        let (mut oldest, mut as_old) = (0, 0);
        for age in self.timing.ages(hash) {
            let age = age?;
            as_old = if age > oldest { 1 } else { as_old + i32::from(age == oldest) };
            oldest = oldest.max(age);
        }
        let at_oldest = self.timing.cells_per_hash().powi(as_old);
        let odds = (at_oldest + (self.window - 1 - oldest) as f64) / self.window as f64;
        Some(Inference { most_likely_age: oldest, odds })
    }
}

impl Rival for InferentialTiming {
    fn insert(&mut self, hash: u64) {
        self.timing.insert(hash);
    }

    fn contains(&self, hash: u64) -> bool {
        self.infer(hash).is_some_and(|inference| inference.is_reported())
    }

    fn age_of(&self, hash: u64) -> Option<RangeInclusive<u64>> {
        let age = self.infer(hash).filter(Inference::is_reported)?.most_likely_age;
        Some(age..=age)
    }

    fn memory_bits(&self) -> u64 {
        self.timing.memory_bits()
    }

    fn parameters(&self) -> String {
        self.timing.parameters()
    }

    fn own_window(&self) -> Option<u64> {
        // Even the oldest item of the window, with one cell of its own age, has odds of at least one.
        (self.timing.cells_per_hash() >= self.window as f64).then_some(self.window)
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

    fn with(bits_per_item: u64) -> InferentialTiming {
        let budget = Budget { memory_bits: bits_per_item * BUDGET.window, window: BUDGET.window };
        InferentialTiming::new(budget).expect("fits")
    }

    #[test]
    fn the_window_is_exact() {
        assert_never_forgets_the_window(&mut with(64));
        assert_forgets_after(&mut with(64), BUDGET.window);
        assert_never_reports_again_after(&mut with(64), BUDGET.window);
    }

    #[test]
    fn it_answers_like_the_timing_filter_if_there_is_enough_memory() {
        let mut filter = with(32);
        (0..5 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
        let keys = (0..5 * BUDGET.window).chain(STRANGERS..STRANGERS + 10_000);
        keys.map(hash_of).for_each(|hash| assert_eq!(filter.contains(hash), filter.timing.contains(hash)));
    }

    #[test]
    fn with_little_memory_it_gives_up_the_oldest_items_and_promises_no_window() {
        let mut filter = with(10);
        assert_eq!(filter.own_window(), None);
        (0..5 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
        let lost = |ages: std::ops::Range<u64>| {
            ages.filter(|age| !filter.contains(hash_of(5 * BUDGET.window - 1 - age))).count()
        };
        assert_eq!(lost(0..BUDGET.window / 2), 0);
        assert!(lost(BUDGET.window - 100..BUDGET.window) > 20);
    }

    #[test]
    fn ages_are_exact_unless_all_cells_were_written_again_and_never_too_old() {
        let mut filter = with(64);
        let inserts = 5 * BUDGET.window;
        (0..inserts).for_each(|key| filter.insert(hash_of(key)));
        let ages = 0..BUDGET.window;
        let inferred = |age: u64| *filter.age_of(hash_of(inserts - 1 - age)).expect("reported").start();
        assert!(ages.clone().all(|age| inferred(age) <= age));
        let wrong = ages.clone().filter(|&age| inferred(age) != age).count() as f64;
        let hashes = filter.timing.ages(0).count() as f64;
        let rewritten =
            |age: u64| (1.0 - (-(age as f64) / filter.timing.cells_per_hash()).exp()).powf(hashes);
        let expected: f64 = ages.map(rewritten).sum();
        assert!((wrong - expected).abs() < 4.0 * expected.sqrt(), "{wrong} wrong, {expected} expected");
    }
}
