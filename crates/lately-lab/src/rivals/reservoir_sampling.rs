//! Reservoir-sampling based Bloom filter (RSBF): Dutta, Bhattacherjee, Narang, *Towards "Intelligent
//! Compression" in Streams: A Biased Reservoir Sampling based Bloom Filter Approach*, 2012 (the paper's
//! `DuttaBN12`).
//!
//! A Bloom filter of k parts of s bits. An unknown item is inserted with some probability, and an insert also
//! resets one random bit in each part. The paper leaves the probability open; we take that of a reservoir: 1
//! for the first s arrivals, then s/i for the i-th, and 1 again once s/i has fallen below 0.03, so that the
//! filter does not stop learning. (The race's streams end before the s-th arrival, so there it inserts every
//! unknown item.)
//!
//! An item that was not inserted is lost at once. Parameters: the k with the lowest cost of
//! [`decay_model`](super::decay_model), as if all items were inserted.

use super::biased_sampling::{Deletions, PartedBits};
use super::pieces::Random;
use super::{Budget, Rival};

/// Sampling ends when the probability falls below this.
const LEAST_PROBABILITY: f64 = 0.03;

pub(super) struct ReservoirSampling {
    parts: PartedBits,
    arrivals: u64,
    random: Random,
}

impl ReservoirSampling {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            parts: PartedBits::for_deletions(budget, Deletions::EachPart),
            arrivals: 0,
            random: Random::new(2),
        }
    }

    fn insert_probability(&self) -> f64 {
        let reservoir = self.parts.bits_per_part() as f64 / self.arrivals as f64;
        if reservoir < LEAST_PROBABILITY { 1.0 } else { reservoir.min(1.0) }
    }
}

impl Rival for ReservoirSampling {
    fn insert(&mut self, hash: u64) {
        self.arrivals += 1;
        if !self.parts.contains(hash) && self.random.happens(self.insert_probability()) {
            self.parts.replace(hash, Deletions::EachPart, &mut self.random);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.parts.contains(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.parts.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={} s={}", self.parts.len(), self.parts.bits_per_part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, STRANGERS, assert_forgets_after, forgotten_in_window, strangers_reported,
    };

    #[test]
    fn recent_items_are_lost() {
        let lost = forgotten_in_window(&mut ReservoirSampling::new(BUDGET));
        assert!((0.01..0.9).contains(&lost), "{lost}");
    }

    #[test]
    fn new_items_are_inserted_ever_more_rarely_until_sampling_ends() {
        let mut filter = ReservoirSampling::new(BUDGET);
        let reservoir = filter.parts.bits_per_part();
        let mut insert_until = |arrivals: u64| {
            (filter.arrivals..arrivals).for_each(|key| filter.insert(hash_of(key)));
            filter.insert_probability()
        };
        assert!((insert_until(reservoir) - 1.0).abs() < 1e-12);
        assert!((insert_until(4 * reservoir) - 0.25).abs() < 1e-12);
        assert!((insert_until(34 * reservoir) - 1.0).abs() < 1e-12);
        // Each item is queried at once, before it can be overwritten.
        filter.arrivals = 4 * reservoir;
        let known = (0..2000).filter(|key| {
            let hash = hash_of(STRANGERS + key);
            filter.insert(hash);
            filter.contains(hash)
        });
        let (known, rate) = (known.count() as f64, strangers_reported(&filter, 20_000) as f64 / 2e4);
        // A quarter is inserted, and some of the others are false positives; four deviations of 2000 are 4%.
        assert!((known / 2000.0 - (0.25 + 0.75 * rate)).abs() < 0.04, "{known} of 2000, rate {rate}");
    }

    #[test]
    fn a_known_item_resets_nothing() {
        let mut filter = ReservoirSampling::new(BUDGET);
        (0..BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
        let before = filter.parts.bits_set();
        (0..1000).for_each(|_| filter.insert(hash_of(BUDGET.window - 1)));
        assert_eq!(filter.parts.bits_set(), before);
    }

    #[test]
    fn very_old_items_are_forgotten() {
        // After sampling has ended, when every item is inserted.
        let mut filter = ReservoirSampling::new(BUDGET);
        filter.arrivals = 34 * filter.parts.bits_per_part();
        assert_forgets_after(&mut filter, 50 * BUDGET.window);
    }
}
