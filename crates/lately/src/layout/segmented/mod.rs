//! Layouts that keep one segment after the other: Slices and Blocks, the paper's two.
//!
//! They differ only in which bits of a segment belong to an item (their [`Geometry`]). A query goes through
//! the segments by the paper's algorithm (`runs`), an insert sets bits in the k newest.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

mod blocks;
#[cfg(feature = "std")]
mod shared;
mod slices;

use alloc::vec::Vec;
use core::ops::Range;

use super::instructions::InstructionSet;
use super::runs::{Matches, is_reported, newest_run};
use super::words::aligned::AlignedWords;
use super::words::bits::{Words, WordsMut};
use super::{Contents, Held, Located, Query, Sample, Update, Use, pieces_with};
use crate::model::run_probability;
use crate::ring::{Age, Ring, RingPosition};

pub(super) use blocks::BlockGeometry;
pub(super) use slices::SliceGeometry;

/// Slices (the paper's APBF).
pub(crate) type Slices<W = AlignedWords> = Segmented<SliceGeometry, W>;
/// Blocks (the paper's APBBF).
pub(crate) type Blocks<W = AlignedWords> = Segmented<BlockGeometry, W>;

/// Which bits of a segment belong to an item, and what its bits say. `segment` is always the words of one
/// segment.
pub(crate) trait Geometry: Copy {
    fn words_per_segment(&self) -> usize;
    /// The bits of an item in the segment at this position, as indices from the start of the memory.
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64>;
    /// Returns true if the words have all bits of an item in the segment at this position.
    fn matches(&self, words: &impl Words, item: u64, position: RingPosition) -> bool;
    /// Prefetches what an insert writes, and what a query reads first.
    fn prefetch<I: InstructionSet>(
        &self,
        instructions: I,
        words: &impl Words,
        item: u64,
        ring: &Ring,
        uses: Use,
    );
    /// Share of set bits.
    fn fill(&self, segment: &[u64], sample: Sample) -> f64;
    /// Probability that a never-inserted item matches.
    fn match_probability(&self, segment: &[u64], sample: Sample) -> f64;
    /// Estimated number of distinct items, from the share of set bits.
    fn distinct_items(&self, fill: f64) -> f64;
    /// Returns true if no bit is set that belongs to no item.
    fn is_valid(&self, segment: &[u64]) -> bool;
}

/// `W` is the memory: owned, or borrowed for a call or a batch.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Segmented<G, W = AlignedWords> {
    geometry: G,
    words: W,
}

impl<G: Geometry> Segmented<G> {
    pub(super) fn new(geometry: G, words: AlignedWords) -> Self {
        Self { geometry, words }
    }

    #[inline]
    pub(crate) fn query(&self) -> Segmented<G, &[u64]> {
        self.with_words(&*self.words)
    }

    #[inline]
    pub(crate) fn update(&mut self) -> Segmented<G, &mut [u64]> {
        Segmented { geometry: self.geometry, words: &mut self.words }
    }

    fn segment_words(&self, ring: &Ring, age: Age) -> &[u64] {
        &self.words[self.segment(ring.position_of(age))]
    }
}

impl<G: Geometry, W> Segmented<G, W> {
    /// The same segments in other memory.
    #[inline]
    pub(super) fn with_words<V>(&self, words: V) -> Segmented<G, V> {
        Segmented { geometry: self.geometry, words }
    }

    fn segment(&self, position: RingPosition) -> Range<usize> {
        let start = position.index() * self.geometry.words_per_segment();
        start..start + self.geometry.words_per_segment()
    }
}

impl<G: Geometry, W: WordsMut> Segmented<G, W> {
    pub(super) fn empty(&mut self, position: RingPosition) {
        self.words.clear(self.segment(position));
    }
}

impl<G: Geometry, W: Words> Matches for Segmented<G, W> {
    #[inline(always)]
    fn matches_at(&self, item: u64, ring: &Ring, age: Age) -> bool {
        self.geometry.matches(&self.words, item, ring.position_of(age))
    }
}

impl<G: Geometry, W: Words> Query for Segmented<G, W> {
    type Place = usize;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located {
        Located { hash, place: 0 }
    }

    #[inline(always)]
    fn contains<I: InstructionSet>(&self, _instructions: I, item: Located, ring: &Ring) -> bool {
        is_reported(self, item.hash, ring)
    }

    #[inline(always)]
    fn prefetch<I: InstructionSet>(&self, instructions: I, item: Located, ring: &Ring, uses: Use) {
        self.geometry.prefetch(instructions, &self.words, item.hash, ring, uses);
    }
}

impl<G: Geometry, W: WordsMut> Update for Segmented<G, W> {
    #[inline(always)]
    fn insert<I: InstructionSet>(&mut self, _instructions: I, item: Located, ring: &Ring) {
        let Self { geometry, words } = self;
        for age in ring.written_ages() {
            geometry
                .bits(item.hash, ring.position_of(age))
                .for_each(|bit| words.set_bits((bit / 64) as usize, 1 << (bit % 64)));
        }
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        self.empty(ring.position_of(Age(0)));
    }
}

impl<G: Geometry> Contents for Segmented<G> {
    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        newest_run(ring, later, |age| self.matches_at(item, ring, age))
    }

    fn by_age(&self, ring: &Ring, sample: Sample) -> Vec<Held> {
        let held = |age| {
            let fill = self.geometry.fill(self.segment_words(ring, age), sample);
            Held { fill, items: self.geometry.distinct_items(fill) }
        };
        ring.ages().map(held).collect()
    }

    fn false_positive_rate(&self, ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        let matches = |age| self.geometry.match_probability(self.segment_words(ring, age), sample);
        let matches = ring.ages().map(|age| ring.age_before(age, later).map_or(0.0, matches));
        run_probability(ring.required_matches(), matches)
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn words_are_valid(&self, range: Range<usize>) -> bool {
        let words_per_segment = self.geometry.words_per_segment();
        let segments = self.words.chunks_exact(words_per_segment);
        pieces_with(range, words_per_segment, segments).all(|segment| self.geometry.is_valid(segment))
    }
}
