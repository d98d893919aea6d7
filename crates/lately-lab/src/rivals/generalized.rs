//! Generalized Bloom filter (GBF): Laufer, Velloso, Duarte, *A Generalized Bloom Filter to Secure Distributed
//! Network Applications*, 2011 (the paper's `LauferVD11`).
//!
//! Each insert sets k1 bits chosen by hashes of the item, and resets k0 others chosen by another set of
//! hashes. A query requires that the k1 bits are set and the k0 bits are reset. A bit that is in both sets of
//! an item is reset, and the query expects that. (The paper describes only the insert; we made a query that
//! fits.)
//!
//! Later items may overwrite both kinds of bits, so recent items may be lost. Parameters: k0 and k1 with the
//! lowest cost of [`decay_model`](super::decay_model).

use super::decay_model::{Cell, Outlook, best};
use super::pieces::{Bits, position};
use super::{Budget, Rival};

pub(super) struct Generalized {
    bits: Bits,
    resets: u32,
    sets: u32,
}

impl Generalized {
    pub(super) fn new(budget: Budget) -> Self {
        let choices = (1..=12).flat_map(|resets| (1..=12).map(move |sets| (resets, sets)));
        let (resets, sets) = best(choices, |&(resets, sets)| outlook(budget, resets, sets));
        Self { bits: Bits::new(budget.memory_bits), resets, sets }
    }

    fn reset_positions(&self, hash: u64) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.resets).map(move |i| position(hash, self.sets + i, self.bits.len()))
    }
}

fn outlook(budget: Budget, resets: u32, sets: u32) -> Outlook {
    let bits = budget.memory_bits as f64;
    let (set, reset) = (f64::from(sets) / bits, f64::from(resets) / bits);
    let one = Cell { top: 1, raise: set, lower: reset };
    // For a bit that must stay reset, sets and resets change roles.
    let zero = Cell { top: 1, raise: reset, lower: set };
    let all = |ones: f64, zeros: f64| ones.powf(f64::from(sets)) * zeros.powf(f64::from(resets));
    Outlook::new(all(one.fill(), zero.fill()), budget.window, |age| {
        all(one.survival(age), zero.survival(age))
    })
}

impl Rival for Generalized {
    fn insert(&mut self, hash: u64) {
        for i in 0..self.sets {
            self.bits.set(position(hash, i, self.bits.len()));
        }
        for i in 0..self.resets {
            self.bits.reset(position(hash, self.sets + i, self.bits.len()));
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let is_set = |i| {
            let position = position(hash, i, self.bits.len());
            self.bits.get(position) || self.reset_positions(hash).any(|reset| reset == position)
        };
        (0..self.sets).all(is_set) && self.reset_positions(hash).all(|i| !self.bits.get(i))
    }

    fn memory_bits(&self) -> u64 {
        self.bits.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k0={} k1={}", self.resets, self.sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, assert_behaves_as, assert_forgets_after, forgotten_in_window, strangers_reported,
    };

    #[test]
    fn a_new_item_is_reported_at_once_and_recent_ones_may_be_lost() {
        let mut filter = Generalized::new(BUDGET);
        for key in 0..10_000 {
            filter.insert(hash_of(key));
            assert!(filter.contains(hash_of(key)));
        }
        let lost = forgotten_in_window(&mut Generalized::new(BUDGET));
        assert!((0.01..0.4).contains(&lost), "{lost}");
    }

    #[test]
    fn an_item_is_reported_even_if_a_bit_is_in_both_of_its_sets() {
        // In 64 bits the two sets often overlap.
        let mut filter = Generalized { bits: Bits::new(64), resets: 3, sets: 3 };
        for key in 0..1000 {
            filter.insert(hash_of(key));
            assert!(filter.contains(hash_of(key)), "item {key}");
        }
    }

    #[test]
    fn its_rates_are_those_that_the_choice_of_parameters_assumed() {
        let mut filter = Generalized::new(BUDGET);
        assert_behaves_as(outlook(BUDGET, filter.resets, filter.sets), &mut filter);
    }

    #[test]
    fn the_rate_is_bounded_for_any_previous_contents() {
        // The source's point: saturating the filter, here from all zeros and from all ones, does not raise
        // the rate.
        for filled in [false, true] {
            let mut filter = Generalized::new(BUDGET);
            (0..filter.bits.len()).filter(|_| filled).for_each(|i| {
                filter.bits.set(i);
            });
            (0..60 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            let fill = f64::from(filter.sets) / f64::from(filter.sets + filter.resets);
            let expected = fill.powf(f64::from(filter.sets)) * (1.0 - fill).powf(f64::from(filter.resets));
            let rate = strangers_reported(&filter, 100_000) as f64 / 1e5;
            assert!((rate / expected - 1.0).abs() < 0.25, "{rate}, expected {expected}");
        }
    }

    #[test]
    fn very_old_items_are_forgotten() {
        assert_forgets_after(&mut Generalized::new(BUDGET), 50 * BUDGET.window);
    }
}
