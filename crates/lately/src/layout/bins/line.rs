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
//! Places form a ring. The fingerprints of the window are the ones before the next place, in order of arrival.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::hint::select_unpredictable;
use core::ops::Range;

use super::kernel::{BinKernel, HEADER, LINE_WORDS, Line};
use crate::layout::claims::CLAIM;
use crate::layout::words::lanes::{set_lane, with_lane};
use crate::ring::Ring;
use crate::shape::{BinShape, place_bits};

const STAMP_AT: u32 = 55;
const SPILLS_AT: u32 = 53;
const STAMP_MASK: u64 = 0xff;

/// Lines are visited at least once in this many shifts, plus one. So a stamp of eight bits is unambiguous.
pub(super) const SHIFTS_PER_ROUND: u64 = 1 << 7;

/// The current generation, as lines see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    number: u64,
    /// The generation modulo 2^8, at its place in a header.
    stamp: u64,
    /// An epoch is a turn of the ring: l + 1 generations. A spill marks its line for its epoch, in one of two
    /// bits. A mark of the epoch before the last one means nothing: what was spilled then has left the window.
    epoch_bit: u64,
    into_epoch: u32,
    generations: u32,
}

impl Generation {
    pub(super) fn new(ring: &Ring) -> Self {
        Self {
            number: ring.generation(),
            stamp: (ring.generation() & STAMP_MASK) << STAMP_AT,
            epoch_bit: 1 << (ring.turns() & 1),
            into_epoch: ring.since_turn(),
            generations: ring.segments(),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How many generations ago a line with this header was last written.
    #[inline(always)]
    pub(super) fn behind(&self, header: u64) -> u32 {
        ((self.stamp >> STAMP_AT).wrapping_sub(header >> STAMP_AT) & STAMP_MASK) as u32
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
    /// Replaces the lane of a place by the lower bits of a fingerprint.
    #[inline(always)]
    fn set_lane<const LANE: u32>(&mut self, place: u32, fingerprint: u64) {
        // The remainder is that of the place itself; it spares a check.
        let word = (place * LANE / 64) as usize % LINE_WORDS;
        self.set_word(word, with_lane::<LANE>(self.word(word), place as usize, fingerprint));
    }
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

    #[inline(always)]
    fn set_lane<const LANE: u32>(&mut self, place: u32, fingerprint: u64) {
        set_lane::<LANE, LINE_WORDS>(self, place as usize, fingerprint);
    }
}

/// A fingerprint in a line, and its age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fingerprint: u64,
    pub(super) age: u32,
}

/// Where everything is in a line. `LANE` is the width of a lane. If `RESTS` is false, fingerprints are as wide as
/// their lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineFormat<const LANE: u32, const RESTS: bool> {
    shape: BinShape,
    entries: u32,
    /// The age of the oldest generation in the window.
    window: u32,
    /// The bits of a fingerprint that are not in its lane.
    rest_bits: u32,
    marks_at: u32,
    /// The places of the marks in the header.
    marks_mask: u64,
    /// [`Queue::load`] of a line that is empty, and of one that is full.
    least_load: u32,
    most_load: u32,
    places_mask: u64,
    fingerprint_mask: u64,
}

/// What a line contains in the current generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    header: u64,
    /// How many generations ago the line was last written.
    behind: u32,
    /// The bit of the header after the marks of the window.
    end: u32,
    /// The number of fingerprints in the window, plus a number that is the same for all lines.
    pub(super) load: u32,
}

impl Queue {
    /// Returns this queue if `is_this` is true, else the other one. Either is equally likely, so this does not
    /// branch.
    #[inline(always)]
    pub(super) fn or(self, other: Self, is_this: bool) -> Self {
        Self {
            header: select_unpredictable(is_this, self.header, other.header),
            behind: select_unpredictable(is_this, self.behind, other.behind),
            end: select_unpredictable(is_this, self.end, other.end),
            load: select_unpredictable(is_this, self.load, other.load),
        }
    }
}

/// Returns a word with the lowest `ones` bits set; `ones` is less than 64.
#[inline(always)]
fn low_bits(ones: u32) -> u64 {
    (1 << ones) - 1
}

impl<const LANE: u32, const RESTS: bool> LineFormat<LANE, RESTS> {
    const PLACE_BITS: u32 = place_bits(LANE);
    const PLACE_AT: u32 = SPILLS_AT - Self::PLACE_BITS;

    pub(super) fn new(shape: BinShape) -> Self {
        let BinShape { fingerprint_bits, entries, window_generations } = shape;
        let marks_at = Self::PLACE_AT - entries - window_generations;
        let format = Self {
            shape,
            entries,
            window: window_generations,
            rest_bits: if RESTS { fingerprint_bits - LANE } else { 0 },
            marks_at,
            marks_mask: low_bits(entries + window_generations) << marks_at,
            least_load: 0,
            most_load: 0,
            places_mask: low_bits(entries),
            fingerprint_mask: low_bits(fingerprint_bits),
        };
        format.with_window(window_generations)
    }

    /// The same format with a shorter or longer window. Its headers have room for any window of elastic bins.
    pub(super) fn with_window(self, window: u32) -> Self {
        let least_load = self.marks_at + window;
        Self { window, least_load, most_load: least_load + self.entries, ..self }
    }

    pub(super) fn shape(&self) -> BinShape {
        self.shape
    }

    pub(super) fn fingerprint_bits(&self) -> u32 {
        LANE + self.rest_bits
    }

    #[inline(always)]
    pub(super) fn fingerprint_mask(&self) -> u64 {
        self.fingerprint_mask
    }

    /// What a line with this header contains.
    #[inline(always)]
    pub(super) fn queue<K: BinKernel>(&self, kernel: K, header: u64, now: &Generation) -> Queue {
        let behind = now.behind(header);
        if self.is_before_window(behind) {
            return Queue { header, behind, end: self.marks_at, load: self.least_load };
        }
        // The marks of a full line may end where the marks end.
        let end = self.end_of_window(kernel, header, behind).min(Self::PLACE_AT);
        Queue { header, behind, end, load: end + behind }
    }

    /// The age of the oldest generation in the window.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Returns true if a line that was last written so many generations ago has nothing of the window.
    #[inline(always)]
    pub(super) fn is_before_window(&self, behind: u32) -> bool {
        behind > self.window
    }

    /// The same, in fewer instructions, for a line that was written in the window. A full line may seem to have more
    /// fingerprints than it has room for.
    #[inline(always)]
    pub(super) fn recent_queue<K: BinKernel>(&self, kernel: K, header: u64, behind: u32) -> Queue {
        let end = self.end_of_window(kernel, header, behind);
        Queue { header, behind, end, load: end + behind }
    }

    /// The position of the mark that ends the window; 64 if it is not among the marks. The marks below it are
    /// l - behind ends of generations, and the fingerprints of the window.
    #[inline(always)]
    fn end_of_window<K: BinKernel>(&self, kernel: K, header: u64, behind: u32) -> u32 {
        kernel.nth_one(!header & self.marks_mask, self.window - behind)
    }

    /// The number of fingerprints in the window.
    pub(super) fn live(&self, queue: Queue) -> u32 {
        queue.load - self.least_load
    }

    /// The marks of these fingerprints.
    #[inline(always)]
    fn marks(&self, queue: Queue) -> u64 {
        (queue.header & low_bits(queue.end)) >> self.marks_at
    }

    /// The next place to write to.
    #[inline(always)]
    fn next(queue: Queue) -> u32 {
        (queue.header >> Self::PLACE_AT & low_bits(Self::PLACE_BITS)) as u32
    }

    #[inline(always)]
    pub(super) fn is_full(&self, queue: Queue) -> bool {
        queue.load >= self.most_load
    }

    /// Returns true if an item was ever spilled from the line, unless that is long ago.
    #[inline(always)]
    pub(super) fn has_spill_marks(header: u64) -> bool {
        header >> SPILLS_AT & 0b11 != 0
    }

    /// Returns true if an item of the window may have been spilled from the line.
    #[inline(always)]
    pub(super) fn has_spilled(header: u64, now: &Generation) -> bool {
        let spills = header >> SPILLS_AT & 0b11;
        Self::has_spill_marks(header) && spills & now.spills_to_keep(now.behind(header)) != 0
    }

    /// A bit for each place that may have this fingerprint, whatever its age: the bits in its lane are equal.
    #[inline(always)]
    pub(super) fn candidates<K: BinKernel>(&self, kernel: K, line: &Line, fingerprint: u64) -> u64 {
        kernel.equal_lanes::<LANE>(line, fingerprint) & self.places_mask
    }

    /// Of the candidates, those that are in the window: a bit for each, in order of arrival, the newest at bit
    /// E - 1. Their fingerprints are equal in the lane; see [`has_equal_rest`](Self::has_equal_rest).
    #[inline(always)]
    pub(super) fn in_window(&self, queue: Queue, candidates: u64) -> u64 {
        let next = Self::next(queue);
        let in_order = candidates >> next | candidates << (self.entries - next);
        in_order & (self.places_mask ^ low_bits(self.most_load - queue.load))
    }

    /// Returns true if fingerprints are longer than their lanes.
    #[inline(always)]
    pub(super) fn has_rests(&self) -> bool {
        RESTS && self.rest_bits > 0
    }

    /// Returns true if the fingerprint with this number, in order of arrival, equals the given one in the bits
    /// that are not in its lane.
    #[inline(always)]
    pub(super) fn has_equal_rest(&self, line: &Line, queue: Queue, number: u32, fingerprint: u64) -> bool {
        let place = Self::next(queue) + number;
        let place = if place < self.entries { place } else { place - self.entries };
        self.rest(line, place) == fingerprint >> LANE
    }

    #[inline(always)]
    fn rest(&self, line: &Line, place: u32) -> u64 {
        field(line, self.first_rest() + place * self.rest_bits, self.rest_bits)
    }

    /// The bit where the rests begin.
    #[inline(always)]
    fn first_rest(&self) -> u32 {
        self.entries * LANE
    }

    /// How many fingerprints are younger than the youngest of these, in order of arrival; there must be one.
    #[inline(always)]
    pub(super) fn younger(&self, matching: u64) -> u32 {
        matching.leading_zeros() + self.entries - u64::BITS
    }

    /// The number of fingerprints of the newest generation.
    #[inline(always)]
    pub(super) fn newest(&self, queue: Queue) -> u32 {
        if queue.behind == 0 { self.marks(queue).trailing_ones() } else { 0 }
    }

    /// The age of the fingerprint that has so many younger ones.
    pub(super) fn age<K: BinKernel>(&self, kernel: K, queue: Queue, younger: u32) -> u32 {
        queue.behind + kernel.nth_one(self.marks(queue), younger) - younger
    }

    /// The ages of the fingerprints of the window, the newest first, and how many have each.
    pub(super) fn counts(&self, queue: Queue) -> impl Iterator<Item = (u32, u32)> {
        let (mut age, mut marks) = (queue.behind, self.marks(queue));
        core::iter::from_fn(move || {
            (marks != 0).then(|| {
                let count = marks.trailing_ones();
                marks = marks >> count >> 1;
                age += 1;
                (age - 1, count)
            })
        })
    }

    /// Writes a fingerprint into a line that is not full. `spills` are the line's spill marks from now on.
    #[inline(always)]
    pub(super) fn append(
        &self,
        mut line: impl LineMut,
        queue: Queue,
        fingerprint: u64,
        spills: u64,
        now: &Generation,
    ) {
        let place = Self::next(queue);
        let last = self.put(&mut line, place, fingerprint, queue.header);
        let next = select_unpredictable(place + 1 == self.entries, 0, place + 1);
        let marks = (queue.header & low_bits(queue.end) & self.marks_mask) << (queue.behind & 63) << 1;
        line.set_word(HEADER, self.header(last, marks | 1 << self.marks_at, next, spills, now));
    }

    /// Makes a fingerprint that has so many younger ones the newest. They move down by one place each.
    #[inline(always)]
    pub(super) fn renew<K: BinKernel>(
        &self,
        kernel: K,
        mut line: &mut Line,
        queue: Queue,
        younger: u32,
        fingerprint: u64,
        now: &Generation,
    ) {
        let next = Self::next(queue);
        let newest = if next == 0 { self.entries - 1 } else { next - 1 };
        let place = if younger <= newest { newest - younger } else { newest + self.entries - younger };
        // Round the ring, the places to change are all but those from `newest` to `place`.
        let is_wrapped = place > newest;
        let (from, to) = (place.min(newest), place.max(newest));
        let others = if is_wrapped { self.places_mask } else { 0 };
        kernel.move_lanes::<LANE>(line, low_bits(to) ^ low_bits(from) ^ others, self.entries - 1);
        if self.has_rests() {
            self.move_rests(line, from..to, is_wrapped);
        }
        let last = line[HEADER];
        let last = self.put(&mut line, newest, fingerprint, last);
        let marks = self.marks(queue);
        let mark = kernel.nth_one(marks, younger);
        let others = marks & low_bits(mark) | marks >> mark >> 1 << mark;
        let marks = others << (queue.behind & 63) << 1 | 1;
        line[HEADER] = self.header(last, marks << self.marks_at, next, Self::spills(queue, now), now);
    }

    /// Moves the rest after each of these places into it, or after each of the others.
    #[inline(always)]
    fn move_rests(&self, line: &mut Line, places: Range<u32>, or_others: bool) {
        let (width, start) = (self.rest_bits, self.first_rest());
        let bit = |place: u32| start + place * width;
        let (first, end) = (field(line, start, width), bit(self.entries));
        let (from, to) = (bit(places.start), bit(places.end));
        let others = if or_others { u64::MAX } else { 0 };
        for word in (start / 64) as usize..LINE_WORDS {
            let above = if word == HEADER { 0 } else { line[word + 1] << (64 - width) };
            let moved = line[word] >> width | above;
            let changed = bits_between(from, to, word) ^ (others & bits_between(start, end, word));
            line[word] = line[word] & !changed | moved & changed;
        }
        let last = end - width;
        let moved = select_unpredictable(or_others, first, field(line, last, width));
        set_field(line, last, width, moved);
    }

    /// Writes a fingerprint to a place. Returns the last word, which may contain a piece of it.
    #[inline(always)]
    fn put(&self, line: &mut impl LineMut, place: u32, fingerprint: u64, last: u64) -> u64 {
        line.set_lane::<LANE>(place, fingerprint);
        if self.has_rests() { self.put_rest(line, place, fingerprint >> LANE, last) } else { last }
    }

    #[inline(always)]
    fn put_rest(&self, line: &mut impl LineMut, place: u32, rest: u64, mut last: u64) -> u64 {
        let bit = self.first_rest() + place * self.rest_bits;
        let (word, shift) = ((bit / 64) as usize, bit % 64);
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

    /// The spill marks that a line keeps when it is written now.
    #[inline(always)]
    pub(super) fn spills(queue: Queue, now: &Generation) -> u64 {
        let spills = queue.header >> SPILLS_AT & 0b11;
        if spills == 0 { 0 } else { spills & now.spills_to_keep(queue.behind) }
    }

    /// The last word of a line that is written now, with these marks at their places; `last` is the word before.
    #[inline(always)]
    fn header(&self, last: u64, marks: u64, next: u32, spills: u64, now: &Generation) -> u64 {
        let rests = if RESTS { last & low_bits(self.marks_at) } else { 0 };
        rests | marks | u64::from(next) << Self::PLACE_AT | spills << SPILLS_AT | now.stamp
    }

    /// The last word of a line, brought up to date.
    pub(super) fn refreshed(&self, queue: Queue, now: &Generation) -> u64 {
        let marks = self.marks(queue) << (queue.behind & 63) << self.marks_at;
        self.header(queue.header, marks, Self::next(queue), Self::spills(queue, now), now)
    }

    /// The last word of a line that has spilled an item now.
    pub(super) fn spilled(&self, queue: Queue, now: &Generation) -> u64 {
        self.refreshed(queue, now) | now.epoch_bit << SPILLS_AT
    }

    /// The fingerprints of the window, the newest first.
    pub(super) fn entries_of<'a>(&'a self, line: &'a Line, queue: Queue) -> impl Iterator<Item = Entry> + 'a {
        let mut marks = self.marks(queue);
        let (mut age, mut place) = (queue.behind, Self::next(queue));
        core::iter::from_fn(move || {
            if marks == 0 {
                return None;
            }
            let ends = marks.trailing_zeros();
            (age, marks) = (age + ends, marks >> ends >> 1);
            place = if place == 0 { self.entries - 1 } else { place - 1 };
            let lane = field(line, place * LANE, LANE);
            let rest = if self.has_rests() { self.rest(line, place) << LANE } else { 0 };
            Some(Entry { fingerprint: lane | rest, age })
        })
    }

    /// A line that is written now with these fingerprints, at most as many as a line has places, the newest first.
    pub(super) fn line_of(&self, entries: &[Entry], spills: u64, now: &Generation) -> Line {
        let mut words = Line::default();
        let (mut marks, mut end, mut age) = (0, 0, 0);
        let mut last = 0;
        for (entry, place) in entries.iter().zip((0..entries.len() as u32).rev()) {
            last = self.put(&mut &mut words, place, entry.fingerprint, last);
            end += entry.age - age;
            marks |= 1 << end;
            (end, age) = (end + 1, entry.age);
        }
        let next = entries.len() as u32 % self.entries;
        words[HEADER] = self.header(last, marks << self.marks_at, next, spills, now);
        words
    }

    /// Returns true if a filter can have written the line. Only a forged line is older than its next visit allows; that
    /// visit empties it. If it were refused here, a loaded filter could make snapshots that are refused: this one may become
    /// older before it is visited.
    pub(super) fn is_valid<K: BinKernel>(&self, kernel: K, line: &Line) -> bool {
        let last = line[HEADER];
        let marks = (last & self.marks_mask) >> self.marks_at;
        let place = (last >> Self::PLACE_AT & low_bits(Self::PLACE_BITS)) as u32;
        let used = self.entries * self.fingerprint_bits();
        let first_unused = used.saturating_sub(HEADER as u32 * 64);
        let unused_before_header = (used / 64) as usize..HEADER;
        last & CLAIM == 0
            && place < self.entries
            && marks.count_ones() <= self.entries
            && marks >> kernel.nth_one(!marks, self.shape.window_generations) == 0
            && last & low_bits(self.marks_at) >> first_unused << first_unused == 0
            && unused_before_header.enumerate().all(|(i, word)| {
                let from = if i == 0 { used % 64 } else { 0 };
                line[word] >> from == 0
            })
    }
}

/// The bits `from..from + width` of a line; the width is less than 64.
#[inline(always)]
fn field(line: &Line, from: u32, width: u32) -> u64 {
    let (word, shift) = ((from / 64) as usize, from % 64);
    let upper = if shift == 0 || word == HEADER { 0 } else { line[word + 1] << (64 - shift) };
    (line[word] >> shift | upper) & low_bits(width)
}

/// Replaces the bits `from..from + width` of a line.
#[inline(always)]
fn set_field(line: &mut Line, from: u32, width: u32, bits: u64) {
    let (word, shift) = ((from / 64) as usize, from % 64);
    line[word] = line[word] & !(low_bits(width) << shift) | bits << shift;
    if shift + width > 64 {
        let upper = low_bits(width) >> (64 - shift);
        line[word + 1] = line[word + 1] & !upper | bits >> (64 - shift);
    }
}

/// The bits of a word that are among the bits `from..to` of its line.
#[inline(always)]
fn bits_between(from: u32, to: u32, word: usize) -> u64 {
    let below = |bit: u32| match bit.saturating_sub(word as u32 * 64) {
        64.. => u64::MAX,
        ones => low_bits(ones),
    };
    below(to) & !below(from)
}
