//! A small reference filter that counts its memory accesses: the paper's slices and blocks, its query, and
//! nothing else.
//!
//! Its sizes are exactly those of the paper. `lately` rounds slices up to whole words, which lowers the rate
//! of a window of a thousand items by more than half for the largest l.

use lately::model::{half_full_load, run_probability};
use lately::{Segment, Shape};

use crate::rivals::{Bits, hash_of, position};

pub(super) struct Reference {
    k: usize,
    l: usize,
    cell: Cell,
    /// Cells in a segment.
    cells: usize,
    items_per_generation: u64,
    /// Ring positions, each with its own hash functions.
    segments: Vec<Bits>,
    /// The ring position of age 0.
    newest: usize,
    inserts: u64,
}

/// The unit of memory that one access reads.
#[derive(Clone, Copy)]
enum Cell {
    Bit,
    Block { bits: usize, parts: usize },
}

impl Reference {
    /// The paper's design: segments are half full when they are no longer written.
    pub(super) fn new(shape: &Shape, cells: usize) -> Self {
        let items = half_full_load(&shape.segment) * cells as f64 / f64::from(shape.required_matches);
        Self::with_sizes(shape, cells, items as u64)
    }

    /// The same for slices, with the size that the window needs.
    pub(super) fn for_window((k, l): (u32, u32), window: u64) -> Self {
        let shape = Shape::slices(k, l);
        let items = window.div_ceil(l.into());
        let cells = (f64::from(k) * items as f64 / half_full_load(&shape.segment)).ceil();
        Self::with_sizes(&shape, cells as usize, items)
    }

    fn with_sizes(shape: &Shape, cells: usize, items_per_generation: u64) -> Self {
        let cell = match shape.segment {
            Segment::Blocks { block_bits, bits_per_block } => {
                Cell::Block { bits: block_bits as usize, parts: bits_per_block as usize }
            }
            _ => Cell::Bit,
        };
        let segment_bits = match cell {
            Cell::Bit => cells,
            Cell::Block { bits, .. } => cells * bits,
        };
        Self {
            k: shape.required_matches as usize,
            l: shape.window_generations as usize,
            cell,
            cells,
            items_per_generation,
            segments: (0..shape.segments())
                .map(|_| Bits::new(segment_bits.next_multiple_of(64) as u64))
                .collect(),
            newest: 0,
            inserts: 0,
        }
    }

    pub(super) fn items_per_generation(&self) -> u64 {
        self.items_per_generation
    }

    pub(super) fn inserts(&self) -> u64 {
        self.inserts
    }

    /// Returns the number of inserts after which an empty filter is in its steady state and just before a
    /// shift, its worst moment.
    pub(super) fn inserts_to_worst_moment(&self) -> u64 {
        (self.k + self.l) as u64 * self.items_per_generation
    }

    /// Fills an empty filter to its worst moment. Items are numbered from 0.
    pub(super) fn fill(&mut self) {
        (0..self.inserts_to_worst_moment()).for_each(|item| self.insert(hash_of(item)));
    }

    pub(super) fn clear(&mut self) {
        self.segments.iter_mut().for_each(Bits::clear);
        (self.newest, self.inserts) = (0, 0);
    }

    /// Slices only: computes from the present bits the probability that a stranger is reported.
    pub(super) fn rate_of_the_bits(&self) -> f64 {
        let fill = |age| {
            let slice = &self.segments[self.at(age)];
            (0..self.cells).filter(|&i| slice.get(i)).count() as f64 / self.cells as f64
        };
        let fills: Vec<f64> = (0..self.segments.len()).map(fill).collect();
        run_probability(self.k as u32, fills)
    }

    /// Returns how many of `count` strangers, numbered from `first`, are reported.
    pub(super) fn strangers_reported(&self, first: u64, count: u64) -> u64 {
        let first = super::STRANGERS + first;
        (first..first + count).filter(|&key| self.query(hash_of(key)).0).count() as u64
    }

    pub(super) fn insert(&mut self, hash: u64) {
        if self.inserts > 0 && self.inserts.is_multiple_of(self.items_per_generation) {
            self.newest = (self.newest + self.segments.len() - 1) % self.segments.len();
            self.segments[self.newest].clear();
        }
        self.inserts += 1;
        for age in 0..self.k {
            let at = self.at(age);
            for i in 0..self.bits_per_item() {
                let bit = self.bit(hash, at, i);
                self.segments[at].set(bit);
            }
        }
    }

    fn at(&self, age: usize) -> usize {
        (self.newest + age) % self.segments.len()
    }

    fn bits_per_item(&self) -> usize {
        match self.cell {
            Cell::Bit => 1,
            Cell::Block { parts, .. } => parts,
        }
    }

    fn bit(&self, hash: u64, at: usize, i: usize) -> usize {
        // The cell is picked by the position's own hash function, the bits in it by others.
        let cell = position(hash, at as u32, self.cells);
        match self.cell {
            Cell::Bit => cell,
            Cell::Block { bits, parts } => {
                let lane = (1 + at) * 64 + i;
                cell * bits + i * (bits / parts) + position(hash, lane as u32, bits / parts)
            }
        }
    }

    /// Runs the paper's algorithm 1; returns the answer and the number of cells read.
    pub(super) fn query(&self, hash: u64) -> (bool, u32) {
        let (mut i, mut previous, mut count, mut accesses) = (self.l, 0, 0, 0);
        loop {
            let at = self.at(i);
            accesses += 1;
            if (0..self.bits_per_item()).all(|part| self.segments[at].get(self.bit(hash, at, part))) {
                count += 1;
                i += 1;
                if previous + count == self.k {
                    return (true, accesses);
                }
            } else if i < self.k {
                return (false, accesses);
            } else {
                i -= self.k;
                previous = count;
                count = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_its_window_and_forgets_older_items() {
        for shape in [Shape::slices(4, 3), Shape::slices(10, 7), Shape::blocks(2, 5, 64, 4)] {
            let mut filter = Reference::new(&shape, 2000);
            filter.fill();
            let generation = filter.items_per_generation();
            let window = u64::from(shape.window_generations) * generation;
            let newest = filter.inserts();
            assert!((newest - window..newest).all(|item| filter.query(hash_of(item)).0), "{shape}");
            // Just before a shift, one generation more is reported; the oldest one is not.
            assert!((newest - window - generation..newest).all(|item| filter.query(hash_of(item)).0));
            assert!(!(0..generation).all(|item| filter.query(hash_of(item)).0));
        }
    }

    #[test]
    fn a_query_of_an_empty_filter_costs_one_access_per_jump() {
        let filter = Reference::new(&Shape::slices(3, 8), 100);
        // Ages 8, 5, 2.
        assert_eq!(filter.query(1), (false, 3));
    }
}
