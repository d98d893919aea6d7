//! `cuckoo-clock`, a published crate: a cuckoo filter whose entries have a time to live (TTL).
//!
//! A scan of all buckets lowers every TTL by one, and removes entries that reach zero. The crate leaves it to
//! its user when to scan; we scan whenever a generation begins. An entry with a TTL of J + 1 survives J scans,
//! so J generations are certain, g = w / J, rounded up, and the slack is one generation. An item that comes
//! again gets a new TTL. If no room is found after 500 displacements, the crate's default, an item is lost,
//! which is a false negative.
//!
//! A bucket is a vector behind a lock, 32 bytes besides its slots (and besides what the allocator adds, which
//! the crate does not count, nor do we). There are 2^n buckets, and a slot has whole bytes. With the crate's
//! default of four slots per bucket, the vectors and locks alone would take 8 to 16 bytes per item, more than
//! a race gives.
//!
//! Parameters: J = 5, TTLs of 3 bits; the number of buckets and the bytes of a slot with the lowest expected
//! rate, 2 * 6 g / (buckets * 2^f), where f is the length of a fingerprint; as many slots per bucket as fit, at
//! most 256, as an operation searches two buckets; at most 93% of all slots are taken. The scan's time is not in the mean time of an insert, as most stretches
//! of a race are without a scan; the benchmark counts it.

use std::hash::{BuildHasher, Hasher};
use std::num::{NonZeroU32, NonZeroUsize};

use cuckoo_clock::config::{CuckooConfiguration, TtlConfig};
use cuckoo_clock::{CuckooFilter, InsertValues, LookupValues};

use super::pieces::{Generations, fold};
use super::{Budget, GENERATIONS, Rival};

/// The TTL of a new entry: it survives one scan less.
const TTL: u32 = GENERATIONS as u32 + 1;
const TTL_BITS: usize = 3;
const MOST_FINGERPRINT_BITS: usize = 32;
const MAX_LOAD: f64 = 0.93;
const MOST_SLOTS_PER_BUCKET: usize = 256;

pub(super) struct CuckooClock {
    filter: CuckooFilter<HashedAlready>,
    shape: Shape,
    generations: Generations,
    lost: u64,
}

#[derive(Clone, Copy)]
struct Shape {
    buckets: usize,
    slots_per_bucket: usize,
    slot_bytes: usize,
}

impl Shape {
    fn fingerprint_bits(self) -> usize {
        (self.slot_bytes * 8 - TTL_BITS).min(MOST_FINGERPRINT_BITS)
    }

    /// `None` if the crate refuses the sizes.
    fn configuration(self) -> Option<CuckooConfiguration> {
        let ttl = TtlConfig { ttl: NonZeroU32::new(TTL)?, ttl_bits: TTL_BITS.try_into().ok()? };
        CuckooConfiguration::builder(self.buckets * self.slots_per_bucket)
            .bucket_size(NonZeroUsize::new(self.slots_per_bucket)?)
            .fingerprint_bits(self.fingerprint_bits().try_into().ok()?)
            .with_ttl(ttl)
            .build()
            .ok()
    }

    fn memory_bytes(self) -> Option<usize> {
        Some(self.configuration()?.get_configured_memory_usage())
    }

    /// Adds as many slots to each bucket as fit.
    fn filled(self, memory_bytes: usize) -> Option<Self> {
        let empty = Self { slots_per_bucket: 1, ..self }.memory_bytes()? - self.buckets * self.slot_bytes;
        let room = memory_bytes.checked_sub(empty)? / (self.buckets * self.slot_bytes);
        (room > 0).then_some(Self { slots_per_bucket: room, ..self })
    }
}

impl CuckooClock {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let generations = Generations::new(budget.window, GENERATIONS);
        let most_items = ((GENERATIONS + 1) * generations.per_generation()) as f64;
        let memory_bytes = (budget.memory_bits / 8) as usize;
        let shapes = (1..=5).flat_map(|slot_bytes| {
            (0..30).map(move |log2| Shape { buckets: 1 << log2, slots_per_bucket: 0, slot_bytes })
        });
        let fitting = shapes
            .filter_map(|shape| shape.filled(memory_bytes))
            .filter(|shape| shape.slots_per_bucket <= MOST_SLOTS_PER_BUCKET)
            .filter(|shape| most_items <= MAX_LOAD * (shape.buckets * shape.slots_per_bucket) as f64);
        // The expected rate is the lower, the more buckets and fingerprints there are.
        let shape = fitting.max_by_key(|shape| (shape.buckets as u128) << shape.fingerprint_bits())?;
        let filter = CuckooFilter::new(shape.configuration()?, HashedAlready);
        Some(Self { filter, shape, generations, lost: 0 })
    }
}

impl Rival for CuckooClock {
    fn insert(&mut self, hash: u64) {
        if self.generations.insert_begins_new() {
            self.filter.scan_and_update_ttl();
        }
        let renewed = LookupValues { ttl: Some(TTL), ..LookupValues::default() };
        let evicted = self.filter.insert_if_not_present_with_update(&hash, InsertValues::default(), renewed);
        self.lost += u64::from(evicted.is_some());
    }

    fn contains(&self, hash: u64) -> bool {
        self.filter.contains(&hash)
    }

    fn memory_bits(&self) -> u64 {
        self.filter.get_memory_usage() as u64 * 8
    }

    fn parameters(&self) -> String {
        let Shape { buckets, slots_per_bucket, .. } = self.shape;
        let fingerprint_bits = self.shape.fingerprint_bits();
        format!(
            "J={GENERATIONS} fingerprints of {fingerprint_bits} bits, {buckets} buckets of {slots_per_bucket}, \
             {} lost",
            self.lost
        )
    }

    fn own_window(&self) -> Option<u64> {
        (self.lost == 0).then_some(self.generations.window())
    }
}

/// Items are hashes already. The crate also hashes fingerprints of 32 bits, which need spreading.
#[derive(Clone, Copy)]
pub(crate) struct HashedAlready;

impl BuildHasher for HashedAlready {
    type Hasher = LastNumber;

    fn build_hasher(&self) -> LastNumber {
        LastNumber(0)
    }
}

pub(crate) struct LastNumber(u64);

impl Hasher for LastNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        unreachable!("only numbers are hashed, not {bytes:?}");
    }

    fn write_u32(&mut self, fingerprint: u32) {
        self.0 = fold(u64::from(fingerprint));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
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

    fn with(bits_per_item: u64) -> CuckooClock {
        let budget = Budget { memory_bits: bits_per_item * BUDGET.window, window: BUDGET.window };
        CuckooClock::new(budget).expect("fits")
    }

    #[test]
    fn the_window_is_never_forgotten_as_long_as_there_is_room() {
        for bits_per_item in [20, 32, 64] {
            let mut clock = with(bits_per_item);
            assert_never_forgets_the_window(&mut clock);
            assert_eq!(clock.lost, 0);
        }
    }

    #[test]
    fn everything_is_forgotten_one_generation_after_the_window() {
        let generation = BUDGET.window.div_ceil(GENERATIONS);
        assert_forgets_after(&mut with(48), BUDGET.window + generation);
        assert_never_reports_again_after(&mut with(48), BUDGET.window + generation);
    }

    #[test]
    fn the_rate_is_as_the_choice_of_parameters_assumes() {
        let mut clock = with(32);
        (0..6 * BUDGET.window).for_each(|key| clock.insert(hash_of(key)));
        // The last generation is full. Fingerprint 0 counts as 1.
        let fingerprints = (1_u64 << clock.shape.fingerprint_bits()) as f64;
        let expected = 2.0 * 1.2 * BUDGET.window as f64 / clock.shape.buckets as f64 / fingerprints;
        let rate = strangers_reported(&clock, 400_000) as f64 / 4e5;
        assert!((rate / expected - 1.0).abs() < 0.15, "{rate}, expected {expected}");
    }

    #[test]
    fn a_full_table_of_distinct_items_loses_nothing() {
        let mut clock = with(26);
        (0..30 * BUDGET.window).for_each(|key| clock.insert(hash_of(key)));
        let slots = clock.shape.buckets * clock.shape.slots_per_bucket;
        let load = clock.filter.get_item_count() as f64 / slots as f64;
        assert!((0.7..=MAX_LOAD).contains(&load), "{load}");
        assert_eq!(clock.lost, 0);
    }
}
