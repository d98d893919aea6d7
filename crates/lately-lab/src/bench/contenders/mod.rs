//! All contenders of the benchmark, behind one interface.

mod cuckoo_clock;
mod exact;
pub(super) mod limit;
mod ours;
mod rotated;
mod statics;

use fastbloom::BloomFilter;
use lately::{Filter, Instructions, Layout, Segment};
use xxhash_rust::xxh3::xxh3_64;

use cuckoo_clock::CuckooClock;
use exact::{Exact as _, ExactMap, ExactSet};
use limit::Limit;
use ours::Ours;
use rotated::Rotated;
use statics::{Fast, Split, Static};

use super::task::Task;

/// The contender that the table compares with.
pub(crate) const REFERENCE: &str = "rows of 64 bytes";
const ONE_LINE: &str = "limit: one line per key";
const TWO_LINES: &str = "limit: two lines per key";

/// Bins take part once more with each instruction set, in one window and one task.
const WINDOW_OF_INSTRUCTIONS: u64 = 10_000_000;
const INSTRUCTIONS: [(&str, Instructions); 4] = [
    ("bins, portable", Instructions::Portable),
    ("bins, SSE2", Instructions::Sse2),
    ("bins, AVX2", Instructions::Avx2),
    ("bins, AVX-512", Instructions::Avx512),
];

fn machine_has(instructions: Instructions) -> bool {
    Filter::new(1000, 1e-3).expect("a valid promise").set_instructions(instructions)
}

pub(crate) trait Contender {
    fn name(&self) -> &str;
    /// Returns the number of keys inserted so far. Keys are 0, 1, 2, ...
    fn keys_inserted(&self) -> u64;
    fn check_and_insert_batch(&mut self, keys: &[u64], seen: &mut [bool]);
    fn check_and_insert_strings(&mut self, strings: &[[u8; 24]], seen: &mut [bool]);
    fn contains(&self, key: u64) -> bool;
    /// Calls `contains` for one key after the other; returns how many are reported.
    fn count_contained(&self, keys: &[u64]) -> usize;
    /// Bytes on the heap.
    fn memory_bytes(&self) -> u64;
    /// Returns the promised false positive rate.
    fn rate(&self) -> f64 {
        1e-3
    }
    /// Called before this many keys are inserted, for filters that cannot forget.
    fn make_room(&mut self, _keys: u64) {}
    /// Returns the time of work between calls, such as scans, that each inserted key takes on average.
    fn upkeep_ns(&self) -> f64 {
        0.0
    }
    /// Returns true if the contender is measured in this task.
    fn takes_part(&self, _task: Task) -> bool {
        true
    }
    /// Returns false if the answers mean nothing, as for the physical limit.
    fn answers(&self) -> bool {
        true
    }
}

/// Returns the contenders whose name contains `only`, and the reference, in their steady state, for a rate of
/// 1e-3 unless the name has another.
pub(crate) fn contenders(window: u64, only: &str) -> Vec<Box<dyn Contender>> {
    let promised = Filter::builder().window(window).false_positive_rate(1e-3);
    let rows =
        |row_bytes, k, l, parts| promised.clone().shape(k, l).segment(Segment::Rows { row_bytes, parts });
    let papers = Filter::builder().window(window);
    let blocks = Segment::Blocks { block_bits: 512, bits_per_block: 4 };
    let bins = promised.clone().layout(Layout::Bins);
    let bins_for = |rate, fingerprint_bits| {
        papers.clone().false_positive_rate(rate).segment(Segment::Bins { fingerprint_bits })
    };
    let ours = [
        (REFERENCE, rows(64, 5, 10, 2)),
        ("rows of 64 bytes, b=1", rows(64, 10, 21, 1)),
        ("rows of 128 bytes", rows(128, 4, 17, 3)),
        ("bins", bins.clone()),
        ("bins of 19 bits, 1e-4", bins_for(1e-4, 19)),
        ("bins of 25 bits, 1e-6", bins_for(1e-6, 25)),
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
    if window == WINDOW_OF_INSTRUCTIONS {
        for (name, instructions) in INSTRUCTIONS.into_iter().filter(|(_, set)| machine_has(*set)) {
            let bins = bins.clone();
            makers.push((
                name,
                Box::new(move || Box::new(Ours::with_instructions(name, &bins, window, instructions))),
            ));
        }
    }
    // The two ways to use a static filter: query, then insert; or only insert, which returns an answer too.
    for (name, asks_first) in [("fastbloom", true), ("fastbloom, insert alone", false)] {
        makers.push((
            name,
            Box::new(move || {
                let filter = BloomFilter::with_false_pos(1e-3).expected_items(window as usize);
                Box::new(Static::new(name, window, asks_first, Fast(filter)))
            }),
        ));
    }
    for (name, asks_first) in [("sbbf-rs, 14 bits", true), ("sbbf-rs, 14 bits, insert alone", false)] {
        makers.push((
            name,
            Box::new(move || {
                let filter = sbbf_rs_safe::Filter::new(14, window as usize);
                Box::new(Static::new(name, window, asks_first, Split(filter)))
            }),
        ));
    }
    makers.push((
        Rotated::<Fast>::NAME,
        Box::new(move || {
            // A stranger may be mistaken by either filter, so each gets half of the rate.
            let filters = [(); 2]
                .map(|()| Fast(BloomFilter::with_false_pos(1e-3 / 2.0).expected_items(window as usize)));
            Box::new(Rotated::new(window, filters))
        }),
    ));
    makers.push((CuckooClock::NAME, Box::new(move || Box::new(CuckooClock::new(window)))));
    // Exact windows take gigabytes if they are larger.
    if window <= 1_000_000 {
        makers.push((ExactSet::NAME, Box::new(move || Box::new(ExactSet::new(window)))));
        makers.push((ExactMap::NAME, Box::new(move || Box::new(ExactMap::new(window)))));
    }
    makers.retain(|(name, _)| name.contains(only) || *name == REFERENCE);
    makers.into_iter().map(|(_, make)| make()).collect()
}

type Maker = Box<dyn FnOnce() -> Box<dyn Contender>>;

fn hash(key: u64) -> u64 {
    xxh3_64(&key.to_le_bytes())
}
