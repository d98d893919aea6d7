//! The `cuckoo-clock` crate.

use std::num::NonZeroU32;
use std::time::Instant;

use cuckoo_clock::config::{CuckooConfiguration, TtlConfig};
use cuckoo_clock::{CuckooFilter, LookupValues};
use xxhash_rust::xxh3::xxh3_64;

use super::super::ratios::median;
use super::{Contender, hash};
use crate::rivals::HashedAlready;

/// Generations of a window.
const GENERATIONS: u64 = 5;
/// The time to live of an entry, in scans: it survives one less.
const TTL: u32 = GENERATIONS as u32 + 1;
/// A cuckoo table with four slots per bucket works up to this load.
const MAX_LOAD: f64 = 0.93;

/// A filter with the crate's default of four slots per bucket. Fingerprints of 13 bits give a rate of at most
/// 8 / 2^13, and with 3 bits of time to live they fill two bytes.
///
/// All buckets are scanned once per generation, between calls, as the crate asks of its users. The time of a
/// scan, divided by the keys of a generation, counts as part of every insert. Every sighting renews the time
/// to live, as in our filters. Keys get the same hash as with the other contenders.
pub(super) struct CuckooClock {
    filter: CuckooFilter<HashedAlready>,
    per_generation: u64,
    in_generation: u64,
    inserted: u64,
    scan_ns: Vec<f64>,
}

impl CuckooClock {
    pub(super) const NAME: &'static str = "cuckoo-clock";

    pub(super) fn new(window: u64) -> Self {
        let per_generation = window.div_ceil(GENERATIONS);
        let most_items = (GENERATIONS + 1) * per_generation;
        let ttl = TtlConfig {
            ttl: NonZeroU32::new(TTL).expect("not zero"),
            ttl_bits: 3.try_into().expect("a valid number of bits"),
        };
        let configuration = CuckooConfiguration::builder((most_items as f64 / MAX_LOAD).ceil() as usize)
            .fingerprint_bits(13.try_into().expect("a valid number of bits"))
            .with_ttl(ttl)
            .build()
            .expect("a valid configuration");
        let filter = CuckooFilter::new(configuration, HashedAlready);
        let mut new = Self { filter, per_generation, in_generation: 0, inserted: 0, scan_ns: Vec::new() };
        while new.inserted < 2 * window {
            new.make_room(per_generation);
            (0..per_generation).for_each(|_| _ = new.check_and_insert(hash(new.inserted)));
        }
        new
    }

    fn check_and_insert(&mut self, hash: u64) -> bool {
        let renewed = LookupValues { ttl: Some(TTL), ..LookupValues::default() };
        let seen = self.filter.contains_with_update(&hash, renewed);
        if !seen {
            self.filter.insert(&hash);
        }
        self.inserted += 1;
        self.in_generation += 1;
        seen
    }
}

impl Contender for CuckooClock {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        for (&key, seen) in keys.iter().zip(seen) {
            *seen = self.check_and_insert(hash(key));
        }
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        for (string, seen) in strings.iter().zip(seen) {
            *seen = self.check_and_insert(xxh3_64(string));
        }
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&hash(key))
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.filter.contains(&hash(key))).count()
    }

    fn memory_bytes(&self) -> u64 {
        self.filter.get_memory_usage() as u64
    }

    /// Generations may be longer than planned, but not shorter.
    fn make_room(&mut self, _keys: u64) {
        if self.in_generation >= self.per_generation {
            let start = Instant::now();
            self.filter.scan_and_update_ttl();
            self.scan_ns.push(start.elapsed().as_nanos() as f64);
            self.in_generation = 0;
        }
    }

    fn upkeep_ns(&self) -> f64 {
        median(&self.scan_ns) / self.per_generation as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_and_at_most_a_generation_more_are_reported() {
        const WINDOW: u64 = 5000;
        let mut clock = CuckooClock::new(WINDOW);
        for _ in 0..30 {
            clock.make_room(1000);
            let first = clock.keys_inserted();
            let keys: Vec<u64> = (first..first + 1000).collect();
            clock.check_and_insert_batch(&keys, &mut [false; 1000]);
            let last = first + 1000;
            assert!((last - WINDOW..last).all(|key| Contender::contains(&clock, key)));
            let expired = last - 2 * WINDOW..last - WINDOW - 1000;
            let reported = expired.filter(|&key| Contender::contains(&clock, key)).count();
            assert!(reported < 40, "{reported} of 4000");
        }
        assert!(clock.upkeep_ns() > 0.0);
    }
}
