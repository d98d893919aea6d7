//! Helpers for several test files. Each file uses only some of them.
#![allow(dead_code, unreachable_pub)]

pub mod counting_allocator;
pub mod generations;

use std::collections::HashMap;

use lately::{Builder, Filter, HashFunction, Layout, Segment, Shape};

/// Numbers whose hashes with the default seed select one eighth of the rows or even lines, and one eighth of the odd
/// lines: both are selected by the upper bits, of the hash and of the hash mixed once more (docs/format.md).
pub fn chosen(count: usize) -> Vec<u64> {
    let mixed = |hash: u64| {
        let product = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * 0x243f_6a88_85a3_08d3;
        (product >> 64) as u64 ^ product as u64
    };
    let known = HashFunction::default();
    let is_aimed = |number: &u64| {
        let hash = known.hash_of(*number);
        hash >> 61 == 0 && mixed(hash) >> 61 == 0
    };
    (0..).filter(is_aimed).take(count).collect()
}

/// An exact window: the number (1 for the first) and the time of every item's last insert.
#[derive(Clone, Default)]
pub struct ExactWindow {
    inserts: u64,
    last: HashMap<u64, (u64, u64)>,
}

impl ExactWindow {
    pub fn insert(&mut self, item: u64, now_ms: u64) {
        self.inserts += 1;
        self.last.insert(item, (self.inserts, now_ms));
    }

    pub fn inserts(&self) -> u64 {
        self.inserts
    }

    /// Returns the number of inserts after the item's last one.
    pub fn inserts_since(&self, item: u64) -> Option<u64> {
        self.last.get(&item).map(|(number, _)| self.inserts - number)
    }

    /// Returns the items of the last `window` inserts.
    pub fn of_last(&self, window: u64) -> impl Iterator<Item = u64> + '_ {
        let oldest = self.inserts.saturating_sub(window);
        self.last.iter().filter(move |(_, (number, _))| *number > oldest).map(|(item, _)| *item)
    }

    /// Returns the items inserted at `from_ms` or later.
    pub fn since(&self, from_ms: u64) -> impl Iterator<Item = u64> + '_ {
        self.last.iter().filter(move |(_, (_, ms))| *ms >= from_ms).map(|(item, _)| *item)
    }
}

/// Splitmix64: the same seed gives the same numbers on every platform.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A smaller number of rounds, where each takes long: under sanitizers and under Miri, which interprets. The environment
/// variable `LATELY_FEWER` says how many times smaller.
pub fn fewer(rounds: u64) -> u64 {
    let times =
        std::env::var("LATELY_FEWER").map_or(1, |times| times.parse().expect("LATELY_FEWER is a number"));
    (rounds / times).max(1)
}

/// The bytes of a number, as an item.
pub fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Returns shapes of all layouts: k less than, equal to and greater than l; one part and many; blocks of a
/// word and of a cache line.
pub fn shapes() -> Vec<Shape> {
    let slices = [
        (1, 1, 1),
        (1, 5, 3),
        (2, 1, 2),
        (2, 14, 6),
        (3, 2, 1),
        (4, 3, 1),
        (5, 5, 2),
        (7, 4, 1),
        (10, 7, 1),
        (12, 14, 1),
    ];
    let blocks = [
        (1, 4, 512, 8),
        (1, 1, 64, 1),
        (2, 3, 64, 4),
        (2, 5, 512, 2),
        (3, 5, 512, 4),
        (3, 2, 64, 16),
        (5, 9, 64, 2),
        (8, 8, 512, 1),
    ];
    let rows = [
        (5, 10, 64, 2),
        (10, 21, 64, 1),
        (1, 3, 64, 7),
        (1, 1, 64, 1),
        (3, 2, 64, 3),
        (4, 17, 128, 3),
        (7, 8, 128, 4),
    ];
    let rows = rows.map(|(k, l, row_bytes, parts)| Shape {
        required_matches: k,
        window_generations: l,
        segment: Segment::Rows { row_bytes, parts },
    });
    let slices = slices.map(|(k, l, parts)| Shape {
        required_matches: k,
        window_generations: l,
        segment: Segment::Slices { parts },
    });
    let blocks = blocks.map(|(k, l, block_bits, bits)| Shape::blocks(k, l, block_bits, bits));
    let bins = [(1, 8), (3, 11), (13, 13), (20, 16), (16, 19), (28, 25), (42, 48)];
    let bins = bins.map(|(l, fingerprint_bits)| Shape {
        required_matches: 1,
        window_generations: l,
        segment: Segment::Bins { fingerprint_bits },
    });
    slices.into_iter().chain(blocks).chain(rows).chain(bins).collect()
}

/// Every layout.
pub const LAYOUTS: [Layout; 4] = [Layout::Slices, Layout::Blocks, Layout::Rows, Layout::Bins];

/// Returns a builder with a fixed shape.
pub fn with_shape(shape: &Shape) -> Builder {
    Filter::builder().shape(shape.required_matches, shape.window_generations).segment(shape.segment)
}

/// Fills a filter with fresh items (numbers from `first`) until it is in its steady state and just before a
/// shift, its worst moment. Returns the number of inserts.
pub fn fill_to_worst_moment(filter: &mut Filter, first: u64) -> u64 {
    let plan = filter.plan();
    let inserts = u64::from(plan.shape.segments()) * plan.items_per_generation;
    (first..first + inserts).for_each(|number| filter.insert(item(number)));
    inserts
}

/// Returns an upper bound on the probability of a count this extreme if each of `trials` succeeds with
/// probability `rate`: Chernoff's bound exp(-n KL(observed || rate)), which is proven, not approximate.
pub fn chance_of(successes: u64, trials: u64, rate: f64) -> f64 {
    let observed = successes as f64 / trials as f64;
    let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    let divergence = term(observed, rate) + term(1.0 - observed, 1.0 - rate);
    (-(trials as f64) * divergence).exp()
}

/// Tests treat outcomes of this probability or less as impossible.
pub const IMPOSSIBLE: f64 = 1e-6;

/// Fails if the number of successes is impossible at `rate`, because it is too high or too low.
#[track_caller]
pub fn assert_rate_is(successes: u64, trials: u64, rate: f64, what: &str) {
    let chance = chance_of(successes, trials, rate);
    let observed = successes as f64 / trials as f64;
    assert!(chance > IMPOSSIBLE, "{what}: {successes} of {trials} = {observed:.3e}, expected {rate:.3e}");
}
