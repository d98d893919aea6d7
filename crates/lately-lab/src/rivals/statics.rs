//! Static Bloom filters of published crates, which never forget: they show what a window would cost if it did
//! not move.
//!
//! They get one window of items, and are queried then.

use fastbloom::BloomFilter;

use super::{Budget, Rival};

/// `fastbloom`, a classic Bloom filter.
pub(super) struct Fast(BloomFilter);

impl Fast {
    pub(super) fn new(budget: Budget) -> Self {
        let bits = (budget.memory_bits / 64 * 64) as usize;
        Self(BloomFilter::with_num_bits(bits).expected_items(budget.window as usize))
    }
}

impl Rival for Fast {
    fn insert(&mut self, hash: u64) {
        self.0.insert_hash(hash);
    }

    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.0.num_bits() as u64
    }

    fn parameters(&self) -> String {
        format!("k={}", self.0.num_hashes())
    }

    fn forgets(&self) -> bool {
        false
    }
}

/// `sbbf-rs`, a split-block Bloom filter: one block of 256 bits per item.
pub(super) struct SplitBlock(sbbf_rs_safe::Filter);

impl SplitBlock {
    pub(super) fn new(budget: Budget) -> Self {
        // The crate rounds up to whole blocks; we round down, so that the filter takes no more memory than
        // given.
        let blocks = (budget.memory_bits / 256).max(1);
        Self(sbbf_rs_safe::Filter::new(256, blocks as usize))
    }
}

impl Rival for SplitBlock {
    fn insert(&mut self, hash: u64) {
        self.0.insert_hash(hash);
    }

    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn memory_bits(&self) -> u64 {
        self.0.as_bytes().len() as u64 * 8
    }

    fn parameters(&self) -> String {
        "8 bits in a block of 256".into()
    }

    fn forgets(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{BUDGET, strangers_reported};

    #[test]
    fn they_take_the_memory_they_are_given_and_never_forget() {
        let budget = Budget { memory_bits: 12 * BUDGET.window, window: BUDGET.window };
        let filters: [Box<dyn Rival>; 2] = [Box::new(Fast::new(budget)), Box::new(SplitBlock::new(budget))];
        for mut filter in filters {
            (0..BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            assert!((0..BUDGET.window).all(|key| filter.contains(hash_of(key))));
            assert!(
                filter.memory_bits() <= budget.memory_bits
                    && filter.memory_bits() > budget.memory_bits * 9 / 10
            );
            // A Bloom filter of 12 bits per item has 0.3%; blocks cost some.
            assert!((50..1200).contains(&strangers_reported(&*filter, 100_000)));
            // Far beyond one window nothing is forgotten, and nearly everything is reported.
            (0..20 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            assert!((0..BUDGET.window).all(|key| filter.contains(hash_of(key))));
            assert!(strangers_reported(&*filter, 10_000) > 5000);
        }
    }
}
