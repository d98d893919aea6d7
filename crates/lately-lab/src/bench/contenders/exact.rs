//! Exact windows.

use std::collections::{HashMap, HashSet, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use super::Contender;

/// Exact windows made of the standard library's collections, with its hash.
pub(super) trait Exact {
    const NAME: &'static str;
    /// Inserts the key; returns true if it was in the window.
    fn insert(&mut self, key: u64) -> bool;
    fn contains(&self, key: u64) -> bool;
    fn inserted(&self) -> u64;
    /// Bytes on the heap.
    fn memory_bytes(&self) -> u64;
}

/// Returns the bytes of a map or set with this capacity. Each bucket has its entry and one byte. The number
/// of buckets is a power of two; the capacity is at most seven eighths of it, minus the buckets that removed
/// entries have left behind.
fn table_bytes<Entry>(capacity: usize) -> usize {
    (capacity.div_ceil(7) * 8).next_power_of_two() * (size_of::<Entry>() + 1)
}

/// The number of windows that are inserted before anything is measured. Traces of removed entries make the
/// standard library's table of a million keys grow once more, after about twelve windows. A table created
/// with twice the capacity has that size from the beginning.
const TURNS: u64 = 16;

impl<E: Exact> Contender for E {
    fn name(&self) -> &str {
        E::NAME
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted()
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        for (&key, seen) in keys.iter().zip(seen) {
            *seen = self.insert(key);
        }
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        // An exact window would have to keep the strings; hashing them is in its favour.
        for (string, seen) in strings.iter().zip(seen) {
            *seen = self.insert(xxh3_64(string));
        }
    }

    fn contains(&self, key: u64) -> bool {
        Exact::contains(self, key)
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| Exact::contains(self, key)).count()
    }

    fn memory_bytes(&self) -> u64 {
        Exact::memory_bytes(self)
    }
}

/// A set of the window's keys, and a ring of them: the smallest exact window. Only the first sighting counts.
pub(super) struct ExactSet {
    keys: HashSet<u64>,
    ring: Vec<u64>,
    inserted: u64,
}

impl ExactSet {
    pub(super) fn new(window: u64) -> Self {
        let keys = HashSet::with_capacity(window as usize + 1);
        let mut new = Self { keys, ring: (0..window).collect(), inserted: window };
        new.keys.extend(&new.ring);
        (window..TURNS * window).for_each(|key| _ = Exact::insert(&mut new, key));
        new
    }
}

impl Exact for ExactSet {
    const NAME: &'static str = "exact set and ring";

    fn insert(&mut self, key: u64) -> bool {
        if !self.keys.insert(key) {
            return true;
        }
        let place = self.inserted as usize % self.ring.len();
        let oldest = std::mem::replace(&mut self.ring[place], key);
        self.keys.remove(&oldest);
        self.inserted += 1;
        false
    }

    fn contains(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    fn inserted(&self) -> u64 {
        self.inserted
    }

    fn memory_bytes(&self) -> u64 {
        (table_bytes::<u64>(self.keys.capacity()) + self.ring.capacity() * size_of::<u64>()) as u64
    }
}

/// A map with the last sighting of each key, and a queue of the keys: every sighting refreshes, as in our
/// filters.
pub(super) struct ExactMap {
    last: HashMap<u64, u64>,
    queue: VecDeque<u64>,
    window: u64,
    inserted: u64,
}

impl ExactMap {
    pub(super) fn new(window: u64) -> Self {
        let mut new = Self { last: HashMap::new(), queue: VecDeque::new(), window, inserted: 0 };
        (0..TURNS * window).for_each(|key| _ = Exact::insert(&mut new, key));
        new
    }
}

impl Exact for ExactMap {
    const NAME: &'static str = "exact map and queue";

    fn insert(&mut self, key: u64) -> bool {
        self.inserted += 1;
        self.queue.push_back(key);
        let seen = self.last.insert(key, self.inserted).is_some();
        if self.queue.len() as u64 > self.window
            && let Some(oldest) = self.queue.pop_front()
            && self.last.get(&oldest).is_some_and(|&at| at + self.window <= self.inserted)
        {
            self.last.remove(&oldest);
        }
        seen
    }

    fn contains(&self, key: u64) -> bool {
        self.last.contains_key(&key)
    }

    fn inserted(&self) -> u64 {
        self.inserted
    }

    fn memory_bytes(&self) -> u64 {
        (table_bytes::<(u64, u64)>(self.last.capacity()) + self.queue.capacity() * size_of::<u64>()) as u64
    }
}
