//! Bins of up to 32 remainders with marks, each kept in order, in the role of the bins of backyard cuckoo
//! hashing: see [`backyard`](super::backyard).
//!
//! The order of the remainders in a bin carries no information, and storing them in order saves it. The five
//! high bits of a remainder are its group. A word per bin has, for each of the 32 groups, a one for each
//! remainder and then a zero. So a group costs two bits per slot, instead of five. The low bits of the
//! remainders are stored in slots, in the same order.

use std::ops::Range;

use super::pieces::{Marks, Packed};

pub(super) const SLOTS_PER_BIN: usize = 32;
pub(super) const GROUP_BITS: u32 = 5;

pub(super) struct SortedBins {
    groups: Vec<u64>,
    /// Low bits of a remainder, and below them the mark of its generation.
    slots: Packed,
}

impl SortedBins {
    /// Remainders have `GROUP_BITS` bits and `low_bits` more.
    pub(super) fn new(bins: usize, low_bits: u32) -> Self {
        Self { groups: vec![0; bins], slots: Packed::new(bins * SLOTS_PER_BIN, low_bits + Marks::BITS) }
    }

    /// Returns the bits of a bin.
    pub(super) fn bin_bits(low_bits: u32) -> u64 {
        64 + SLOTS_PER_BIN as u64 * u64::from(low_bits + Marks::BITS)
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.groups.len() as u64 * 64 + self.slots.memory_bits()
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    fn low_bits(&self) -> u32 {
        self.slots.width() - Marks::BITS
    }

    fn split(&self, remainder: u64) -> (u32, u64) {
        ((remainder >> self.low_bits()) as u32, remainder & ((1 << self.low_bits()) - 1))
    }

    /// Returns the place of a group's first one (or of its zero) in the bin's word, and the slots of the group.
    #[inline]
    fn group(&self, bin: usize, group: u32) -> (u32, Range<usize>) {
        // The zero that ends the group: the lowest after those of the groups before it.
        let mut ends = !self.groups[bin];
        (0..group).for_each(|_| ends &= ends - 1);
        let end = ends.trailing_zeros();
        // Before it there are `group` zeros, and a one for each slot.
        let last = bin * SLOTS_PER_BIN + (end - group) as usize;
        let count = self.groups[bin].checked_shl(64 - end).map_or(0, u64::leading_ones);
        (end - count, last - count as usize..last)
    }

    fn count(&self, bin: usize) -> usize {
        self.groups[bin].count_ones() as usize
    }

    /// Returns the slot of a remainder, also if it has expired.
    #[inline]
    pub(super) fn find(&self, bin: usize, remainder: u64) -> Option<usize> {
        let (group, low) = self.split(remainder);
        let (_, mut slots) = self.group(bin, group);
        slots.find(|&slot| self.slots.get(slot) >> Marks::BITS == low)
    }

    /// Returns true if the remainder in this slot has not expired.
    #[inline]
    pub(super) fn is_live(&self, slot: usize, marks: Marks) -> bool {
        marks.is_live(self.slots.get(slot))
    }

    pub(super) fn set_mark(&mut self, slot: usize, mark: u64) {
        self.slots.set(slot, self.slots.get(slot) & !Marks::MASK | mark);
    }

    /// Adds a remainder that is not in the bin. Returns false if the bin is full.
    pub(super) fn add(&mut self, bin: usize, remainder: u64, mark: u64) -> bool {
        if self.count(bin) == SLOTS_PER_BIN {
            return false;
        }
        let (group, low) = self.split(remainder);
        let (place, slots) = self.group(bin, group);
        let end = bin * SLOTS_PER_BIN + self.count(bin);
        (slots.start..end).rev().for_each(|slot| self.slots.set(slot + 1, self.slots.get(slot)));
        self.slots.set(slots.start, low << Marks::BITS | mark);
        let word = self.groups[bin];
        let before = (1 << place) - 1;
        self.groups[bin] = word & before | 1 << place | (word & !before) << 1;
        true
    }

    /// Removes all remainders of a bin that have expired.
    pub(super) fn clean(&mut self, bin: usize, marks: Marks) {
        let first = bin * SLOTS_PER_BIN;
        let word = self.groups[bin];
        let (mut kept, mut kept_slots) = (0, first);
        let mut length = 0;
        let mut slot = first;
        for place in 0..64 {
            if word >> place & 1 == 0 {
                length += 1;
                continue;
            }
            let content = self.slots.get(slot);
            slot += 1;
            if marks.is_live(content) {
                self.slots.set(kept_slots, content);
                kept_slots += 1;
                kept |= 1 << length;
                length += 1;
            }
        }
        self.groups[bin] = kept;
    }

    /// Returns the number of live remainders.
    #[cfg(test)]
    pub(super) fn live(&self, marks: Marks) -> usize {
        let slots = (0..self.len()).flat_map(|bin| {
            let first = bin * SLOTS_PER_BIN;
            first..first + self.count(bin)
        });
        slots.filter(|&slot| self.is_live(slot, marks)).count()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::rivals::pieces::Random;

    #[test]
    fn they_hold_what_a_map_holds() {
        for low_bits in [0, 1, 9] {
            let mut bins = SortedBins::new(5, low_bits);
            let mut marks = Marks::default();
            // For each bin and remainder, the generation of its last mark.
            let mut expected: HashMap<(usize, u64), u64> = HashMap::new();
            let mut random = Random::new(u64::from(low_bits));
            for generation in 0..60 {
                for _ in 0..25 {
                    let (bin, remainder) = (random.below(5), random.below(32 << low_bits) as u64);
                    let of_bin = expected.keys().filter(|key| key.0 == bin).count();
                    let is_added = match bins.find(bin, remainder) {
                        Some(slot) => {
                            bins.set_mark(slot, marks.newest());
                            true
                        }
                        None => bins.add(bin, remainder, marks.newest()),
                    };
                    assert_eq!(is_added, of_bin < 32 || expected.contains_key(&(bin, remainder)));
                    if is_added {
                        expected.insert((bin, remainder), generation);
                    }
                    for bin in 0..5 {
                        for remainder in 0..32 << low_bits.min(3) {
                            let found = bins.find(bin, remainder);
                            let last = expected.get(&(bin, remainder));
                            assert_eq!(found.is_some(), last.is_some());
                            let is_live = found.is_some_and(|slot| bins.is_live(slot, marks));
                            assert_eq!(is_live, last.is_some_and(|last| generation - last <= 5));
                        }
                    }
                }
                marks.begin_generation();
                (0..5).for_each(|bin| bins.clean(bin, marks));
                expected.retain(|_, last| generation + 1 - *last <= 5);
                assert_eq!(bins.live(marks), expected.len());
            }
        }
    }
}
