//! Everything that is raced, behind one interface.

use std::collections::{HashMap, VecDeque};

use fastbloom::BloomFilter;
use lately::{Builder, Filter, Segment};
use xxhash_rust::xxh3::xxh3_64;

/// The name the table compares with.
pub(crate) const REFERENCE: &str = "rows of 64 bytes";
const ONE_LINE: &str = "limit: one line per key";
const TWO_LINES: &str = "limit: two lines per key";

pub(crate) trait Contender {
    fn name(&self) -> &str;
    /// Keys are 0, 1, 2, ...: how many have been inserted?
    fn keys_inserted(&self) -> u64;
    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]);
    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]);
    fn contains(&self, key: u64) -> bool;
    /// `contains`, one key after the other.
    fn count_contained(&self, keys: &[u64]) -> usize;
    /// Bytes on the heap.
    fn memory_bytes(&self) -> u64;
    /// Called before so many keys are inserted, for filters that cannot forget.
    fn make_room(&mut self, _keys: u64) {}
    /// The physical limit answers nothing.
    fn answers(&self) -> bool {
        true
    }
}

/// The contenders whose name contains `only`, in their steady state, for a rate of 1e-3.
pub(crate) fn contenders(window: u64, only: &str) -> Vec<Box<dyn Contender>> {
    let promised = Filter::builder().window(window).false_positive_rate(1e-3);
    let rows =
        |row_bytes, k, l, parts| promised.clone().shape(k, l).segment(Segment::Rows { row_bytes, parts });
    let papers = Filter::builder().window(window);
    let blocks = Segment::Blocks { block_bits: 512, bits_per_block: 4 };
    let ours = [
        (REFERENCE, rows(64, 5, 10, 2)),
        ("rows of 64 bytes, b=1", rows(64, 10, 21, 1)),
        ("rows of 128 bytes", rows(128, 4, 17, 3)),
        ("rows of 256 bytes", rows(256, 4, 17, 3)),
        ("blocks (3, 5, 512, 4)", papers.clone().shape(3, 5).segment(blocks)),
        ("slices (12, 14)", papers.shape(12, 14)),
    ];
    let (one, two) = (ours[0].1.clone(), ours[2].1.clone());
    let mut makers: Vec<(&'static str, Maker)> = vec![
        (ONE_LINE, Box::new(move || Box::new(Limit::<1>::new(ONE_LINE, &one)))),
        (TWO_LINES, Box::new(move || Box::new(Limit::<2>::new(TWO_LINES, &two)))),
    ];
    for (name, builder) in ours {
        makers.push((name, Box::new(move || Box::new(Ours::new(name, &builder, window)))));
    }
    makers.push((
        "fastbloom",
        Box::new(move || {
            let filter = BloomFilter::with_false_pos(1e-3).expected_items(window as usize);
            Box::new(Static::new("fastbloom", window, Fast(filter)))
        }),
    ));
    makers.push((
        "sbbf-rs, 14 bits",
        Box::new(move || {
            let filter = sbbf_rs_safe::Filter::new(14, window as usize);
            Box::new(Static::new("sbbf-rs, 14 bits", window, Split(filter)))
        }),
    ));
    // Its hash map and queue take gigabytes for larger windows.
    if window <= 1_000_000 {
        makers.push((Exact::NAME, Box::new(move || Box::new(Exact::new(window)))));
    }
    makers.retain(|(name, _)| name.contains(only) || *name == REFERENCE);
    makers.into_iter().map(|(_, make)| make()).collect()
}

type Maker = Box<dyn FnOnce() -> Box<dyn Contender>>;

fn hash(key: u64) -> u64 {
    xxh3_64(&key.to_le_bytes())
}

struct Ours {
    name: &'static str,
    filter: Filter,
    inserted: u64,
}

impl Ours {
    fn new(name: &'static str, builder: &Builder, window: u64) -> Self {
        let filter = builder.build().expect("a valid promise");
        let mut new = Self { name, filter, inserted: 0 };
        let mut seen = vec![false; 10_000];
        while new.inserted < 3 * window {
            let keys: Vec<u64> = (new.inserted..new.inserted + 10_000).collect();
            new.check_and_insert_batch(&keys, &mut seen);
        }
        new
    }
}

impl Contender for Ours {
    fn name(&self) -> &str {
        self.name
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        // The bytes of a u64 key are its item; little-endian, as everywhere.
        self.filter.check_and_insert_batch(as_items(keys), seen);
        self.inserted += keys.len() as u64;
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        self.filter.check_and_insert_batch(strings, seen);
        self.inserted += strings.len() as u64;
    }

    fn contains(&self, key: u64) -> bool {
        self.filter.contains(key.to_le_bytes())
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.filter.contains(key.to_le_bytes())).count()
    }

    fn memory_bytes(&self) -> u64 {
        self.filter.plan().memory_bytes
    }
}

/// Keys as the arrays of bytes they are in memory.
fn as_items(keys: &[u64]) -> &[KeyBytes] {
    const { assert!(cfg!(target_endian = "little"), "keys would hash differently") };
    // SAFETY: `KeyBytes` is a transparent array of eight bytes, which a u64 is, with a weaker alignment.
    #[allow(unsafe_code)]
    unsafe {
        core::slice::from_raw_parts(keys.as_ptr().cast(), keys.len())
    }
}

#[repr(transparent)]
struct KeyBytes([u8; 8]);

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A static filter, which forgets nothing: between three quarters full and full, of what it was made for.
trait Hashed {
    fn insert(&mut self, hash: u64);
    fn contains(&self, hash: u64) -> bool;
    fn clear(&mut self);
    fn memory_bytes(&self) -> u64;
}

struct Fast(BloomFilter);

impl Hashed for Fast {
    fn insert(&mut self, hash: u64) {
        self.0.insert_hash(hash);
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

struct Split(sbbf_rs_safe::Filter);

impl Hashed for Split {
    fn insert(&mut self, hash: u64) {
        self.0.insert_hash(hash);
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

struct Static<H> {
    name: &'static str,
    filter: H,
    window: u64,
    inserted: u64,
    held: u64,
}

impl<H: Hashed> Static<H> {
    fn new(name: &'static str, window: u64, filter: H) -> Self {
        let mut new = Self { name, filter, window, inserted: 0, held: 0 };
        new.refill();
        new
    }

    fn refill(&mut self) {
        self.filter.clear();
        self.held = self.window * 3 / 4;
        self.inserted += self.held;
        (self.inserted - self.held..self.inserted).for_each(|key| self.filter.insert(hash(key)));
    }

    fn check_and_insert(&mut self, hashes: impl Iterator<Item = u64>, seen: &mut [bool]) {
        for (hash, seen) in hashes.zip(seen) {
            *seen = self.filter.contains(hash);
            self.filter.insert(hash);
            self.held += 1;
            self.inserted += 1;
        }
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

/// What memory allows: one random place of one or two lines read and written for each key, prefetched as far ahead as ours.
struct Limit<const LINES: usize> {
    name: &'static str,
    places: Vec<[Line; LINES]>,
    inserted: u64,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// Aligned, and on huge pages where the system has them, as a filter's own words are.
fn places_on_huge_pages<const LINES: usize>(count: usize) -> Vec<[Line; LINES]> {
    let mut places: Vec<[Line; LINES]> = Vec::with_capacity(count);
    #[cfg(target_os = "linux")]
    // SAFETY: the range is that of the vector's own allocation, rounded inwards to pages; the hint changes no byte.
    #[allow(unsafe_code)]
    unsafe {
        let start = places.as_ptr().addr().next_multiple_of(4096);
        let end = places.as_ptr().addr() + count * size_of::<[Line; LINES]>();
        let page = places.as_mut_ptr().with_addr(start).cast();
        libc::madvise(page, end.saturating_sub(start), libc::MADV_HUGEPAGE);
    }
    places.resize(count, [Line([1; 8]); LINES]);
    places
}

impl<const LINES: usize> Limit<LINES> {
    /// As many places as the plan has rows.
    fn new(name: &'static str, rows: &Builder) -> Self {
        let plan = rows.plan().expect("a valid promise");
        Self { name, places: places_on_huge_pages(plan.cells as usize), inserted: 0 }
    }

    fn place_of(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.places.len() as u128) >> 64) as usize
    }

    fn touch(&mut self, len: usize, hash_at: impl Fn(usize) -> u64, seen: &mut [bool]) {
        const AHEAD: usize = 32;
        let mut ahead = [0; AHEAD];
        for (i, place) in ahead.iter_mut().enumerate().take(len) {
            *place = self.place_of(hash_at(i));
            prefetch(&self.places[*place]);
        }
        for i in 0..len {
            let place = ahead[i % AHEAD];
            if i + AHEAD < len {
                ahead[i % AHEAD] = self.place_of(hash_at(i + AHEAD));
                prefetch(&self.places[ahead[i % AHEAD]]);
            }
            let words = self.places[place].iter_mut().flat_map(|line| &mut line.0);
            seen[i] = words.fold(0_u64, |sum, word| {
                *word = word.wrapping_add(1);
                sum ^ *word
            }) == i as u64;
        }
    }
}

fn prefetch(place: &[Line]) {
    #[cfg(target_arch = "x86_64")]
    for line in place {
        // SAFETY: a prefetch reads nothing, and the address is that of a live reference.
        #[allow(unsafe_code)]
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(line).cast());
        }
    }
}

impl<const LINES: usize> Contender for Limit<LINES> {
    fn name(&self) -> &str {
        self.name
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted.max(1 << 30)
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        self.touch(keys.len(), |i| hash(keys[i]), seen);
        self.inserted += keys.len() as u64;
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        self.touch(strings.len(), |i| xxh3_64(&strings[i]), seen);
    }

    fn contains(&self, key: u64) -> bool {
        self.places[self.place_of(hash(key))].iter().all(|line| line.0[7] == key)
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.contains(key)).count()
    }

    fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.places) as u64
    }

    fn answers(&self) -> bool {
        false
    }
}

/// The exact window: a map with the last sighting of each key, and a queue of them.
struct Exact {
    last: HashMap<u64, u64>,
    queue: VecDeque<u64>,
    window: u64,
    inserted: u64,
}

impl Exact {
    const NAME: &'static str = "exact map and queue";

    fn new(window: u64) -> Self {
        let mut new = Self { last: HashMap::new(), queue: VecDeque::new(), window, inserted: 0 };
        while new.inserted < 2 * window {
            new.insert(new.inserted);
        }
        new
    }

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
}

impl Contender for Exact {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn keys_inserted(&self) -> u64 {
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        for (&key, seen) in keys.iter().zip(seen) {
            *seen = self.insert(key);
        }
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        // It would have to keep the strings; their hashes are a kindness to it.
        for (string, seen) in strings.iter().zip(seen) {
            *seen = self.insert(xxh3_64(string));
        }
    }

    fn contains(&self, key: u64) -> bool {
        self.last.contains_key(&key)
    }

    fn count_contained(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|&&key| self.contains(key)).count()
    }

    /// A bucket of the map has a key, a value and a byte; seven of eight buckets are its capacity.
    fn memory_bytes(&self) -> u64 {
        let buckets = self.last.capacity().div_ceil(7) * 8;
        (buckets * (size_of::<(u64, u64)>() + 1) + self.queue.capacity() * size_of::<u64>()) as u64
    }
}
