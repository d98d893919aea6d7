//! Segmented aging Bloom filter (SA-BF): Kao, Lee, Chen, Wu, *Dynamically Updatable Ternary Segmented Aging
//! Bloom Filter for OpenFlow-Compliant Low-Power Packet Processing*, 2018 (the paper's `KaoLCW18`).
//!
//! An active and a warm-up filter, each partitioned into k parts. Inserts go to both, queries to the active
//! one. Every t inserts one part, in turn, moves from the warm-up to the active filter, and an empty one
//! takes its place.
//!
//! A part of the active filter holds all inserts since its last move but one, at least k * t, so w = k * t.
//! The parts lose an old item one after the other, so soon after the window it is only reported by chance.
//! Parameters: the k with the lowest expected rate, with w * (1 + j/k) items in part j; t = w / k, rounded
//! up.

use super::bloom::fill;
use super::pieces::{Bits, Generations, position};
use super::{Budget, Rival};

pub(super) struct SegmentedAging {
    active: Vec<Bits>,
    warm_up: Vec<Bits>,
    next_part: usize,
    moves: Generations,
}

impl SegmentedAging {
    pub(super) fn new(budget: Budget) -> Self {
        let rate = |parts: u32| rate_after_a_move(budget.bits_per_item(), parts);
        let parts = (1..=32).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).expect("at least one");
        let bits = budget.memory_bits / u64::from(2 * parts);
        let make = || (0..parts).map(|_| Bits::new(bits)).collect();
        let moves = Generations::new(budget.window, u64::from(parts));
        Self { active: make(), warm_up: make(), next_part: 0, moves }
    }
}

/// Returns the rate just after a part has moved. That part holds one window; the part that moved before it
/// holds a k-th of a window more, and so on.
fn rate_after_a_move(bits_per_item: f64, parts: u32) -> f64 {
    let cells = bits_per_item / f64::from(2 * parts);
    let held = |part: u32| 1.0 + f64::from(part) / f64::from(parts);
    (0..parts).map(|part| fill(held(part), 1, cells)).product()
}

impl Rival for SegmentedAging {
    fn insert(&mut self, hash: u64) {
        if self.moves.insert_begins_new() {
            let part = self.next_part;
            std::mem::swap(&mut self.active[part], &mut self.warm_up[part]);
            self.warm_up[part].clear();
            self.next_part = (part + 1) % self.active.len();
        }
        for part in 0..self.active.len() {
            let i = position(hash, part as u32, self.active[part].len());
            self.active[part].set(i);
            self.warm_up[part].set(i);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.active.iter().enumerate().all(|(part, bits)| bits.get(position(hash, part as u32, bits.len())))
    }

    fn memory_bits(&self) -> u64 {
        self.active.iter().chain(&self.warm_up).map(Bits::memory_bits).sum()
    }

    fn parameters(&self) -> String {
        format!("k={} t={}", self.active.len(), self.moves.per_generation())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.moves.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, strangers_reported,
    };

    #[test]
    fn the_window_is_never_forgotten() {
        assert_never_forgets_the_window(&mut SegmentedAging::new(BUDGET));
    }

    #[test]
    fn the_rate_is_as_the_choice_of_parts_assumes() {
        let budget = Budget { memory_bits: 16 * 30_000, window: 30_000 };
        let mut filter = SegmentedAging::new(budget);
        let parts = filter.active.len() as u64;
        // Every part has moved often, and the last insert makes a move.
        (0..=4 * parts * filter.moves.per_generation()).for_each(|key| filter.insert(hash_of(key)));
        let expected = rate_after_a_move(16.0, parts as u32);
        let rate = strangers_reported(&filter, 200_000) as f64 / 2e5;
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate}, expected {expected}");
    }

    #[test]
    fn items_are_forgotten_long_before_they_are_two_windows_old() {
        assert_forgets_after(&mut SegmentedAging::new(BUDGET), 2 * BUDGET.window);
        assert_forgets_after(&mut SegmentedAging::new(BUDGET), BUDGET.window * 3 / 2);
    }
}
