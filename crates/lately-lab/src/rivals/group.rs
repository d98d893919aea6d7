//! Group Bloom filter: Zhang, Guan, *Detecting Click Fraud in Pay-Per-Click Streams of Online Advertising
//! Networks*, 2008 (the paper's `ZhangG08`).
//!
//! One Bloom filter per generation of the window, all with the same hash functions and interleaved: the bits
//! of all generations at one position are side by side in one word. A query combines the item's k words by
//! "and"; each bit left over is a generation that has the item. The expired generation is emptied little by
//! little while the next one fills.
//!
//! Q complete generations are certain, so g = w / Q, rounded up; the slack is one generation. Parameters: Q =
//! 5; seven bits per position (one is filling, one is being emptied); the best number of hashes for Q + 1
//! filters of g items.

use super::bloom::best_hashes_for_any_of;
use super::pieces::{Generations, Packed, Sweep, position};
use super::{Budget, GENERATIONS, Rival};

/// Bits per position.
const SLOTS: u32 = GENERATIONS as u32 + 2;

pub(super) struct Group {
    words: Packed,
    hashes: u32,
    /// The slot being filled; the next one is being emptied.
    newest: u32,
    sweep: Sweep,
    generations: Generations,
}

impl Group {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let words = Packed::fitting(budget.memory_bits, SLOTS)?;
        let generations = Generations::new(budget.window, GENERATIONS);
        let (hashes, _) =
            best_hashes_for_any_of(GENERATIONS + 1, generations.per_generation() as f64, words.len() as f64);
        let sweep = Sweep::new(words.len(), generations.per_generation());
        Some(Self { words, hashes, newest: 0, sweep, generations })
    }

    fn expired(&self) -> u32 {
        (self.newest + 1) % SLOTS
    }
}

impl Rival for Group {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.newest = (self.newest + 1) % SLOTS;
            self.sweep.restart();
        }
        self.words.reset_in_all(self.sweep.advance_to_end(), self.expired());
        for i in 0..self.hashes {
            let i = position(hash, i, self.words.len());
            self.words.set(i, self.words.get(i) | 1 << self.newest);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let mut generations = ((1 << SLOTS) - 1) & !(1 << self.expired());
        for i in 0..self.hashes {
            generations &= self.words.get(position(hash, i, self.words.len()));
            if generations == 0 {
                return false;
            }
        }
        true
    }

    fn memory_bits(&self) -> u64 {
        self.words.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("Q={GENERATIONS} g={} k={}", self.generations.per_generation(), self.hashes)
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, assert_never_reports_again_after,
    };

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut Group::new(BUDGET).expect("fits"));
    }

    #[test]
    fn expired_items_are_never_reported_again() {
        let age = BUDGET.window + BUDGET.window.div_ceil(GENERATIONS);
        assert_never_reports_again_after(&mut Group::new(BUDGET).expect("fits"), age);
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        assert_forgets_after(&mut Group::new(BUDGET).expect("fits"), BUDGET.window + generation);
    }
}
