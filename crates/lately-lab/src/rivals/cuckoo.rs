//! A sliding cuckoo dictionary: fingerprints with ages in a cuckoo table, after Liu, Chen, Guan,
//! *Near-Optimal Approximate Membership Query over Time-Decaying Windows*, 2013 (the paper's `LiuCG13`), and
//! the cuckoo filter of Fan, Andersen, Kaminsky, Mitzenmacher, *Cuckoo Filter: Practically Better Than
//! Bloom*, 2014 (`FanAKM14`).
//!
//! Buckets have four slots. An item's fingerprint is in one of two buckets, with the generation of its last
//! insert. An item that arrives again only gets a new age. Expired slots are free, and are swept before their
//! age wraps.
//!
//! J generations are certain, so g = w / J, rounded up, and the slack is one generation. Ages take 3 bits:
//! six live ages (J + 1), one that is being swept, and "empty". An item that finds no room is lost, which is a
//! false negative; slots are planned for a load of at most 0.93, where this was never seen. Parameters: J = 5,
//! the longest fingerprints that fit at that load, and then as many buckets as fit.

use super::cuckoo_table::CuckooTable;
use super::pieces::{Generations, Marks, Sweep, below, fold};
use super::{Budget, GENERATIONS, Rival};

const SLOTS_PER_BUCKET: usize = 4;
const MAX_LOAD: f64 = 0.93;

pub(super) struct Cuckoo {
    table: CuckooTable<SLOTS_PER_BUCKET>,
    marks: Marks,
    generations: Generations,
    sweep: Sweep,
}

impl Cuckoo {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let generations = Generations::new(budget.window, GENERATIONS);
        let most_items = (GENERATIONS + 1) * generations.per_generation();
        let fewest_buckets = (most_items as f64 / (MAX_LOAD * SLOTS_PER_BUCKET as f64)).ceil() as u64;
        let bits = budget.memory_bits.checked_sub(128)?;
        let width = (bits / (fewest_buckets * SLOTS_PER_BUCKET as u64)).min(40);
        if width <= u64::from(Marks::BITS) {
            return None;
        }
        let buckets = (bits / (width * SLOTS_PER_BUCKET as u64)) as usize;
        let table = CuckooTable::new(buckets, width as u32 - Marks::BITS, 5);
        Some(Self {
            marks: Marks::default(),
            sweep: Sweep::new(table.len(), generations.per_generation()),
            generations,
            table,
        })
    }

    /// Returns the fingerprint and its two buckets.
    #[inline]
    fn places(&self, hash: u64) -> (u64, [usize; 2]) {
        let fingerprint = hash & ((1 << self.table.fingerprint_bits()) - 1);
        let first = below(hash, self.table.buckets());
        (fingerprint, [first, other(fingerprint, first, self.table.buckets())])
    }
}

/// Returns the other bucket of a fingerprint: the sum of the two depends only on the fingerprint.
#[inline]
fn other(fingerprint: u64, bucket: usize, buckets: usize) -> usize {
    let sum = below(fold(fingerprint), buckets);
    (if sum < bucket { sum + buckets } else { sum }) - bucket
}

impl Rival for Cuckoo {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.marks.begin_generation();
            self.sweep.restart();
        }
        for slot in self.sweep.advance_to_end() {
            if !self.table.is_live(slot, self.marks) {
                self.table.clear(slot);
            }
        }
        let (fingerprint, places) = self.places(hash);
        match self.table.find(fingerprint, places, self.marks) {
            Some(slot) => self.table.renew(slot, fingerprint, self.marks),
            None => {
                let buckets = self.table.buckets();
                let other = |fingerprint, bucket| other(fingerprint, bucket, buckets);
                self.table.add(fingerprint, places, self.marks, other);
            }
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let (fingerprint, places) = self.places(hash);
        self.table.find(fingerprint, places, self.marks).is_some()
    }

    fn memory_bits(&self) -> u64 {
        self.table.memory_bits()
    }

    fn parameters(&self) -> String {
        let (bits, lost) = (self.table.fingerprint_bits(), self.table.lost());
        format!("J={GENERATIONS} fingerprints of {bits} bits, {lost} lost")
    }

    fn own_window(&self) -> Option<u64> {
        (self.table.lost() == 0).then_some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, assert_never_reports_again_after,
        strangers_reported,
    };

    fn with(bits_per_item: u64) -> Cuckoo {
        Cuckoo::new(Budget { memory_bits: bits_per_item * BUDGET.window, window: BUDGET.window })
            .expect("fits")
    }

    #[test]
    fn the_window_is_never_forgotten_as_long_as_there_is_room() {
        for bits_per_item in [12, 16, 64] {
            let mut cuckoo = with(bits_per_item);
            assert_never_forgets_the_window(&mut cuckoo);
            assert_eq!(cuckoo.table.lost(), 0);
        }
    }

    fn load(cuckoo: &Cuckoo) -> f64 {
        let Cuckoo { table, marks, .. } = cuckoo;
        (0..table.len()).filter(|&slot| table.is_live(slot, *marks)).count() as f64 / table.len() as f64
    }

    #[test]
    fn a_full_table_of_distinct_items_loses_nothing() {
        // 968 buckets of four slots of 18 bits, and not a bit more: the 3600 items just before a shift are a
        // load of 0.93.
        let budget = Budget { memory_bits: 128 + 968 * 4 * 18, window: BUDGET.window };
        let mut cuckoo = Cuckoo::new(budget).expect("fits");
        (0..102 * BUDGET.window).for_each(|key| cuckoo.insert(hash_of(key)));
        assert!((0.925..=MAX_LOAD).contains(&load(&cuckoo)), "{}", load(&cuckoo));
        assert_eq!(cuckoo.table.lost(), 0);
    }

    #[test]
    fn memory_that_does_not_suffice_for_longer_fingerprints_goes_to_more_buckets() {
        for bits_per_item in 12..48 {
            let used = with(bits_per_item).memory_bits() as f64 / (bits_per_item * BUDGET.window) as f64;
            assert!((0.99..=1.0).contains(&used), "{used} of {bits_per_item} bits");
        }
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        for rounds in 0..3 {
            // Also after the ages have wrapped.
            let age = BUDGET.window + generation + rounds * Marks::COUNT * generation;
            assert_forgets_after(&mut with(32), age);
        }
    }

    #[test]
    fn no_expired_age_is_taken_for_a_young_one_when_ages_wrap() {
        assert_never_reports_again_after(&mut with(32), BUDGET.window + BUDGET.window.div_ceil(GENERATIONS));
    }

    #[test]
    fn the_rate_is_that_of_eight_fingerprints() {
        let mut cuckoo = with(16);
        (0..6 * BUDGET.window).for_each(|key| cuckoo.insert(hash_of(key)));
        let fingerprints = f64::from(1_u32 << cuckoo.table.fingerprint_bits());
        let expected = 8.0 * load(&cuckoo) / fingerprints;
        let rate = strangers_reported(&cuckoo, 200_000) as f64 / 2e5;
        assert!((rate / expected - 1.0).abs() < 0.1, "{rate}, expected {expected}");
    }

    #[test]
    fn both_buckets_lead_to_each_other() {
        let cuckoo = with(32);
        for key in 0..10_000 {
            let (fingerprint, [first, second]) = cuckoo.places(hash_of(key));
            assert!(second < cuckoo.table.buckets());
            assert_eq!(other(fingerprint, second, cuckoo.table.buckets()), first);
        }
    }
}
