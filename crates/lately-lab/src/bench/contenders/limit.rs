//! The physical limit.

use lately::Builder;
use xxhash_rust::xxh3::xxh3_64;

use super::{Contender, hash};

/// The speed that memory allows: for each key, one random place of one or two lines is read and written,
/// prefetched as far ahead as in our filters.
pub(super) struct Limit<const LINES: usize> {
    name: &'static str,
    places: Vec<[Line; LINES]>,
    inserted: u64,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
pub(in super::super) struct Line(pub(in super::super) [u64; 8]);

/// Returns places that are aligned and, if the system has them, on huge pages, like the words of a filter.
pub(in super::super) fn places_on_huge_pages<const LINES: usize>(count: usize) -> Vec<[Line; LINES]> {
    let mut places: Vec<[Line; LINES]> = Vec::with_capacity(count);
    #[cfg(target_os = "linux")]
    // SAFETY: the range is that of the vector's own allocation, rounded inwards to pages; the hint changes no
    // byte.
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
    /// Makes as many places as the plan has rows.
    pub(super) fn new(name: &'static str, rows: &Builder) -> Self {
        let plan = rows.plan().expect("a valid promise");
        // As if this many keys had been inserted: queries are about the last of them.
        let inserted = 1 << 30;
        Self { name, places: places_on_huge_pages(plan.cells as usize), inserted }
    }

    fn place_of(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.places.len() as u128) >> 64) as usize
    }

    fn touch(&mut self, len: usize, hash_at: impl Fn(usize) -> u64, seen: &mut [bool]) {
        let mut ahead = [[0; GROUP]; AHEAD / GROUP];
        for (place, i) in ahead.as_flattened_mut().iter_mut().zip(0..len) {
            *place = self.look_up(hash_at(i));
        }
        for (number, seen) in seen[..len].chunks_mut(GROUP).enumerate() {
            let first = number * GROUP;
            let group = &mut ahead[number % (AHEAD / GROUP)];
            for ((seen, place), i) in seen.iter_mut().zip(&*group).zip(first..) {
                let words = self.places[*place].iter_mut().flat_map(|line| &mut line.0);
                *seen = words.fold(0_u64, |sum, word| {
                    *word = word.wrapping_add(1);
                    sum ^ *word
                }) == i as u64;
            }
            for (place, i) in group.iter_mut().zip(first + AHEAD..len) {
                *place = self.look_up(hash_at(i));
            }
        }
    }

    /// Finds and prefetches a place.
    fn look_up(&self, hash: u64) -> usize {
        let place = self.place_of(hash);
        prefetch(&self.places[place]);
        place
    }
}

/// As in batches of our filters: places are looked up in groups of so many items, so many items ahead.
const GROUP: usize = 16;
const AHEAD: usize = 64;

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
        self.inserted
    }

    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]) {
        self.touch(keys.len(), |i| hash(keys[i]), seen);
        self.inserted += keys.len() as u64;
    }

    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]) {
        self.touch(strings.len(), |i| xxh3_64(&strings[i]), seen);
        self.inserted += strings.len() as u64;
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
