//! Bins whose number of lines follows the traffic, by linear hashing.
//!
//! The lines have two sides. An item has a line on each: its hash selects one, its mixed hash the other. Of the n
//! lines of a side, with 2^L <= n < 2^(L+1), the lowest L + 1 bits of a hash select one; if there is no such line yet,
//! the lowest L do. So line n can be added at any time: it takes its items from line n - 2^L, and no other line
//! changes. First all lines of the first side are divided, then all of the other, and so on. Meanwhile most items can go
//! to a line that has already been divided.
//!
//! # Fingerprints
//!
//! To divide a line, the next bit of each item's hash is needed. So a fingerprint is the bits of the hash *above* those
//! that selected the line in the generation in which the item came: bits `base` and up. Each generation remembers
//! how many lines there were at its start, which gives the base for any hash. When a line has been divided since, the
//! lowest bits of its older fingerprints are known from the number of the line, so these fingerprints tell less. What
//! that costs is in `model::elastic`. Therefore a generation begins early once the number of lines has doubled in it.
//!
//! When two lines are joined, the bit that decided between them is no longer known from the number of the line. A
//! fingerprint that begins above this bit takes it in at its lower end, and gives up its highest bit. Then it is as if
//! there had never been more lines, and that is what the generations remember.
//!
//! # Memory
//!
//! ```text
//! | block | block | ... |
//! block: | 64 lines of one side | 64 cells of the spare, a byte each |
//! ```
//! The cells of the [`spare`](super::spare) are divided and joined by the same rule as the lines of a side.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

mod blocks;
mod contents;
mod history;
mod moment;
mod resize;
mod split;
mod table;

use alloc::boxed::Box;
use alloc::vec;

use super::kernel::{BinKernel, HEADER, Line};
use super::line::{LineFormat, Queue};
use super::spare::cell_stamp;
use crate::layout::instructions::Portable;
use crate::layout::words::aligned::AlignedWords;
use crate::layout::{Contents, Fit, Located, Query, Update, Use};
use crate::ring::{Age, Ring};
use crate::shape::BinShape;
use blocks::{BLOCK, BLOCK_ROWS, cell_at};
pub(crate) use blocks::{most_lines, words};
pub(crate) use history::History;
use moment::{Format, Moment};
use split::Sides;
use table::{Found, Hashes, Table, hashes_of};

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ElasticBins {
    moment: Moment,
    sides: Sides,
    /// The limit of the number of lines.
    most_lines: u64,
    /// The number of lines at the start of each generation, or the least since, by ring position.
    lines_at: Box<[u64]>,
    history: History,
    words: AlignedWords,
}

impl ElasticBins {
    /// The memory of a table besides its blocks and `lines_at`: its own, with addresses of 64 bits. With shorter ones it
    /// takes a little less, but plans are the same on all machines.
    pub(in crate::layout) const TABLE_BYTES: u64 = 1272;

    pub(in crate::layout) fn new(shape: BinShape, lines: u64, words: AlignedWords, ring: &Ring) -> Self {
        let lines_at = vec![lines; ring.segments() as usize].into_boxed_slice();
        let moment = Moment::new(LineFormat::new(shape), ring, |_| lines);
        let history = History::new(lines);
        Self { moment, sides: Sides::of(lines), most_lines: lines, lines_at, history, words }
    }

    #[inline]
    pub(crate) fn query(&self) -> &Self {
        self
    }

    #[inline]
    pub(crate) fn update(&mut self) -> &mut Self {
        self
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> u64 {
        self.sides.lines()
    }

    /// Limits the number of lines to which the table grows.
    pub(crate) fn set_most_lines(&mut self, lines: u64) {
        self.most_lines = lines;
    }

    /// The number of lines at the start of each generation, or the least since, by ring position.
    pub(crate) fn lines_at(&self) -> &[u64] {
        &self.lines_at
    }

    /// Restores `lines_at` from a snapshot. Call [`Contents::ring_was_set`] afterwards.
    pub(crate) fn set_lines_at(&mut self, lines_at: impl Iterator<Item = u64>) {
        self.lines_at.iter_mut().zip(lines_at).for_each(|(lines, of_snapshot)| *lines = of_snapshot);
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn set_history(&mut self, history: History) {
        self.history = history;
    }

    #[inline(always)]
    fn table(&self) -> Table<'_> {
        self.table_at(&self.moment)
    }

    #[inline(always)]
    fn table_at<'a>(&'a self, moment: &'a Moment) -> Table<'a> {
        Table { moment, sides: self.sides, words: &self.words, lines: self.words.as_rows() }
    }

    #[inline(always)]
    fn line_mut(&mut self, place: usize) -> &mut Line {
        &mut self.words.as_rows_mut()[place]
    }

    /// The state at another moment, if nothing is written until then.
    fn moment_at(&self, ring: &Ring, later: &Ring) -> Moment {
        let lines_at = |age: Age| match ring.age_before(age, later) {
            Some(present) => self.lines_at[ring.position_of(present).index()],
            None => self.lines(),
        };
        Moment::new(self.moment.format, later, lines_at)
    }

    /// Inserts an item. Returns true if it was seen lately.
    #[inline(always)]
    fn write<K: BinKernel>(&mut self, kernel: K, hash: u64) -> bool {
        let (hashes, table) = (hashes_of(hash), self.table());
        let found = [table.find(kernel, hashes[0], 0), table.find(kernel, hashes[1], 1)];
        if found[0].current | found[1].current != 0 {
            let side = usize::from(found[0].current == 0);
            let place = table.place(hashes[side], side);
            let fingerprint = self.moment.fingerprint(hashes[side], self.moment.base(hashes[side], side));
            self.renew(kernel, fingerprint, place, found[side]);
            return true;
        }
        // A fingerprint with another base stays: it may belong to another item, which a fingerprint with today's base
        // would not match.
        let seen = found[0].older | found[1].older != 0 || table.spare_age(hashes).is_some();
        let side = usize::from(found[0].queue.load > found[1].queue.load);
        let place = table.place(hashes[side], side);
        if self.moment.format.is_full(found[side].queue) {
            return self.write_elsewhere(hash, found[0].queue) || seen;
        }
        let fingerprint = self.moment.fingerprint(hashes[side], self.moment.base(hashes[side], side));
        self.append(fingerprint, place, found[side].queue);
        seen
    }

    /// Inserts an item whose lines are both full: into other lines, or into the spare. Returns true if it was seen
    /// lately in those lines.
    #[cold]
    #[inline(never)]
    fn write_elsewhere(&mut self, hash: u64, first: Queue) -> bool {
        if self.makes_room() {
            return self.write(Portable, hash);
        }
        self.spill(hashes_of(hash), first);
        false
    }

    #[inline(always)]
    fn append(&mut self, fingerprint: u64, place: usize, queue: Queue) {
        let Moment { format, now, .. } = &self.moment;
        let spills = Format::spills(queue, now);
        format.append(&mut self.words.as_rows_mut()[place], queue, fingerprint, spills, now);
    }

    /// Makes the youngest of the fingerprints found the newest of its line.
    #[inline(always)]
    fn renew<K: BinKernel>(&mut self, kernel: K, fingerprint: u64, place: usize, found: Found) {
        let Moment { format, now, .. } = &self.moment;
        let younger = format.younger(found.current);
        if younger >= format.newest(found.queue) {
            format.renew(
                kernel,
                &mut self.words.as_rows_mut()[place],
                found.queue,
                younger,
                fingerprint,
                now,
            );
        }
    }

    /// Puts an item into the spare, and marks its line on the first side.
    #[cold]
    #[inline(never)]
    fn spill(&mut self, hashes: Hashes, first: Queue) {
        let table = self.table();
        let (place, cells) = (table.place(hashes[0], 0), table.cells(hashes));
        let (header, stamp) =
            (self.moment.format.spilled(first, &self.moment.now), cell_stamp(&self.moment.now));
        self.line_mut(place)[HEADER] = header;
        cells.for_each(|cell| self.set_cell(cell, stamp));
        self.history.spilled += 1;
    }

    fn set_cell(&mut self, cell: u64, stamp: u64) {
        let (word, shift) = cell_at(cell);
        self.words[word] = self.words[word] & !(0xff << shift) | stamp << shift;
    }

    /// Brings lines up to date before their stamps become ambiguous, and empties old cells of the spare: each once in
    /// 64 generations, however many there are.
    fn visit_due(&mut self) {
        let Moment { format, now, .. } = self.moment;
        let in_block = now.number() % BLOCK;
        for block in 0..self.lines() / BLOCK {
            let line = self.line_mut((block * BLOCK_ROWS + in_block) as usize);
            line[HEADER] = format.refreshed(format.queue(Portable, line[HEADER], &now), &now);
            let cell = block * BLOCK + in_block;
            if self.table().cell_age(cell).is_none() {
                self.set_cell(cell, 0);
            }
        }
    }
}

const _: () = assert!(size_of::<ElasticBins>() as u64 <= ElasticBins::TABLE_BYTES);

impl Query for &ElasticBins {
    type Place = ();

    /// Keeps no place: the table may grow between a prefetch and its use.
    #[inline(always)]
    fn locate(&self, hash: u64) -> Located<()> {
        Located { hash, place: () }
    }

    #[inline(always)]
    fn contains<K: BinKernel>(&self, kernel: K, item: Located<()>, _ring: &Ring) -> bool {
        self.table().reports(kernel, item.hash)
    }

    #[inline(always)]
    fn prefetch<K: BinKernel>(&self, kernel: K, item: Located<()>, _ring: &Ring, _uses: Use) {
        self.table().prefetch(kernel, item.hash);
    }
}

impl Query for &mut ElasticBins {
    type Place = ();

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located<()> {
        (&**self).locate(hash)
    }

    #[inline(always)]
    fn contains<K: BinKernel>(&self, kernel: K, item: Located<()>, _ring: &Ring) -> bool {
        self.table().reports(kernel, item.hash)
    }

    #[inline(always)]
    fn prefetch<K: BinKernel>(&self, kernel: K, item: Located<()>, _ring: &Ring, _uses: Use) {
        self.table().prefetch(kernel, item.hash);
    }
}

impl Update for &mut ElasticBins {
    #[inline(always)]
    fn insert<K: BinKernel>(&mut self, kernel: K, item: Located<()>, _ring: &Ring) {
        self.write(kernel, item.hash);
    }

    #[inline(always)]
    fn check_and_insert<K: BinKernel>(&mut self, kernel: K, item: Located<()>, _ring: &Ring) -> bool {
        self.write(kernel, item.hash)
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        self.lines_at[ring.position_of(Age(0)).index()] = self.lines();
        self.history.spilled_before = self.history.spilled;
        self.ring_was_set(ring);
        self.visit_due();
    }

    fn shorten_window(&mut self, ring: &Ring) {
        self.ring_was_set(ring);
    }

    fn fit(&mut self, ring: &Ring, early_left: u32) -> Fit {
        self.resize_to_fit(ring, early_left)
    }
}

#[cfg(test)]
mod tests;
