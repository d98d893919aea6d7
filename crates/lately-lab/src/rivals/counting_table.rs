//! A compact table of fingerprints with counts, in the role of `TinyTable` in [SWAMP](super::swamp).
//!
//! A fingerprint consists of a home (the slot to which it belongs) and a remainder (the bits that are
//! stored). The remainders of one home form a run, as near to the home as there is room. Runs are in the
//! order of their homes; three bits per slot tell where they begin. This is quotienting with linear probing,
//! one of several ways to store less than a fingerprint; `TinyTable` is another.
//!
//! A fingerprint that occurs more than once is followed by its count minus one, in digits as wide as a
//! remainder, lowest first, each in its own slot. A fingerprint never takes more slots than it has
//! occurrences.

use super::pieces::Packed;

/// This slot is the home of a stored remainder. The flag belongs to the slot, not to its content.
const OCCUPIED: u64 = 1;
/// The content belongs to the same run as that of the slot before.
const CONTINUES: u64 = 2;
/// The content is not in its home.
const SHIFTED: u64 = 4;
/// The content is a digit of a count.
const DIGIT: u64 = 8;
const FLAG_BITS: u32 = 4;

pub(super) struct CountingTable {
    slots: Packed,
    remainder_bits: u32,
}

impl CountingTable {
    /// There must be more slots than occurrences of fingerprints at any time.
    pub(super) fn new(slots: usize, remainder_bits: u32) -> Self {
        Self { slots: Packed::new(slots, remainder_bits + FLAG_BITS), remainder_bits }
    }

    pub(super) fn slot_bits(remainder_bits: u32) -> u64 {
        u64::from(remainder_bits + FLAG_BITS)
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.slots.memory_bits()
    }

    /// Returns the number of possible fingerprints: each is below this.
    pub(super) fn fingerprints(&self) -> u64 {
        (self.slots.len() as u64) << self.remainder_bits
    }

    #[inline]
    pub(super) fn contains(&self, fingerprint: u64) -> bool {
        let (home, remainder) = self.split(fingerprint);
        self.flags(home) & OCCUPIED != 0 && self.find(home, remainder).is_ok()
    }

    /// Adds one occurrence.
    pub(super) fn add(&mut self, fingerprint: u64) {
        let (home, remainder) = self.split(fingerprint);
        let at_home = self.slots.get(home);
        if at_home & (OCCUPIED | CONTINUES | SHIFTED) == 0 {
            self.slots.set(home, remainder << FLAG_BITS | OCCUPIED);
            return;
        }
        if at_home & OCCUPIED == 0 {
            self.slots.set(home, at_home | OCCUPIED);
            let start = self.run_start(home);
            let shifted = if start == home { 0 } else { SHIFTED };
            self.insert_slot(start, remainder << FLAG_BITS | shifted);
            return;
        }
        match self.find(home, remainder) {
            Ok(entry) => self.increment(entry),
            Err(end) => self.insert_slot(end, remainder << FLAG_BITS | CONTINUES | SHIFTED),
        }
    }

    /// Removes one occurrence, which must be there.
    pub(super) fn remove(&mut self, fingerprint: u64) {
        let (home, remainder) = self.split(fingerprint);
        let entry = self.find(home, remainder).expect("only added fingerprints are removed");
        let next = self.after(entry);
        if self.is_digit(next) {
            self.decrement(next, home);
            return;
        }
        let starts_run = self.flags(entry) & CONTINUES == 0;
        if starts_run && self.flags(next) & CONTINUES == 0 {
            self.slots.set(home, self.slots.get(home) & !OCCUPIED);
            self.remove_slot(entry, home);
        } else {
            self.remove_slot(entry, home);
            if starts_run {
                let own = if entry == home { CONTINUES | SHIFTED } else { CONTINUES };
                self.slots.set(entry, self.slots.get(entry) & !own);
            }
        }
    }

    fn split(&self, fingerprint: u64) -> (usize, u64) {
        let remainder = fingerprint & ((1 << self.remainder_bits) - 1);
        ((fingerprint >> self.remainder_bits) as usize, remainder)
    }

    #[inline]
    fn flags(&self, slot: usize) -> u64 {
        self.slots.get(slot) & (OCCUPIED | CONTINUES | SHIFTED | DIGIT)
    }

    #[inline]
    fn is_digit(&self, slot: usize) -> bool {
        self.flags(slot) & DIGIT != 0
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    #[inline]
    fn before(&self, slot: usize) -> usize {
        if slot == 0 { self.slots.len() - 1 } else { slot - 1 }
    }

    /// Returns where the run of an occupied home begins: as many runs after the start of its cluster as there
    /// are occupied homes in between.
    fn run_start(&self, home: usize) -> usize {
        let mut counted = home;
        while self.flags(counted) & SHIFTED != 0 {
            counted = self.before(counted);
        }
        let mut start = counted;
        while counted != home {
            start = self.after(start);
            while self.flags(start) & CONTINUES != 0 {
                start = self.after(start);
            }
            counted = self.after(counted);
            while self.flags(counted) & OCCUPIED == 0 {
                counted = self.after(counted);
            }
        }
        start
    }

    /// Returns the slot of a remainder in the run of an occupied home, or else the slot after the run.
    fn find(&self, home: usize, remainder: u64) -> Result<usize, usize> {
        let mut slot = self.run_start(home);
        loop {
            let content = self.slots.get(slot);
            if content & DIGIT == 0 && content >> FLAG_BITS == remainder {
                return Ok(slot);
            }
            slot = self.after(slot);
            if self.flags(slot) & CONTINUES == 0 {
                return Err(slot);
            }
        }
    }

    /// Inserts `content` at `slot`, and moves the contents from there to the first empty slot by one slot.
    fn insert_slot(&mut self, slot: usize, content: u64) {
        let (mut slot, mut carried) = (slot, content);
        loop {
            let found = self.slots.get(slot);
            self.slots.set(slot, carried & !OCCUPIED | found & OCCUPIED);
            if found & (OCCUPIED | CONTINUES | SHIFTED) == 0 {
                return;
            }
            carried = found & !OCCUPIED | SHIFTED;
            slot = self.after(slot);
        }
    }

    /// Removes the content of `slot`, which belongs to `home`, and moves the contents after it one slot back,
    /// up to the first that is at home.
    fn remove_slot(&mut self, slot: usize, home: usize) {
        let (mut slot, mut home) = (slot, home);
        loop {
            let next = self.after(slot);
            let moved = self.slots.get(next);
            let occupied = self.slots.get(slot) & OCCUPIED;
            if moved & SHIFTED == 0 {
                // Empty, or at home.
                self.slots.set(slot, occupied);
                return;
            }
            let mut moved = moved & !OCCUPIED;
            if moved & CONTINUES == 0 {
                home = self.after(home);
                while self.flags(home) & OCCUPIED == 0 {
                    home = self.after(home);
                }
                if home == slot {
                    moved &= !SHIFTED;
                }
            }
            self.slots.set(slot, moved | occupied);
            slot = next;
        }
    }

    fn increment(&mut self, entry: usize) {
        let full = (1 << self.remainder_bits) - 1;
        let mut slot = self.after(entry);
        while self.is_digit(slot) {
            let content = self.slots.get(slot);
            if content >> FLAG_BITS < full {
                self.slots.set(slot, content + (1 << FLAG_BITS));
                return;
            }
            self.slots.set(slot, content & (OCCUPIED | CONTINUES | SHIFTED | DIGIT));
            slot = self.after(slot);
        }
        self.insert_slot(slot, 1 << FLAG_BITS | CONTINUES | SHIFTED | DIGIT);
    }

    /// `lowest` is the first digit of a count that is not zero. The last digit of a count is never zero.
    fn decrement(&mut self, lowest: usize, home: usize) {
        let full = (1 << self.remainder_bits) - 1;
        let mut slot = lowest;
        while self.slots.get(slot) >> FLAG_BITS == 0 {
            self.slots.set(slot, self.slots.get(slot) | full << FLAG_BITS);
            slot = self.after(slot);
        }
        let content = self.slots.get(slot) - (1 << FLAG_BITS);
        self.slots.set(slot, content);
        if content >> FLAG_BITS == 0 && !self.is_digit(self.after(slot)) {
            self.remove_slot(slot, home);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;
    use crate::rivals::pieces::Random;

    /// Compares the table with a map, with few fingerprints (long counts) and many (long clusters), up to a
    /// load of 15/16.
    #[test]
    fn it_counts_like_a_map() {
        for (distinct, remainder_bits) in [(3, 1), (20, 2), (300, 1), (100_000, 7)] {
            let mut random = Random::new(distinct);
            let mut table = CountingTable::new(256, remainder_bits);
            let mut counts: HashMap<u64, u64> = HashMap::new();
            let mut queue = VecDeque::new();
            for step in 0..40_000 {
                let fingerprint = random.below((table.fingerprints().min(distinct)) as usize) as u64
                    * (table.fingerprints() / distinct.min(table.fingerprints()));
                table.add(fingerprint);
                *counts.entry(fingerprint).or_default() += 1;
                queue.push_back(fingerprint);
                if queue.len() > 240 {
                    let oldest = queue.pop_front().expect("not empty");
                    table.remove(oldest);
                    let count = counts.get_mut(&oldest).expect("counted");
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(&oldest);
                    }
                }
                if step % 97 == 0 {
                    for key in 0..table.fingerprints() {
                        assert_eq!(table.contains(key), counts.contains_key(&key), "{key} at step {step}");
                    }
                }
            }
            while let Some(fingerprint) = queue.pop_front() {
                table.remove(fingerprint);
            }
            assert!((0..256).all(|slot| table.slots.get(slot) == 0), "{distinct}: something was left behind");
        }
    }
}
