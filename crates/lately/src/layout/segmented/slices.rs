//! Slices (the paper's APBF, section 4, with the parts of section 5): each segment is b bit arrays of m bits.
//!
//! ```text
//! words:    | segment at ring position 0      | segment at ring position 1      | ...
//! segment:  | part 0: m bits | part 1: m bits | ... | unused bits up to a whole word |
//! ```
//! An item sets one bit in each part. Segments begin at whole words, so emptying one cannot touch its
//! neighbour. Parts need not begin at whole words, so m may be any number.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use libm::log1p;

use super::Geometry;
use crate::hash::{reduce, remix};
use crate::layout::instructions::InstructionSet;
use crate::layout::words::bits::{Words, count_ones};
use crate::layout::{Sample, Use};
use crate::ring::{Age, Ring, RingPosition};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SliceGeometry {
    pub(in crate::layout) parts: u32,
    pub(in crate::layout) part_bits: u64,
    pub(in crate::layout) words_per_segment: usize,
}

impl SliceGeometry {
    fn part_fills(&self, segment: &[u64], sample: Sample) -> impl Iterator<Item = f64> {
        let bits = sample.of(self.part_bits);
        (0..u64::from(self.parts)).map(move |part| {
            let from = part * self.part_bits;
            count_ones(segment, from, from + bits) as f64 / bits as f64
        })
    }
}

impl Geometry for SliceGeometry {
    #[inline(always)]
    fn words_per_segment(&self) -> usize {
        self.words_per_segment
    }

    /// One bit in each part.
    #[inline(always)]
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64> {
        let (parts, part_bits) = (self.parts, self.part_bits);
        let first_lane = position.index() as u64 * u64::from(parts);
        let start = (position.index() * self.words_per_segment) as u64 * 64;
        (0..u64::from(parts))
            .map(move |part| start + part * part_bits + reduce(remix(item, first_lane + part), part_bits))
    }

    #[inline(always)]
    fn matches(&self, words: &impl Words, item: u64, position: RingPosition) -> bool {
        self.bits(item, position).all(|bit| words.word((bit / 64) as usize) >> (bit % 64) & 1 == 1)
    }

    /// Prefetches the words that an insert writes, and the first ones that a query reads.
    #[inline(always)]
    fn prefetch<I: InstructionSet>(
        &self,
        instructions: I,
        words: &impl Words,
        item: u64,
        ring: &Ring,
        uses: Use,
    ) {
        let first_probed = Some(Age(ring.window_generations())).filter(|_| uses.reads());
        for age in ring.written_ages().filter(|_| uses.may_write()).chain(first_probed) {
            self.bits(item, ring.position_of(age))
                .for_each(|bit| words.prefetch(instructions, (bit / 64) as usize));
        }
    }

    fn fill(&self, segment: &[u64], sample: Sample) -> f64 {
        self.part_fills(segment, sample).sum::<f64>() / f64::from(self.parts)
    }

    fn match_probability(&self, segment: &[u64], sample: Sample) -> f64 {
        self.part_fills(segment, sample).product()
    }

    /// Solves the expected fill 1 - (1 - 1/m)^n for n. A full segment gives no upper limit, so one unset bit
    /// is assumed.
    fn distinct_items(&self, fill: f64) -> f64 {
        let bits = self.part_bits as f64;
        if self.part_bits == 1 {
            return fill;
        }
        log1p(-fill.min(1.0 - 1.0 / bits)) / log1p(-1.0 / bits)
    }

    /// The bits after the last part are never set.
    fn is_valid(&self, segment: &[u64]) -> bool {
        let used = u64::from(self.parts) * self.part_bits;
        count_ones(segment, used, segment.len() as u64 * 64) == 0
    }
}
