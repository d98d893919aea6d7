//! Forgetful Bloom filter: Subramanyam, Gupta, Leslie, Wang, *Idempotent Distributed Counters Using a
//! Forgetful Bloom Filter*, 2016 (the paper's `SubramanyamGLW16`).
//!
//! A future, a present and N past Bloom filters. Inserts go to the future and the present filter; a query
//! needs two consecutive filters that contain the item, from the future to the oldest past. Every g inserts,
//! all filters shift by one and the oldest is emptied. (The paper says queries "essentially" test two
//! consecutive filters; we do exactly that.)
//!
//! An item inserted j shifts ago is in filters j and j + 1, so N * g inserts are certain. Parameters: N = 5,
//! so that a generation of slack is a fifth of the window; memory divided by N + 2; the number of hashes with
//! the lowest rate for two neighbours. Each of these has two generations, and they share one.

use super::bloom::{Bloom, fill};
use super::pieces::Generations;
use super::{Budget, GENERATIONS, Rival};

pub(super) struct Forgetful {
    /// A ring; the future is at `future`, the present after it, then the past.
    filters: Vec<Bloom>,
    future: usize,
    generations: Generations,
}

impl Forgetful {
    pub(super) fn new(budget: Budget) -> Self {
        let filters = GENERATIONS + 2;
        let generations = Generations::new(budget.window, GENERATIONS);
        let bits = budget.memory_bits / filters;
        let rate = |hashes: u32| pair_rate(generations.per_generation(), hashes, bits);
        let hashes = (1..=32).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).expect("at least one");
        Self { filters: (0..filters).map(|_| Bloom::new(bits, hashes)).collect(), future: 0, generations }
    }

    fn at(&self, age: usize) -> usize {
        (self.future + age) % self.filters.len()
    }
}

/// Returns the rate at which two full neighbours report a stranger. A position is set in both if the
/// generation that they share has set it, or else if both of the other generations have.
fn pair_rate(per_generation: u64, hashes: u32, bits: u64) -> f64 {
    let by_one = fill(per_generation as f64, hashes, bits as f64);
    (by_one + (1.0 - by_one) * by_one.powi(2)).powf(f64::from(hashes))
}

impl Rival for Forgetful {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            // The oldest past becomes the future.
            self.future = self.at(self.filters.len() - 1);
            self.filters[self.future].clear();
        }
        for age in 0..2 {
            let i = self.at(age);
            self.filters[i].insert(hash);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let mut newer_has_it = false;
        (0..self.filters.len()).any(|age| {
            let has_it = self.filters[self.at(age)].contains(hash);
            std::mem::replace(&mut newer_has_it, has_it) && has_it
        })
    }

    fn memory_bits(&self) -> u64 {
        self.filters.iter().map(Bloom::memory_bits).sum()
    }

    fn parameters(&self) -> String {
        format!("N={GENERATIONS} g={} k={}", self.generations.per_generation(), self.filters[0].hashes())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{BUDGET, STRANGERS, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut Forgetful::new(BUDGET));
    }

    #[test]
    fn everything_is_forgotten_two_generations_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        assert_forgets_after(&mut Forgetful::new(BUDGET), BUDGET.window + 2 * generation);
    }

    #[test]
    fn one_filter_that_contains_an_item_is_not_enough() {
        let mut filter = Forgetful::new(BUDGET);
        for age in 0..filter.filters.len() {
            let (i, item) = (filter.at(age), hash_of(age as u64));
            filter.filters[i].insert(item);
            assert!(!filter.contains(item), "age {age}");
            if let Some(next) = (age + 1 < filter.filters.len()).then(|| filter.at(age + 1)) {
                filter.filters[next].insert(item);
                assert!(filter.contains(item), "ages {age} and {}", age + 1);
            }
        }
    }

    #[test]
    fn neighbours_share_items_so_their_matches_are_not_independent() {
        // The paper: "the correlation between consecutive segments [...] leads to the reduction being
        // modest".
        let mut filter = Forgetful::new(Budget { memory_bits: 12 * 30_000, window: 30_000 });
        (0..200_000).for_each(|key| filter.insert(hash_of(key)));
        let strangers = || (0..100_000).map(|key| hash_of(STRANGERS + key));
        let pair = |hash| [2, 3].map(|age| filter.filters[filter.at(age)].contains(hash));
        let one = strangers().filter(|&hash| pair(hash)[0]).count() as f64 / 1e5;
        let both = strangers().filter(|&hash| pair(hash) == [true, true]).count() as f64 / 1e5;
        assert!(both > 2.0 * one * one, "{both} of both, {one} of one");
        // The reduction is as the choice of hashes assumes.
        let generation = filter.generations.per_generation();
        let expected = pair_rate(generation, filter.filters[0].hashes(), filter.filters[0].memory_bits());
        assert!((both / expected - 1.0).abs() < 0.1, "{both}, expected {expected}");
    }
}
