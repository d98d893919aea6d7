//! What integration tests cannot see: lines that are rebuilt, and sizes chosen by hand.

use alloc::vec::Vec;

use super::*;
use crate::hash::remix;
use crate::layout::bins::line::Entry;
use crate::layout::bins::line::Generation;
use crate::layout::instructions::Portable;
use crate::shape::{ELASTIC_GENERATIONS, LEAST_ELASTIC_LINES};

fn table(lines: u64, ring: &Ring) -> ElasticBins {
    let words = AlignedWords::zeroed(words(lines).unwrap() as usize).unwrap();
    ElasticBins::new(BinShape::elastic(19).unwrap(), lines, words, ring)
}

fn ring() -> Ring {
    Ring::new(1, ELASTIC_GENERATIONS).with_window(Age(0))
}

#[test]
fn a_line_is_rebuilt_from_its_fingerprints() {
    let ring = Ring::at_generation(1, ELASTIC_GENERATIONS, 100).with_window(Age(16));
    for fingerprint_bits in [16, 19, 23, 40] {
        let shape = BinShape::elastic(fingerprint_bits).unwrap();
        let format: Format = LineFormat::new(shape).with_window(16);
        let now = Generation::new(&ring);
        for count in 0..=shape.entries {
            let entry = |i: u32| Entry {
                fingerprint: remix(u64::from(i + count), 1) & format.fingerprint_mask(),
                age: (i * 16).div_ceil(shape.entries),
            };
            let entries: Vec<Entry> = (0..count).map(entry).collect();
            let line = format.line_of(&entries, 0b01, &now);
            let queue = format.queue(Portable, line[HEADER], &now);
            assert_eq!(format.entries_of(&line, queue).collect::<Vec<_>>(), entries);
            assert_eq!(format.live(queue), count);
            assert!(format.is_valid(Portable, &line));
            assert_eq!(Format::spills(queue, &now), 0b01);
        }
    }
}

/// Items come at many sizes of the table, some of them twice, and the table grows and shrinks in between.
#[test]
fn items_survive_every_size() {
    let mut ring = ring();
    let mut bins = table(LEAST_ELASTIC_LINES, &ring);
    bins.set_most_lines(64 * 200);
    let mut written = Vec::new();
    for (step, lines) in [2, 3, 4, 5, 7, 8, 16, 40, 23, 12, 60, 128, 64, 31, 130, 40].into_iter().enumerate()
    {
        bins.grow_to(lines * BLOCK);
        bins.shrink_to(lines * BLOCK, &ring);
        for number in 0..400 {
            let item = remix(number + 1000 * (step as u64 / 2), 7);
            (&mut bins).insert(Portable, Located { hash: item, place: () }, &ring);
            written.push(item);
        }
        ring.advance_generation();
        ring = ring.with_window(Age(step as u32 + 1));
        (&mut bins).recycle_newest(&ring);
        for item in &written {
            assert!(bins.table().reports(Portable, *item), "step {step}, {} lines", bins.lines());
        }
        assert!(bins.words_are_valid(0..usize::MAX));
    }
    assert_eq!(bins.lines() % BLOCK, 0);
    assert!(bins.lines() < 64 * 131, "it has shrunk again");
}

#[test]
fn no_line_is_mistaken_for_a_younger_one_while_the_table_changes() {
    let mut ring = ring();
    let mut bins = table(LEAST_ELASTIC_LINES, &ring);
    bins.set_most_lines(64 * 200);
    let item = |number: u64| Located { hash: remix(number, 3), place: () };
    (0..1500).for_each(|number| (&mut bins).insert(Portable, item(number), &ring));
    for shift in 0..1000_u64 {
        ring.advance_generation();
        ring = ring.with_window(Age(ring.oldest_in_window().0.min(15) + 1));
        (&mut bins).recycle_newest(&ring);
        let lines = BLOCK * (2 + remix(shift, 9) % 20);
        bins.grow_to(lines);
        bins.shrink_to(lines, &ring);
        if shift > 16 {
            let live: u32 =
                (0..1500).map(|number| u32::from(bins.table().reports(Portable, item(number).hash))).sum();
            assert_eq!(live, 0, "after {shift} shifts");
        }
    }
}
