//! Biased-sampling based Bloom filters (BSBF): Bera, Dutta, Narang, Bhattacherjee, *Advanced Bloom Filter
//! Based Algorithms for Efficient Approximate Data De-Duplication in Streams*, 2012 (the paper's
//! `BeraDNB12`).
//!
//! Like [reservoir sampling](super::reservoir_sampling), but every unknown item is inserted. There are three
//! variants: each insert resets one random bit in each part; in one part only; or in each part with a
//! probability equal to its share of set bits, which keeps the parts evenly loaded. A known item is not
//! inserted again.
//!
//! Recent items may be lost. Parameters: the k with the lowest cost of [`decay_model`](super::decay_model),
//! as if every arrival were inserted. (Known items are not. So an inserted item finds more bits unset than by
//! chance, and if only one part loses a bit, resets cannot keep up and the filter fills. The test shows it.)

use super::decay_model::{Cell, Outlook, best};
use super::pieces::{Bits, Random, position};
use super::{Budget, Rival};

/// Which bits an insert resets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Deletions {
    EachPart,
    OnePart,
    ByLoad,
}

impl Deletions {
    /// Returns the resets in a part per bit that is set in it, in the steady state.
    fn per_part(self, parts: u32) -> f64 {
        match self {
            Self::EachPart => 1.0,
            Self::OnePart => 1.0 / f64::from(parts),
            // Sets and resets balance at 1 - r = r * r.
            Self::ByLoad => (5_f64.sqrt() - 1.0) / 2.0,
        }
    }
}

/// A partitioned Bloom filter whose bits are set and reset together.
pub(super) struct PartedBits {
    parts: Vec<Bits>,
    set: Vec<u64>,
}

impl PartedBits {
    pub(super) fn for_deletions(budget: Budget, deletions: Deletions) -> Self {
        let parts = best(1..=16, |&parts: &u32| {
            let bits = budget.memory_bits as f64 / f64::from(parts);
            let bit = Cell { top: 1, raise: 1.0 / bits, lower: deletions.per_part(parts) / bits };
            let all = |share: f64| share.powf(f64::from(parts));
            Outlook::new(all(bit.fill()), budget.window, |age| all(bit.survival(age)))
        });
        let make = |_| Bits::new(budget.memory_bits / u64::from(parts));
        Self { parts: (0..parts).map(make).collect(), set: vec![0; parts as usize] }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn bits_per_part(&self) -> u64 {
        self.parts[0].len() as u64
    }

    #[cfg(test)]
    pub(super) fn bits_set(&self) -> u64 {
        self.set.iter().sum()
    }

    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        self.parts.iter().enumerate().all(|(part, bits)| bits.get(position(hash, part as u32, bits.len())))
    }

    /// Resets bits as `deletions` says, and inserts.
    pub(super) fn replace(&mut self, hash: u64, deletions: Deletions, random: &mut Random) {
        let chosen = random.below(self.parts.len());
        for (part, (bits, set)) in self.parts.iter_mut().zip(&mut self.set).enumerate() {
            let deletes = match deletions {
                Deletions::EachPart => true,
                Deletions::OnePart => part == chosen,
                Deletions::ByLoad => random.happens(*set as f64 / bits.len() as f64),
            };
            if deletes {
                *set -= u64::from(bits.reset(random.below(bits.len())));
            }
            *set += u64::from(!bits.set(position(hash, part as u32, bits.len())));
        }
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.parts.iter().map(Bits::memory_bits).sum()
    }
}

pub(super) struct BiasedSampling {
    parts: PartedBits,
    deletions: Deletions,
    random: Random,
}

impl BiasedSampling {
    pub(super) fn new(budget: Budget, deletions: Deletions) -> Self {
        Self { parts: PartedBits::for_deletions(budget, deletions), deletions, random: Random::new(3) }
    }
}

impl Rival for BiasedSampling {
    fn insert(&mut self, hash: u64) {
        if !self.parts.contains(hash) {
            self.parts.replace(hash, self.deletions, &mut self.random);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.parts.contains(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.parts.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("k={}, resets: {:?}", self.parts.len(), self.deletions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, forgotten_in_window};

    const VARIANTS: [Deletions; 3] = [Deletions::EachPart, Deletions::OnePart, Deletions::ByLoad];

    #[test]
    fn a_new_item_is_reported_at_once_and_recent_ones_may_be_lost() {
        for deletions in VARIANTS {
            let mut filter = BiasedSampling::new(BUDGET, deletions);
            for key in 0..5000 {
                filter.insert(hash_of(key));
                assert!(filter.contains(hash_of(key)), "{deletions:?}");
            }
            let lost = forgotten_in_window(&mut BiasedSampling::new(BUDGET, deletions));
            assert!((0.001..0.4).contains(&lost), "{deletions:?}: {lost}");
        }
    }

    #[test]
    fn fills_settle_where_sets_and_resets_balance_and_one_part_cannot_keep_up() {
        let fill_after = |deletions, windows: u64| {
            let mut filter = BiasedSampling::new(BUDGET, deletions);
            (0..windows * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            filter.parts.bits_set() as f64 / filter.parts.memory_bits() as f64
        };
        assert!(fill_after(Deletions::OnePart, 300) > 0.95);
        for deletions in [Deletions::EachPart, Deletions::ByLoad] {
            let mut filter = BiasedSampling::new(BUDGET, deletions);
            (0..300 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            let parts = filter.parts.len() as u32;
            let expected = 1.0 / (1.0 + deletions.per_part(parts));
            for (bits, set) in filter.parts.parts.iter().zip(&filter.parts.set) {
                assert_eq!((0..bits.len()).filter(|&i| bits.get(i)).count() as u64, *set);
                let fill = *set as f64 / bits.len() as f64;
                assert!((fill / expected - 1.0).abs() < 0.1, "{deletions:?}: {fill}, expected {expected}");
            }
        }
    }

    #[test]
    fn very_old_items_are_forgotten() {
        assert_forgets_after(&mut BiasedSampling::new(BUDGET, Deletions::EachPart), 50 * BUDGET.window);
    }
}
