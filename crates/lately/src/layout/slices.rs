//! Slices (the paper's APBF, section 4, with the parts of section 5): each segment is b bit arrays of m bits.
//!
//! ```text
//! words:    | segment at ring position 0      | segment at ring position 1      | ...
//! segment:  | part 0: m bits | part 1: m bits | ... | unused bits up to a whole word |
//! ```
//! An item sets one bit in each part. Segments begin at whole words, so emptying one cannot touch its neighbour; parts
//! do not, so m may be any number.

use core::ops::Range;

use libm::log1p;

use super::Segments;
use super::aligned::AlignedWords;
use super::bits::{count_ones, is_set, set};
use super::kernel::Kernel;
use crate::hash::{reduce, remix};
use crate::query;
use crate::ring::{Age, Ring, RingPosition};

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Slices {
    parts: u32,
    part_bits: u64,
    words_per_segment: usize,
    words: AlignedWords,
}

impl Slices {
    pub(super) fn new(parts: u32, part_bits: u64, words_per_segment: usize, words: AlignedWords) -> Self {
        Self { parts, part_bits, words_per_segment, words }
    }

    fn segment(&self, position: RingPosition) -> Range<usize> {
        let start = position.index() * self.words_per_segment;
        start..start + self.words_per_segment
    }

    /// The bits of an item, one in each part, counted from the start of the segment.
    #[inline]
    fn bits(&self, item: u64, position: RingPosition) -> impl Iterator<Item = u64> + use<> {
        let (parts, part_bits) = (self.parts, self.part_bits);
        let first_lane = position.index() as u64 * u64::from(parts);
        (0..u64::from(parts))
            .map(move |part| part * part_bits + reduce(remix(item, first_lane + part), part_bits))
    }

    fn part_fills(&self, ring: &Ring, age: Age) -> impl Iterator<Item = f64> {
        let segment = &self.words[self.segment(ring.position_of(age))];
        (0..u64::from(self.parts)).map(move |part| {
            let from = part * self.part_bits;
            count_ones(segment, from, from + self.part_bits) as f64 / self.part_bits as f64
        })
    }
}

#[allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel
impl Segments for Slices {
    #[inline(always)]
    fn insert<K: Kernel>(&mut self, _kernel: K, item: u64, _place: usize, ring: &Ring) {
        for age in ring.written_ages() {
            let position = ring.position_of(age);
            let bits = self.bits(item, position);
            let range = self.segment(position);
            let segment = &mut self.words[range];
            bits.for_each(|bit| set(segment, bit));
        }
    }

    #[inline(always)]
    fn contains<K: Kernel>(&self, _kernel: K, item: u64, _place: usize, ring: &Ring) -> bool {
        query::is_reported(ring, |age| self.matches(item, ring, age))
    }

    /// All the words an insert writes, and the first a query reads.
    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, item: u64, _place: usize, ring: &Ring) {
        let first_probed = Age(ring.window_generations());
        for age in ring.written_ages().chain([first_probed]) {
            let position = ring.position_of(age);
            let segment = &self.words[self.segment(position)];
            self.bits(item, position).for_each(|bit| kernel.prefetch(&segment[(bit / 64) as usize..][..1]));
        }
    }

    #[inline(always)]
    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        let position = ring.position_of(age);
        let segment = &self.words[self.segment(position)];
        self.bits(item, position).all(|bit| is_set(segment, bit))
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        let range = self.segment(ring.position_of(Age(0)));
        self.words[range].fill(0);
    }

    fn fill(&self, ring: &Ring, age: Age) -> f64 {
        self.part_fills(ring, age).sum::<f64>() / f64::from(self.parts)
    }

    fn match_probability(&self, ring: &Ring, age: Age) -> f64 {
        self.part_fills(ring, age).product()
    }

    /// From the expected fill 1 - (1 - 1/m)^n, solved for n. A full segment says only "many": one unset bit is
    /// assumed then.
    fn distinct_items(&self, ring: &Ring, age: Age) -> f64 {
        let bits = self.part_bits as f64;
        if self.part_bits == 1 {
            return self.fill(ring, age);
        }
        log1p(-self.fill(ring, age).min(1.0 - 1.0 / bits)) / log1p(-1.0 / bits)
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// The bits after the last part of each segment are never set.
    fn words_are_valid(&self) -> bool {
        let used = u64::from(self.parts) * self.part_bits;
        let all = self.words_per_segment as u64 * 64;
        self.words.chunks_exact(self.words_per_segment).all(|segment| count_ones(segment, used, all) == 0)
    }
}
