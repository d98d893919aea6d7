//! One cache line: a queue of fingerprints, and a header that tells their ages.
//!
//! ```text
//! bits 0..:   | one lane per place: the lower 8 or 16 bits of a fingerprint |
//! then:       | the remaining bits of each fingerprint, place by place      |
//! last word:  | ... | marks: E + l bits | next place | spills: 2 | stamp: 8 | claim: 1 |
//! ```
//! The marks are a queue too, the newest at the lowest bit: a one for each fingerprint, a zero for each end of
//! a generation. So a fingerprint's age is the number of zeros below its mark, plus the number of generations
//! since the stamp. Zeros above the last one have no meaning.
//!
//! Places form a ring. The fingerprints of the window are the last ones written before the next place.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::hint::select_unpredictable;

use super::kernel::BinKernel;
use crate::ring::Ring;
use crate::shape::BinShape;

/// A line, in words.
pub(crate) const LINE_WORDS: usize = 8;
pub(crate) type Line = [u64; LINE_WORDS];

/// The last word of a line contains its header.
pub(super) const HEADER: usize = LINE_WORDS - 1;
/// Set while a thread writes to the line; only in shared filters.
pub(super) const CLAIM: u64 = 1 << 63;
const STAMP_AT: u32 = 55;
const SPILLS_AT: u32 = 53;
const STAMP_MASK: u64 = 0xff;

/// Lines are visited at least once in this many shifts, plus one. So a stamp of eight bits is unambiguous.
pub(super) const SHIFTS_PER_ROUND: u64 = 1 << 7;

/// The current generation, as lines see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    number: u64,
    stamp: u64,
    /// An epoch is a turn of the ring: l + 1 generations. A spill marks its line for its epoch, in one of two
    /// bits. A mark of the epoch before the last one can be removed: what was spilled then has left the window.
    epoch_bit: u64,
    into_epoch: u32,
    generations: u32,
}

impl Generation {
    pub(super) fn new(ring: &Ring) -> Self {
        Self {
            number: ring.generation(),
            stamp: ring.generation() & STAMP_MASK,
            epoch_bit: 1 << (ring.turns() & 1),
            into_epoch: ring.into_turn(),
            generations: ring.segments(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The spill marks to keep in a line that was last written so many generations ago.
    #[inline(always)]
    fn spills_to_keep(&self, behind: u32) -> u64 {
        if behind <= self.into_epoch {
            0b11
        } else if behind <= self.into_epoch + self.generations {
            0b11 & !self.epoch_bit
        } else {
            0
        }
    }
}

/// A line's words: owned, or shared by threads.
pub(super) trait LineMut {
    fn word(&self, index: usize) -> u64;
    /// The header must be written last: it makes the other words valid.
    fn set_word(&mut self, index: usize, word: u64);
}

impl LineMut for &mut Line {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self[index]
    }

    #[inline(always)]
    fn set_word(&mut self, index: usize, word: u64) {
        self[index] = word;
    }
}

/// Where everything is in a line. `LANE` is the width of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineFormat<const LANE: u32> {
    shape: BinShape,
    entries: u32,
    /// l.
    generations: u32,
    /// The bits of a fingerprint that are not in its lane.
    rest_bits: u32,
    marks_at: u32,
    place_at: u32,
    marks_mask: u64,
    places_mask: u64,
}

/// What a line contains in the current generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    header: u64,
    /// How many generations ago the line was last written.
    behind: u32,
    /// The number of fingerprints in the window.
    pub(super) live: u32,
    /// The marks of the window end here.
    end: u32,
}

impl Queue {
    /// Returns this queue if `is_this` is true, else the other one. Either is equally likely, so this does not
    /// branch.
    #[inline(always)]
    pub(super) fn or(self, other: Self, is_this: bool) -> Self {
        Self {
            header: select_unpredictable(is_this, self.header, other.header),
            behind: select_unpredictable(is_this, self.behind, other.behind),
            live: select_unpredictable(is_this, self.live, other.live),
            end: select_unpredictable(is_this, self.end, other.end),
        }
    }
}

/// Returns a word with the lowest `ones` bits set; `ones` is less than 64.
#[inline(always)]
fn low_bits(ones: u32) -> u64 {
    (1 << ones) - 1
}

impl<const LANE: u32> LineFormat<LANE> {
    pub(super) fn new(shape: BinShape) -> Self {
        let BinShape { fingerprint_bits, entries, window_generations } = shape;
        let place_at = SPILLS_AT - shape.place_bits();
        Self {
            shape,
            entries,
            generations: window_generations,
            rest_bits: fingerprint_bits - LANE,
            marks_at: place_at - entries - window_generations,
            place_at,
            marks_mask: low_bits(entries + window_generations),
            places_mask: low_bits(entries),
        }
    }

    pub(super) fn shape(&self) -> BinShape {
        self.shape
    }

    pub(super) fn fingerprint_bits(&self) -> u32 {
        LANE + self.rest_bits
    }

    #[inline(always)]
    pub(super) fn queue<K: BinKernel>(&self, kernel: K, header: u64, now: &Generation) -> Queue {
        let behind = (now.stamp.wrapping_sub(header >> STAMP_AT) & STAMP_MASK) as u32;
        let Some(most_ends) = self.generations.checked_sub(behind) else {
            return Queue { header, behind, live: 0, end: 0 };
        };
        // Below this mark there are as many ends of generations as the window can have.
        let end = kernel.nth_zero(header >> self.marks_at & self.marks_mask, most_ends);
        Queue { header, behind, live: end - most_ends, end }
    }

    /// The marks of the fingerprints in the window.
    #[inline(always)]
    fn marks(&self, queue: Queue) -> u64 {
        queue.header >> self.marks_at & low_bits(queue.end)
    }

    /// The next place to write to.
    #[inline(always)]
    fn next(&self, queue: Queue) -> u32 {
        (queue.header << (64 - SPILLS_AT) >> (64 - SPILLS_AT) >> self.place_at) as u32
    }

    #[inline(always)]
    pub(super) fn is_full(&self, queue: Queue) -> bool {
        queue.live >= self.entries
    }

    #[inline(always)]
    pub(super) fn has_spilled(header: u64) -> bool {
        header >> SPILLS_AT & 0b11 != 0
    }

    /// A bit for each place of the newest `count` fingerprints.
    #[inline(always)]
    fn newest_places(&self, next: u32, count: u32) -> u64 {
        if LANE == 16 {
            // At most 28 places: twice as many fit into a word.
            let unwrapped = low_bits(count) << (next + self.entries - count);
            return (unwrapped | unwrapped >> self.entries) & self.places_mask;
        }
        let wrapped = count.saturating_sub(next);
        (low_bits(next) ^ low_bits(next.saturating_sub(count)))
            | (self.places_mask ^ low_bits(self.entries - wrapped))
    }

    /// A bit for each place that may have this fingerprint, whatever its age: the bits in its lane are equal.
    #[inline(always)]
    pub(super) fn candidates<K: BinKernel>(&self, kernel: K, line: &Line, fingerprint: u64) -> u64 {
        kernel.equal_lanes::<LANE>(line, fingerprint) & self.places_mask
    }

    /// Of the candidates, those that are in the window and have this fingerprint.
    #[inline(always)]
    pub(super) fn matching(&self, line: &Line, queue: Queue, candidates: u64, fingerprint: u64) -> u64 {
        let places = candidates & self.newest_places(self.next(queue), queue.live);
        if places == 0 || self.rest_bits == 0 {
            places
        } else {
            self.with_equal_rest(line, places, fingerprint)
        }
    }

    /// Not inlined: most queries need no rest, and keep their registers.
    #[inline(never)]
    fn with_equal_rest(&self, line: &Line, places: u64, fingerprint: u64) -> u64 {
        let is_equal = |place: &u32| self.rest(line, *place) == fingerprint >> LANE;
        ones(places).filter(is_equal).fold(0, |equal, place| equal | 1 << place)
    }

    fn rest(&self, line: &Line, place: u32) -> u64 {
        let (word, shift) = self.rest_at(place);
        let upper = if shift == 0 || word == HEADER { 0 } else { line[word + 1] << (64 - shift) };
        (line[word] >> shift | upper) & low_bits(self.rest_bits)
    }

    #[inline(always)]
    fn rest_at(&self, place: u32) -> (usize, u32) {
        let bit = self.entries * LANE + place * self.rest_bits;
        ((bit / 64) as usize, bit % 64)
    }

    /// Of the places returned by [`matching`](Self::matching), those of the newest generation.
    #[inline(always)]
    pub(super) fn of_newest_generation(&self, matching: u64, queue: Queue) -> u64 {
        let newest = if queue.behind == 0 { self.marks(queue).trailing_ones() } else { 0 };
        matching & self.newest_places(self.next(queue), newest)
    }

    /// The youngest age among the places returned by [`matching`](Self::matching).
    pub(super) fn youngest<K: BinKernel>(&self, kernel: K, matching: u64, queue: Queue) -> Option<u32> {
        let age_of = |place: u32| {
            let younger = (self.next(queue) + self.entries - 1 - place) % self.entries;
            queue.behind + kernel.nth_zero(!self.marks(queue), younger) - younger
        };
        ones(matching).map(age_of).min()
    }

    /// The number of fingerprints of this age.
    pub(super) fn count_of_age<K: BinKernel>(&self, kernel: K, queue: Queue, age: u32) -> u32 {
        let Some(ends) = age.checked_sub(queue.behind) else { return 0 };
        let marks = self.marks(queue);
        let older_end = kernel.nth_zero(marks, ends);
        let younger_end = ends.checked_sub(1).map_or(0, |ends| kernel.nth_zero(marks, ends) + 1);
        older_end - younger_end
    }

    /// Writes a fingerprint into a line that is not full.
    #[inline(always)]
    pub(super) fn append(&self, mut line: impl LineMut, queue: Queue, fingerprint: u64, now: &Generation) {
        let place = self.next(queue);
        let (word, shift) = ((place * LANE / 64) as usize, place * LANE % 64);
        let lane = fingerprint & low_bits(LANE);
        line.set_word(word, line.word(word) & !(low_bits(LANE) << shift) | lane << shift);
        let mut last = queue.header;
        if self.rest_bits > 0 {
            last = self.set_rest(&mut line, place, fingerprint >> LANE, last);
        }
        let next = if place + 1 == self.entries { 0 } else { place + 1 };
        let marks = self.marks(queue) << (queue.behind & 63) << 1 | 1;
        line.set_word(HEADER, self.header(last, marks, next, queue.behind, now));
    }

    /// Returns the last word, which may contain a piece of the rest.
    #[inline(always)]
    fn set_rest(&self, line: &mut impl LineMut, place: u32, rest: u64, mut last: u64) -> u64 {
        let (word, shift) = self.rest_at(place);
        let mut set = |word: usize, mask: u64, bits: u64| {
            if word == HEADER {
                last = last & !mask | bits;
            } else {
                line.set_word(word, line.word(word) & !mask | bits);
            }
        };
        let mask = low_bits(self.rest_bits);
        set(word, mask << shift, rest << shift);
        if shift + self.rest_bits > 64 {
            set(word + 1, mask >> (64 - shift), rest >> (64 - shift));
        }
        last
    }

    /// The last word of a line that is written now; `last` is the word before, and was written `behind`
    /// generations ago.
    #[inline(always)]
    fn header(&self, last: u64, marks: u64, next: u32, behind: u32, now: &Generation) -> u64 {
        let mut spills = last >> SPILLS_AT & 0b11;
        if spills != 0 {
            spills &= now.spills_to_keep(behind);
        }
        last & low_bits(self.marks_at)
            | marks << self.marks_at
            | u64::from(next) << self.place_at
            | spills << SPILLS_AT
            | now.stamp << STAMP_AT
    }

    /// The last word of a line, brought up to date.
    pub(super) fn refreshed(&self, queue: Queue, now: &Generation) -> u64 {
        let marks = self.marks(queue) << (queue.behind & 63);
        self.header(queue.header, marks, self.next(queue), queue.behind, now)
    }

    /// The last word of a line that has spilled an item now.
    pub(super) fn spilled(&self, queue: Queue, now: &Generation) -> u64 {
        self.refreshed(queue, now) | now.epoch_bit << SPILLS_AT
    }

    /// Returns true if a filter can have written the line.
    pub(super) fn is_valid<K: BinKernel>(&self, kernel: K, line: &Line, now: &Generation) -> bool {
        let last = line[HEADER];
        let marks = last >> self.marks_at & self.marks_mask;
        let behind = now.stamp.wrapping_sub(last >> STAMP_AT) & STAMP_MASK;
        let place = (last >> self.place_at & low_bits(SPILLS_AT - self.place_at)) as u32;
        let used = self.entries * self.fingerprint_bits();
        let first_unused = used.saturating_sub(HEADER as u32 * 64);
        let unused_before_header = (used / 64) as usize..HEADER;
        last & CLAIM == 0
            && place < self.entries
            && marks.count_ones() <= self.entries
            && marks >> kernel.nth_zero(marks, self.generations) == 0
            && (behind <= SHIFTS_PER_ROUND + 1 || marks == 0 && last >> SPILLS_AT & 0b11 == 0)
            && last & low_bits(self.marks_at) >> first_unused << first_unused == 0
            && unused_before_header.enumerate().all(|(i, word)| {
                let from = if i == 0 { used % 64 } else { 0 };
                line[word] >> from == 0
            })
    }
}

/// The positions of the ones in a word.
fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let first = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(first)
    })
}
