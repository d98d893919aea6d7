//! Bins that many threads use.
//!
//! A writer claims the even line of its item, by setting the claim bit of its header, and only then looks for
//! the item. So if two threads check and insert the same item, the second one finds it. A writer that has to
//! write to the odd line claims that line too. It reads the generation after its claims, so no line that it
//! writes is ahead of its generation. A thread that holds an odd line waits for nothing, and a thread that
//! waits for an even line holds no line. So no two threads wait for each other.
//!
//! A writer appends a fingerprint at a place that is not in the window, or moves fingerprints of the window.
//! It stores the header last, which ends the claim. So a reader that has found nothing checks that the headers
//! have not changed and are not claimed, and that the generation has not moved; otherwise it reads again.
//! A header never returns to an earlier value in the same generation: its newest generation only grows.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::hint::select_unpredictable;

use super::kernel::{BinKernel, HEADER, LINE_WORDS, Line};
use super::line::{Generation, LineFormat, LineMut};
use super::spare::{Spare, SpareWords, SpareWordsMut};
use super::{Bins, ItemLine, Step, Table, lines_to_visit, locate};
use crate::layout::claims::{CLAIM, ClaimKernel, SharedRow, claim, claim_unchanged, try_claim};
use crate::layout::instructions::Portable;
use crate::layout::view::View;
use crate::layout::words::atomic::AtomicWords;
use crate::layout::{Located, SharedUpdate, Use};
use crate::ring::{Age, Ring};
use crate::sync::{AtomicU64, Ordering, fence, wait_for};

type SharedLine = SharedRow<LINE_WORDS>;
type SharedPair<'a> = [&'a SharedLine; 2];
type SharedItem<'a> = Located<SharedPair<'a>>;

pub(crate) struct SharedBins<const LANE: u32, const RESTS: bool> {
    format: LineFormat<LANE, RESTS>,
    lines: usize,
    words: AtomicWords,
}

impl<const LANE: u32, const RESTS: bool> SharedBins<LANE, RESTS> {
    pub(in crate::layout) fn new(bins: &Bins<LANE, RESTS>, words: AtomicWords) -> Self {
        Self { format: bins.table.format, lines: bins.lines, words }
    }

    #[inline]
    pub(crate) fn shared(&self) -> SharedBinsRef<'_, LANE, RESTS> {
        let (lines, spare) = self.words.as_chunks().0.split_at(self.lines);
        SharedBinsRef { format: self.format, lines, spare: spare.as_flattened() }
    }
}

/// [`SharedBins`], borrowed for a call or a batch.
#[derive(Clone, Copy)]
pub(crate) struct SharedBinsRef<'a, const LANE: u32, const RESTS: bool> {
    format: LineFormat<LANE, RESTS>,
    lines: &'a [SharedLine],
    spare: &'a [AtomicU64],
}

/// A line that this thread has claimed. Writing its header ends the claim.
struct ClaimedLine<'a>(&'a SharedLine);

impl LineMut for ClaimedLine<'_> {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_word(&mut self, index: usize, word: u64) {
        let order = if index == HEADER { Ordering::Release } else { Ordering::Relaxed };
        self.0[index].store(word, order);
    }
}

impl SpareWords for &[AtomicU64] {
    fn word(&self, index: usize) -> u64 {
        self[index].load(Ordering::Acquire)
    }
}

impl SpareWordsMut for &[AtomicU64] {
    fn update(&mut self, index: usize, change: impl Fn(u64) -> u64) {
        let mut found = self[index].load(Ordering::Acquire);
        loop {
            let changed = change(found);
            if changed == found {
                return;
            }
            match self[index].compare_exchange(found, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(newer) => found = newer,
            }
        }
    }
}

/// A line as it was read. The words include a header that may be newer than the one that was read first.
#[derive(Clone, Copy)]
struct ReadLine {
    words: Line,
    header: u64,
}

impl ReadLine {
    /// Reads a line, its header first.
    #[inline(always)]
    fn new<K: BinKernel + ClaimKernel>(kernel: K, line: &SharedLine) -> Self {
        let header = line[HEADER].load(Ordering::Acquire);
        Self { words: kernel.load(line, header), header }
    }

    /// Reads a line that this thread has just claimed. The claim found this header.
    #[inline(always)]
    fn just_claimed<K: BinKernel + ClaimKernel>(kernel: K, line: &SharedLine, header: u64) -> Self {
        Self { words: kernel.load_just_claimed(line, header), header }
    }

    /// Reads a line that this thread has claimed some time ago.
    #[inline(always)]
    fn claimed<K: BinKernel + ClaimKernel>(kernel: K, line: &SharedLine) -> Self {
        let header = line[HEADER].load(Ordering::Relaxed);
        Self { words: kernel.load(line, header), header: header & !CLAIM }
    }

    /// Reads a line while no other thread writes to it.
    #[inline(always)]
    fn settled<K: BinKernel + ClaimKernel>(kernel: K, line: &SharedLine) -> Self {
        let read = Self::new(kernel, line);
        if read.is_settled(line) { read } else { Self::wait_for_settled(line) }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_settled(line: &SharedLine) -> Self {
        wait_for(|| Some(Self::new(Portable, line)).filter(|read| read.is_settled(line)))
    }

    /// Returns true if no other thread has written to the line while it was read.
    #[inline(always)]
    fn is_settled(&self, line: &SharedLine) -> bool {
        fence(Ordering::Acquire);
        self.header & CLAIM == 0 && line[HEADER].load(Ordering::Relaxed) == self.header
    }
}

impl<'a, const LANE: u32, const RESTS: bool> SharedBinsRef<'a, LANE, RESTS> {
    #[inline(always)]
    fn table(&self, ring: &Ring) -> Table<LANE, RESTS> {
        Table { format: self.format, now: Generation::new(ring) }
    }

    fn spare(&self) -> Spare<&'a [AtomicU64]> {
        Spare::new(self.spare, self.spare.len(), self.format.shape())
    }

    #[inline(always)]
    fn lines_of<'l, K: BinKernel>(
        kernel: K,
        even: &'l ReadLine,
        odd: &'l ReadLine,
        table: &Table<LANE, RESTS>,
        fingerprint: u64,
    ) -> [ItemLine<'l>; 2] {
        [
            table.line(kernel, &even.words, even.header & !CLAIM, fingerprint),
            table.line(kernel, &odd.words, odd.header & !CLAIM, fingerprint),
        ]
    }

    /// Returns true if the item, whose even line has this header, is in the spare at this generation.
    #[inline(always)]
    fn is_spilled(&self, item: u64, header: u64, ring: &Ring) -> bool {
        let now = Generation::new(ring);
        LineFormat::<LANE, RESTS>::has_spilled(header, &now) && self.spare().age_of(item, &now).is_some()
    }

    /// The same at the current generation, for an item whose even line is claimed.
    #[inline(always)]
    fn is_spilled_now(&self, item: u64, header: u64, view: &View<'_>) -> bool {
        LineFormat::<LANE, RESTS>::has_spilled(header, &Generation::new(&view.ring))
            && self.look_into_spare(item, view)
    }

    /// A cell that was written after the generation was read looks empty, so this looks again if it has moved.
    #[cold]
    #[inline(never)]
    fn look_into_spare(&self, item: u64, view: &View<'_>) -> bool {
        loop {
            let ring = view.current_ring();
            if self.spare().age_of(item, &Generation::new(&ring)).is_some() {
                return true;
            }
            if view.current_ring().generation() == ring.generation() {
                return false;
            }
        }
    }

    /// Claims the even lines of the items in order, up to the first line that another thread or an earlier
    /// item holds. Returns the items whose even lines are claimed, and the others; compare `rows::shared`.
    #[inline(always)]
    fn claim_next<'i>(items: &'i [SharedItem<'a>]) -> Option<(&'i [SharedItem<'a>], &'i [SharedItem<'a>])> {
        let (first, others) = items.split_first()?;
        claim(first.place[0]);
        let claimed = 1 + others.iter().take_while(|item| try_claim(item.place[0]).is_some()).count();
        Some(items.split_at(claimed))
    }

    /// Claims the even line of an item, and checks and inserts it.
    #[inline(always)]
    fn write_one<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        view: &mut View<'_>,
    ) -> bool {
        let header = claim(item.place[0]);
        self.write(kernel, item, ReadLine::just_claimed(kernel, item.place[0], header), view)
    }

    /// Checks and inserts an item some time after its even line was claimed, and ends the claim.
    #[inline(always)]
    fn write_claimed<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        view: &mut View<'_>,
    ) -> bool {
        self.write(kernel, item, ReadLine::claimed(kernel, item.place[0]), view)
    }

    /// Checks and inserts an item whose even line is claimed, and ends the claim.
    #[inline(always)]
    fn write<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        even: ReadLine,
        view: &mut View<'_>,
    ) -> bool {
        if self.append_as_usual(kernel, item, &even, view) {
            return false;
        }
        let filter = *self;
        kernel.outlined(
            #[inline(always)]
            move || filter.write_unusual(kernel, item, view),
        )
    }

    /// Appends an item whose even line is claimed, and ends the claim, if everything is as usual: see
    /// [`Table::usual_append`], and no other thread is at work on the odd line or makes a shift.
    #[inline(always)]
    fn append_as_usual<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        even: &ReadLine,
        view: &mut View<'_>,
    ) -> bool {
        let odd = ReadLine::new(kernel, item.place[1]);
        if !odd.is_settled(item.place[1]) || !view.is_current() {
            return false;
        }
        let table = self.table(&view.ring);
        let fingerprint = table.fingerprint(item.hash);
        let lines = Self::lines_of(kernel, even, &odd, &table, fingerprint);
        let Some((line, queue)) = table.usual_append(kernel, lines) else { return false };
        if line == 1 {
            if !claim_unchanged(item.place[1], odd.header) {
                return false;
            }
            if !view.is_current() {
                item.place[1][HEADER].store(odd.header, Ordering::Release);
                return false;
            }
            item.place[0][HEADER].store(even.header, Ordering::Release);
        }
        // A thread that sees any of the words written below also sees the claim before it, and the generation.
        fence(Ordering::Release);
        let place = select_unpredictable(line == 0, item.place[0], item.place[1]);
        self.format.append(ClaimedLine(place), queue, fingerprint, 0, &table.now);
        true
    }

    /// Checks and inserts an item whose even line is claimed, and ends the claim.
    #[inline(always)]
    fn write_unusual<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        view: &mut View<'_>,
    ) -> bool {
        let even = ReadLine::claimed(kernel, item.place[0]);
        let mut holds_odd = false;
        let mut odd = ReadLine::settled(kernel, item.place[1]);
        loop {
            // Others may have written to the odd line in a later generation than that of the view.
            if !view.is_current() && !holds_odd {
                odd = ReadLine::settled(kernel, item.place[1]);
                continue;
            }
            let table = self.table(&view.ring);
            let fingerprint = table.fingerprint(item.hash);
            let read = [even, odd];
            let lines = Self::lines_of(kernel, &even, &odd, &table, fingerprint);
            let step = table.step(kernel, lines, fingerprint);
            if step.writes_odd_line() && !holds_odd {
                let header = claim(item.place[1]);
                holds_odd = true;
                if header != odd.header || !view.is_current() {
                    odd = ReadLine::just_claimed(kernel, item.place[1], header);
                    continue;
                }
            }
            return self.perform(kernel, item, read, step, holds_odd, view);
        }
    }

    /// Makes a step with claimed lines, and ends the claims.
    #[inline(always)]
    fn perform<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        read: [ReadLine; 2],
        step: Step,
        holds_odd: bool,
        view: &View<'_>,
    ) -> bool {
        let table = self.table(&view.ring);
        let fingerprint = table.fingerprint(item.hash);
        let Table { format, now } = table;
        let release = |line: usize| item.place[line][HEADER].store(read[line].header, Ordering::Release);
        let release_other = |written: usize| {
            if written == 1 {
                release(0);
            } else if holds_odd {
                release(1);
            }
        };
        // A thread that sees any of the words written below also sees the claim before it, and the generation.
        fence(Ordering::Release);
        match step {
            Step::Nothing => {
                release(0);
                release_other(0);
                true
            }
            Step::Renew { line, queue, younger } => {
                release_other(line);
                let mut words = read[line].words;
                format.renew(kernel, &mut words, queue, younger, fingerprint, &now);
                kernel.store(item.place[line], &words);
                true
            }
            Step::Append { line, queue } => {
                let seen = self.is_spilled_now(item.hash, read[0].header, view);
                release_other(line);
                let spills = LineFormat::<LANE, RESTS>::spills(queue, &now);
                format.append(ClaimedLine(item.place[line]), queue, fingerprint, spills, &now);
                seen
            }
            Step::Spill { even } => {
                let seen = self.is_spilled_now(item.hash, read[0].header, view);
                release_other(0);
                self.spare().insert(item.hash, || Generation::new(&view.current_ring()));
                item.place[0][HEADER].store(format.spilled(even, &now), Ordering::Release);
                seen
            }
        }
    }

    /// The lines of an item, as they are while no other thread writes to them.
    fn settled_lines(item: SharedItem<'a>) -> [ReadLine; 2] {
        item.place.map(|line| ReadLine::settled(Portable, line))
    }
}

impl<'a, const LANE: u32, const RESTS: bool> SharedUpdate for SharedBinsRef<'a, LANE, RESTS> {
    type Place = SharedPair<'a>;
    const CLAIMS: bool = true;

    #[inline(always)]
    fn locate(&self, hash: u64) -> SharedItem<'a> {
        let Located { hash, place: [even, odd] } = locate(hash, self.lines.len());
        Located { hash, place: [&self.lines[even], &self.lines[odd]] }
    }

    #[inline(always)]
    fn prefetch<K: BinKernel + ClaimKernel>(&self, kernel: K, item: SharedItem<'a>, _ring: &Ring, uses: Use) {
        for line in item.place {
            if uses.certainly_writes() { kernel.prefetch_to_write(line) } else { kernel.prefetch(line) }
        }
    }

    #[inline(always)]
    fn contains<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        view: &mut View<'_>,
    ) -> bool {
        let [even, odd] = item.place;
        let mut read = [ReadLine::new(kernel, even), ReadLine::new(kernel, odd)];
        loop {
            let table = self.table(&view.ring);
            let fingerprint = table.fingerprint(item.hash);
            let lines = Self::lines_of(kernel, &read[0], &read[1], &table, fingerprint);
            if table.reports(kernel, lines, fingerprint)
                || self.is_spilled(item.hash, read[0].header, &view.ring)
            {
                return true;
            }
            if read[0].is_settled(even) && read[1].is_settled(odd) && view.is_current() {
                return false;
            }
            read = [ReadLine::settled(kernel, even), ReadLine::settled(kernel, odd)];
            view.is_current();
        }
    }

    #[inline(always)]
    fn insert<K: BinKernel + ClaimKernel>(&self, kernel: K, item: SharedItem<'a>, view: &mut View<'_>) {
        self.write_one(kernel, item, view);
    }

    #[inline(always)]
    fn check_and_insert<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: SharedItem<'a>,
        view: &mut View<'_>,
    ) -> bool {
        self.write_one(kernel, item, view)
    }

    #[inline(always)]
    fn insert_all<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        items: &[SharedItem<'a>],
        view: &mut View<'_>,
    ) {
        let mut rest = items;
        while let Some((claimed, after)) = Self::claim_next(rest) {
            for item in claimed {
                self.write_claimed(kernel, *item, view);
            }
            rest = after;
        }
    }

    #[inline(always)]
    fn check_and_insert_all<K: BinKernel + ClaimKernel>(
        &self,
        kernel: K,
        items: &[SharedItem<'a>],
        view: &mut View<'_>,
        seen: &mut [bool],
    ) {
        let (mut rest, mut seen) = (items, &mut seen[..items.len()]);
        while let Some((claimed, after)) = Self::claim_next(rest) {
            for (item, seen) in claimed.iter().zip(&mut *seen) {
                *seen = self.write_claimed(kernel, *item, view);
            }
            (rest, seen) = (after, &mut seen[claimed.len()..]);
        }
    }

    fn newest_run(&self, item: u64, _ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        let (item, table) = (self.locate(item), self.table(later));
        let fingerprint = table.fingerprint(item.hash);
        let read = Self::settled_lines(item);
        let lines = Self::lines_of(Portable, &read[0], &read[1], &table, fingerprint);
        let in_lines = table.age(Portable, table.find(Portable, lines, fingerprint));
        let has_spilled = LineFormat::<LANE, RESTS>::has_spilled(read[0].header, &table.now);
        let in_spare = has_spilled.then(|| self.spare().age_of(item.hash, &table.now)).flatten();
        let age = Age(in_lines.into_iter().chain(in_spare).min()?);
        Some((age, age))
    }

    /// Stamps tell what has left the window.
    fn empty_newest(&self, _next: &Ring) {}

    fn after_shift(&self, view: &mut View<'_>) {
        for place in lines_to_visit(view.ring.generation(), self.lines.len()) {
            let line = &self.lines[place];
            let header = claim(line);
            view.is_current();
            let Table { format, now } = self.table(&view.ring);
            let queue = format.queue(Portable, header, &now);
            line[HEADER].store(format.refreshed(queue, &now), Ordering::Release);
        }
        self.spare().visit(&Generation::new(&view.ring));
    }

    fn copy_to(&self, words: &mut [u64]) {
        let (lines, spare) = words.split_at_mut(self.lines.len() * LINE_WORDS);
        for (line, copy) in self.lines.iter().zip(lines.as_chunks_mut::<LINE_WORDS>().0) {
            *copy = ReadLine::settled(Portable, line).words;
        }
        spare.iter_mut().zip(self.spare).for_each(|(copy, word)| *copy = word.load(Ordering::Acquire));
    }
}
