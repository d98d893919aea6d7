//! Blocks (the paper's APBBF, section 5): each segment is a blocked Bloom filter.
//!
//! ```text
//! words:    | segment at ring position 0        | segment at ring position 1 | ...
//! segment:  | block 0 | block 1 | ... each B bits: 1 or 8 words
//! block:    | part 0: B/b bits | part 1: B/b bits | ...
//! ```
//! An item picks one block of a segment with one hash value and, with the bits of another, one bit in each
//! part.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use libm::log1p;

use super::Geometry;
use crate::hash::{reduce, remix};
use crate::layout::instructions::InstructionSet;
use crate::layout::words::bits::{Words, count_ones};
use crate::layout::{Sample, Use};
use crate::ring::{Age, Ring, RingPosition};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockGeometry {
    pub(in crate::layout) block_bits: u32,
    pub(in crate::layout) bits_per_block: u32,
    pub(in crate::layout) blocks: u64,
}

impl BlockGeometry {
    fn part_bits(&self) -> u32 {
        self.block_bits / self.bits_per_block
    }

    fn words_per_block(&self) -> usize {
        self.block_bits as usize / 64
    }

    /// The first word of an item's block.
    #[inline(always)]
    fn block_start(&self, item: u64, position: RingPosition) -> usize {
        let block = reduce(remix(item, 2 * position.index() as u64), self.blocks);
        position.index() * self.words_per_segment() + block as usize * self.words_per_block()
    }

    fn sampled<'a>(&self, segment: &'a [u64], sample: Sample) -> &'a [u64] {
        &segment[..sample.of(self.blocks) as usize * self.words_per_block()]
    }
}

impl Geometry for BlockGeometry {
    #[inline(always)]
    fn words_per_segment(&self) -> usize {
        self.blocks as usize * self.words_per_block()
    }

    /// One bit in each part of the item's block, each selected by different bits of one hash value.
    #[inline(always)]
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64> {
        let mut part_start = self.block_start(item, position) as u64 * 64;
        let mut choice = remix(item, 2 * position.index() as u64 + 1);
        // The sizes of blocks and parts are powers of two; a division here would cost as much as the rest.
        let choice_bits = self.block_bits.ilog2() - self.bits_per_block.ilog2();
        (0..self.bits_per_block).map(move |_| {
            let bit = part_start + (choice & ((1 << choice_bits) - 1));
            part_start += 1 << choice_bits;
            choice >>= choice_bits;
            bit
        })
    }

    /// All bits are in one cache line: testing all of them is faster than a branch after each.
    #[inline(always)]
    fn matches(&self, words: &impl Words, item: u64, position: RingPosition) -> bool {
        let bits = self.bits(item, position);
        bits.fold(1, |all, bit| all & words.word((bit / 64) as usize) >> (bit % 64)) & 1 == 1
    }

    /// Prefetches the blocks that an insert writes, and those where a query begins and goes after a miss.
    #[inline(always)]
    fn prefetch<I: InstructionSet>(
        &self,
        instructions: I,
        words: &impl Words,
        item: u64,
        ring: &Ring,
        uses: Use,
    ) {
        let (k, l) = (ring.required_matches(), ring.window_generations());
        let probed =
            core::iter::successors(Some(l), |age| age.checked_sub(k)).take_while(|&age| age >= k).map(Age);
        let written = ring.written_ages().filter(|_| uses.may_write());
        for age in written.chain(probed.filter(|_| uses.reads())) {
            words.prefetch(instructions, self.block_start(item, ring.position_of(age)));
        }
    }

    fn fill(&self, segment: &[u64], sample: Sample) -> f64 {
        let sampled = self.sampled(segment, sample);
        let bits = sampled.len() as u64 * 64;
        count_ones(sampled, 0, bits) as f64 / bits as f64
    }

    /// A never-inserted item picks each block with the same probability, and matches with the product of the
    /// fills of its parts.
    fn match_probability(&self, segment: &[u64], sample: Sample) -> f64 {
        let part_bits = u64::from(self.part_bits());
        let of_block = |block: &[u64]| -> f64 {
            (0..u64::from(self.bits_per_block))
                .map(|part| {
                    count_ones(block, part * part_bits, (part + 1) * part_bits) as f64 / part_bits as f64
                })
                .product()
        };
        let blocks = self.sampled(segment, sample).chunks_exact(self.words_per_block());
        blocks.map(of_block).sum::<f64>() / sample.of(self.blocks) as f64
    }

    /// Loads of blocks are Poisson, so the expected share of unset bits is e^(-load * b / B). A full segment
    /// gives no upper limit, so one unset bit is assumed.
    fn distinct_items(&self, fill: f64) -> f64 {
        let bits = self.blocks as f64 * f64::from(self.block_bits);
        -log1p(-fill.min(1.0 - 1.0 / bits)) * bits / f64::from(self.bits_per_block)
    }

    /// Every bit of a block belongs to some part.
    fn is_valid(&self, _segment: &[u64]) -> bool {
        true
    }
}
