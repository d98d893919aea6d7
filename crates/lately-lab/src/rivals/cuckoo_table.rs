//! A cuckoo table of fingerprints with the generations of their last inserts: the common part of the
//! [cuckoo dictionary](super::cuckoo) and the [backyard](super::backyard).
//!
//! A fingerprint is in a slot of one of its two buckets. If both are full, another fingerprint makes room and moves
//! to its other bucket, and so on. If no room is found after 500 displacements, the last displaced fingerprint is
//! lost. Expired slots are free.

use std::ops::Range;

use super::pieces::{Marks, Packed, Random};

const MAX_DISPLACEMENTS: u32 = 500;

pub(super) struct CuckooTable<const SLOTS_PER_BUCKET: usize> {
    /// A fingerprint, and in the bits below it the mark of its generation.
    slots: Packed,
    random: Random,
    lost: u64,
}

impl<const SLOTS_PER_BUCKET: usize> CuckooTable<SLOTS_PER_BUCKET> {
    pub(super) fn new(buckets: usize, fingerprint_bits: u32, seed: u64) -> Self {
        let slots = Packed::new(buckets * SLOTS_PER_BUCKET, fingerprint_bits + Marks::BITS);
        Self { slots, random: Random::new(seed), lost: 0 }
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn buckets(&self) -> usize {
        self.len() / SLOTS_PER_BUCKET
    }

    pub(super) fn fingerprint_bits(&self) -> u32 {
        self.slots.width() - Marks::BITS
    }

    /// Returns how many fingerprints found no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.slots.memory_bits()
    }

    #[inline]
    fn slots_of(bucket: usize) -> Range<usize> {
        bucket * SLOTS_PER_BUCKET..(bucket + 1) * SLOTS_PER_BUCKET
    }

    #[inline]
    pub(super) fn is_live(&self, slot: usize, marks: Marks) -> bool {
        marks.is_live(self.slots.get(slot))
    }

    /// Returns the fingerprint and the mark of a slot.
    pub(super) fn content(&self, slot: usize) -> (u64, u64) {
        let content = self.slots.get(slot);
        (content >> Marks::BITS, content & Marks::MASK)
    }

    pub(super) fn clear(&mut self, slot: usize) {
        self.slots.set(slot, 0);
    }

    /// Returns the slot of a fingerprint that has not expired.
    #[inline]
    pub(super) fn find(&self, fingerprint: u64, buckets: [usize; 2], marks: Marks) -> Option<usize> {
        buckets.into_iter().flat_map(Self::slots_of).find(|&slot| {
            let content = self.slots.get(slot);
            content >> Marks::BITS == fingerprint && marks.is_live(content)
        })
    }

    /// Marks a fingerprint as one of the newest generation.
    #[inline]
    pub(super) fn renew(&mut self, slot: usize, fingerprint: u64, marks: Marks) {
        self.slots.set(slot, fingerprint << Marks::BITS | marks.newest());
    }

    fn free_slot(&self, bucket: usize, marks: Marks) -> Option<usize> {
        Self::slots_of(bucket).find(|&slot| !self.is_live(slot, marks))
    }

    /// Adds a fingerprint to the newest generation. `other` tells the other bucket of a fingerprint.
    pub(super) fn add(
        &mut self,
        fingerprint: u64,
        buckets: [usize; 2],
        marks: Marks,
        other: impl Fn(u64, usize) -> usize,
    ) {
        let mut content = fingerprint << Marks::BITS | marks.newest();
        if let Some(slot) = buckets.into_iter().find_map(|bucket| self.free_slot(bucket, marks)) {
            self.slots.set(slot, content);
            return;
        }
        let mut bucket = buckets[self.random.below(2)];
        for _ in 0..MAX_DISPLACEMENTS {
            let victim = bucket * SLOTS_PER_BUCKET + self.random.below(SLOTS_PER_BUCKET);
            let displaced = self.slots.get(victim);
            self.slots.set(victim, content);
            content = displaced;
            bucket = other(content >> Marks::BITS, bucket);
            if let Some(slot) = self.free_slot(bucket, marks) {
                self.slots.set(slot, content);
                return;
            }
        }
        self.lost += 1;
    }
}
