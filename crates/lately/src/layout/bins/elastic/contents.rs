//! What is in an elastic table, for ages, statistics and snapshots.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use libm::{exp2, log1p, pow};

use super::ElasticBins;
use super::blocks::{BLOCK, BLOCK_ROWS, place_of};
use super::moment::{Format, Moment};
use super::split::Split;
use super::table::{Table, hashes_of};
use crate::layout::bins::kernel::{HEADER, LINE_WORDS, Line};
use crate::layout::bins::spare::{CELLS_PER_WORD, cell_may_have, shares};
use crate::layout::instructions::Portable;
use crate::layout::{Contents, Held, Sample};
use crate::ring::{Age, Ring};

impl Contents for ElasticBins {
    /// Exact: fingerprints do not run into each other as bits do.
    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        let moment = self.moment_at(ring, later);
        let (table, hashes) = (self.table_at(&moment), hashes_of(item));
        let in_lines = (0..2).filter_map(|side| {
            let found = table.find(Portable, hashes[side], side);
            let matching = found.current | found.older;
            let younger = || moment.format.younger(matching);
            (matching != 0).then(|| moment.format.age(Portable, found.queue, younger()))
        });
        let age = Age(in_lines.chain(table.spare_age(hashes)).min()?);
        Some((age, age))
    }

    fn clear(&mut self, ring: &Ring) {
        self.reset();
        self.ring_was_set(ring);
    }

    fn ring_was_set(&mut self, ring: &Ring) {
        self.moment = self.moment_at(ring, ring);
    }

    /// Counts the fingerprints. Those in the spare are estimated from its cells.
    fn by_age(&self, ring: &Ring, sample: Sample) -> Vec<Held> {
        let (table, Moment { format, .. }) = (self.table(), &self.moment);
        let mut items = vec![0.0; ring.segments() as usize];
        for (side, split) in self.sides.splits.iter().enumerate() {
            let each = split.places() as f64 / sample.of(split.places()) as f64;
            for (_, line) in self.sampled_lines(side, sample) {
                let counts = format.counts(self.moment.queue(Portable, line));
                counts.for_each(|(age, count)| items[age as usize] += f64::from(count) * each);
            }
        }
        let cells = 0..sample.of(self.lines()) as usize;
        let spilled = shares(cells.map(|cell| table.cell_age(cell as u64)), ring.segments());
        let places = self.lines() as f64 * f64::from(format.shape().entries);
        let held = |(count, share)| Held { fill: count / places, items: count + self.spilled_of(share) };
        items.into_iter().zip(spilled).map(held).collect()
    }

    /// Fingerprints tell less if their line was divided since; see the module's documentation.
    fn false_positive_rate(&self, ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        let moment = self.moment_at(ring, later);
        let table = self.table_at(&moment);
        let by_lines = self.sum_over_sides(sample, |number, side, line| {
            let then = |age: u32| moment.split_of_age(side, age);
            let entries = moment.format.entries_of(line, moment.queue(Portable, line));
            entries.map(|entry| chance(&moment, table.sides.splits[side], then(entry.age), number)).sum()
        });
        // Only lines of the first side are marked.
        let marked = self.sum_over_sides(sample, |number, side, line| {
            let selected = selected(table.sides.splits[side], number);
            if Format::has_spilled(line[HEADER], &moment.now) { selected } else { 0.0 }
        });
        let probes = moment.format.shape().spare_probes();
        let by_spare = marked * pow(share_of_cells(&table, sample, |_| true), f64::from(probes));
        (by_lines + by_spare).min(1.0)
    }

    fn spilled_items(&self, ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        let moment = self.moment_at(ring, later);
        self.spilled_of(share_of_cells(&self.table_at(&moment), sample, |_| true))
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn words_are_valid(&self, range: Range<usize>) -> bool {
        let first = range.start / LINE_WORDS;
        let end = range.end.div_ceil(LINE_WORDS).min(self.words.len() / LINE_WORDS);
        let Moment { format, now, .. } = &self.moment;
        (first..end).all(|index| {
            let line = &self.table().lines[index];
            if index as u64 % BLOCK_ROWS < BLOCK {
                return format.is_valid(Portable, line);
            }
            let cells =
                line.iter().flat_map(|word| (0..CELLS_PER_WORD).map(move |cell| word >> (8 * cell) & 0xff));
            cells.into_iter().all(|cell| cell_may_have(cell, now))
        })
    }
}

impl ElasticBins {
    /// How many distinct items the spare has, if this share of all cells is in use.
    fn spilled_of(&self, share: f64) -> f64 {
        let (cells, probes) = (self.lines() as f64, f64::from(self.moment.format.shape().spare_probes()));
        -log1p(-share.min(1.0 - 1.0 / cells)) * cells / probes
    }

    /// A sample of a side's lines that is spread over them, and their numbers.
    fn sampled_lines(&self, side: usize, sample: Sample) -> impl ExactSizeIterator<Item = (u64, &Line)> {
        let (lines, table) = (self.sides.splits[side].places(), self.table());
        let taken = sample.of(lines);
        (0..taken as usize).map(move |i| {
            let number = (i as u128 * u128::from(lines) / u128::from(taken)) as u64;
            (number, &table.lines[place_of(number, side)])
        })
    }

    /// The sum of the means over the lines of each side, from a sample.
    fn sum_over_sides(&self, sample: Sample, of_line: impl Fn(u64, usize, &Line) -> f64) -> f64 {
        let mean = |side: usize| {
            let lines = self.sampled_lines(side, sample);
            let taken = lines.len() as f64;
            lines.map(|(number, line)| of_line(number, side, line)).sum::<f64>() / taken
        };
        mean(0) + mean(1)
    }
}

/// The share of hashes that select this line, times the number of lines of its side.
fn selected(split: Split, line: u64) -> f64 {
    split.places() as f64 * exp2(-f64::from(split.base(line)))
}

/// Probability that a stranger matches a fingerprint of this line, which was made when the side was split as `then`, times
/// the number of lines of its side.
fn chance(moment: &Moment, now: Split, then: Split, line: u64) -> f64 {
    let bits = f64::from(moment.format.fingerprint_bits());
    // The bits of the fingerprint that the number of the line tells.
    let known = now.base(line) - then.base(line);
    selected(now, line) * exp2(f64::from(known) - bits)
}

/// The share of cells of the spare whose age is accepted.
fn share_of_cells(table: &Table<'_>, sample: Sample, is_accepted: impl Fn(u32) -> bool) -> f64 {
    let cells = sample.of(table.sides.lines());
    let accepted = (0..cells).filter(|&cell| table.cell_age(cell).is_some_and(&is_accepted)).count();
    accepted as f64 / cells as f64
}
