//! SWAMP: Assaf, Ben Basat, Einziger, Friedman, *Pay for a Sliding Bloom Filter and Get Counting, Distinct Elements, and Entropy
//! for Free*, 2018 (the paper's `AssafBEF18`).
//!
//! A ring of the fingerprints of the last w inserts, and a compact table of how often each of them is in the ring. An insert
//! takes the oldest fingerprint out of both and puts the new one in. The window is exact: no slack, no false negatives; a
//! stranger is reported if its fingerprint is in the ring.
//!
//! The source's table is `TinyTable`; ours is [`CountingTable`], which takes as much memory: a fifth more slots than
//! items, and a little more than a remainder in each. Parameters: the longest remainder that fits.

use super::counting_table::CountingTable;
use super::pieces::{Packed, below, bits_for};
use super::{Budget, Rival};

pub(crate) struct Swamp {
    ring: Packed,
    table: CountingTable,
    inserts: u64,
}

impl Swamp {
    /// `None` if not even remainders of one bit fit.
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let fits = |remainder_bits: &u32| {
            Self::memory_bits_for(budget.window, *remainder_bits) <= budget.memory_bits
        };
        let remainder_bits = (1..=36).rev().find(fits)?;
        Some(Self::with_remainder_bits(budget.window, remainder_bits))
    }

    pub(crate) fn with_remainder_bits(window: u64, remainder_bits: u32) -> Self {
        let table = CountingTable::new(slots_for(window), remainder_bits);
        let ring = Packed::new(window as usize, bits_for(table.fingerprints() - 1));
        Self { ring, table, inserts: 0 }
    }

    fn memory_bits_for(window: u64, remainder_bits: u32) -> u64 {
        let slots = slots_for(window) as u64;
        let fingerprint_bits = bits_for((slots << remainder_bits) - 1);
        // Two words each for rounding up.
        window * u64::from(fingerprint_bits) + slots * u64::from(remainder_bits + 4) + 4 * 64
    }

    /// Any hash to one of the table's fingerprints, evenly.
    #[inline]
    fn fingerprint(&self, hash: u64) -> u64 {
        below(hash, self.table.fingerprints() as usize) as u64
    }
}

fn slots_for(window: u64) -> usize {
    (window + window.div_ceil(5)) as usize
}

impl Rival for Swamp {
    fn insert(&mut self, hash: u64) {
        let place = (self.inserts % self.ring.len() as u64) as usize;
        if self.inserts >= self.ring.len() as u64 {
            self.table.remove(self.ring.get(place));
        }
        let fingerprint = self.fingerprint(hash);
        self.table.add(fingerprint);
        self.ring.set(place, fingerprint);
        self.inserts += 1;
    }

    fn contains(&self, hash: u64) -> bool {
        self.table.contains(self.fingerprint(hash))
    }

    fn memory_bits(&self) -> u64 {
        self.ring.memory_bits() + self.table.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("fingerprints of {} bits", self.ring.width())
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.ring.len() as u64)
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
    fn the_window_is_exact() {
        assert_never_forgets_the_window(&mut Swamp::new(BUDGET).expect("fits"));
        assert_forgets_after(&mut Swamp::new(BUDGET).expect("fits"), BUDGET.window);
    }

    #[test]
    fn the_rate_is_that_of_fingerprints() {
        let mut swamp = Swamp::with_remainder_bits(10_000, 4);
        (0..50_000).for_each(|key| swamp.insert(hash_of(key)));
        // 1 - (1 - 1/(12000 * 16))^10000 = 0.0507.
        let reported = strangers_reported(&swamp, 200_000);
        assert!((9600..=10_700).contains(&reported), "{reported} of 200000");
    }

    #[test]
    fn one_item_for_ever_and_then_another() {
        let mut swamp = Swamp::with_remainder_bits(1000, 3);
        (0..5000).for_each(|_| swamp.insert(hash_of(1)));
        (0..1000).for_each(|_| {
            assert!(swamp.contains(hash_of(1)));
            swamp.insert(hash_of(2));
        });
        assert!(swamp.contains(hash_of(2)) && !swamp.contains(hash_of(1)));
    }

    #[test]
    fn too_little_memory_is_none() {
        assert!(Swamp::new(Budget { memory_bits: 16_000_000, window: 1_000_000 }).is_none());
    }
}
