//! Ways to put segments into memory, behind one interface.
//!
//! A layout is asked about *items*, not about single segments, so that one which keeps all segments of an item side by
//! side can answer with one memory access.

mod bits;
mod blocks;
mod slices;

use blocks::Blocks;
use slices::Slices;

use crate::model::run_probability;
use crate::ring::{Age, Ring};
use crate::shape::{Segment, Shape};

/// What the filter needs of a layout. `item` is always an item's 64-bit hash.
pub(crate) trait Segments {
    /// Sets the item's bits in the k newest segments.
    fn insert(&mut self, item: u64, ring: &Ring);
    /// Whether k consecutive segments match.
    fn contains(&self, item: u64, ring: &Ring) -> bool;
    /// Whether the segment of this age matches.
    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool;
    /// Called after the ring has advanced: its newest segment starts a new life, empty.
    fn recycle_newest(&mut self, ring: &Ring);
    /// Share of set bits in the segment of this age.
    fn fill(&self, ring: &Ring, age: Age) -> f64;
    /// Probability that an item never inserted matches the segment of this age, by the bits as they are.
    fn match_probability(&self, ring: &Ring, age: Age) -> f64;
    /// Estimated number of distinct items written into the segment of this age.
    fn distinct_items(&self, ring: &Ring, age: Age) -> f64;
    /// Probability that an item never inserted is reported, by the bits as they are.
    fn false_positive_rate(&self, ring: &Ring) -> f64 {
        let probabilities = (0..ring.segments()).map(|age| self.match_probability(ring, Age(age)));
        run_probability(ring.required_matches(), probabilities)
    }
    /// Everything a snapshot has to keep.
    fn words(&self) -> &[u64];
    fn words_mut(&mut self) -> &mut [u64];
    /// Whether the words are ones this layout can have written; a snapshot's may not be.
    fn words_are_valid(&self) -> bool;
}

/// The memory of a filter, in one of the layouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Slices(Slices),
    Blocks(Blocks),
}

/// Words of 64 bits that one segment of so many cells takes, or `None` if that overflows.
pub(crate) fn words_per_segment(segment: &Segment, cells: u64) -> Option<u64> {
    Some(cells.checked_mul(u64::from(segment.bits_per_cell()))?.div_ceil(u64::from(u64::BITS)))
}

impl Memory {
    /// Empty segments, or `None` if so much cannot be allocated.
    pub(crate) fn allocate(shape: &Shape, cells: u64) -> Option<Self> {
        let words_per_segment = usize::try_from(words_per_segment(&shape.segment, cells)?).ok()?;
        let words = bits::zeroed(words_per_segment.checked_mul(shape.segments() as usize)?)?;
        Some(match shape.segment {
            Segment::Slices { parts } => Self::Slices(Slices::new(parts, cells, words_per_segment, words)),
            Segment::Blocks { block_bits, bits_per_block } => {
                Self::Blocks(Blocks::new(block_bits, bits_per_block, cells, words))
            }
        })
    }

    /// The layout behind its interface, for everything but the hot path.
    pub(crate) fn segments(&self) -> &dyn Segments {
        match self {
            Self::Slices(slices) => slices,
            Self::Blocks(blocks) => blocks,
        }
    }

    pub(crate) fn segments_mut(&mut self) -> &mut dyn Segments {
        match self {
            Self::Slices(slices) => slices,
            Self::Blocks(blocks) => blocks,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, item: u64, ring: &Ring) {
        match self {
            Self::Slices(slices) => slices.insert(item, ring),
            Self::Blocks(blocks) => blocks.insert(item, ring),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, item: u64, ring: &Ring) -> bool {
        match self {
            Self::Slices(slices) => slices.contains(item, ring),
            Self::Blocks(blocks) => blocks.contains(item, ring),
        }
    }
}
