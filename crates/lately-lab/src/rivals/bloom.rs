//! The plain Bloom filter that segments are made of, and its best number of hashes.

use std::f64::consts::LN_2;

use super::pieces::{Bits, position};

pub(super) struct Bloom {
    bits: Bits,
    hashes: u32,
}

impl Bloom {
    pub(super) fn new(bits: u64, hashes: u32) -> Self {
        Self { bits: Bits::new(bits), hashes }
    }

    pub(super) fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    pub(super) fn insert(&mut self, hash: u64) {
        for i in 0..self.hashes {
            self.bits.set(position(hash, i, self.bits.len()));
        }
    }

    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.bits.get(position(hash, i, self.bits.len())))
    }

    pub(super) fn clear(&mut self) {
        self.bits.clear();
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.bits.memory_bits()
    }
}

/// Returns the number of hashes with which a Bloom filter has its lowest rate: half of its bits are set.
pub(super) fn best_hashes(cells_per_item: f64) -> u32 {
    (cells_per_item * LN_2).round().clamp(1.0, 32.0) as u32
}

/// Returns the share of cells that `items` items with `hashes` hashes each have reached.
pub(super) fn fill(items: f64, hashes: u32, cells: f64) -> f64 {
    -(-f64::from(hashes) * items / cells).exp_m1()
}

/// Returns the number of hashes with the lowest rate, and that rate, if a query reads all of `filters`
/// filters, each with `cells` cells and `items` items.
pub(super) fn best_hashes_for_any_of(filters: u64, items: f64, cells: f64) -> (u32, f64) {
    let rate = |hashes: u32| {
        let of_one = fill(items, hashes, cells).powf(f64::from(hashes));
        -(filters as f64 * (-of_one).ln_1p()).exp_m1()
    };
    let rates = (1..=32).map(|hashes| (hashes, rate(hashes)));
    rates.min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;

    #[test]
    fn it_has_the_rate_of_a_bloom_filter() {
        let mut bloom = Bloom::new(100_000, best_hashes(10.0));
        (0..10_000).for_each(|key| bloom.insert(hash_of(key)));
        assert!((0..10_000).all(|key| bloom.contains(hash_of(key))));
        let reported = (0..200_000).filter(|key| bloom.contains(hash_of(1 << 40 | key))).count();
        // (1 - e^(-0.7))^7 = 0.0082; filter and sample scatter by less than a tenth.
        assert!((1476..=1804).contains(&reported), "{reported} of 200000");
    }

    #[test]
    fn both_rules_give_one_filter_the_same_number_of_hashes() {
        let (hashes, rate) = best_hashes_for_any_of(1, 1.0, 10.0);
        assert_eq!(hashes, best_hashes(10.0));
        assert!((rate - 0.0082).abs() < 0.0001, "{rate}");
    }
}
