//! Bins (ours): a table of cache lines, each a queue of fingerprints in order of arrival.
//!
//! ```text
//! words:  | line 0 | line 1 | ... | spare: a byte per line |
//! line:   | fingerprints, a ring | header: marks, next place, spills, stamp, claim |    `line`
//! ```
//! An item has two lines, an even and an odd one, and a fingerprint. It is appended to the line with fewer
//! fingerprints of the window, the even one if they are equal. A query compares its fingerprint with all
//! fingerprints of the window in both lines.
//!
//! If an item comes again, its fingerprint becomes the newest of its line. Younger ones move down by one place.
//! So a line holds different items only, and a stream of repeats needs no more room than the items it repeats.
//! The fingerprint stays in its line: it may be that of another item, which shares only this line.
//!
//! If both lines are full, the item goes into the `spare`, and its even line gets a mark. Queries look into the
//! spare only if their even line has one.
//!
//! # Ageing
//!
//! A shift writes to no line. The stamp of a line tells in which generation it was last written, and its marks
//! tell where each generation ends, so queries know which fingerprints have left the window. The next insert
//! drops them. A stamp is the generation modulo 2^8. To keep it unambiguous, every shift brings the next
//! lines / 2^7 lines up to date, in turn, so no line is more than 2^7 + 1 generations behind.
//!
//! # Why two lines of different parity
//!
//! With two lines to choose from, loads differ by a few fingerprints only. Preferring the even one when they
//! are equal makes the loads more even still than choosing at random (Voecking's asymmetry): at 26
//! fingerprints in lines of 28, half as many items are spilled.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
pub(crate) mod elastic;
mod kernel;
mod line;
mod portable;
#[cfg(feature = "std")]
mod shared;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
mod spare;
#[cfg(target_arch = "x86_64")]
mod sse2;

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use core::ops::Range;

use libm::{log1p, pow};

use super::instructions::Portable;
use super::words::aligned::AlignedWords;
use super::{Contents, Held, Located, Query, Sample, Update, Use, due_for_visit, pieces_with};
use crate::hash::{reduce, remix};
use crate::ring::{Age, Ring};
use crate::shape::BinShape;
pub(crate) use kernel::BinKernel;
use kernel::{HEADER, LINE_WORDS, Line};
use line::{Generation, LineFormat, Queue, SHIFTS_PER_ROUND};
#[cfg(feature = "std")]
pub(crate) use shared::SharedBins;
use spare::{CELLS_PER_WORD, Spare, SpareWords};

/// The number of words of a table with this many lines, or `None` if there is none: lines come in pairs, and
/// their number must not overflow.
pub(super) fn words(lines: u64) -> Option<u64> {
    let spare = BinShape::spare_cells(lines) / CELLS_PER_WORD;
    let lines = Some(lines).filter(|lines| lines.is_multiple_of(2))?;
    lines.checked_mul(LINE_WORDS as u64)?.checked_add(spare)
}

/// The two lines of an item: an even and an odd one.
pub(crate) type Pair = [usize; 2];

/// Returns the lines of an item, and its hash mixed once more: the upper bits of the hash select the even line,
/// those of the mixed hash the odd line, and the lower bits of the mixed hash are the fingerprint.
#[inline(always)]
fn locate(hash: u64, lines: usize) -> Located<Pair> {
    let (pairs, mixed) = (lines as u64 / 2, remix(hash, 0));
    let (even, odd) = (reduce(hash, pairs) as usize, reduce(mixed, pairs) as usize);
    Located { hash: mixed, place: [2 * even, 2 * odd + 1] }
}

#[inline(always)]
fn prefetch_lines<K: BinKernel>(kernel: K, lines: &[Line], [even, odd]: Pair) {
    kernel.prefetch(&lines[even]);
    kernel.prefetch(&lines[odd]);
}

/// The lines to bring up to date after a shift; see the module's documentation.
fn lines_to_visit(generation: u64, lines: usize) -> impl Iterator<Item = usize> {
    due_for_visit(generation, lines as u64, SHIFTS_PER_ROUND).map(|line| line as usize)
}

/// Bins whose lanes have `LANE` bits: 8 for fingerprints of less than 16 bits, else 16.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bins<const LANE: u32, const RESTS: bool> {
    table: Table<LANE, RESTS>,
    lines: usize,
    words: AlignedWords,
}

impl<const LANE: u32, const RESTS: bool> Bins<LANE, RESTS> {
    pub(super) fn new(shape: BinShape, lines: u64, words: AlignedWords, ring: &Ring) -> Self {
        let table = Table { format: LineFormat::new(shape), now: Generation::new(ring) };
        Self { table, lines: lines as usize, words }
    }

    #[inline]
    pub(crate) fn query(&self) -> BinsQuery<'_, LANE, RESTS> {
        let (lines, spare) = self.words.as_rows().split_at(self.lines);
        BinsQuery { table: &self.table, lines, spare: spare.as_flattened() }
    }

    #[inline]
    pub(crate) fn update(&mut self) -> BinsUpdate<'_, LANE, RESTS> {
        let (lines, spare) = self.words.as_rows_mut().split_at_mut(self.lines);
        BinsUpdate { table: &mut self.table, lines, spare: spare.as_flattened_mut() }
    }

    /// Brings a copy up to date that was made while other threads wrote and made shifts, the last one to this
    /// ring. Lines may have been copied before the housekeeping of these shifts reached them.
    #[cfg(feature = "std")]
    pub(crate) fn catch_up(&mut self, shifts: u32, ring: &Ring) {
        self.ring_was_set(ring);
        let mut update = self.update();
        if shifts > 0 {
            update.lines.iter_mut().for_each(|line| update.table.refresh(line));
        }
        let (mut spare, now) = update.spare();
        spare.empty_old(now, shifts > 0);
    }

    fn mean_over_lines(&self, sample: Sample, of_line: impl Fn(&Line) -> f64) -> f64 {
        let lines = sample.of(self.lines as u64) as usize;
        self.query().lines[..lines].iter().map(of_line).sum::<f64>() / lines as f64
    }

    /// Probability that a fingerprint equals that of a stranger.
    fn chance_match(&self) -> f64 {
        pow(0.5, f64::from(self.table.format.fingerprint_bits()))
    }

    /// The distinct items in the spare whose cells are so large a share of all cells.
    fn spilled_of(spare: &Spare<impl SpareWords>, share: f64) -> f64 {
        let cells = spare.cells() as f64;
        -log1p(-share.min(1.0 - 1.0 / cells)) * cells / f64::from(spare.probes())
    }
}

/// What all lines of a filter have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Table<const LANE: u32, const RESTS: bool> {
    format: LineFormat<LANE, RESTS>,
    now: Generation,
}

/// A line of an item: its words, of which the header was read first.
#[derive(Clone, Copy)]
struct ItemLine<'a> {
    words: &'a Line,
    header: u64,
    /// A bit for each place that may have the item's fingerprint.
    candidates: u64,
}

impl ItemLine<'_> {
    /// Returns this line if `is_this` is true, else the other one, without a branch.
    #[inline(always)]
    fn or(self, other: Self, is_this: bool) -> Self {
        Self {
            words: select_unpredictable(is_this, self.words, other.words),
            header: select_unpredictable(is_this, self.header, other.header),
            candidates: select_unpredictable(is_this, self.candidates, other.candidates),
        }
    }
}

/// What a line says about an item.
#[derive(Clone, Copy)]
struct Found {
    queue: Queue,
    /// A bit for each place of the window that has the item's fingerprint.
    matching: u64,
}

/// What an insert does to the lines of its item. The even line has the number 0, the odd one 1.
#[derive(Clone, Copy)]
enum Step {
    /// Nothing: the item is in the newest generation.
    Nothing,
    /// The item's fingerprint is in this line, and has so many younger ones: it becomes the newest.
    Renew { line: usize, queue: Queue, younger: u32 },
    /// This line has fewer fingerprints of the window than the other.
    Append { line: usize, queue: Queue },
    /// Both lines are full.
    Spill { even: Queue },
}

impl Step {
    #[cfg(feature = "std")]
    #[inline(always)]
    fn writes_odd_line(self) -> bool {
        matches!(self, Self::Renew { line: 1, .. } | Self::Append { line: 1, .. })
    }
}

impl<const LANE: u32, const RESTS: bool> Table<LANE, RESTS> {
    #[inline(always)]
    fn fingerprint(&self, item: u64) -> u64 {
        item & self.format.fingerprint_mask()
    }

    #[inline(always)]
    fn line<'a, K: BinKernel>(
        &self,
        kernel: K,
        words: &'a Line,
        header: u64,
        fingerprint: u64,
    ) -> ItemLine<'a> {
        ItemLine { words, header, candidates: self.format.candidates(kernel, words, fingerprint) }
    }

    /// The lines of an item in a filter of one's own.
    #[inline(always)]
    fn lines_of<'a, K: BinKernel>(
        &self,
        kernel: K,
        lines: &'a [Line],
        place: Pair,
        fingerprint: u64,
    ) -> [ItemLine<'a>; 2] {
        // Not by `map`: closures would not always be inlined.
        let [even, odd] = [&lines[place[0]], &lines[place[1]]];
        [self.line(kernel, even, even[HEADER], fingerprint), self.line(kernel, odd, odd[HEADER], fingerprint)]
    }

    #[inline(always)]
    fn queue<K: BinKernel>(&self, kernel: K, line: ItemLine<'_>) -> Queue {
        self.format.queue(kernel, line.header, &self.now)
    }

    /// The fingerprints of a line that are equal in the lane.
    #[inline(always)]
    fn find_lane<K: BinKernel>(&self, kernel: K, line: ItemLine<'_>) -> Found {
        let queue = self.queue(kernel, line);
        Found { queue, matching: self.format.in_window(queue, line.candidates) }
    }

    #[inline(always)]
    fn find<K: BinKernel>(&self, kernel: K, lines: [ItemLine<'_>; 2], fingerprint: u64) -> [Found; 2] {
        let found = [self.find_lane(kernel, lines[0]), self.find_lane(kernel, lines[1])];
        if self.format.has_rests() { self.with_equal_rests(lines, found, fingerprint) } else { found }
    }

    /// Nearly always, there is one match in one of the lines, and either is equally likely.
    #[inline(always)]
    fn with_equal_rests(
        &self,
        lines: [ItemLine<'_>; 2],
        mut found: [Found; 2],
        fingerprint: u64,
    ) -> [Found; 2] {
        let mut candidates = [found[0].matching, found[1].matching];
        while candidates[0] | candidates[1] != 0 {
            let line = usize::from(candidates[0] == 0);
            let number = candidates[line].trailing_zeros();
            let (words, queue) = (lines[line].words, found[line].queue);
            let is_equal = self.format.has_equal_rest(words, queue, number, fingerprint);
            found[line].matching &= !(u64::from(!is_equal) << number);
            candidates[line] &= candidates[line] - 1;
        }
        found
    }

    /// Returns true if one of the two lines has the fingerprint. Few strangers have any candidate, so for most
    /// of them the ages in the headers do not matter; and few items have candidates in both lines.
    #[inline(always)]
    fn reports<K: BinKernel>(&self, kernel: K, lines: [ItemLine<'_>; 2], fingerprint: u64) -> bool {
        let [even, odd] = lines;
        has_candidates(lines)
            && (self.has(kernel, even.or(odd, even.candidates != 0), fingerprint)
                || even.candidates != 0
                    && odd.candidates != 0
                    && self.has_also(odd.words, odd.header, odd.candidates, fingerprint))
    }

    /// [`has`](Self::has) for a second line. Takes no line: to pass one to a function that is rarely called, it
    /// would have to be in memory.
    #[cold]
    #[inline(never)]
    fn has_also(&self, words: &Line, header: u64, candidates: u64, fingerprint: u64) -> bool {
        self.has(Portable, ItemLine { words, header, candidates }, fingerprint)
    }

    /// Returns true if the line has the fingerprint.
    #[inline(always)]
    fn has<K: BinKernel>(&self, kernel: K, line: ItemLine<'_>, fingerprint: u64) -> bool {
        let Found { queue, mut matching } = self.find_lane(kernel, line);
        if !self.format.has_rests() {
            return matching != 0;
        }
        while matching != 0 {
            if self.format.has_equal_rest(line.words, queue, matching.trailing_zeros(), fingerprint) {
                return true;
            }
            matching &= matching - 1;
        }
        false
    }

    /// How to insert an item.
    #[inline(always)]
    fn step<K: BinKernel>(&self, kernel: K, lines: [ItemLine<'_>; 2], fingerprint: u64) -> Step {
        if has_candidates(lines) {
            let found = self.find(kernel, lines, fingerprint);
            if found[0].matching | found[1].matching != 0 {
                return self.step_if_found(found);
            }
        }
        self.step_if_new(kernel, lines)
    }

    /// The line and its queue to which a new item is appended, if everything is as usual: no fingerprint of the
    /// two lines can be its own, both were written lately, one has room, and the even one has spilled nothing.
    #[inline(always)]
    fn usual_append<K: BinKernel>(&self, kernel: K, lines: [ItemLine<'_>; 2]) -> Option<(usize, Queue)> {
        let Self { format, now } = self;
        let [even, odd] = lines.map(|line| line.header);
        let [even_behind, odd_behind] = [now.behind(even), now.behind(odd)];
        let has_spill_marks = LineFormat::<LANE, RESTS>::has_spill_marks(even);
        if has_candidates(lines) || has_spill_marks || format.is_before_window(even_behind.max(odd_behind)) {
            return None;
        }
        let even = format.recent_queue(kernel, even, even_behind);
        let odd = format.recent_queue(kernel, odd, odd_behind);
        let is_even = even.load <= odd.load;
        let queue = even.or(odd, is_even);
        (!format.is_full(queue)).then(|| (select_unpredictable(is_even, 0, 1), queue))
    }

    /// How to insert an item that is in none of its lines.
    #[inline(always)]
    fn step_if_new<K: BinKernel>(&self, kernel: K, [even, odd]: [ItemLine<'_>; 2]) -> Step {
        let [even, odd] = [self.queue(kernel, even), self.queue(kernel, odd)];
        let is_even = even.load <= odd.load;
        let queue = even.or(odd, is_even);
        if self.format.is_full(queue) {
            return Step::Spill { even };
        }
        Step::Append { line: select_unpredictable(is_even, 0, 1), queue }
    }

    /// How to insert an item that was found in one of its lines.
    #[inline(always)]
    fn step_if_found(&self, [even, odd]: [Found; 2]) -> Step {
        let is_even = even.matching != 0;
        let queue = even.queue.or(odd.queue, is_even);
        let younger = self.format.younger(select_unpredictable(is_even, even.matching, odd.matching));
        if younger < self.format.newest(queue) {
            return Step::Nothing;
        }
        Step::Renew { line: select_unpredictable(is_even, 0, 1), queue, younger }
    }

    /// The age of the newest of the fingerprints found.
    fn age<K: BinKernel>(&self, kernel: K, found: [Found; 2]) -> Option<u32> {
        let age = |found: &Found| self.format.age(kernel, found.queue, self.format.younger(found.matching));
        found.iter().filter(|found| found.matching != 0).map(age).min()
    }

    /// The same table at another moment, if nothing is written until then.
    fn at(&self, later: &Ring) -> Self {
        Self { now: Generation::new(later), ..*self }
    }

    fn spare<'w>(&self, words: &'w [u64]) -> Spare<&'w [u64]> {
        Spare::new(words, words.len(), self.format.shape())
    }

    /// Takes no query: to pass one to a function that is rarely called, it would have to be in memory.
    #[cold]
    #[inline(never)]
    fn spare_age(&self, spare: &[u64], item: u64) -> Option<u32> {
        self.spare(spare).age_of(item, &self.now)
    }

    fn refresh(&self, line: &mut Line) {
        let queue = self.format.queue(Portable, line[HEADER], &self.now);
        line[HEADER] = self.format.refreshed(queue, &self.now);
    }
}

#[inline(always)]
fn has_candidates([even, odd]: [ItemLine<'_>; 2]) -> bool {
    even.candidates | odd.candidates != 0
}

#[derive(Clone, Copy)]
pub(crate) struct BinsQuery<'a, const LANE: u32, const RESTS: bool> {
    table: &'a Table<LANE, RESTS>,
    lines: &'a [Line],
    spare: &'a [u64],
}

impl<const LANE: u32, const RESTS: bool> BinsQuery<'_, LANE, RESTS> {
    #[inline(always)]
    fn has_spilled(&self, item: Located<Pair>) -> bool {
        LineFormat::<LANE, RESTS>::has_spilled(self.lines[item.place[0]][HEADER], &self.table.now)
    }

    #[inline(always)]
    fn reports<K: BinKernel>(&self, kernel: K, item: Located<Pair>) -> bool {
        let fingerprint = self.table.fingerprint(item.hash);
        let lines = self.table.lines_of(kernel, self.lines, item.place, fingerprint);
        self.table.reports(kernel, lines, fingerprint) || self.is_spilled(item)
    }

    /// Returns true if the spare has the item.
    #[inline(always)]
    fn is_spilled(&self, item: Located<Pair>) -> bool {
        self.has_spilled(item) && self.spare_age(item.hash).is_some()
    }

    #[inline(always)]
    fn spare_age(&self, item: u64) -> Option<u32> {
        self.table.spare_age(self.spare, item)
    }

    fn spare(&self) -> Spare<&[u64]> {
        self.table.spare(self.spare)
    }
}

impl<const LANE: u32, const RESTS: bool> Query for BinsQuery<'_, LANE, RESTS> {
    type Place = Pair;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located<Pair> {
        locate(hash, self.lines.len())
    }

    #[inline(always)]
    fn contains<K: BinKernel>(&self, kernel: K, item: Located<Pair>, _ring: &Ring) -> bool {
        self.reports(kernel, item)
    }

    #[inline(always)]
    fn prefetch<K: BinKernel>(&self, kernel: K, item: Located<Pair>, _ring: &Ring, _uses: Use) {
        prefetch_lines(kernel, self.lines, item.place);
    }
}

pub(crate) struct BinsUpdate<'a, const LANE: u32, const RESTS: bool> {
    table: &'a mut Table<LANE, RESTS>,
    lines: &'a mut [Line],
    spare: &'a mut [u64],
}

impl<const LANE: u32, const RESTS: bool> BinsUpdate<'_, LANE, RESTS> {
    #[inline(always)]
    fn as_query(&self) -> BinsQuery<'_, LANE, RESTS> {
        BinsQuery { table: &*self.table, lines: self.lines, spare: self.spare }
    }

    /// The same filter, so that a call that is rare does not take `self` itself out of its registers.
    #[inline(always)]
    fn reborrow(&mut self) -> BinsUpdate<'_, LANE, RESTS> {
        BinsUpdate { table: self.table, lines: self.lines, spare: self.spare }
    }

    /// Inserts an item. Returns true if it was seen lately.
    #[inline(always)]
    fn write<K: BinKernel>(&mut self, kernel: K, item: Located<Pair>) -> bool {
        let fingerprint = self.table.fingerprint(item.hash);
        let lines = self.table.lines_of(kernel, self.lines, item.place, fingerprint);
        if let Some((line, queue)) = self.table.usual_append(kernel, lines) {
            let place = select_unpredictable(line == 0, item.place[0], item.place[1]);
            self.table.format.append(&mut self.lines[place], queue, fingerprint, 0, &self.table.now);
            return false;
        }
        let filter = self.reborrow();
        kernel.outlined(
            #[inline(always)]
            move || filter.write_unusual(kernel, item, fingerprint),
        )
    }

    #[inline(always)]
    fn write_unusual<K: BinKernel>(mut self, kernel: K, item: Located<Pair>, fingerprint: u64) -> bool {
        let lines = self.table.lines_of(kernel, self.lines, item.place, fingerprint);
        let step = self.table.step(kernel, lines, fingerprint);
        let has_spilled = LineFormat::<LANE, RESTS>::has_spilled(lines[0].header, &self.table.now);
        self.perform(kernel, item, fingerprint, step, has_spilled)
    }

    #[inline(always)]
    fn perform<K: BinKernel>(
        &mut self,
        kernel: K,
        item: Located<Pair>,
        fingerprint: u64,
        step: Step,
        has_spilled: bool,
    ) -> bool {
        let Table { format, now } = &*self.table;
        match step {
            Step::Nothing => true,
            Step::Renew { line, queue, younger } => {
                let line = &mut self.lines[item.place[line]];
                format.renew(kernel, line, queue, younger, fingerprint, now);
                true
            }
            Step::Append { line, queue } => {
                let seen = has_spilled && self.as_query().spare_age(item.hash).is_some();
                let place = select_unpredictable(line == 0, item.place[0], item.place[1]);
                let spills = LineFormat::<LANE, RESTS>::spills(queue, now);
                format.append(&mut self.lines[place], queue, fingerprint, spills, now);
                seen
            }
            Step::Spill { even } => self.reborrow().spill(item, even),
        }
    }

    /// Puts an item into the spare. Returns true if it was there.
    #[cold]
    #[inline(never)]
    fn spill(mut self, item: Located<Pair>, even: Queue) -> bool {
        let seen = self.as_query().is_spilled(item);
        self.lines[item.place[0]][HEADER] = self.table.format.spilled(even, &self.table.now);
        let (mut spare, now) = self.spare();
        let now = *now;
        spare.insert(item.hash, || now);
        seen
    }

    fn spare(&mut self) -> (Spare<&mut [u64]>, &Generation) {
        let len = self.spare.len();
        (Spare::new(&mut *self.spare, len, self.table.format.shape()), &self.table.now)
    }
}

impl<const LANE: u32, const RESTS: bool> Query for BinsUpdate<'_, LANE, RESTS> {
    type Place = Pair;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located<Pair> {
        self.as_query().locate(hash)
    }

    #[inline(always)]
    fn contains<K: BinKernel>(&self, kernel: K, item: Located<Pair>, _ring: &Ring) -> bool {
        self.as_query().reports(kernel, item)
    }

    #[inline(always)]
    fn prefetch<K: BinKernel>(&self, kernel: K, item: Located<Pair>, _ring: &Ring, _uses: Use) {
        prefetch_lines(kernel, self.lines, item.place);
    }
}

impl<const LANE: u32, const RESTS: bool> Update for BinsUpdate<'_, LANE, RESTS> {
    #[inline(always)]
    fn insert<K: BinKernel>(&mut self, kernel: K, item: Located<Pair>, _ring: &Ring) {
        self.write(kernel, item);
    }

    #[inline(always)]
    fn check_and_insert<K: BinKernel>(&mut self, kernel: K, item: Located<Pair>, _ring: &Ring) -> bool {
        self.write(kernel, item)
    }

    fn recycle_newest(&mut self, ring: &Ring) {
        self.table.now = Generation::new(ring);
        for line in lines_to_visit(ring.generation(), self.lines.len()) {
            self.table.refresh(&mut self.lines[line]);
        }
        let (mut spare, now) = self.spare();
        spare.visit(now);
    }
}

impl<const LANE: u32, const RESTS: bool> Contents for Bins<LANE, RESTS> {
    /// Exact: fingerprints do not run into each other as bits do.
    fn newest_run(&self, item: u64, _ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        let table = self.table.at(later);
        let query = BinsQuery { table: &table, ..self.query() };
        let item = query.locate(item);
        let fingerprint = table.fingerprint(item.hash);
        let lines = table.lines_of(Portable, query.lines, item.place, fingerprint);
        let in_lines = table.age(Portable, table.find(Portable, lines, fingerprint));
        let in_spare = query.has_spilled(item).then(|| query.spare_age(item.hash)).flatten();
        let age = Age(in_lines.into_iter().chain(in_spare).min()?);
        Some((age, age))
    }

    fn ring_was_set(&mut self, ring: &Ring) {
        self.table.now = Generation::new(ring);
    }

    /// Counts the fingerprints. Those in the spare are estimated from its cells.
    fn by_age(&self, ring: &Ring, sample: Sample) -> Vec<Held> {
        let Table { format, now } = &self.table;
        let (query, taken) = (self.query(), sample.of(self.lines as u64) as usize);
        let spare = query.spare();
        let mut counts = vec![0_u64; ring.segments() as usize];
        for line in &query.lines[..taken] {
            let queue = format.queue(Portable, line[HEADER], now);
            format.counts(queue).for_each(|(age, count)| counts[age as usize] += u64::from(count));
        }
        let spilled = spare.shares(sample.of(spare.cells()), now);
        let held = |(count, share): (u64, f64)| {
            let mean = count as f64 / taken as f64;
            let fill = mean / f64::from(format.shape().entries);
            Held { fill, items: mean * self.lines as f64 + Self::spilled_of(&spare, share) }
        };
        counts.into_iter().zip(spilled).map(held).collect()
    }

    fn false_positive_rate(&self, _ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        let Table { format, now } = self.table.at(later);
        let live = |line: &Line| f64::from(format.live(format.queue(Portable, line[HEADER], &now)));
        let live = self.mean_over_lines(sample, live);
        // Only even lines are marked.
        let is_marked =
            |line: &Line| f64::from(u8::from(LineFormat::<LANE, RESTS>::has_spilled(line[HEADER], &now)));
        let marked = 2.0 * self.mean_over_lines(sample, is_marked);
        let query = self.query();
        let spare = query.spare();
        let fill = spare.share(sample.of(spare.cells()), &now, |_| true);
        let by_spare = marked * pow(fill, f64::from(spare.probes()));
        (2.0 * live * self.chance_match() + by_spare).min(1.0)
    }

    fn spilled_items(&self, _ring: &Ring, later: &Ring, sample: Sample) -> f64 {
        let query = self.query();
        let spare = query.spare();
        let share = spare.share(sample.of(spare.cells()), &self.table.at(later).now, |_| true);
        Self::spilled_of(&spare, share)
    }

    fn words(&self) -> &[u64] {
        &self.words
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn words_are_valid(&self, range: Range<usize>) -> bool {
        let query = self.query();
        let first_of_spare = self.lines * LINE_WORDS;
        let spare = query.spare();
        let in_spare = |index: usize| index.saturating_sub(first_of_spare).min(query.spare.len());
        let mut words = in_spare(range.start)..in_spare(range.end);
        words.all(|word| spare.is_valid(word, &self.table.now))
            && pieces_with(range, LINE_WORDS, query.lines.iter())
                .all(|line| self.table.format.is_valid(Portable, line))
    }
}

#[cfg(test)]
mod tests;
