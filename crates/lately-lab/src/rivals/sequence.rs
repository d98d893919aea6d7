//! A sequence of Bloom filters, one per generation: the simplest segmentation (paper, section 3.2). With two
//! of them it is the cell Bloom filter (the paper's `WangZDWZ14`, 2014).
//!
//! The newest filter takes g items; then the oldest is emptied and becomes the newest. A query reads all
//! filters. Of n filters, n - 1 are always complete, so (n - 1) * g inserts are certain, and the slack is at
//! most one generation.
//!
//! Parameters: n is given; g = w / (n - 1), rounded up; memory is divided evenly; the number of hashes with
//! the lowest rate for a query of n filters.

use super::bloom::{Bloom, best_hashes_for_any_of};
use super::pieces::Generations;
use super::{Budget, Rival};

pub(super) struct Sequence {
    filters: Vec<Bloom>,
    newest: usize,
    generations: Generations,
}

impl Sequence {
    pub(super) fn new(budget: Budget, filters: u64) -> Self {
        let generations = Generations::new(budget.window, filters - 1);
        let bits = budget.memory_bits / filters;
        let (hashes, _) = best_hashes_for_any_of(filters, generations.per_generation() as f64, bits as f64);
        Self { filters: (0..filters).map(|_| Bloom::new(bits, hashes)).collect(), newest: 0, generations }
    }
}

impl Rival for Sequence {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.newest = (self.newest + 1) % self.filters.len();
            self.filters[self.newest].clear();
        }
        self.filters[self.newest].insert(hash);
    }

    fn contains(&self, hash: u64) -> bool {
        self.filters.iter().any(|filter| filter.contains(hash))
    }

    fn memory_bits(&self) -> u64 {
        self.filters.iter().map(Bloom::memory_bits).sum()
    }

    fn parameters(&self) -> String {
        format!(
            "n={} g={} k={}",
            self.filters.len(),
            self.generations.per_generation(),
            self.filters[0].hashes()
        )
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_never_forgotten() {
        for filters in [2, 3, 6, 11] {
            assert_never_forgets_the_window(&mut Sequence::new(BUDGET, filters));
        }
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        for filters in [2, 6] {
            let generation = BUDGET.window.div_ceil(filters - 1);
            assert_forgets_after(&mut Sequence::new(BUDGET, filters), BUDGET.window + generation);
        }
    }

    #[test]
    fn the_cell_filter_remembers_up_to_two_windows() {
        let mut cell = Sequence::new(BUDGET, 2);
        (0..2 * BUDGET.window).for_each(|hash| cell.insert(crate::rivals::hash_of(hash)));
        assert!((0..2 * BUDGET.window).all(|key| cell.contains(crate::rivals::hash_of(key))));
    }
}
