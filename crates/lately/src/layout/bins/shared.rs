//! Bins that many threads use.
//!
//! A writer claims both lines of its item, first the even one, by setting the claim bit of their headers. Then
//! it reads the generation, looks for the item, and appends it to one of the lines: first the fingerprint, into
//! a place that is not in the window, then the header, which ends the claim. If two threads check and insert
//! the same item, the second one finds it. No thread waits for an even line while it holds any line, and only
//! the holder of one even line waits for an odd one, so no two threads wait for each other.
//!
//! Queries do not wait. They read the header of a line first. A fingerprint that the header places in the
//! window keeps its place until it leaves the window, so it is still there when the query reads it, unless the
//! generation has moved. A query that finds nothing checks that, and if so looks again.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::hint::select_unpredictable;

use super::line::{Generation, HEADER, LINE_WORDS, Line, LineFormat, LineMut, Queue};
use super::spare::{Spare, SpareWords, SpareWordsMut};
use super::{Bins, ItemLine, Table, has_candidates, lines_to_visit, pair_of};
use crate::layout::claims::{CLAIM, SharedRow, claim, load, try_claim};
use crate::layout::instructions::Portable;
use crate::layout::kernel::Kernel;
use crate::layout::view::View;
use crate::layout::words::atomic::AtomicWords;
use crate::layout::{Located, SharedUpdate};
use crate::ring::{Age, Ring};
use crate::sync::{AtomicU64, Ordering, fence};

type SharedLine = SharedRow<LINE_WORDS>;
type SharedPair<'a> = [&'a SharedLine; 2];

pub(crate) struct SharedBins<const LANE: u32> {
    format: LineFormat<LANE>,
    lines: usize,
    words: AtomicWords,
}

impl<const LANE: u32> SharedBins<LANE> {
    pub(in crate::layout) fn new(bins: &Bins<LANE>, words: AtomicWords) -> Self {
        Self { format: bins.table.format, lines: bins.lines, words }
    }

    #[inline]
    pub(crate) fn shared(&self) -> SharedBinsRef<'_, LANE> {
        let (lines, spare) = self.words.as_chunks().0.split_at(self.lines);
        SharedBinsRef { format: self.format, lines, spare: spare.as_flattened() }
    }
}

/// [`SharedBins`], borrowed for a call or a batch.
#[derive(Clone, Copy)]
pub(crate) struct SharedBinsRef<'a, const LANE: u32> {
    format: LineFormat<LANE>,
    lines: &'a [SharedLine],
    spare: &'a [AtomicU64],
}

/// A line that this thread has claimed. Writing its header ends the claim.
struct ClaimedLine<'a>(&'a SharedLine);

impl LineMut for ClaimedLine<'_> {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        let word = self.0[index].load(Ordering::Relaxed);
        if index == HEADER { word & !CLAIM } else { word }
    }

    #[inline(always)]
    fn set_word(&mut self, index: usize, word: u64) {
        let order = if index == HEADER { Ordering::Release } else { Ordering::Relaxed };
        self.0[index].store(word, order);
    }
}

impl ClaimedLine<'_> {
    /// Ends the claim without a change.
    #[inline(always)]
    fn release(mut self) {
        self.set_word(HEADER, self.word(HEADER));
    }
}

impl SpareWords for &[AtomicU64] {
    fn word(&self, index: usize) -> u64 {
        self[index].load(Ordering::Acquire)
    }
}

impl SpareWordsMut for &[AtomicU64] {
    fn update(&mut self, index: usize, change: impl Fn(u64) -> u64) {
        let mut found = self[index].load(Ordering::Relaxed);
        while let Err(newer) =
            self[index].compare_exchange(found, change(found), Ordering::AcqRel, Ordering::Relaxed)
        {
            found = newer;
        }
    }
}

impl<'a, const LANE: u32> SharedBinsRef<'a, LANE> {
    #[inline(always)]
    fn table(&self, ring: &Ring) -> Table<LANE> {
        Table { format: self.format, now: Generation::new(ring) }
    }

    fn spare(&self) -> Spare<&'a [AtomicU64]> {
        Spare::new(self.spare, self.spare.len(), self.format.shape())
    }

    /// Reads the lines of an item, their headers first.
    #[inline(always)]
    fn read<K: Kernel>(kernel: K, item: Located<SharedPair<'a>>) -> [(Line, u64); 2] {
        let [even, odd] = item.place;
        [Self::read_line(kernel, even), Self::read_line(kernel, odd)]
    }

    #[inline(always)]
    fn read_line<K: Kernel>(kernel: K, line: &SharedLine) -> (Line, u64) {
        let header = line[HEADER].load(Ordering::Acquire);
        (kernel.load(line, header), header & !CLAIM)
    }

    #[inline(always)]
    fn lines_of<'l, K: Kernel>(
        kernel: K,
        [even, odd]: &'l [(Line, u64); 2],
        table: &Table<LANE>,
        fingerprint: u64,
    ) -> [ItemLine<'l>; 2] {
        [table.line(kernel, &even.0, even.1, fingerprint), table.line(kernel, &odd.0, odd.1, fingerprint)]
    }

    /// Returns true if the item was spilled and is in the window.
    #[inline(always)]
    fn is_spilled(&self, item: Located<SharedPair<'a>>, ring: &Ring) -> bool {
        LineFormat::<LANE>::has_spilled(item.place[0][HEADER].load(Ordering::Acquire))
            && self.spare().age_of(item.hash, &Generation::new(ring)).is_some()
    }

    /// Claims the lines of an item.
    #[inline(always)]
    fn claim(item: Located<SharedPair<'a>>) {
        item.place.iter().for_each(|line| _ = claim(line));
    }

    #[inline(always)]
    fn try_claim(item: Located<SharedPair<'a>>) -> bool {
        let [even, odd] = item.place;
        if try_claim(even).is_none() {
            return false;
        }
        let has_both = try_claim(odd).is_some();
        if !has_both {
            ClaimedLine(even).release();
        }
        has_both
    }

    /// Claims the lines of the items in order, up to the first line that another thread or an earlier item
    /// holds. Returns the items whose lines are claimed, and the others; compare `rows::shared`.
    #[inline(always)]
    fn claim_next<'i>(
        items: &'i [Located<SharedPair<'a>>],
    ) -> Option<(&'i [Located<SharedPair<'a>>], &'i [Located<SharedPair<'a>>])> {
        let (first, others) = items.split_first()?;
        Self::claim(*first);
        let claimed = 1 + others.iter().take_while(|item| Self::try_claim(**item)).count();
        Some(items.split_at(claimed))
    }

    /// Checks and inserts an item whose lines are claimed, in the current generation, and ends the claims.
    #[inline(always)]
    fn write<K: Kernel>(&self, kernel: K, item: Located<SharedPair<'a>>, ring: &Ring) -> bool {
        let table = self.table(ring);
        let fingerprint = table.fingerprint(item.hash);
        let words = Self::read(kernel, item);
        let lines = Self::lines_of(kernel, &words, &table, fingerprint);
        let [even, odd] = [table.queue(kernel, lines[0]), table.queue(kernel, lines[1])];
        let mut seen = false;
        if has_candidates(lines) {
            let found = table.find(kernel, lines, fingerprint);
            seen = found[0].matching | found[1].matching != 0;
            if seen && table.is_newest(found) {
                ClaimedLine(item.place[0]).release();
                ClaimedLine(item.place[1]).release();
                return true;
            }
        }
        seen = seen || self.is_spilled(item, ring);
        // A thread that sees any of the words also sees the generation in which it was written.
        fence(Ordering::Release);
        let is_even = even.live <= odd.live;
        let line = select_unpredictable(is_even, item.place[0], item.place[1]);
        let other = select_unpredictable(is_even, item.place[1], item.place[0]);
        let queue = even.or(odd, is_even);
        if table.format.is_full(queue) {
            self.spill(item, even, ring);
            ClaimedLine(item.place[1]).release();
            return seen;
        }
        table.format.append(ClaimedLine(line), queue, fingerprint, &table.now);
        ClaimedLine(other).release();
        seen
    }

    #[cold]
    #[inline(never)]
    fn spill(&self, item: Located<SharedPair<'a>>, even: Queue, ring: &Ring) {
        let table = self.table(ring);
        self.spare().insert(item.hash, &table.now);
        ClaimedLine(item.place[0]).set_word(HEADER, table.format.spilled(even, &table.now));
    }
}

impl<'a, const LANE: u32> SharedUpdate for SharedBinsRef<'a, LANE> {
    type Place = SharedPair<'a>;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located<SharedPair<'a>> {
        Located { hash, place: pair_of(hash, self.lines.len()).map(|line| &self.lines[line]) }
    }

    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, item: Located<SharedPair<'a>>, _ring: &Ring) {
        item.place.iter().for_each(|line| kernel.prefetch(*line));
    }

    #[inline(always)]
    fn prefetch_to_write<K: Kernel>(&self, kernel: K, item: Located<SharedPair<'a>>, _ring: &Ring) {
        item.place.iter().for_each(|line| kernel.prefetch_to_write(*line));
    }

    #[inline(always)]
    fn contains<K: Kernel>(&self, kernel: K, item: Located<SharedPair<'a>>, view: &mut View<'_>) -> bool {
        view.is_current();
        loop {
            let table = self.table(&view.ring);
            let fingerprint = table.fingerprint(item.hash);
            let words = Self::read(kernel, item);
            let lines = Self::lines_of(kernel, &words, &table, fingerprint);
            if table.reports(kernel, lines, fingerprint) || self.is_spilled(item, &view.ring) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: Kernel>(&self, kernel: K, item: Located<SharedPair<'a>>, view: &mut View<'_>) {
        self.check_and_insert(kernel, item, view);
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(
        &self,
        kernel: K,
        item: Located<SharedPair<'a>>,
        view: &mut View<'_>,
    ) -> bool {
        Self::claim(item);
        view.is_current();
        self.write(kernel, item, &view.ring)
    }

    #[inline(always)]
    fn insert_all<K: Kernel>(&self, kernel: K, items: &[Located<Self::Place>], view: &mut View<'_>) {
        let mut rest = items;
        while let Some((claimed, after)) = Self::claim_next(rest) {
            view.is_current();
            claimed.iter().for_each(|item| _ = self.write(kernel, *item, &view.ring));
            rest = after;
        }
    }

    #[inline(always)]
    fn check_and_insert_all<K: Kernel>(
        &self,
        kernel: K,
        items: &[Located<Self::Place>],
        view: &mut View<'_>,
        seen: &mut [bool],
    ) {
        let (mut rest, mut seen) = (items, &mut seen[..items.len()]);
        while let Some((claimed, after)) = Self::claim_next(rest) {
            view.is_current();
            for (item, seen) in claimed.iter().zip(&mut *seen) {
                *seen = self.write(kernel, *item, &view.ring);
            }
            (rest, seen) = (after, &mut seen[claimed.len()..]);
        }
    }

    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        self.newest_run(item, ring, 0).is_some_and(|(newest, _)| newest == age)
    }

    fn newest_run(&self, item: u64, ring: &Ring, shifts: u32) -> Option<(Age, Age)> {
        let (item, table) = (self.locate(item), self.table(ring));
        let fingerprint = table.fingerprint(item.hash);
        let words = Self::read(Portable, item);
        let found = table.find(Portable, Self::lines_of(Portable, &words, &table, fingerprint), fingerprint);
        let in_lines = table.youngest(Portable, found);
        let has_spilled = LineFormat::<LANE>::has_spilled(item.place[0][HEADER].load(Ordering::Acquire));
        let in_spare = has_spilled.then(|| self.spare().age_of(item.hash, &table.now)).flatten();
        let age = Age(in_lines.into_iter().chain(in_spare).min()? + shifts);
        (age.0 <= ring.window_generations()).then_some((age, age))
    }

    /// Stamps tell what has left the window.
    fn empty_newest(&self, _next: &Ring) {}

    fn after_shift(&self, view: &mut View<'_>) {
        for place in lines_to_visit(view.ring.generation(), self.lines.len()) {
            let line = &self.lines[place];
            let header = claim(line);
            view.is_current();
            let table = self.table(&view.ring);
            let queue = table.format.queue(Portable, header, &table.now);
            ClaimedLine(line).set_word(HEADER, table.format.refreshed(queue, &table.now));
        }
        self.spare().visit(&Generation::new(&view.ring));
    }

    /// Reads the header first, like a query.
    fn copy_to(&self, words: &mut [u64]) {
        let (lines, spare) = words.split_at_mut(self.lines.len() * LINE_WORDS);
        for (line, copy) in self.lines.iter().zip(lines.as_chunks_mut::<LINE_WORDS>().0) {
            *copy = load(line, line[HEADER].load(Ordering::Acquire) & !CLAIM);
        }
        spare.iter_mut().zip(self.spare).for_each(|(copy, word)| *copy = word.load(Ordering::Acquire));
    }
}
