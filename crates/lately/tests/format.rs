//! A second implementation of docs/format.md: offsets, hashing and bit positions, written from the document
//! alone. If this file and the crate disagree, one of them has changed the format.

mod common;

use std::time::Duration;

use common::{Random, item, shapes, with_shape};
use lately::{Clock, Filter, HashFunction, Overload, Segment, Shape};

struct Parsed<'a>(&'a [u8]);

impl Parsed<'_> {
    fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.0[offset..offset + 4].try_into().unwrap())
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.0[offset..offset + 8].try_into().unwrap())
    }

    fn segments(&self) -> u64 {
        u64::from(self.u32(16) + self.u32(20))
    }

    fn is_set(&self, bit: u64) -> bool {
        let words = 152 + 16 * self.segments();
        self.u64((words + bit / 64 * 8) as usize) >> (bit % 64) & 1 == 1
    }

    /// Returns the bits of an item in the segment at a ring position, numbered from the first word.
    fn bits(&self, hash: u64, position: u64) -> Vec<u64> {
        let (b, cells) = (u64::from(self.u32(24)), self.u64(40));
        match self.u32(12) {
            1 => {
                let segment = position * (b * cells).div_ceil(64) * 64;
                (0..b)
                    .map(|part| segment + part * cells + reduce(remix(hash, position * b + part), cells))
                    .collect()
            }
            2 => {
                let block_bits = u64::from(self.u32(28));
                let part = block_bits / b;
                let block = reduce(remix(hash, 2 * position), cells);
                let choice = remix(hash, 2 * position + 1);
                let start = (position * cells + block) * block_bits;
                (0..b).map(|i| start + i * part + (choice >> (i * u64::from(part.ilog2()))) % part).collect()
            }
            3 => {
                let row_bits = u64::from(self.u32(32)) * 8;
                let start = reduce(hash, cells) * row_bits;
                let choice = |part: u64| (remix(hash, 1 + part / 16) >> (part % 16 * 4)) % 16;
                (position * b..(position + 1) * b).map(|part| start + part * 16 + choice(part)).collect()
            }
            other => panic!("layout {other}"),
        }
    }
}

/// The lines and the spare of bins.
struct ParsedBins<'a> {
    bytes: Parsed<'a>,
    width: u64,
    l: u64,
    lane: u64,
    place_bits: u64,
    entries: u64,
}

impl<'a> ParsedBins<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let bytes = Parsed(bytes);
        let (width, l) = (u64::from(bytes.u32(24)), u64::from(bytes.u32(20)));
        let (lane, place_bits) = if width < 16 { (8, 6) } else { (16, 5) };
        let fits = |entries: &u64| {
            let header = entries + l + place_bits + 11;
            entries * lane <= 448 && header <= 64 && entries * width + header <= 512
        };
        let entries = (6..64).rev().find(fits).unwrap();
        Self { bytes, width, l, lane, place_bits, entries }
    }

    fn lines(&self) -> u64 {
        self.bytes.u64(40)
    }

    fn bits(&self, first: u64, count: u64) -> u64 {
        (0..count).fold(0, |value, bit| value | u64::from(self.bytes.is_set(first + bit)) << bit)
    }

    /// The fingerprints of a line and their ages, newest first, and whether it is marked for spills.
    fn line(&self, line: u64) -> (Vec<(u64, u64)>, bool) {
        let (first, header) = (line * 512, line * 512 + 448);
        let next = self.bits(header + 53 - self.place_bits, self.place_bits);
        let stamp = self.bits(header + 55, 8);
        let mut age = (self.bytes.u64(112).wrapping_sub(stamp)) % 256;
        let (mut place, mut found) = (next, Vec::new());
        let marks = header + 53 - self.place_bits - self.entries - self.l;
        for mark in marks..marks + self.entries + self.l {
            if age > self.l {
                break;
            }
            if !self.bytes.is_set(mark) {
                age += 1;
                continue;
            }
            place = (place + self.entries - 1) % self.entries;
            let lane = self.bits(first + place * self.lane, self.lane);
            let rest_bits = self.width - self.lane;
            let rest = self.bits(first + self.entries * self.lane + place * rest_bits, rest_bits);
            found.push((rest << self.lane | lane, age));
        }
        (found, self.bits(header + 53, 2) != 0)
    }

    /// How many generations ago a cell of the spare was written.
    fn spare_age(&self, cell: u64) -> Option<u64> {
        let written = self.bits(self.lines() * 512 + cell * 8, 8).checked_sub(1)?;
        Some((self.bytes.u64(112) + 255 - written) % 255)
    }
}

/// The lines and the spare of elastic bins.
struct ParsedElastic<'a> {
    bytes: Parsed<'a>,
    width: u64,
    entries: u64,
}

impl<'a> ParsedElastic<'a> {
    const GENERATIONS: u64 = 25;
    const HEAD: u64 = 152 + 26 * 16;

    fn new(bytes: &'a [u8]) -> Self {
        let bytes = Parsed(bytes);
        let width = u64::from(bytes.u32(24));
        let fits = |entries: &u64| {
            let header = entries + Self::GENERATIONS + 5 + 11;
            entries * 16 <= 448 && header <= 64 && entries * width + header <= 512
        };
        let entries = (6..64).rev().find(fits).unwrap();
        Self { bytes, width, entries }
    }

    fn lines(&self) -> u64 {
        self.bytes.u64(Self::HEAD as usize)
    }

    fn oldest_in_window(&self) -> u64 {
        self.bytes.u64(Self::HEAD as usize + 16)
    }

    /// The number of lines when the generation of an age began.
    fn lines_at(&self, age: u64) -> u64 {
        let shifts = self.bytes.u64(112);
        let position = (age + 26 - shifts % 26) % 26;
        self.bytes.u64((Self::HEAD + 64 + position * 8) as usize)
    }

    fn bits(&self, first: u64, count: u64) -> u64 {
        let first = (Self::HEAD + 64 + 208) * 8 + first;
        let bit = |bit: u64| u64::from(self.bytes.0[(bit / 8) as usize]) >> (bit % 8) & 1;
        (0..count).fold(0, |value, i| value | bit(first + i) << i)
    }

    /// How many lines each side has.
    fn sides(lines: u64) -> [u64; 2] {
        let blocks = lines / 64;
        let half = 1 << (blocks / 2).ilog2();
        let first = (blocks - half).min(2 * half);
        [first * 64, (blocks - first) * 64]
    }

    /// The bit where a line begins.
    fn line_at(side: u64, line: u64) -> u64 {
        let block = match line / 64 {
            0 => side,
            j => j + (1 + side) * (1 << j.ilog2()),
        };
        (block * 65 + line % 64) * 512
    }

    /// The fingerprints of a line and their ages, newest first, and whether it is marked for spills.
    fn line(&self, side: u64, line: u64) -> (Vec<(u64, u64)>, bool) {
        let first = Self::line_at(side, line);
        let header = first + 448;
        let mut age = self.bytes.u64(112).wrapping_sub(self.bits(header + 55, 8)) % 256;
        let (mut place, mut found) = (self.bits(header + 48, 5), Vec::new());
        let marks = header + 48 - self.entries - Self::GENERATIONS;
        for mark in marks..header + 48 {
            if age > self.oldest_in_window() {
                break;
            }
            if self.bits(mark, 1) == 0 {
                age += 1;
                continue;
            }
            place = (place + self.entries - 1) % self.entries;
            let rest_bits = self.width - 16;
            let rest = self.bits(first + self.entries * 16 + place * rest_bits, rest_bits);
            found.push((rest << 16 | self.bits(first + place * 16, 16), age));
        }
        (found, self.bits(header + 53, 2) != 0)
    }

    /// How many generations ago a cell of the spare was written.
    fn spare_age(&self, cell: u64) -> Option<u64> {
        let first = (cell / 64 * 65 + 64) * 512 + cell % 64 * 8;
        let written = self.bits(first, 8).checked_sub(1)?;
        Some((self.bytes.u64(112) + 255 - written) % 255)
    }

    /// The ages that an item has in its lines, and whether it is in the spare.
    fn find(&self, hash: u64) -> (Vec<u64>, bool) {
        let (mixed, mut ages) = (remix(hash, 0), Vec::new());
        let sides = Self::sides(self.lines());
        for (side, hash) in [hash, mixed].into_iter().enumerate() {
            for (fingerprint, age) in self.line(side as u64, select(hash, sides[side]).0).0 {
                let base = select(hash, Self::sides(self.lines_at(age))[side]).1;
                if hash >> base & ((1 << self.width) - 1) == fingerprint {
                    ages.push(age);
                }
            }
        }
        let is_marked = self.line(0, select(hash, sides[0]).0).1;
        let is_live = |cell| self.spare_age(cell).is_some_and(|age| age <= self.oldest_in_window());
        let cell = |probe| select(remix(mixed, 1 + probe), self.lines()).0;
        (ages, is_marked && (0..self.width - 4).all(|probe| is_live(cell(probe))))
    }
}

/// Which of so many places a hash selects, and how many of its bits do.
fn select(hash: u64, places: u64) -> (u64, u32) {
    let bits = places.ilog2();
    let low = hash % (1 << bits);
    if low < places - (1 << bits) { (hash % (2 << bits), bits + 1) } else { (low, bits) }
}

fn remix(hash: u64, lane: u64) -> u64 {
    let mixed = u128::from(hash ^ (lane + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) * 0x243f_6a88_85a3_08d3;
    (mixed as u64) ^ ((mixed >> 64) as u64)
}

fn reduce(value: u64, limit: u64) -> u64 {
    ((u128::from(value) * u128::from(limit)) >> 64) as u64
}

#[test]
fn an_inserted_item_sets_exactly_the_documented_bits() {
    for shape in shapes() {
        if matches!(shape.segment, Segment::Bins { .. }) {
            continue;
        }
        let k = u64::from(shape.required_matches);
        for shifts in [0, 1, u64::from(shape.segments()) - 1, u64::from(shape.segments()) + 2] {
            let builder = with_shape(&shape).time_window(Duration::from_secs(100)).capacity(300).seed(3);
            let mut filter = builder.build().unwrap();
            filter.advance_to(0);
            for shift in 1..=shifts {
                filter.advance_to((shift * 100_000).div_ceil(u64::from(shape.window_generations)));
            }
            filter.insert("item");
            let bytes = filter.to_bytes();
            let parsed = Parsed(&bytes);
            assert_eq!(parsed.u64(112), shifts);
            let hash = xxhash_rust::xxh3::xxh3_64_with_seed(b"item", 3);
            let segments = parsed.segments();
            let newest = (segments - shifts % segments) % segments;
            let mut expected: Vec<u64> =
                (0..k).flat_map(|age| parsed.bits(hash, (newest + age) % segments)).collect();
            expected.sort_unstable();
            let all = (bytes.len() as u64 - 152 - 16 * segments - 8) * 8;
            let mut set: Vec<u64> = (0..all).filter(|&bit| parsed.is_set(bit)).collect();
            if let Segment::Rows { row_bytes, .. } = shape.segment {
                // The last 16 bits of the item's row are its stamp. The stamps of other rows are zero, or as
                // old as the shift that last visited them.
                let row_bits = u64::from(row_bytes) * 8;
                let stamp = (expected[0] / row_bits + 1) * row_bits - 16;
                let written =
                    (0..16).fold(0, |value, bit| value | u64::from(parsed.is_set(stamp + bit)) << bit);
                assert_eq!(written, shifts);
                set.retain(|bit| bit % row_bits < row_bits - 16);
            }
            assert_eq!(set, expected, "{shape} after {shifts} shifts");
        }
    }
}

#[test]
fn lines_of_bins_have_the_documented_fingerprints_in_order() {
    for shape in shapes() {
        let Segment::Bins { fingerprint_bits } = shape.segment else { continue };
        let l = u64::from(shape.window_generations);
        let builder = with_shape(&shape).time_window(Duration::from_millis(10 * l)).capacity(300).seed(3);
        let mut filter = builder.build().unwrap();
        let bytes = filter.to_bytes();
        let (lines, entries) = (ParsedBins::new(&bytes).lines(), ParsedBins::new(&bytes).entries);
        assert_eq!(lines % 2, 0);
        // Oldest first: fingerprints and generations.
        let mut model: Vec<Vec<(u64, u64)>> = vec![Vec::new(); lines as usize];
        let mut spilled = Vec::new();
        let mut random = Random(fingerprint_bits.into());
        let mut generation = 0;
        filter.advance_to(0);
        for step in 0..4_000 {
            if random.below(60) == 0 {
                generation += 1 + random.below(4) / 3 * random.below(2 * l);
                filter.advance_to(generation * 10);
                generation = filter.statistics().generation;
                filter.advance_to(generation * 10);
            }
            // Bursts overload the filter, so that some items are spilled.
            let number = random.below(if step / 1_000 % 2 == 0 { 300 } else { 3_000 });
            filter.insert(item(number));
            let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&item(number), 3);
            let mixed = remix(hash, 0);
            let pair = [2 * reduce(hash, lines / 2), 2 * reduce(mixed, lines / 2) + 1];
            let fingerprint = mixed % (1 << fingerprint_bits);
            for line in pair {
                model[line as usize].retain(|(_, written)| written + l >= generation);
            }
            let position =
                |line: u64| model[line as usize].iter().rposition(|(other, _)| *other == fingerprint);
            let in_line = pair.into_iter().find_map(|line| Some((line, position(line)?)));
            if let Some((line, index)) = in_line {
                let line = &mut model[line as usize];
                if line[index].1 < generation {
                    line.remove(index);
                    line.push((fingerprint, generation));
                }
                continue;
            }
            let [even, odd] = pair.map(|line| model[line as usize].len() as u64);
            if even.min(odd) == entries {
                spilled.push((pair[0], mixed, generation));
            } else {
                model[pair[usize::from(odd < even)] as usize].push((fingerprint, generation));
            }
        }
        let bytes = filter.to_bytes();
        let parsed = ParsedBins::new(&bytes);
        for line in 0..lines {
            let live = model[line as usize].iter().rev().filter(|(_, written)| written + l >= generation);
            let expected: Vec<(u64, u64)> =
                live.map(|(fingerprint, written)| (*fingerprint, generation - written)).collect();
            assert_eq!(parsed.line(line).0, expected, "{shape}, line {line}");
        }
        let cells = lines.next_multiple_of(64);
        assert_eq!(bytes.len() as u64, 152 + 16 * (l + 1) + lines * 64 + cells + 8);
        spilled.retain(|(_, _, written)| written + l >= generation);
        for (even, mixed, written) in spilled {
            assert!(parsed.line(even).1, "{shape}: line {even} is marked");
            for probe in 0..u64::from(fingerprint_bits) - 4 {
                let age = parsed.spare_age(reduce(remix(mixed, 1 + probe), cells));
                assert!(age.is_some_and(|age| age <= generation - written), "{shape}");
            }
        }
    }
}

#[test]
fn lines_of_elastic_bins_have_the_documented_fingerprints() {
    for (rate, max_memory) in [(1e-3, 1 << 20), (1e-6, 1 << 20), (1e-3, 20_000)] {
        let builder = Filter::builder().time_window(Duration::from_secs(16)).seed(3);
        let mut filter = builder.false_positive_rate(rate).max_memory(max_memory).build().unwrap();
        let mut random = Random(max_memory);
        // When each item came last, by generation.
        let mut written = std::collections::HashMap::new();
        for phase in 0..24_u64 {
            filter.advance_to(1_000 * phase + random.below(900));
            for _ in 0..[30, 3_000, 300, 0][(phase / 5 % 4) as usize] {
                let number = random.below(2_000 * (phase + 1));
                filter.insert(item(number));
                written.insert(number, filter.counters().generation);
            }
            let bytes = filter.to_bytes();
            let parsed = ParsedElastic::new(&bytes);
            let generation = filter.counters().generation;
            let mut kept = 0;
            for (&number, &then) in &written {
                let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&item(number), 3);
                let (ages, is_in_spare) = parsed.find(hash);
                assert_eq!(filter.contains(item(number)), !ages.is_empty() || is_in_spare);
                let is_live = generation - then <= parsed.oldest_in_window();
                let is_in_line = ages.iter().any(|&age| age <= generation - then);
                assert!(!is_live || is_in_spare || is_in_line);
                kept += u64::from(is_live && is_in_line);
            }
            let sides = ParsedElastic::sides(parsed.lines());
            let lines = (0..2).flat_map(|side| (0..sides[side as usize]).map(move |line| (side, line)));
            let held: usize = lines.map(|(side, line)| parsed.line(side, line).0.len()).sum();
            assert!(
                held as u64 + 50 >= kept && held as u64 <= 2 * kept + 100,
                "{held} of {kept}, phase {phase}"
            );
            assert_eq!(bytes.len() as u64, 152 + 26 * 16 + 64 + 208 + parsed.lines() / 64 * 4160 + 8);
        }
        assert!(filter.counters().growths > 1);
    }
}

#[test]
fn header_fields_are_at_the_documented_offsets() {
    let mut filter = Filter::builder()
        .time_window(Duration::from_millis(700))
        .capacity(90)
        .overload(Overload::KeepRate)
        .shape(3, 7)
        .segment(Segment::Blocks { block_bits: 512, bits_per_block: 4 })
        .hash_function(HashFunction::SipHash13 { key: *b"ABCDEFGHIJKLMNOP" })
        .build()
        .unwrap();
    filter.set_clock(Clock::Events);
    filter.advance_to(1_000);
    (0..15).for_each(|number| filter.insert(item(number)));
    filter.advance_to(1_050);
    filter.advance_to(1_234);
    filter.advance_to(3);
    let bytes = filter.to_bytes();
    let parsed = Parsed(&bytes);
    assert_eq!(&bytes[..8], b"LATELY\r\n");
    let words = |offsets: &[usize]| offsets.iter().map(|&offset| parsed.u32(offset)).collect::<Vec<_>>();
    // version, layout, k, l, b, B, row bytes, clock source
    assert_eq!(words(&[8, 12, 16, 20, 24, 28, 32, 36]), [1, 2, 3, 7, 4, 512, 0, 2]);
    assert_eq!(parsed.u64(40), filter.plan().cells);
    assert_eq!(parsed.u64(48), 13, "90 items over 7 generations, rounded up");
    // window kind, overload
    assert_eq!(words(&[56, 60]), [2, 2]);
    assert_eq!((parsed.u64(64), parsed.u64(72)), (90, 700));
    // hash, clock
    assert_eq!(words(&[80, 84]), [2, 1]);
    assert_eq!(&bytes[88..104], b"ABCDEFGHIJKLMNOP");
    let statistics = filter.statistics();
    assert_eq!(parsed.u64(104), 15);
    assert_eq!(parsed.u64(112), statistics.generation);
    assert_eq!(parsed.u64(120), 1_234);
    assert_eq!((parsed.u64(128), parsed.u64(136)), (1, 1));
    // One early shift at 1000, then the generations of 1100 and 1200.
    let newest = 10 - (statistics.generation % 10) as usize;
    let start = |age: usize| {
        let offset = 152 + 16 * ((newest + age) % 10);
        (parsed.u64(offset), parsed.u64(offset + 8))
    };
    assert_eq!([start(0), start(1), start(2), start(3)], [(15, 1_200), (15, 1_100), (13, 1_000), (0, 1_000)]);
    let content = bytes.len() - 8;
    assert_eq!(parsed.u64(content), xxhash_rust::xxh3::xxh3_64(&bytes[..content]));
    // A blueprint is everything before the words, followed by a checksum of it.
    let head = 152 + 16 * 10;
    let blueprint = filter.blueprint();
    assert_eq!(blueprint.len(), head + 8);
    assert_eq!(blueprint[..head], bytes[..head]);
    assert_eq!(Parsed(&blueprint).u64(head), xxhash_rust::xxh3::xxh3_64(&bytes[..head]));
}

#[test]
fn hashes_have_their_published_values() {
    let filter = Filter::builder().window(10).false_positive_rate(0.1).build().unwrap();
    // XXH3's value for the empty input, from the test vectors of its specification.
    assert_eq!(filter.hash_of(""), 0x2d06_8005_38d3_94c2);
    assert_eq!(HashFunction::Xxh3 { seed: 0 }.hash(b""), 0x2d06_8005_38d3_94c2);
    // SipHash-1-3's value for the empty input, with the key of the reference implementation, 00 01 .. 0f.
    let key = core::array::from_fn(|i| i as u8);
    let sip = HashFunction::SipHash13 { key };
    assert_eq!(sip.hash(b"").to_le_bytes(), [0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab]);
    assert_ne!(sip.hash(b"a"), HashFunction::SipHash13 { key: [0; 16] }.hash(b"a"));
}

#[test]
fn shapes_print_as_the_documents_write_them() {
    assert_eq!(Shape::slices(10, 7).to_string(), "k=10 l=7, slices of b=1");
    assert_eq!(Shape::blocks(3, 5, 512, 4).to_string(), "k=3 l=5, blocks of B=512 b=4");
}

#[test]
fn several_values_are_their_netstrings() {
    let netstring = |value: &&str| format!("{}:{value},", value.len());
    let netstrings = |values: &[&str]| values.iter().map(netstring).collect::<Vec<_>>().concat();
    let hash = |values: &[&str]| xxhash_rust::xxh3::xxh3_64(netstrings(values).as_bytes());
    let ours = HashFunction::default();
    assert_eq!(ours.hash_of(("user-5", 17)), hash(&["user-5", "17"]));
    assert_eq!(ours.hash_of(("user-5", "17")), hash(&["user-5", "17"]));
    assert_eq!(
        ours.hash_of((i64::MIN, u128::MAX, "é")),
        hash(&[&i64::MIN.to_string(), &u128::MAX.to_string(), "é"])
    );
    assert_ne!(ours.hash_of(("user-51", 7)), hash(&["user-5", "17"]));
    assert_eq!(ours.hash_of(17), xxhash_rust::xxh3::xxh3_64(b"17"));
}
