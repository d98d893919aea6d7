//! SWAMP: Assaf, Ben Basat, Einziger, Friedman, *Pay for a Sliding Bloom Filter and Get Counting, Distinct
//! Elements, and Entropy for Free*, 2018 (the paper's `AssafBEF18`).
//!
//! A ring of the fingerprints of the last w inserts, and a compact table of how often each of them is in the
//! ring. An insert takes the oldest fingerprint out of both and puts the new one in. The window is exact: no
//! slack, no false negatives; a stranger is reported if its fingerprint is in the ring.
//!
//! The source's table is `TinyTable`; ours is [`CountingTable`]. With a fifth more slots than items, as in
//! the source, ours takes 1% to 5% more memory than the paper's table 4 says (the report's table 4 has both).
//! Parameters: the length of the remainder and the number of slots, at least a fifth more than items, that
//! give the most fingerprints.

use super::counting_table::CountingTable;
use super::pieces::{Packed, below, bits_for};
use super::{Budget, Rival};

/// In bits: at most two words for the ring and two for the table.
const RINGS_AND_TABLES_ROUNDING: u64 = 4 * 64;

pub(crate) struct Swamp {
    ring: Packed,
    table: CountingTable,
    inserts: u64,
}

impl Swamp {
    /// `None` if not even remainders of one bit fit.
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let Budget { memory_bits, window } = budget;
        // As many slots as there is room for, with remainders of this length and fingerprints of at most this
        // length.
        let slots = |remainder_bits: u32, fingerprint_bits: u32| {
            let ring = window * u64::from(fingerprint_bits) + RINGS_AND_TABLES_ROUNDING;
            let room = memory_bits.checked_sub(ring)? / CountingTable::slot_bits(remainder_bits);
            let slots = room.min(1 << (fingerprint_bits - remainder_bits));
            (slots >= fewest_slots(window)).then_some(slots)
        };
        let all = (1..=36)
            .flat_map(|remainder| (remainder + 1..=60).map(move |fingerprint| (remainder, fingerprint)));
        let fitting =
            all.filter_map(|(remainder, fingerprint)| Some((slots(remainder, fingerprint)?, remainder)));
        let (slots, remainder_bits) =
            fitting.max_by_key(|&(slots, remainder_bits)| slots << remainder_bits)?;
        Some(Self::with_table(window, CountingTable::new(slots as usize, remainder_bits)))
    }

    /// Builds a table with as many slots as in the source.
    pub(crate) fn with_remainder_bits(window: u64, remainder_bits: u32) -> Self {
        Self::with_table(window, CountingTable::new(fewest_slots(window) as usize, remainder_bits))
    }

    fn with_table(window: u64, table: CountingTable) -> Self {
        let ring = Packed::new(window as usize, bits_for(table.fingerprints() - 1));
        Self { ring, table, inserts: 0 }
    }

    /// Maps a hash to one of the table's fingerprints, evenly.
    #[inline]
    fn fingerprint(&self, hash: u64) -> u64 {
        below(hash, self.table.fingerprints() as usize) as u64
    }
}

/// Returns a fifth more slots than items: fuller tables are slow.
fn fewest_slots(window: u64) -> u64 {
    window + window.div_ceil(5)
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
    fn an_item_that_fills_the_window_is_reported_until_another_has_replaced_it() {
        let mut swamp = Swamp::with_remainder_bits(1000, 3);
        (0..5000).for_each(|_| swamp.insert(hash_of(1)));
        (0..1000).for_each(|_| {
            assert!(swamp.contains(hash_of(1)));
            swamp.insert(hash_of(2));
        });
        assert!(swamp.contains(hash_of(2)) && !swamp.contains(hash_of(1)));
    }

    #[test]
    fn more_memory_lowers_the_rate_even_if_longer_remainders_do_not_fit() {
        let fingerprints = |bits_per_item: u64| {
            let window = 10_000;
            let budget = Budget { memory_bits: bits_per_item * window, window };
            Swamp::new(budget).expect("fits").table.fingerprints()
        };
        let all: Vec<u64> = (24..=48).map(fingerprints).collect();
        assert!(all.is_sorted_by(|fewer, more| fewer < more), "{all:?}");
        // 24 more bits give nearly eleven more bits of remainder, in the ring and in 1.2 slots.
        assert!(all[24] > all[0] << 10, "{all:?}");
    }

    #[test]
    fn too_little_memory_gives_none() {
        assert!(Swamp::new(Budget { memory_bits: 16_000_000, window: 1_000_000 }).is_none());
    }
}
