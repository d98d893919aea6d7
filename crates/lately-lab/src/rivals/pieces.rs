//! Building blocks of several rivals: bits, packed cells, positions from a hash, a random sequence, a sweep.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::GENERATIONS;

/// Returns the hash of a numbered item. Every contender gets these hashes.
pub(crate) fn hash_of(key: u64) -> u64 {
    xxh3_64(&key.to_le_bytes())
}

/// Returns the `i`-th of an item's positions below `limit`: the hash is rotated and offset per lane, spread
/// by a folded product, and reduced by its top bits.
#[inline]
pub(crate) fn position(hash: u64, i: u32, limit: usize) -> usize {
    below(
        fold(hash.rotate_left(i).wrapping_add((u64::from(i) + 1).wrapping_mul(0xd1b5_4a32_d192_ed03))),
        limit,
    )
}

/// Multiplies with an odd constant and folds the two halves of the product.
#[inline]
pub(super) fn fold(value: u64) -> u64 {
    let wide = u128::from(value ^ 0xa076_1d64_78bd_642f) * 0xe703_7ed1_a0b4_28db;
    (wide >> 64) as u64 ^ wide as u64
}

/// Reduces a value to one below `limit`, by its top bits.
#[inline]
pub(super) fn below(value: u64, limit: usize) -> usize {
    ((u128::from(value) * limit as u128) >> 64) as usize
}

/// A plain array of bits.
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Rounds down to whole words, but to at least one.
    pub(crate) fn new(len: u64) -> Self {
        let words = (len / 64).max(1) as usize;
        Self { words: vec![0; words], len: words * 64 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Sets a bit; returns true if it was set before.
    #[inline]
    pub(crate) fn set(&mut self, i: usize) -> bool {
        let was = self.get(i);
        self.words[i / 64] |= 1 << (i % 64);
        was
    }

    /// Resets a bit; returns true if it was set before.
    #[inline]
    pub(crate) fn reset(&mut self, i: usize) -> bool {
        let was = self.get(i);
        self.words[i / 64] &= !(1 << (i % 64));
        was
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(crate) fn memory_bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }
}

/// Cells of `width` bits each, packed across word borders.
pub(super) struct Packed {
    words: Vec<u64>,
    width: u32,
    len: usize,
    /// A mask of the lowest bit of each cell, for as many cells as fit into 64 bits.
    lowest: u64,
}

impl Packed {
    /// Exactly `len` cells.
    pub(super) fn new(len: usize, width: u32) -> Self {
        assert!((1..=64).contains(&width), "a cell has 1 to 64 bits, not {width}");
        // One extra word, so that a cell can always be read as part of two words.
        let words = vec![0; (len * width as usize).div_ceil(64) + 1];
        let lowest = (0..64 / width).fold(0, |lowest, cell| lowest | 1 << (cell * width));
        Self { words, width, len, lowest }
    }

    /// Returns as many cells as fit into `bits` bits, or `None` if not even one fits.
    pub(super) fn fitting(bits: u64, width: u32) -> Option<Self> {
        let len = bits.checked_sub(128)? / u64::from(width);
        (len > 0).then(|| Self::new(len as usize, width))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    #[inline]
    fn pair(&self, i: usize) -> (usize, u32, u128) {
        let bit = i * self.width as usize;
        let word = bit / 64;
        let both = u128::from(self.words[word]) | u128::from(self.words[word + 1]) << 64;
        (word, (bit % 64) as u32, both)
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> u64 {
        let (_, shift, both) = self.pair(i);
        (both >> shift) as u64 & self.mask()
    }

    #[inline]
    pub(super) fn set(&mut self, i: usize, value: u64) {
        debug_assert!(value <= self.mask(), "{value} does not fit into {} bits", self.width);
        let (word, shift, both) = self.pair(i);
        let both = both & !(u128::from(self.mask()) << shift) | u128::from(value) << shift;
        self.words[word] = both as u64;
        self.words[word + 1] = (both >> 64) as u64;
    }

    /// Changes neighbouring cells, as many at once as fit into 64 bits. `change` gets these cells, side by
    /// side from the lowest bit on, and a mask of the lowest bit of each; it may change no other bits.
    #[inline]
    pub(super) fn change_all(&mut self, cells: Range<usize>, change: impl Fn(u64, u64) -> u64) {
        for first in cells.clone().step_by((64 / self.width) as usize) {
            let bits = ((cells.end - first) as u64 * u64::from(self.width)).min(64);
            let (word, shift, both) = self.pair(first);
            let values = (both >> shift) as u64;
            let changed = change(values, self.lowest & u64::MAX >> (64 - bits));
            let both = both ^ u128::from(values ^ changed) << shift;
            self.words[word] = both as u64;
            self.words[word + 1] = (both >> 64) as u64;
        }
    }

    /// Lowers each cell by one, unless it is zero.
    #[inline]
    pub(super) fn decrement_all(&mut self, cells: Range<usize>) {
        let width = self.width;
        self.change_all(cells, |values, lowest| {
            let above_zero = (0..width).fold(0, |above, bit| above | values >> bit) & lowest;
            values - above_zero
        });
    }

    /// Resets one bit of each cell.
    #[inline]
    pub(super) fn reset_in_all(&mut self, cells: Range<usize>, bit: u32) {
        debug_assert!(bit < self.width, "cells have {} bits", self.width);
        self.change_all(cells, |values, lowest| values & !(lowest << bit));
    }

    pub(super) fn memory_bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }
}

/// Returns the number of bits that a number needs.
pub(super) fn bits_for(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).max(1)
}

/// Counts inserts in generations of equal size, a fixed number of which make up the window.
pub(super) struct Generations {
    certain: u64,
    per_generation: u64,
    in_newest: u64,
}

impl Generations {
    /// `certain` whole generations hold the window; their size is rounded up.
    pub(super) fn new(window: u64, certain: u64) -> Self {
        Self { certain, per_generation: window.div_ceil(certain), in_newest: 0 }
    }

    /// Returns g, the number of inserts per generation.
    pub(super) fn per_generation(&self) -> u64 {
        self.per_generation
    }

    /// Returns the number of inserts in the newest generation.
    pub(super) fn in_newest(&self) -> u64 {
        self.in_newest
    }

    /// Returns the number of last inserts that are certain to be reported.
    pub(super) fn window(&self) -> u64 {
        self.certain * self.per_generation
    }

    /// Counts an insert; returns true if it begins a new generation (not for the very first generation).
    #[inline]
    pub(super) fn insert_begins_new(&mut self) -> bool {
        let begins = self.in_newest == self.per_generation;
        self.in_newest = if begins { 1 } else { self.in_newest + 1 };
        begins
    }
}

/// The generation of a slot's last write, in three bits of the slot: of seven marks, six are live (the window's
/// five generations and the newest one), and one is being swept. Zero means "empty".
#[derive(Clone, Copy, Default)]
pub(super) struct Marks {
    generation: u64,
}

impl Marks {
    pub(super) const BITS: u32 = 3;
    pub(super) const MASK: u64 = (1 << Self::BITS) - 1;
    /// The number of marks in use.
    pub(super) const COUNT: u64 = Self::MASK;

    pub(super) fn begin_generation(&mut self) {
        self.generation += 1;
    }

    /// Returns the mark of the newest generation.
    pub(super) fn newest(self) -> u64 {
        self.generation % Self::COUNT + 1
    }

    /// Returns true if the content of a slot, with its mark in the lowest bits, has not expired.
    #[inline]
    pub(super) fn is_live(self, content: u64) -> bool {
        let mark = content & Self::MASK;
        mark != 0 && (self.generation + Self::COUNT + 1 - mark) % Self::COUNT <= GENERATIONS
    }
}

/// Goes through `cells` cells, a few at each insert, so that all are visited once in every `period` inserts:
/// cleaning without a pause.
pub(super) struct Sweep {
    next: usize,
    cells: usize,
    per_insert: usize,
}

impl Sweep {
    pub(super) fn new(cells: usize, period: u64) -> Self {
        Self { next: 0, cells, per_insert: cells.div_ceil(period as usize) }
    }

    /// Returns the cells to visit now; the first cell follows the last.
    #[inline]
    pub(super) fn advance(&mut self) -> impl Iterator<Item = usize> + use<> {
        let (first, cells) = (self.next, self.cells);
        self.next = (first + self.per_insert) % cells;
        (first..first + self.per_insert).map(move |i| if i < cells { i } else { i - cells })
    }

    /// Returns the cells to visit now; after the last cell there are none until [`restart`](Self::restart).
    #[inline]
    pub(super) fn advance_to_end(&mut self) -> Range<usize> {
        let first = self.next;
        self.next = (first + self.per_insert).min(self.cells);
        first..self.next
    }

    /// Returns the first cell that has not been visited since the restart.
    #[inline]
    pub(super) fn visited(&self) -> usize {
        self.next
    }

    pub(super) fn restart(&mut self) {
        self.next = 0;
    }
}

/// A fixed random sequence: a counter with an odd step, spread by folded products.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9fb2_1c65_1e98_df25);
        fold(fold(self.0))
    }

    #[inline]
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        below(self.next(), limit)
    }

    /// Returns a number from 0 up to, but not including, 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[inline]
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_cells_keep_their_values_and_leave_their_neighbours_alone() {
        for width in [1, 3, 4, 14, 21, 33, 57, 64] {
            let mut cells = Packed::new(100, width);
            let value = |i: usize, round: u64| fold(i as u64 + 1000 * round) >> (64 - width);
            for round in 0..3 {
                (0..100).for_each(|i| cells.set(i, value(i, round)));
                assert!((0..100).all(|i| cells.get(i) == value(i, round)), "width {width}");
            }
            let mut expected: Vec<u64> = (0..100).map(|i| value(i, 2)).collect();
            for range in [0..100, 0..1, 3..7, 17..93, 99..100, 50..50] {
                cells.decrement_all(range.clone());
                expected[range.clone()].iter_mut().for_each(|value| *value = value.saturating_sub(1));
                let bit = width / 2;
                cells.reset_in_all(range.clone(), bit);
                expected[range.clone()].iter_mut().for_each(|value| *value &= !(1 << bit));
                assert!((0..100).all(|i| cells.get(i) == expected[i]), "width {width}, {range:?}");
            }
        }
    }

    #[test]
    fn fitting_cells_take_no_more_bits_than_given() {
        for bits in [129, 1000, 160_000] {
            for width in [1, 3, 14, 61] {
                let fits = Packed::fitting(bits, width).is_none_or(|cells| cells.memory_bits() <= bits);
                assert!(fits, "{bits} bits, width {width}");
            }
        }
    }

    #[test]
    fn a_sweep_visits_every_cell_in_its_period() {
        for (cells, period) in [(10, 3), (10, 10), (7, 20), (100, 7)] {
            let mut sweep = Sweep::new(cells, period);
            for _ in 0..5 {
                let visited: std::collections::HashSet<_> =
                    (0..period).flat_map(|_| sweep.advance()).collect();
                assert_eq!(visited.len(), cells);
            }
            sweep.restart();
            let visited: Vec<_> = (0..period).flat_map(|_| sweep.advance_to_end()).collect();
            assert_eq!(visited, (0..cells).collect::<Vec<_>>());
        }
    }

    #[test]
    fn positions_are_spread_evenly() {
        // Chi-squared over 64 places: mean 63, deviation 11.2.
        for lane in [0, 1, 7, 20] {
            let mut counts = [0_u32; 64];
            (0..64_000).for_each(|key| counts[position(hash_of(key), lane, 64)] += 1);
            let squared: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!((20.0..130.0).contains(&squared), "lane {lane}: {squared}");
        }
    }
}
