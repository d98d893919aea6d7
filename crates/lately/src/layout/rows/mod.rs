//! Rows (ours): all segments of an item lie side by side in one row of one or two cache lines, so an insert,
//! a hit and a miss each touch one row, for any k and l.
//!
//! ```text
//! words:  | row 0 | row 1 | ...            a row: 64 or 128 bytes
//! row:    | segment at ring position 0 | at position 1 | ... | unused | stamp: 15 bits | claim: 1 bit |
//! segment:| part 0 | part 1 | ...          a part: 16 bits
//! ```
//! An item picks one row, and sets one bit there in each part of the k newest segments. A query computes
//! which parts match, rotates them into the order of ages, and looks for k * b consecutive ones that begin at
//! the start of a segment.
//!
//! # Ageing by stamps
//!
//! A shift does not clear any segment. Each row's stamp tells in which generation the row was last written. d
//! generations later, the segments of ages 0 to d - 1 have been recycled: in this row they count as empty,
//! although their old bits are still there. A query ignores these bits, an insert clears them.
//!
//! A stamp is the generation modulo 2^15. To make d unambiguous, every shift brings the next
//! ceil(rows / 2^14) rows up to date, in turn. So every row is visited at least once in 2^14 + 1 shifts. Then
//! d <= 2^14 + 1 < 2^15 always holds, and the difference of stamps is the true one.

#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
mod kernel;
mod part_ages;
mod portable;
#[cfg(feature = "std")]
mod shared;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use libm::log1p;

use super::runs::newest_run;
use super::words::aligned::AlignedWords;
use super::words::bits;
use super::{Contents, Held, Located, Query, Sample, Update, Use, due_for_visit, pieces_with};
use crate::hash::reduce;
use crate::model::run_probability;
use crate::ring::{Age, Ring};
use crate::shape::{PART_BITS, RowShape};
pub(crate) use kernel::RowKernel;
use part_ages::{CurrentGeneration, Generation};
#[cfg(feature = "std")]
pub(crate) use shared::SharedRows;

/// A row is visited at least once in this many shifts, plus one.
const SHIFTS_PER_ROUND: u64 = 1 << 14;

/// Rows of `WORDS` words.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Rows<const WORDS: usize> {
    shape: RowShape,
    /// In a box: in a small filter of any layout, room for it would be most of the memory.
    current: Box<CurrentGeneration<WORDS>>,
    words: AlignedWords,
}

impl<const WORDS: usize> Rows<WORDS> {
    /// The memory of what all rows have in common.
    pub(super) const TABLE_BYTES: u64 = size_of::<CurrentGeneration<WORDS>>() as u64;

    pub(super) fn new(shape: RowShape, words: AlignedWords, ring: &Ring) -> Self {
        debug_assert!(
            words.len().is_multiple_of(WORDS),
            "{} words are not a whole number of rows",
            words.len()
        );
        Self { shape, current: Box::new(CurrentGeneration::new(shape, ring)), words }
    }

    #[inline]
    pub(crate) fn query(&self) -> RowsQuery<'_, WORDS> {
        RowsQuery { rows: self.rows(), generation: self.current.get() }
    }

    #[inline]
    pub(crate) fn update(&mut self) -> RowsUpdate<'_, WORDS> {
        RowsUpdate { rows: self.words.as_rows_mut(), current: &mut self.current, shape: self.shape }
    }

    #[cfg(feature = "std")]
    pub(crate) fn shape(&self) -> RowShape {
        self.shape
    }

    /// Brings a copy up to date that was made while other threads wrote and made `shifts` shifts, the last
    /// one to this ring. Stamps tell which segments are empty. But rows may have been copied before the
    /// housekeeping of those shifts reached them.
    #[cfg(feature = "std")]
    pub(crate) fn catch_up(&mut self, shifts: u32, ring: &Ring) {
        self.ring_was_set(ring);
        if shifts > 0 {
            let RowsUpdate { rows, current, .. } = self.update();
            rows.iter_mut().for_each(|row| refresh(row, current.get()));
        }
    }

    #[inline]
    fn rows(&self) -> &[[u64; WORDS]] {
        self.words.as_rows()
    }

    /// The fills of a row's parts at an age; zero if they are still to be cleared.
    fn part_fills(&self, row: &[u64; WORDS], ring: &Ring, age: Age) -> impl Iterator<Item = f64> {
        let is_live = age.0 >= self.current.get().staleness(row[WORDS - 1]);
        let part_bits = u64::from(PART_BITS);
        let first = ring.position_of(age).index() as u64 * u64::from(self.shape.parts);
        (first..first + u64::from(self.shape.parts)).map(move |part| {
            let set = bits::count_ones(row, part * part_bits, (part + 1) * part_bits);
            if is_live { set as f64 / part_bits as f64 } else { 0.0 }
        })
    }

    fn mean_over_rows(&self, sample: Sample, of_row: impl Fn(&[u64; WORDS]) -> f64) -> f64 {
        let rows = sample.of(self.rows().len() as u64) as usize;
        self.rows()[..rows].iter().map(of_row).sum::<f64>() / rows as f64
    }
}

/// Returns the index of the item's row.
#[inline(always)]
fn row_of(item: u64, rows: usize) -> usize {
    reduce(item, rows as u64) as usize
}

/// The rows to bring up to date after a shift; see the module's documentation.
fn rows_to_visit(generation: u64, rows: usize) -> impl Iterator<Item = usize> {
    due_for_visit(generation, rows as u64, SHIFTS_PER_ROUND).map(|row| row as usize)
}

/// Brings a row up to date.
fn refresh<const WORDS: usize>(row: &mut [u64; WORDS], generation: Generation<'_, WORDS>) {
    portable::refresh(row, row[WORDS - 1], generation);
}

pub(crate) struct RowsQuery<'a, const WORDS: usize> {
    rows: &'a [[u64; WORDS]],
    generation: Generation<'a, WORDS>,
}

impl<const WORDS: usize> RowsQuery<'_, WORDS> {
    #[inline(always)]
    fn reports<K: RowKernel>(&self, kernel: K, item: Located) -> bool {
        let row = &self.rows[item.place];
        kernel.contains(row, item.hash, row[WORDS - 1], &kernel.load_generation(self.generation))
    }
}

impl<const WORDS: usize> Query for RowsQuery<'_, WORDS> {
    type Place = usize;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located {
        Located { hash, place: row_of(hash, self.rows.len()) }
    }

    #[inline(always)]
    fn contains<K: RowKernel>(&self, kernel: K, item: Located, _ring: &Ring) -> bool {
        self.reports(kernel, item)
    }

    #[inline(always)]
    fn prefetch<K: RowKernel>(&self, kernel: K, item: Located, _ring: &Ring, _uses: Use) {
        kernel.prefetch(&self.rows[item.place]);
    }
}

pub(crate) struct RowsUpdate<'a, const WORDS: usize> {
    rows: &'a mut [[u64; WORDS]],
    current: &'a mut CurrentGeneration<WORDS>,
    shape: RowShape,
}

impl<const WORDS: usize> RowsUpdate<'_, WORDS> {
    #[inline]
    fn as_query(&self) -> RowsQuery<'_, WORDS> {
        RowsQuery { rows: self.rows, generation: self.current.get() }
    }
}

impl<const WORDS: usize> Query for RowsUpdate<'_, WORDS> {
    type Place = usize;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located {
        self.as_query().locate(hash)
    }

    #[inline(always)]
    fn contains<K: RowKernel>(&self, kernel: K, item: Located, _ring: &Ring) -> bool {
        self.as_query().reports(kernel, item)
    }

    #[inline(always)]
    fn prefetch<K: RowKernel>(&self, kernel: K, item: Located, _ring: &Ring, _uses: Use) {
        kernel.prefetch(&self.rows[item.place]);
    }
}

impl<const WORDS: usize> Update for RowsUpdate<'_, WORDS> {
    #[inline(always)]
    fn insert<K: RowKernel>(&mut self, kernel: K, item: Located, _ring: &Ring) {
        let row = &mut self.rows[item.place];
        let last = row[WORDS - 1];
        kernel.check_and_insert(row, item.hash, last, &kernel.load_generation(self.current.get()));
    }

    #[inline(always)]
    fn check_and_insert<K: RowKernel>(&mut self, kernel: K, item: Located, _ring: &Ring) -> bool {
        let row = &mut self.rows[item.place];
        let last = row[WORDS - 1];
        kernel.check_and_insert(row, item.hash, last, &kernel.load_generation(self.current.get()))
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        *self.current = CurrentGeneration::new(self.shape, ring);
        for row in rows_to_visit(ring.generation(), self.rows.len()) {
            refresh(&mut self.rows[row], self.current.get());
        }
    }
}

impl<const WORDS: usize> Contents for Rows<WORDS> {
    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        let row = &self.rows()[row_of(item, self.rows().len())];
        let generation = self.current.get();
        let matching = portable::matching(row, item) & generation.live(row[WORDS - 1]);
        newest_run(ring, later, |age| generation.ages.segment_matches(matching, age))
    }

    fn ring_was_set(&mut self, ring: &Ring) {
        *self.current = CurrentGeneration::new(self.shape, ring);
    }

    /// Loads of rows are Poisson, so the expected share of unset bits is e^(-load / part bits).
    fn by_age(&self, ring: &Ring, sample: Sample) -> Vec<Held> {
        let (rows, parts) = (self.rows().len() as f64, f64::from(self.shape.parts));
        let most = 1.0 - 1.0 / (rows * f64::from(PART_BITS));
        let held = |age| {
            let fill = self.mean_over_rows(sample, |row| self.part_fills(row, ring, age).sum()) / parts;
            Held { fill, items: -log1p(-fill.min(most)) * f64::from(PART_BITS) * rows }
        };
        ring.ages().map(held).collect()
    }

    /// A row's segments share its load. So the rate for a never-inserted item is the mean over rows, not a
    /// function of the segments' means.
    fn false_positive_rate(&self, ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        self.mean_over_rows(sample, |row| {
            let match_probability = |age| self.part_fills(row, ring, age).product();
            let matches = ring.ages().map(|age| ring.age_before(age, later).map_or(0.0, match_probability));
            run_probability(ring.required_matches(), matches)
        })
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Only the parts of segments and the stamp are ever written; rows are claimed only in shared filters.
    fn words_are_valid(&self, range: Range<usize>) -> bool {
        let used = u64::from(PART_BITS) * u64::from(self.shape.parts) * u64::from(self.shape.segments);
        let row_bits = WORDS as u64 * 64;
        pieces_with(range, WORDS, self.rows().iter()).all(|row| {
            bits::count_ones(row, used, row_bits - 16) == 0
                && bits::count_ones(row, row_bits - 1, row_bits) == 0
        })
    }
}

#[cfg(test)]
mod tests;
