//! Scope decay Bloom filter (SDBF), the paper's `LiWX06` (2006).
//!
//! A Bloom filter that forgets by resetting random bits. The paper names two models: at each insert, either
//! each bit is reset with some probability, which the paper calls impractical, or a few random bits are
//! reset. This is the second one, linear decay.
//!
//! The bits of any item may be reset, so recent items may be lost. Parameters: k hashes and d resets with the
//! lowest cost of [`decay_model`](super::decay_model).

use super::decay_model::{Cell, Outlook, best};
use super::pieces::{Bits, Random, position};
use super::{Budget, Rival};

pub(super) struct ScopeDecay {
    bits: Bits,
    hashes: u32,
    resets: u32,
    random: Random,
}

impl ScopeDecay {
    pub(super) fn new(budget: Budget) -> Self {
        let choices = (1..=16).flat_map(|hashes| (1..=16).map(move |resets| (hashes, resets)));
        let (hashes, resets) = best(choices, |&(hashes, resets)| outlook(budget, hashes, resets));
        Self { bits: Bits::new(budget.memory_bits), hashes, resets, random: Random::new(1) }
    }
}

fn outlook(budget: Budget, hashes: u32, resets: u32) -> Outlook {
    let bits = budget.memory_bits as f64;
    let bit = Cell { top: 1, raise: f64::from(hashes) / bits, lower: f64::from(resets) / bits };
    let all = |share: f64| share.powf(f64::from(hashes));
    Outlook::new(all(bit.fill()), budget.window, |age| all(bit.survival(age)))
}

impl Rival for ScopeDecay {
    fn insert(&mut self, hash: u64) {
        for _ in 0..self.resets {
            self.bits.reset(self.random.below(self.bits.len()));
        }
        for i in 0..self.hashes {
            self.bits.set(position(hash, i, self.bits.len()));
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.bits.get(position(hash, i, self.bits.len())))
    }

    fn memory_bits(&self) -> u64 {
        self.bits.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={} d={}", self.hashes, self.resets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{BUDGET, assert_behaves_as, assert_forgets_after, forgotten_in_window};

    #[test]
    fn some_recent_items_are_lost_and_some_old_ones_are_still_reported() {
        let lost = forgotten_in_window(&mut ScopeDecay::new(BUDGET));
        assert!((0.01..0.4).contains(&lost), "{lost}");
        let mut filter = ScopeDecay::new(BUDGET);
        (0..8 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
        let just_expired =
            (6 * BUDGET.window..50 * BUDGET.window).filter(|&key| filter.contains(hash_of(key)));
        assert!(just_expired.count() as f64 > 0.1 * BUDGET.window as f64);
    }

    #[test]
    fn its_rates_are_those_that_the_choice_of_parameters_assumed() {
        let mut filter = ScopeDecay::new(BUDGET);
        assert_behaves_as(outlook(BUDGET, filter.hashes, filter.resets), &mut filter);
        let expected = f64::from(filter.hashes) / f64::from(filter.hashes + filter.resets);
        let set = (0..filter.bits.len()).filter(|&i| filter.bits.get(i)).count() as f64;
        let fill = set / filter.bits.len() as f64;
        assert!((fill / expected - 1.0).abs() < 0.02, "{fill}, where sets and resets balance: {expected}");
    }

    #[test]
    fn very_old_items_are_forgotten() {
        assert_forgets_after(&mut ScopeDecay::new(BUDGET), 50 * BUDGET.window);
    }
}
