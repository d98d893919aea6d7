//! Slices (the paper's APBF, section 4, with the parts of section 5): each segment is b bit arrays of m bits.
//!
//! ```text
//! words:    | segment at ring position 0      | segment at ring position 1      | ...
//! segment:  | part 0: m bits | part 1: m bits | ... | unused bits up to a whole word |
//! ```
//! An item sets one bit in each part. Segments begin at whole words, so emptying one cannot touch its
//! neighbour. Parts need not begin at whole words, so m may be any number.

use core::ops::Range;

use libm::log1p;

use super::aligned::AlignedWords;
use super::bits::{Words, WordsMut, count_ones};
use super::kernel::Kernel;
use super::{Query, Sample, Segments, Update, pieces_with};
use crate::hash::{reduce, remix};
use crate::query::{Matches, is_reported};
use crate::ring::{Age, Ring, RingPosition};

/// `W` is the memory: owned, or borrowed for a call or a batch.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Slices<W = AlignedWords> {
    parts: u32,
    part_bits: u64,
    words_per_segment: usize,
    words: W,
}

impl Slices {
    pub(super) fn new(parts: u32, part_bits: u64, words_per_segment: usize, words: AlignedWords) -> Self {
        Self { parts, part_bits, words_per_segment, words }
    }

    #[inline]
    pub(crate) fn query(&self) -> Slices<&[u64]> {
        self.with_words(&*self.words)
    }

    #[inline]
    pub(crate) fn update(&mut self) -> Slices<&mut [u64]> {
        let Self { parts, part_bits, words_per_segment, words } = self;
        Slices { parts: *parts, part_bits: *part_bits, words_per_segment: *words_per_segment, words }
    }
}

impl<W> Slices<W> {
    #[cfg(feature = "std")]
    pub(crate) fn words(&self) -> &W {
        &self.words
    }

    /// The same slices in other memory.
    #[inline]
    pub(crate) fn with_words<V>(&self, words: V) -> Slices<V> {
        let Self { parts, part_bits, words_per_segment, .. } = *self;
        Slices { parts, part_bits, words_per_segment, words }
    }

    fn segment(&self, position: RingPosition) -> Range<usize> {
        let start = position.index() * self.words_per_segment;
        start..start + self.words_per_segment
    }

    /// The bits of an item, one in each part, as indices from the start of the memory.
    #[inline(always)]
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64> + use<W> {
        let (parts, part_bits) = (self.parts, self.part_bits);
        let first_lane = position.index() as u64 * u64::from(parts);
        let start = (position.index() * self.words_per_segment) as u64 * 64;
        (0..u64::from(parts))
            .map(move |part| start + part * part_bits + reduce(remix(item, first_lane + part), part_bits))
    }
}

impl Slices {
    fn part_fills(&self, ring: &Ring, age: Age, sample: Sample) -> impl Iterator<Item = f64> {
        let segment = &self.words[self.segment(ring.position_of(age))];
        let bits = sample.of(self.part_bits);
        (0..u64::from(self.parts)).map(move |part| {
            let from = part * self.part_bits;
            count_ones(segment, from, from + bits) as f64 / bits as f64
        })
    }
}

impl<W: Words> Matches for Slices<W> {
    #[inline(always)]
    fn matches_at(&self, item: u64, ring: &Ring, age: Age) -> bool {
        self.bits(item, ring.position_of(age))
            .all(|bit| self.words.word((bit / 64) as usize) >> (bit % 64) & 1 == 1)
    }
}

impl<W: Words> Query for Slices<W> {
    #[inline(always)]
    fn contains<K: Kernel>(&self, _kernel: K, item: u64, _place: usize, ring: &Ring) -> bool {
        is_reported(self, item, ring)
    }

    /// Prefetches all words that an insert writes, and the first ones that a query reads.
    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, item: u64, _place: usize, ring: &Ring) {
        let first_probed = Age(ring.window_generations());
        for age in ring.written_ages().chain([first_probed]) {
            self.bits(item, ring.position_of(age))
                .for_each(|bit| self.words.prefetch(kernel, (bit / 64) as usize));
        }
    }
}

impl<W: WordsMut> Slices<W> {
    pub(crate) fn empty(&mut self, position: RingPosition) {
        self.words.clear(self.segment(position));
    }
}

impl<W: WordsMut> Update for Slices<W> {
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

impl Segments for Slices {
    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        self.matches_at(item, ring, age)
    }

    fn fill(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        self.part_fills(ring, age, sample).sum::<f64>() / f64::from(self.parts)
    }

    fn match_probability(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        self.part_fills(ring, age, sample).product()
    }

    /// Solves the expected fill 1 - (1 - 1/m)^n for n. A full segment gives no upper limit, so one unset bit
    /// is assumed.
    fn distinct_items(&self, ring: &Ring, age: Age, sample: Sample) -> f64 {
        let bits = self.part_bits as f64;
        if self.part_bits == 1 {
            return self.fill(ring, age, sample);
        }
        log1p(-self.fill(ring, age, sample).min(1.0 - 1.0 / bits)) / log1p(-1.0 / bits)
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The bits after the last part of each segment are never set.
    fn words_are_valid(&self, range: Range<usize>) -> bool {
        let used = u64::from(self.parts) * self.part_bits;
        let all = self.words_per_segment as u64 * 64;
        let segments = self.words.chunks_exact(self.words_per_segment);
        pieces_with(range, self.words_per_segment, segments)
            .all(|segment| count_ones(segment, used, all) == 0)
    }
}
