//! Where lines and cells of the spare are in memory.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::split::Sides;
use crate::layout::bins::kernel::LINE_WORDS;
use crate::layout::bins::spare::CELLS_PER_WORD;
use crate::shape::{ELASTIC_BLOCK_LINES, LEAST_ELASTIC_LINES};

/// The lines of a block, the unit of growth, and its cells of the spare.
pub(super) const BLOCK: u64 = ELASTIC_BLOCK_LINES;
/// The words of a block.
pub(super) const BLOCK_WORDS: u64 = BLOCK * LINE_WORDS as u64 + BLOCK / CELLS_PER_WORD;
/// The lines of a block with its cells, which take one more.
pub(super) const BLOCK_ROWS: u64 = BLOCK_WORDS / LINE_WORDS as u64;

/// The number of words of a table with this many lines, or `None` if no table has so many lines.
pub(crate) fn words(lines: u64) -> Option<u64> {
    let is_possible = lines >= LEAST_ELASTIC_LINES && lines.is_multiple_of(BLOCK);
    is_possible.then_some(lines / BLOCK)?.checked_mul(BLOCK_WORDS)
}

/// The most lines of a table that takes at most so many words.
pub(crate) fn most_lines(words: u64) -> u64 {
    words / BLOCK_WORDS * BLOCK
}

/// The place of a line of a side, among all lines and cells of the spare.
#[inline(always)]
pub(super) fn place_of(line: u64, side: usize) -> usize {
    (Sides::block_of(line / BLOCK, side as u64) * BLOCK_ROWS + line % BLOCK) as usize
}

/// The word of a cell of the spare, and the cell's lowest bit in it.
pub(super) fn cell_at(cell: u64) -> (usize, u32) {
    let (block, in_block) = (cell / BLOCK, cell % BLOCK);
    let first = block * BLOCK_WORDS + BLOCK * LINE_WORDS as u64;
    ((first + in_block / CELLS_PER_WORD) as usize, (in_block % CELLS_PER_WORD * 8) as u32)
}
