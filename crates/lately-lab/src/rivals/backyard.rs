//! A sliding dictionary with a backyard: Naor, Yogev, *Tight Bounds for Sliding Bloom Filters*, 2015 (the
//! paper's `NaorY15`), on the backyard cuckoo hashing of Arbitman, Naor, Segev, *Backyard Cuckoo Hashing:
//! Constant Worst-Case Operations with a Succinct Representation*, 2010.
//!
//! Every item has a fingerprint, and the dictionary has the fingerprints of the window with the generation of
//! their last insert. A fingerprint consists of a bin and a remainder. A bin has room for 32 remainders, in
//! [order](super::sorted_bins). A fingerprint whose bin is full goes to the backyard, a [cuckoo table](CuckooTable) with two
//! places per fingerprint, where it is stored whole. As each fingerprint is stored exactly, a stranger is
//! reported only if its fingerprint is that of an item.
//!
//! J generations are certain, so g = w / J, rounded up, and the slack is one generation. Marks of generations
//! take three bits (`Marks`). Expired remainders are removed when their bin is full, and swept before their
//! marks wrap.
//!
//! What we chose, because the paper only names the dictionary:
//! - Remainders in order take the role of the sources' encoding of a bin as a set. A bin is searched, and its
//!   remainders are moved, one by one; the sources do it at once, with tables.
//! - The backyard displaces items at once; the sources bound the worst case with a queue of
//!   displacements. If no place is found, the last displaced item is lost, which is a false negative.
//! - An item moves from the backyard to its bin, if that has room again, when the sweep visits it: once per
//!   generation. A fingerprint is never in both.
//! - Hashes take the role of the sources' permutations.
//!
//! Parameters: J = 5; the number of bins and the length of remainders that give the most fingerprints; a
//! backyard that is at most 40% full with the expected overflow and six standard deviations more. Cuckoo
//! tables with one slot per place work up to 50%.

use super::cuckoo_table::CuckooTable;
use super::pieces::{Generations, Marks, Sweep, below, bits_for, fold, position};
use super::sorted_bins::{GROUP_BITS, SLOTS_PER_BIN, SortedBins};
use super::{Budget, GENERATIONS, Rival};

const BACKYARD_LOAD: f64 = 0.4;
/// In bits: at most two words for the bins' slots and two for the backyard.
const ROUNDING: u64 = 4 * 64;

pub(super) struct Backyard {
    bins: SortedBins,
    backyard: CuckooTable<1>,
    remainder_bits: u32,
    marks: Marks,
    generations: Generations,
    sweep_bins: Sweep,
    sweep_backyard: Sweep,
}

/// The sizes of a dictionary.
#[derive(Clone, Copy)]
struct Sizes {
    bins: u64,
    remainder_bits: u32,
    backyard: u64,
}

impl Sizes {
    fn new(items: u64, bins: u64, remainder_bits: u32) -> Self {
        let overflow = bins as f64 * expected_overflow(items as f64 / bins as f64);
        let backyard = ((overflow + 6.0 * overflow.sqrt() + 20.0) / BACKYARD_LOAD).ceil() as u64;
        Self { bins, remainder_bits, backyard }
    }

    fn fingerprints(self) -> u64 {
        self.bins << self.remainder_bits
    }

    fn fingerprint_bits(self) -> u32 {
        bits_for(self.fingerprints() - 1)
    }

    fn memory_bits(self) -> u64 {
        let bins = self.bins * SortedBins::bin_bits(self.remainder_bits - GROUP_BITS);
        bins + self.backyard * u64::from(self.fingerprint_bits() + Marks::BITS) + ROUNDING
    }

    /// Returns the sizes with the most bins that fit, for remainders of this length.
    fn fitting(memory_bits: u64, items: u64, remainder_bits: u32) -> Option<Self> {
        let mut bins = memory_bits / SortedBins::bin_bits(remainder_bits - GROUP_BITS);
        // Fewer bins need a larger backyard. Below this, it would grow faster than the bins shrink.
        while bins > 0 && items as f64 / (bins as f64 * SLOTS_PER_BIN as f64) < 1.1 {
            let sizes = Self::new(items, bins, remainder_bits);
            if sizes.memory_bits() <= memory_bits {
                return Some(sizes);
            }
            bins -= (bins / 500).max(1);
        }
        None
    }
}

/// Returns the expected number of items that find a bin full, per bin, with this many items per bin.
fn expected_overflow(items_per_bin: f64) -> f64 {
    let mut probability = (-items_per_bin).exp();
    let mut missing = 0.0;
    for count in 0..SLOTS_PER_BIN {
        missing += (SLOTS_PER_BIN - count) as f64 * probability;
        probability *= items_per_bin / (count + 1) as f64;
    }
    // E[(X - s)+] = E[X] - s + E[(s - X)+].
    (items_per_bin - SLOTS_PER_BIN as f64 + missing).max(0.0)
}

impl Backyard {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let generations = Generations::new(budget.window, GENERATIONS);
        let most_items = (GENERATIONS + 1) * generations.per_generation();
        let choices =
            (GROUP_BITS..=40).filter_map(|bits| Sizes::fitting(budget.memory_bits, most_items, bits));
        let sizes = choices.max_by_key(|sizes| sizes.fingerprints())?;
        Some(Self {
            bins: SortedBins::new(sizes.bins as usize, sizes.remainder_bits - GROUP_BITS),
            backyard: CuckooTable::new(sizes.backyard as usize, sizes.fingerprint_bits(), 6),
            remainder_bits: sizes.remainder_bits,
            marks: Marks::default(),
            sweep_bins: Sweep::new(sizes.bins as usize, generations.per_generation()),
            sweep_backyard: Sweep::new(sizes.backyard as usize, generations.per_generation()),
            generations,
        })
    }

    fn fingerprints(&self) -> u64 {
        (self.bins.len() as u64) << self.remainder_bits
    }

    #[inline]
    fn fingerprint(&self, hash: u64) -> u64 {
        below(hash, self.fingerprints() as usize) as u64
    }

    /// Returns the bin and the remainder of a fingerprint.
    #[inline]
    fn split(&self, fingerprint: u64) -> (usize, u64) {
        ((fingerprint >> self.remainder_bits) as usize, fingerprint & ((1 << self.remainder_bits) - 1))
    }

    #[inline]
    fn places(&self, fingerprint: u64) -> [usize; 2] {
        places(fingerprint, self.backyard.len())
    }

    fn add(&mut self, fingerprint: u64) {
        let (bin, remainder) = self.split(fingerprint);
        if !self.add_to_bin(bin, remainder, self.marks.newest()) {
            let len = self.backyard.len();
            let other = |fingerprint, place| {
                let [first, second] = places(fingerprint, len);
                if place == first { second } else { first }
            };
            self.backyard.add(fingerprint, places(fingerprint, len), self.marks, other);
        }
    }

    /// Returns false if the bin is full.
    fn add_to_bin(&mut self, bin: usize, remainder: u64, mark: u64) -> bool {
        self.bins.add(bin, remainder, mark) || {
            self.bins.clean(bin, self.marks);
            self.bins.add(bin, remainder, mark)
        }
    }

    fn sweep(&mut self) {
        for bin in self.sweep_bins.advance_to_end() {
            self.bins.clean(bin, self.marks);
        }
        for place in self.sweep_backyard.advance_to_end() {
            let (fingerprint, mark) = self.backyard.content(place);
            let (bin, remainder) = self.split(fingerprint);
            if !self.backyard.is_live(place, self.marks) || self.add_to_bin(bin, remainder, mark) {
                self.backyard.clear(place);
            }
        }
    }
}

/// Returns the two places of a fingerprint in a backyard of `len` places.
#[inline]
fn places(fingerprint: u64, len: usize) -> [usize; 2] {
    [0, 1].map(|i| position(fold(fingerprint), i, len))
}

impl Rival for Backyard {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.marks.begin_generation();
            self.sweep_bins.restart();
            self.sweep_backyard.restart();
        }
        self.sweep();
        let fingerprint = self.fingerprint(hash);
        let (bin, remainder) = self.split(fingerprint);
        if let Some(place) = self.backyard.find(fingerprint, self.places(fingerprint), self.marks) {
            self.backyard.renew(place, fingerprint, self.marks);
        } else if let Some(slot) = self.bins.find(bin, remainder) {
            self.bins.set_mark(slot, self.marks.newest());
        } else {
            self.add(fingerprint);
        }
    }

    fn contains(&self, hash: u64) -> bool {
        let fingerprint = self.fingerprint(hash);
        let (bin, remainder) = self.split(fingerprint);
        self.bins.find(bin, remainder).is_some_and(|slot| self.bins.is_live(slot, self.marks))
            || self.backyard.find(fingerprint, self.places(fingerprint), self.marks).is_some()
    }

    fn memory_bits(&self) -> u64 {
        self.bins.memory_bits() + self.backyard.memory_bits()
    }

    fn parameters(&self) -> String {
        let share = self.backyard.len() as f64 / (self.bins.len() * SLOTS_PER_BIN) as f64;
        format!(
            "J={GENERATIONS} remainders of {} bits, backyard of {:.1}%, {} lost",
            self.remainder_bits,
            100.0 * share,
            self.backyard.lost()
        )
    }

    fn own_window(&self) -> Option<u64> {
        (self.backyard.lost() == 0).then_some(self.generations.window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{
        BUDGET, assert_forgets_after, assert_never_forgets_the_window, assert_never_reports_again_after,
        strangers_reported,
    };
    use crate::rivals::{Random, hash_of};

    fn with(bits_per_item: u64) -> Backyard {
        let budget = Budget { memory_bits: bits_per_item * BUDGET.window, window: BUDGET.window };
        Backyard::new(budget).expect("fits")
    }

    #[test]
    fn the_window_is_never_forgotten() {
        for bits_per_item in [10, 16, 64] {
            let mut dictionary = with(bits_per_item);
            assert_never_forgets_the_window(&mut dictionary);
            assert_eq!(dictionary.backyard.lost(), 0);
        }
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        for rounds in 0..3 {
            // Also after the marks have wrapped.
            let age = BUDGET.window + generation + rounds * Marks::COUNT * generation;
            assert_forgets_after(&mut with(32), age);
        }
        assert_never_reports_again_after(&mut with(32), BUDGET.window + generation);
    }

    #[test]
    fn distinct_items_lose_nothing_and_the_backyard_is_as_full_as_planned() {
        let window = 100_000;
        let mut dictionary = Backyard::new(Budget { memory_bits: 16 * window, window }).expect("fits");
        // Up to the insert before a generation begins.
        (0..8 * window).for_each(|key| dictionary.insert(hash_of(key)));
        let Backyard { bins, backyard, marks, .. } = &dictionary;
        let in_backyard = (0..backyard.len()).filter(|&i| backyard.is_live(i, *marks)).count();
        let items = (bins.live(*marks) + in_backyard) as f64;
        // All of six generations, but for items with equal fingerprints.
        assert!((1.15..=1.2).contains(&(items / window as f64)), "{items}");
        let load = in_backyard as f64 / backyard.len() as f64;
        assert!((0.1..=BACKYARD_LOAD).contains(&load), "{load} of the backyard");
        assert_eq!(dictionary.backyard.lost(), 0);
    }

    #[test]
    fn the_rate_is_that_of_fingerprints_alone() {
        let mut dictionary = with(14);
        (0..6 * BUDGET.window).for_each(|key| dictionary.insert(hash_of(key)));
        // The last generation is full.
        let expected = 1.2 * BUDGET.window as f64 / dictionary.fingerprints() as f64;
        let rate = strangers_reported(&dictionary, 200_000) as f64 / 2e5;
        assert!((rate / expected - 1.0).abs() < 0.1, "{rate}, expected {expected}");
    }

    #[test]
    fn the_expected_overflow_is_that_of_random_bins() {
        let (bins, per_bin) = (20_000, 28);
        let mut counts = vec![0_usize; bins];
        let mut random = Random::new(1);
        (0..bins * per_bin).for_each(|_| counts[random.below(bins)] += 1);
        let overflow: usize = counts.iter().map(|count| count.saturating_sub(SLOTS_PER_BIN)).sum();
        let expected = expected_overflow(per_bin as f64) * bins as f64;
        assert!((overflow as f64 / expected - 1.0).abs() < 0.05, "{overflow}, expected {expected}");
    }

    #[test]
    fn little_memory_is_left_unused() {
        for bits_per_item in 10..48 {
            let used = with(bits_per_item).memory_bits() as f64 / (bits_per_item * BUDGET.window) as f64;
            assert!((0.97..=1.0).contains(&used), "{used} of {bits_per_item} bits");
        }
    }
}
