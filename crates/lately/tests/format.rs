//! A second implementation of docs/format.md: offsets, hashing and bit positions, written from the document
//! alone. If this file and the crate disagree, one of them has changed the format.

mod common;

use std::time::Duration;

use common::{Random, item, shapes, with_shape};
use lately::{Filter, HashFunction, Overload, Segment, Shape};

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
        let words = 144 + 16 * self.segments();
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
            let all = (bytes.len() as u64 - 144 - 16 * segments - 8) * 8;
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
        assert_eq!(bytes.len() as u64, 144 + 16 * (l + 1) + lines * 64 + cells + 8);
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
    filter.advance_to(1_000);
    (0..15).for_each(|number| filter.insert(item(number)));
    filter.advance_to(1_050);
    filter.advance_to(1_234);
    filter.advance_to(3);
    let bytes = filter.to_bytes();
    let parsed = Parsed(&bytes);
    assert_eq!(&bytes[..8], b"LATELY\r\n");
    let words = |offsets: &[usize]| offsets.iter().map(|&offset| parsed.u32(offset)).collect::<Vec<_>>();
    // version, layout, k, l, b, B, row bytes, reserved
    assert_eq!(words(&[8, 12, 16, 20, 24, 28, 32, 36]), [1, 2, 3, 7, 4, 512, 0, 0]);
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
        let offset = 144 + 16 * ((newest + age) % 10);
        (parsed.u64(offset), parsed.u64(offset + 8))
    };
    assert_eq!([start(0), start(1), start(2), start(3)], [(15, 1_200), (15, 1_100), (13, 1_000), (0, 1_000)]);
    let content = bytes.len() - 8;
    assert_eq!(parsed.u64(content), xxhash_rust::xxh3::xxh3_64(&bytes[..content]));
    // A blueprint is everything before the words, followed by a checksum of it.
    let head = 144 + 16 * 10;
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
