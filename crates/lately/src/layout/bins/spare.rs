//! The spare: it takes items whose lines are both full, so it must never be full itself.
//!
//! It is a Bloom filter with a byte per cell instead of a bit: the generation in which the cell was last
//! written, modulo 255, plus one; 0 if never. An item is in the window if all its cells are. So its rate
//! depends on the number of spilled items in the window, not on when they came.

use alloc::vec;
use alloc::vec::Vec;

use super::line::Generation;
use crate::hash::{reduce, remix};
use crate::layout::due_for_visit;
use crate::shape::BinShape;

/// Cells are visited at least once in this many shifts, plus one, so that no cell is mistaken for a younger
/// one.
const SHIFTS_PER_ROUND: u64 = 1 << 6;
/// Cells have this many different generations.
const GENERATIONS: u64 = 255;
/// The first number for `remix` that lines do not use.
const FIRST_LANE: u64 = 1;
pub(super) const CELLS_PER_WORD: u64 = 8;

/// The words of the spare: owned, or shared by threads.
pub(super) trait SpareWords {
    fn word(&self, index: usize) -> u64;
}

/// Words that can be written.
pub(super) trait SpareWordsMut: SpareWords {
    fn update(&mut self, index: usize, change: impl Fn(u64) -> u64);
}

impl SpareWords for &[u64] {
    fn word(&self, index: usize) -> u64 {
        self[index]
    }
}

impl SpareWords for &mut [u64] {
    fn word(&self, index: usize) -> u64 {
        self[index]
    }
}

impl SpareWordsMut for &mut [u64] {
    fn update(&mut self, index: usize, change: impl Fn(u64) -> u64) {
        self[index] = change(self[index]);
    }
}

/// The spare of a filter, in words borrowed for a call or a batch.
pub(super) struct Spare<W> {
    words: W,
    cells: u64,
    /// Cells per item.
    probes: u32,
    /// l.
    generations: u32,
}

impl<W: SpareWords> Spare<W> {
    /// `len` is the number of words.
    pub(super) fn new(words: W, len: usize, shape: BinShape) -> Self {
        let (probes, generations) = (shape.spare_probes(), shape.window_generations);
        Self { words, cells: len as u64 * CELLS_PER_WORD, probes, generations }
    }

    fn cells_of(&self, item: u64) -> impl Iterator<Item = u64> + use<W> {
        let cells = self.cells;
        (0..u64::from(self.probes)).map(move |probe| reduce(cell_hash(item, probe), cells))
    }

    /// How many generations ago a cell was written, if that is in the window.
    fn age(&self, cell: u64, now: &Generation) -> Option<u32> {
        age_in(self.words.word(place(cell).0), cell, now).filter(|&age| age <= self.generations)
    }

    /// The age of an item: it is at least as old as the oldest of its cells. `None` if it is not in the spare.
    #[cold]
    #[inline(never)]
    pub(super) fn age_of(&self, item: u64, now: &Generation) -> Option<u32> {
        self.cells_of(item).try_fold(0, |oldest, cell| Some(self.age(cell, now)?.max(oldest)))
    }

    /// The share of the first `cells` cells whose age is accepted.
    pub(super) fn share(&self, cells: u64, now: &Generation, is_accepted: impl Fn(u32) -> bool) -> f64 {
        let cells = cells.clamp(1, self.cells);
        let accepted = (0..cells).filter(|&cell| self.age(cell, now).is_some_and(&is_accepted)).count();
        accepted as f64 / cells as f64
    }

    /// The share of the first `cells` cells that have each age.
    pub(super) fn shares(&self, cells: u64, now: &Generation) -> Vec<f64> {
        let cells = cells.clamp(1, self.cells);
        shares((0..cells as usize).map(|cell| self.age(cell as u64, now)), self.generations)
    }

    /// Returns true if a filter can have written this word.
    pub(super) fn is_valid(&self, word: usize, now: &Generation) -> bool {
        let cell = |number: u64| self.words.word(word) >> (8 * number) & 0xff;
        (0..CELLS_PER_WORD).all(|number| cell_may_have(cell(number), now))
    }

    /// The greatest age of a cell that has not been visited since it left the window.
    #[cfg(feature = "std")]
    fn oldest_kept(&self) -> u32 {
        self.generations + SHIFTS_PER_ROUND as u32 + 1
    }

    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    pub(super) fn probes(&self) -> u32 {
        self.probes
    }
}

impl<W: SpareWordsMut> Spare<W> {
    /// `now` is called after a cell was read. So if threads share the spare, no cell is younger than that
    /// generation, and none becomes older.
    #[cold]
    #[inline(never)]
    pub(super) fn insert(&mut self, item: u64, now: impl Fn() -> Generation) {
        for cell in self.cells_of(item) {
            let (index, mask, shift) = place(cell);
            self.words.update(index, |word| word & !mask | cell_stamp(&now()) << shift);
        }
    }

    /// Empties old cells among those that are due in this generation.
    pub(super) fn visit(&mut self, now: &Generation) {
        for cell in due_for_visit(now.number(), self.cells, SHIFTS_PER_ROUND) {
            self.empty_if_older(cell, self.generations, now);
        }
    }

    /// Empties all cells that have left the window; or only those that their visits should have emptied: a
    /// thread that was suspended while it wrote may have left one.
    #[cfg(feature = "std")]
    pub(super) fn empty_old(&mut self, now: &Generation, all: bool) {
        let oldest = if all { self.generations } else { self.oldest_kept() };
        (0..self.cells).for_each(|cell| self.empty_if_older(cell, oldest, now));
    }

    fn empty_if_older(&mut self, cell: u64, oldest: u32, now: &Generation) {
        let (index, mask, _) = place(cell);
        let is_older = |word| age_in(word, cell, now).is_none_or(|age| age > oldest);
        self.words.update(index, |word| if is_older(word) { word & !mask } else { word });
    }
}

/// The share of cells that have each age up to the oldest.
pub(super) fn shares(cells: impl ExactSizeIterator<Item = Option<u32>>, oldest: u32) -> Vec<f64> {
    let (mut shares, each) = (vec![0.0; oldest as usize + 1], 1.0 / cells.len() as f64);
    cells.flatten().for_each(|age| shares[age as usize] += each);
    shares
}

/// How many generations ago a cell in this word was written, if ever.
fn age_in(word: u64, cell: u64, now: &Generation) -> Option<u32> {
    let (_, mask, shift) = place(cell);
    cell_age((word & mask) >> shift, now)
}

/// How many generations ago a cell with this content was written, if ever.
pub(super) fn cell_age(written: u64, now: &Generation) -> Option<u32> {
    (written != 0).then(|| ((cell_stamp(now) + GENERATIONS - written) % GENERATIONS) as u32)
}

/// The content of a cell that is written now.
pub(super) fn cell_stamp(now: &Generation) -> u64 {
    now.number() % GENERATIONS + 1
}

/// The hash that selects one of an item's cells.
pub(super) fn cell_hash(item: u64, probe: u64) -> u64 {
    remix(item, FIRST_LANE + probe)
}

/// Returns true if a filter can have a cell with this content. Only a forged cell is older than its next visit allows; that
/// visit empties it. If it were refused here, a loaded filter could make snapshots that are refused: this one may become
/// older before it is visited.
pub(super) fn cell_may_have(written: u64, now: &Generation) -> bool {
    cell_age(written, now).is_none_or(|age| u64::from(age) <= now.number())
}

/// The word of a cell, and the cell's bits in it.
fn place(cell: u64) -> (usize, u64, u64) {
    let shift = cell % CELLS_PER_WORD * 8;
    ((cell / CELLS_PER_WORD) as usize, 0xff << shift, shift)
}
