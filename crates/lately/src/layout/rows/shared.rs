//! Rows that many threads use.
//!
//! A writer first claims a row, by setting the last bit of its last word. Then it clears recycled segments,
//! sets the item's bits, and stores the words; the last word, with the stamp and without the claim, comes
//! last. Other writers of the same row wait for that. So a row is cleared once before any new bit is set, no
//! bit is lost, and if two threads check and insert the same item, the second one finds it. A writer reads
//! the generation while it holds the claim, so the row cannot be ahead of that generation.
//!
//! Queries do not wait. They read the last word first, so the rest of the row is at least as new as its
//! stamp: a segment that the stamp declares cleared is read as cleared. Bits of items in the window are in
//! the row even while it is claimed, because a writer stores every word with the bits that must be kept. But
//! a row that was written in a later generation than the query knows looks long out of date, and its words
//! may be newer than its stamp. So a query that finds nothing checks whether the generation has moved, and if
//! so looks again.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use alloc::boxed::Box;

use super::kernel::RowKernel;
use super::part_ages::{Generation, PartAges, Stamp};
use super::portable;
use super::{refresh, row_of, rows_to_visit};
use crate::layout::claims::{CLAIM, ClaimKernel, SharedRow, claim, load, store, try_claim};
use crate::layout::runs::newest_run;
use crate::layout::view::View;
use crate::layout::words::atomic::AtomicWords;
use crate::layout::{Located, SharedUpdate, Use};
use crate::ring::{Age, Ring};
use crate::shape::RowShape;
use crate::sync::Ordering;

type RowItem<'a, const WORDS: usize> = Located<&'a SharedRow<WORDS>>;
type ClaimedItems<'i, 'a, K, const WORDS: usize> =
    (&'i [RowItem<'a, WORDS>], &'i [RowItem<'a, WORDS>], <K as RowKernel>::Loaded<'a, WORDS>);

pub(crate) struct SharedRows<const WORDS: usize> {
    words: AtomicWords,
    /// One for each position of the newest segment, so that a shift changes none of them.
    ages: Box<[PartAges<WORDS>]>,
}

impl<const WORDS: usize> SharedRows<WORDS> {
    pub(crate) fn new(shape: RowShape, words: AtomicWords, ring: &Ring) -> Self {
        let (k, l) = (ring.required_matches(), ring.window_generations());
        // The newest segment moves to the position before; see `Ring::position_of`.
        let ages_at = |newest: u32| {
            PartAges::new(
                shape,
                &Ring::at_generation(k, l, u64::from((ring.segments() - newest) % ring.segments())),
            )
        };
        Self { words, ages: (0..ring.segments()).map(ages_at).collect() }
    }

    #[inline]
    pub(crate) fn shared(&self) -> SharedRowsRef<'_, WORDS> {
        SharedRowsRef { rows: self.words.as_chunks().0, ages: &self.ages }
    }
}

/// [`SharedRows`], borrowed for a call or a batch.
#[derive(Clone, Copy)]
pub(crate) struct SharedRowsRef<'a, const WORDS: usize> {
    rows: &'a [SharedRow<WORDS>],
    ages: &'a [PartAges<WORDS>],
}

impl<'a, const WORDS: usize> SharedRowsRef<'a, WORDS> {
    #[inline(always)]
    fn generation(&self, ring: &Ring) -> Generation<'a, WORDS> {
        let ages = &self.ages[ring.newest().index()];
        Generation { ages, stamp: Stamp::of_generation(ring.generation()) }
    }

    /// Reads the generation again, for rows that are already claimed.
    #[inline(always)]
    fn generation_now(&self, view: &mut View<'_>) -> Generation<'a, WORDS> {
        view.is_current();
        self.generation(&view.ring)
    }

    #[inline(always)]
    fn write<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: RowItem<'a, WORDS>,
        view: &mut View<'_>,
    ) -> bool {
        let last = claim(item.place);
        let generation = kernel.load_generation(self.generation_now(view));
        ClaimedRow::just_claimed(kernel, item.place, last).check_and_insert(kernel, item.hash, &generation)
    }

    /// Claims the rows of the items in order, up to the first row that another thread or an earlier item
    /// holds. Returns the items whose rows are claimed, the other items, and a generation that was read while
    /// the rows were claimed; `None` if there are no items.
    ///
    /// A claim waits until all earlier memory accesses are done, and later ones wait for the claim.
    /// Consecutive claims wait for that only once.
    ///
    /// A thread that waits for a row holds no other row, so no two threads wait for each other, and no thread
    /// waits for itself.
    #[inline(always)]
    fn claim_next<'i, K: RowKernel>(
        &self,
        kernel: K,
        items: &'i [RowItem<'a, WORDS>],
        view: &mut View<'_>,
    ) -> Option<ClaimedItems<'i, 'a, K, WORDS>> {
        let (first, others) = items.split_first()?;
        claim(first.place);
        let claimed = 1 + others.iter().take_while(|item| try_claim(item.place).is_some()).count();
        let (claimed, others) = items.split_at(claimed);
        Some((claimed, others, kernel.load_generation(self.generation_now(view))))
    }
}

/// A row that this thread has claimed.
struct ClaimedRow<'a, const WORDS: usize> {
    row: &'a SharedRow<WORDS>,
    words: [u64; WORDS],
    last: u64,
}

impl<'a, const WORDS: usize> ClaimedRow<'a, WORDS> {
    /// For use right after the claim, which found this last word.
    #[inline(always)]
    fn just_claimed<K: RowKernel + ClaimKernel>(kernel: K, row: &'a SharedRow<WORDS>, last: u64) -> Self {
        Self { row, words: kernel.load_just_claimed(row, last), last }
    }

    /// For use some time after the claim.
    #[inline(always)]
    fn claimed<K: RowKernel + ClaimKernel>(kernel: K, row: &'a SharedRow<WORDS>) -> Self {
        let last = row[WORDS - 1].load(Ordering::Relaxed);
        Self { row, words: kernel.load(row, last), last }
    }

    /// Inserts an item and releases the row, which was already claimed when `generation` was read.
    #[inline(always)]
    fn check_and_insert<K: RowKernel + ClaimKernel>(
        mut self,
        kernel: K,
        item: u64,
        generation: &K::Loaded<'_, WORDS>,
    ) -> bool {
        let seen = kernel.check_and_insert(&mut self.words, item, self.last, generation);
        kernel.store(self.row, &self.words);
        seen
    }
}

impl<'a, const WORDS: usize> SharedUpdate for SharedRowsRef<'a, WORDS> {
    type Place = &'a SharedRow<WORDS>;
    const CLAIMS: bool = true;

    #[inline(always)]
    fn locate(&self, hash: u64) -> RowItem<'a, WORDS> {
        Located { hash, place: &self.rows[row_of(hash, self.rows.len())] }
    }

    #[inline(always)]
    fn prefetch<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: RowItem<'a, WORDS>,
        _ring: &Ring,
        uses: Use,
    ) {
        if uses.certainly_writes() {
            kernel.prefetch_to_write(item.place);
        } else {
            kernel.prefetch(item.place);
        }
    }

    #[inline(always)]
    fn contains<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: RowItem<'a, WORDS>,
        view: &mut View<'_>,
    ) -> bool {
        loop {
            let last = item.place[WORDS - 1].load(Ordering::Acquire);
            let generation = kernel.load_generation(self.generation(&view.ring));
            if kernel.contains(&kernel.load(item.place, last), item.hash, last, &generation) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: RowKernel + ClaimKernel>(&self, kernel: K, item: RowItem<'a, WORDS>, view: &mut View<'_>) {
        self.write(kernel, item, view);
    }

    #[inline(always)]
    fn check_and_insert<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        item: RowItem<'a, WORDS>,
        view: &mut View<'_>,
    ) -> bool {
        self.write(kernel, item, view)
    }

    #[inline(always)]
    fn insert_all<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        items: &[Located<Self::Place>],
        view: &mut View<'_>,
    ) {
        let mut rest = items;
        while let Some((claimed, after, generation)) = self.claim_next(kernel, rest, view) {
            for item in claimed {
                ClaimedRow::claimed(kernel, item.place).check_and_insert(kernel, item.hash, &generation);
            }
            rest = after;
        }
    }

    #[inline(always)]
    fn check_and_insert_all<K: RowKernel + ClaimKernel>(
        &self,
        kernel: K,
        items: &[Located<Self::Place>],
        view: &mut View<'_>,
        seen: &mut [bool],
    ) {
        let (mut rest, mut seen) = (items, &mut seen[..items.len()]);
        while let Some((claimed, after, generation)) = self.claim_next(kernel, rest, view) {
            for (item, seen) in claimed.iter().zip(&mut *seen) {
                *seen =
                    ClaimedRow::claimed(kernel, item.place).check_and_insert(kernel, item.hash, &generation);
            }
            (rest, seen) = (after, &mut seen[claimed.len()..]);
        }
    }

    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        let row = self.locate(item).place;
        let last = row[WORDS - 1].load(Ordering::Acquire);
        let generation = self.generation(ring);
        let matching = portable::matching(&load(row, last), item) & generation.live(last);
        newest_run(ring, later, |age| generation.ages.segment_matches(matching, age))
    }

    /// Stamps tell which segments are empty.
    fn empty_newest(&self, _next: &Ring) {}

    fn after_shift(&self, view: &mut View<'_>) {
        for place in rows_to_visit(view.ring.generation(), self.rows.len()) {
            let row = &self.rows[place];
            let last = claim(row);
            let (generation, mut words) = (self.generation_now(view), load(row, last));
            refresh(&mut words, generation);
            store(row, &words);
        }
    }

    /// Reads the last word first, like a query: no word of the copy is older than its stamp.
    fn copy_to(&self, words: &mut [u64]) {
        for (row, copy) in self.rows.iter().zip(words.as_chunks_mut::<WORDS>().0) {
            *copy = load(row, row[WORDS - 1].load(Ordering::Acquire) & !CLAIM);
        }
    }
}
