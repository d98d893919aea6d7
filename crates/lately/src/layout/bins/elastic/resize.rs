//! How many lines an elastic table has: it follows the number of fingerprints in the window.

use alloc::vec::Vec;

use super::blocks::{BLOCK, cell_at, place_of, words};
use super::moment::{Format, Moment};
use super::split::{Sides, Split};
use super::{ElasticBins, History};
use crate::layout::bins::line::Entry;
use crate::layout::instructions::Portable;
use crate::layout::{Contents, Fit};
use crate::ring::Ring;
use crate::shape::LEAST_ELASTIC_LINES;

/// The lines of each kind that are looked at to tell how full they are. With two lines to choose from, all lines of a
/// kind are nearly equally full.
const SAMPLE: u64 = 32;
/// A table that grows leaves room for one more item in so many.
const SPARE_ROOM: u64 = 32;
/// The spilled items of a generation may take one in so many cells of the spare. That hardly raises the rate, however
/// often it happens in a window. With more, the table grows: most likely it is being divided, and the lines that are
/// not divided yet are full.
const CELLS_PER_SPILLED_CELL: u64 = 64;
/// A table shrinks if it has room for 2.25 times the items it needs room for, and then to 1.25 times.
const MOST_ROOM: (u64, u64) = (9, 4);
const ROOM_LEFT: (u64, u64) = (5, 4);
/// The generations that a table at its limit is made of, at least.
const GENERATIONS_AT_LIMIT: u64 = 16;
/// How often a table at its limit looks how full it is while it is filled once: when it is full, one in ten items may
/// go into the spare.
const LOOKS_AT_LIMIT: u64 = 512;
/// The cells of the spare that are looked at to tell how full it is.
const CELL_SAMPLE: u64 = 1024;
/// The spare is full if more than one in so many cells is in use.
const CELLS_PER_CELL_IN_USE: u64 = 6;
/// While at most so many generations can begin early, the table grows by four instead of two in each.
const FEW_EARLY: u32 = 4;
/// A table grows at most by this factor at a time.
const MOST_GROWTH: u64 = 4;

/// How full the lines are, from a sample.
struct Census {
    /// The number of fingerprints of the window.
    live: u64,
    /// The number of those in the newest generation.
    newest: u64,
}

impl ElasticBins {
    /// Grows or shrinks. `early_left`: the number of generations that may begin before the clock starts them.
    pub(super) fn resize_to_fit(&mut self, ring: &Ring, early_left: u32) -> Fit {
        let Census { live, newest } = self.census(0);
        let lines = self.lines();
        let wanted = self.lines_with_spare_room(live);
        let at_start = self.moment.eras[0].sides.lines();
        let has_doubled = wanted.max(lines) >= 2 * at_start && early_left > 0;
        if wanted > lines {
            let factor = if early_left > FEW_EARLY { 2 } else { MOST_GROWTH };
            self.grow_to(if has_doubled { (factor * lines).clamp(wanted, self.most_lines) } else { wanted });
        } else if wanted * MOST_ROOM.0 / MOST_ROOM.1 <= lines {
            let room_for_spare = self.cells_in_use(self.lines()) * CELLS_PER_CELL_IN_USE;
            self.shrink_to(room_for_spare.max(wanted * ROOM_LEFT.0 / ROOM_LEFT.1), ring);
        }
        let capacity = self.moment.format.shape().elastic_capacity(self.lines());
        let is_largest = self.lines() == self.most_lines;
        let room = if is_largest && self.spare_is_full() { 0 } else { capacity.saturating_sub(live) };
        // At the limit, generations are kept small, so that the window never has to lose much at once.
        let share = capacity / GENERATIONS_AT_LIMIT;
        let next =
            if is_largest { (capacity / LOOKS_AT_LIMIT).max(1) } else { (room / 2).max(capacity / 64) };
        Fit {
            next: (room > 0).then_some(next),
            starts_generation: has_doubled || is_largest && early_left > 0 && newest >= share,
        }
    }

    /// The least number of lines with room for so many items, at most the limit.
    fn lines_for(&self, items: u64) -> u64 {
        let per_block = self.moment.format.shape().elastic_capacity(BLOCK);
        let lines = items.div_ceil(per_block).saturating_mul(BLOCK);
        lines.max(LEAST_ELASTIC_LINES).min(self.most_lines)
    }

    fn lines_with_spare_room(&self, live: u64) -> u64 {
        self.lines_for(live + live / SPARE_ROOM + 1)
    }

    /// An upper bound on the lines after so many inserts; the present number if the next look certainly leaves them.
    pub(crate) fn most_lines_after(&self, inserts: u64) -> u64 {
        // All of them may be written into lines that are looked at.
        let Census { live, .. } = self.census(inserts.min(self.lines()));
        if inserts < self.lines() && self.lines_with_spare_room(live) <= self.lines() {
            return self.lines();
        }
        let filled = self.lines().saturating_add(self.lines_for(inserts));
        filled.saturating_mul(MOST_GROWTH).min(self.most_lines)
    }

    /// Returns true if with `more` items too many found both their lines full since the table last grew, or since the
    /// newest generation began.
    fn spills_too_often(&self, more: u64) -> bool {
        let probes = u64::from(self.moment.format.shape().spare_probes());
        let spilled = self.history.spilled_lately().saturating_add(more);
        spilled.saturating_mul(probes * CELLS_PER_SPILLED_CELL) > self.lines()
    }

    /// Returns true if the spare has so many items of the window, whenever they came, that it would raise the rate.
    fn spare_is_full(&self) -> bool {
        self.cells_in_use(CELL_SAMPLE) * CELLS_PER_CELL_IN_USE > self.lines()
    }

    /// The cells of the spare that items of the window use, from a sample.
    fn cells_in_use(&self, sample: u64) -> u64 {
        let (table, cells) = (self.table(), self.lines());
        let taken = cells.min(sample);
        let in_use = (0..taken).filter(|i| table.cell_age(scaled(*i, cells, taken)).is_some()).count();
        scaled(in_use as u64, cells, taken)
    }

    /// Returns true if so many items are at least half of those that the table has room for.
    fn is_half_full(&self, live: u64) -> bool {
        2 * live >= self.moment.format.shape().elastic_capacity(self.lines())
    }

    /// Divides all lines of a side if one more spilled item would be too many. Returns false if the lines stay as they
    /// are: also if the table is half empty, so that nobody makes it grow with items that share two lines.
    pub(super) fn makes_room(&mut self) -> bool {
        let lines = self.lines();
        if lines < self.most_lines && self.spills_too_often(1) && self.is_half_full(self.census(0).live) {
            self.grow_to(self.sides.lines_if_divided().min(self.most_lines));
        }
        self.lines() > lines
    }

    /// How full the lines would be with so many more items in each sample.
    fn census(&self, more: u64) -> Census {
        let mut census = Census { live: 0, newest: 0 };
        for (side, split) in self.sides.splits.iter().enumerate() {
            let (divided, power) = (split.divided(), split.first_of_divided());
            for kind in [0..divided, divided..power, power..split.places()] {
                let [live, newest] = self.sampled(side, kind, more);
                census.live += live;
                census.newest += newest;
            }
        }
        census
    }

    /// The numbers of fingerprints of the window and of the newest generation in these lines, from a sample with so many
    /// more.
    fn sampled(&self, side: usize, lines: core::ops::Range<u64>, more: u64) -> [u64; 2] {
        let count = lines.end - lines.start;
        let taken = count.min(SAMPLE);
        let (table, format) = (self.table(), &self.moment.format);
        let mut sums = [more; 2];
        for i in 0..taken {
            let line = &table.lines[place_of(lines.start + scaled(i, count, taken), side)];
            let queue = self.moment.queue(Portable, line);
            sums[0] += u64::from(format.live(queue));
            sums[1] += u64::from(format.newest(queue));
        }
        sums.map(|sum| if taken == 0 { 0 } else { scaled(sum, count, taken) })
    }

    /// Adds lines. A table that stayed as it is, because memory is short, would differ from others that have seen the
    /// same items, and its rate would rise unnoticed. So the program aborts then.
    pub(super) fn grow_to(&mut self, lines: u64) {
        let (before, after) = (self.sides, Sides::of(lines));
        let Some(len) = words(lines) else { return };
        if lines <= before.lines() {
            return;
        }
        self.words.resize(usize::try_from(len).unwrap_or(usize::MAX));
        let mut halves = [Vec::with_capacity(64), Vec::with_capacity(64)];
        for side in 0..2 {
            for line in before.splits[side].places()..after.splits[side].places() {
                self.divide(line, side, &mut halves);
            }
        }
        for cell in before.lines()..lines {
            let (origin, _) = Split::origin(cell);
            self.set_cell(cell, self.cell(origin));
        }
        self.sides = after;
        self.history.grew(lines);
    }

    /// Moves the fingerprints of a new line from the one it is divided from.
    fn divide(&mut self, line: u64, side: usize, halves: &mut [Vec<Entry>; 2]) {
        let (origin, bit) = Split::origin(line);
        let (from, to) = (place_of(origin, side), place_of(line, side));
        let Moment { format, now, .. } = self.moment;
        let words = self.table().lines[from];
        let queue = self.moment.queue(Portable, &words);
        halves.iter_mut().for_each(Vec::clear);
        for entry in format.entries_of(&words, queue) {
            // The base is that of a table with at most as many lines, so it is not above `bit`.
            let above = bit - self.moment.split_of_age(side, entry.age).base(origin);
            if above < format.fingerprint_bits() {
                halves[(entry.fingerprint >> above & 1) as usize].push(entry);
            } else {
                halves.iter_mut().for_each(|half| half.push(entry));
            }
        }
        let spills = Format::spills(queue, &now);
        *self.line_mut(from) = format.line_of(&halves[0], spills, &now);
        *self.line_mut(to) = format.line_of(&halves[1], spills, &now);
    }

    /// Takes lines away, block by block, as long as their fingerprints fit into the lines that they were divided from.
    pub(super) fn shrink_to(&mut self, lines: u64, ring: &Ring) {
        let mut both = Vec::with_capacity(128);
        let before = self.lines();
        while self.lines() >= lines.max(LEAST_ELASTIC_LINES) + BLOCK {
            let (side, block) = self.sides.last_block();
            let of_block = block * BLOCK..(block + 1) * BLOCK;
            if !of_block.clone().all(|line| self.can_join(line, side)) {
                break;
            }
            of_block.for_each(|line| self.join(line, side, &mut both));
            let left = self.lines() - BLOCK;
            for cell in left..left + BLOCK {
                let (table, (origin, _)) = (self.table(), Split::origin(cell));
                let is_younger = |age: u32| table.cell_age(origin).is_none_or(|of_origin| age < of_origin);
                if table.cell_age(cell).is_some_and(is_younger) {
                    self.set_cell(origin, self.cell(cell));
                }
            }
            self.sides = Sides::of(left);
        }
        if self.lines() < before
            && let Some(len) = words(self.lines())
        {
            self.words.resize(len as usize);
            self.history.shrinks += 1;
            let lines = self.lines();
            self.lines_at.iter_mut().for_each(|lines_at| *lines_at = lines.min(*lines_at));
            self.ring_was_set(ring);
        }
    }

    /// Returns true if a line's fingerprints fit into the line that it was divided from.
    fn can_join(&self, line: u64, side: usize) -> bool {
        let (table, Moment { format, .. }) = (self.table(), &self.moment);
        let live = |line: u64| format.live(self.moment.queue(Portable, &table.lines[place_of(line, side)]));
        live(line) + live(Split::origin(line).0) <= format.shape().entries
    }

    /// Moves the fingerprints of a line to the one that it was divided from.
    fn join(&mut self, line: u64, side: usize, both: &mut Vec<Entry>) {
        let Moment { format, now, .. } = self.moment;
        let (origin, bit) = Split::origin(line);
        both.clear();
        let mut spills = 0;
        for (half, line) in [(0, origin), (1, line)] {
            let words = self.table().lines[place_of(line, side)];
            let queue = self.moment.queue(Portable, &words);
            spills |= Format::spills(queue, &now);
            both.extend(format.entries_of(&words, queue).map(|mut entry| {
                if self.moment.split_of_age(side, entry.age).base(line) > bit {
                    entry.fingerprint = (entry.fingerprint << 1 | half) & format.fingerprint_mask();
                }
                entry
            }));
        }
        // Stable: of each age, those of a line keep their order.
        both.sort_by_key(|entry| entry.age);
        *self.line_mut(place_of(origin, side)) = format.line_of(both, spills, &now);
    }

    fn cell(&self, cell: u64) -> u64 {
        let (word, shift) = cell_at(cell);
        self.words[word] >> shift & 0xff
    }

    /// Forgets everything, in the least memory.
    pub(super) fn reset(&mut self) {
        if let Some(len) = words(LEAST_ELASTIC_LINES) {
            self.words.resize(len as usize);
        }
        self.words.fill(0);
        self.sides = Sides::of(LEAST_ELASTIC_LINES);
        self.lines_at.fill(LEAST_ELASTIC_LINES);
        self.history = History::new(LEAST_ELASTIC_LINES);
    }
}

/// `count * all / taken`.
fn scaled(count: u64, all: u64, taken: u64) -> u64 {
    (u128::from(count) * u128::from(all) / u128::from(taken)) as u64
}
