//! Blocks (the paper's APBBF, section 5): each segment is a blocked Bloom filter.
//!
//! ```text
//! words:    | segment at ring position 0        | segment at ring position 1 | ...
//! segment:  | block 0 | block 1 | ... each B bits: 1 or 8 words
//! block:    | part 0: B/b bits | part 1: B/b bits | ...
//! ```
//! An item picks one block of a segment with one hash value and, with the bits of another, one bit in each
//! part.

use core::ops::Range;

use libm::log1p;

use super::aligned::AlignedWords;
use super::bits::{Words, WordsMut, count_ones};
use super::kernel::Kernel;
use super::{Query, Sample, Segments, Update};
use crate::hash::{reduce, remix};
use crate::query::{Matches, is_reported};
use crate::ring::{Age, Ring, RingPosition};

/// `W` is the memory: owned, or borrowed for a call or a batch.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Blocks<W = AlignedWords> {
    block_bits: u32,
    bits_per_block: u32,
    blocks: u64,
    words: W,
}

impl Blocks {
    pub(super) fn new(block_bits: u32, bits_per_block: u32, blocks: u64, words: AlignedWords) -> Self {
        Self { block_bits, bits_per_block, blocks, words }
    }

    #[inline]
    pub(crate) fn query(&self) -> Blocks<&[u64]> {
        self.with_words(&*self.words)
    }

    #[inline]
    pub(crate) fn update(&mut self) -> Blocks<&mut [u64]> {
        let Self { block_bits, bits_per_block, blocks, words } = self;
        Blocks { block_bits: *block_bits, bits_per_block: *bits_per_block, blocks: *blocks, words }
    }

    fn segment_words(&self, ring: &Ring, age: Age, sample: Sample) -> &[u64] {
        let words = sample.of(self.blocks) as usize * self.words_per_block();
        &self.words[self.segment(ring.position_of(age))][..words]
    }
}

impl<W> Blocks<W> {
    #[cfg(feature = "std")]
    pub(crate) fn words(&self) -> &W {
        &self.words
    }

    /// The same blocks in other memory.
    #[inline]
    pub(crate) fn with_words<V>(&self, words: V) -> Blocks<V> {
        let Self { block_bits, bits_per_block, blocks, .. } = *self;
        Blocks { block_bits, bits_per_block, blocks, words }
    }

    fn part_bits(&self) -> u32 {
        self.block_bits / self.bits_per_block
    }

    fn words_per_block(&self) -> usize {
        self.block_bits as usize / 64
    }

    fn segment(&self, position: RingPosition) -> Range<usize> {
        let words_per_segment = self.blocks as usize * self.words_per_block();
        let start = position.index() * words_per_segment;
        start..start + words_per_segment
    }

    /// The first word of an item's block.
    #[inline(always)]
    fn block_start(&self, item: u64, position: RingPosition) -> usize {
        let block = reduce(remix(item, 2 * position.index() as u64), self.blocks);
        self.segment(position).start + block as usize * self.words_per_block()
    }

    /// The bits of an item, as indices from the start of the memory: one in each part of its block, each
    /// selected by different bits of one hash value.
    #[inline(always)]
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64> + use<W> {
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
}

impl<W: Words> Matches for Blocks<W> {
    #[inline(always)]
    fn matches_at(&self, item: u64, ring: &Ring, age: Age) -> bool {
        // All bits are in one cache line: testing all of them is faster than a branch after each.
        let bits = self.bits(item, ring.position_of(age));
        bits.fold(1, |all, bit| all & self.words.word((bit / 64) as usize) >> (bit % 64)) & 1 == 1
    }
}

impl<W: Words> Query for Blocks<W> {
    #[inline(always)]
    fn contains<K: Kernel>(&self, _kernel: K, item: u64, _place: usize, ring: &Ring) -> bool {
        is_reported(self, item, ring)
    }

    /// Prefetches all blocks that an insert writes, the block where a query begins, and those where it goes
    /// after a miss.
    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, item: u64, _place: usize, ring: &Ring) {
        let (k, l) = (ring.required_matches(), ring.window_generations());
        let probed =
            core::iter::successors(Some(l), |age| age.checked_sub(k)).take_while(|&age| age >= k).map(Age);
        for age in ring.written_ages().chain(probed) {
            self.words.prefetch(kernel, self.block_start(item, ring.position_of(age)));
        }
    }
}

impl<W: WordsMut> Blocks<W> {
    pub(crate) fn empty(&mut self, position: RingPosition) {
        self.words.clear(self.segment(position));
    }
}

impl<W: WordsMut> Update for Blocks<W> {
    #[inline(always)]
    fn insert<K: Kernel>(&mut self, _kernel: K, item: u64, _place: usize, ring: &Ring) {
        for age in ring.written_ages() {
            self.bits(item, ring.position_of(age))
                .for_each(|bit| self.words.set_bits((bit / 64) as usize, 1 << (bit % 64)));
        }
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        self.empty(ring.position_of(Age(0)));
    }
}

impl Segments for Blocks {
    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        self.matches_at(item, ring, age)
    }

    fn fill(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        let segment = self.segment_words(ring, age, sample);
        let bits = segment.len() as u64 * 64;
        count_ones(segment, 0, bits) as f64 / bits as f64
    }

    /// A never-inserted item picks each block with the same probability, and matches with the product of the
    /// fills of its parts.
    fn match_probability(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        let part_bits = u64::from(self.part_bits());
        let of_block = |block: &[u64]| -> f64 {
            (0..u64::from(self.bits_per_block))
                .map(|part| {
                    count_ones(block, part * part_bits, (part + 1) * part_bits) as f64 / part_bits as f64
                })
                .product()
        };
        let blocks = self.segment_words(ring, age, sample).chunks_exact(self.words_per_block());
        blocks.map(of_block).sum::<f64>() / sample.of(self.blocks) as f64
    }

    /// Loads of blocks are Poisson, so the expected share of unset bits is e^(-load * b / B). A full segment
    /// gives no upper limit, so one unset bit is assumed.
    fn distinct_items(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        let bits = self.blocks as f64 * f64::from(self.block_bits);
        -log1p(-self.fill(ring, age, sample).min(1.0 - 1.0 / bits)) * bits / f64::from(self.bits_per_block)
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Every bit of a block belongs to some part.
    fn words_are_valid(&self, _range: Range<usize>) -> bool {
        true
    }
}
