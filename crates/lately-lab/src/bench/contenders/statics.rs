//! Filters that never forget.

use fastbloom::BloomFilter;
use xxhash_rust::xxh3::xxh3_64;

use super::{Contender, hash};

/// A filter of hashes.
pub(super) trait Hashed {
    /// Inserts a hash; returns true if the filter already contained it.
    fn insert(&mut self, hash: u64) -> bool;
    fn contains(&self, hash: u64) -> bool;
    fn clear(&mut self);
    fn memory_bytes(&self) -> u64;
}

pub(super) struct Fast(pub(super) BloomFilter);

impl Hashed for Fast {
    fn insert(&mut self, hash: u64) -> bool {
        self.0.insert_hash(hash)
    }

    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn memory_bytes(&self) -> u64 {
        self.0.num_bits() as u64 / 8
    }
}

pub(super) struct Split(pub(super) sbbf_rs_safe::Filter);

impl Hashed for Split {
    fn insert(&mut self, hash: u64) -> bool {
        self.0.insert_hash(hash)
    }

    fn contains(&self, hash: u64) -> bool {
        self.0.contains_hash(hash)
    }

    fn clear(&mut self) {
        self.0.reset();
    }

    fn memory_bytes(&self) -> u64 {
        self.0.as_bytes().len() as u64
    }
}

/// A static filter as a contender. It holds between three quarters and all of the items it was made for.
pub(super) struct Static<H> {
    name: &'static str,
    filter: H,
    window: u64,
    /// If true, a check-and-insert queries before it inserts; if false, it takes the answer of the insert.
    asks_first: bool,
    inserted: u64,
    held: u64,
}

impl<H: Hashed> Static<H> {
    pub(super) fn new(name: &'static str, window: u64, asks_first: bool, filter: H) -> Self {
        let mut new = Self { name, filter, window, asks_first, inserted: 0, held: 0 };
        new.refill();
        new
    }

    fn refill(&mut self) {
        self.filter.clear();
        self.held = self.window * 3 / 4;
        self.inserted += self.held;
        for key in self.inserted - self.held..self.inserted {
            self.filter.insert(hash(key));
        }
    }

    fn check_and_insert(&mut self, hashes: impl Iterator<Item = u64>, seen: &mut [bool]) {
        let len = seen.len() as u64;
        if self.asks_first {
            for (hash, seen) in hashes.zip(seen) {
                *seen = self.filter.contains(hash);
                self.filter.insert(hash);
            }
        } else {
            hashes.zip(seen).for_each(|(hash, seen)| *seen = self.filter.insert(hash));
        }
        self.held += len;
        self.inserted += len;
        assert!(self.held <= self.window, "{} is overfull", self.name);
    }
}

impl<H: Hashed> Contender for Static<H> {
    fn name(&self) -> &str {
        self.name
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        self.check_and_insert(keys.iter().map(|&key| hash(key)), seen);
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        self.check_and_insert(strings.iter().map(|string| xxh3_64(string)), seen);
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains(hash(key))
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.filter.contains(hash(key))).count()
    }

    fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes()
    }

    fn make_room(&mut self, keys: u64) {
        if self.held + keys > self.window {
            self.refill();
        }
    }
}
