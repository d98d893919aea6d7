//! Two static filters that take turns, which is how most people make a Bloom filter forget.

use xxhash_rust::xxh3::xxh3_64;

use super::statics::Hashed;
use super::{Contender, hash};

/// Inserts go to the current filter, queries to both. When the current filter has taken a window of items,
/// the older one is cleared and becomes the current one. So between one and two windows of items are
/// reported, and a whole window is forgotten at once. Every sighting refreshes, as in our filters.
///
/// Each filter must be made for a whole window, and for half of the rate, because both are asked.
pub(super) struct Rotated<H> {
    current: H,
    older: H,
    window: u64,
    inserted: u64,
}

impl<H: Hashed> Rotated<H> {
    pub(super) const NAME: &'static str = "two rotated Bloom filters";

    /// Takes two empty filters. Fills the older one, and half of the current one.
    pub(super) fn new(window: u64, [current, older]: [H; 2]) -> Self {
        let mut new = Self { current, older, window, inserted: 0 };
        (0..window + window / 2).for_each(|key| _ = new.insert_hash(hash(key)));
        new
    }

    /// Inserts a hash; returns true if one of the filters already contained it. The current filter answers
    /// while it inserts, which is faster than to query it first.
    fn insert_hash(&mut self, hash: u64) -> bool {
        let seen = self.current.insert(hash) || self.older.contains(hash);
        self.inserted += 1;
        if self.inserted.is_multiple_of(self.window) {
            std::mem::swap(&mut self.current, &mut self.older);
            self.current.clear();
        }
        seen
    }

    fn contains_hash(&self, hash: u64) -> bool {
        self.current.contains(hash) || self.older.contains(hash)
    }
}

impl<H: Hashed> Contender for Rotated<H> {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        for (&key, seen) in keys.iter().zip(seen) {
            *seen = self.insert_hash(hash(key));
        }
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        for (string, seen) in strings.iter().zip(seen) {
            *seen = self.insert_hash(xxh3_64(string));
        }
    }

    fn contains(&self, key: u64) -> bool {
        self.contains_hash(hash(key))
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.contains_hash(hash(key))).count()
    }

    fn memory_bytes(&self) -> u64 {
        self.current.memory_bytes() + self.older.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use fastbloom::BloomFilter;

    use super::super::statics::Fast;
    use super::*;

    #[test]
    fn between_one_and_two_windows_are_reported() {
        const WINDOW: u64 = 500;
        let empty = || Fast(BloomFilter::with_false_pos(1e-9).expected_items(WINDOW as usize));
        let mut filter = Rotated::new(WINDOW, [empty(), empty()]);
        for key in filter.inserted..5 * WINDOW {
            filter.check_and_insert_batch(&[key], &mut [false]);
            let oldest = ((key + 1) / WINDOW - 1) * WINDOW;
            assert!((0..=key).all(|old| Contender::contains(&filter, old) == (old >= oldest)));
        }
    }
}
