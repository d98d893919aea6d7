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

use alloc::boxed::Box;

use super::portable;
use super::turn::{Moment, Stamp, Turn};
use super::{refresh, row_of, rows_to_visit};
use crate::batch::Located;
use crate::layout::atomic::AtomicWords;
use crate::layout::kernel::Kernel;
use crate::layout::shared::{SharedSegments, View};
use crate::ring::{Age, Ring};
use crate::shape::RowShape;
use crate::sync::{AtomicU64, Ordering, fence, wait_for};

/// The last bit of a row.
const CLAIM: u64 = 1 << 63;

type SharedRow<const WORDS: usize> = [AtomicU64; WORDS];
type RowItem<'a, const WORDS: usize> = Located<&'a SharedRow<WORDS>>;
type ClaimedItems<'i, 'a, K, const WORDS: usize> =
    (&'i [RowItem<'a, WORDS>], &'i [RowItem<'a, WORDS>], <K as Kernel>::Loaded<'a, WORDS>);

pub(crate) struct SharedRows<const WORDS: usize> {
    words: AtomicWords,
    /// One for each position of the newest segment, so that a shift changes none of them.
    turns: Box<[Turn<WORDS>]>,
}

impl<const WORDS: usize> SharedRows<WORDS> {
    pub(crate) fn new(shape: RowShape, words: AtomicWords, ring: &Ring) -> Self {
        let (k, l) = (ring.required_matches(), ring.window_generations());
        // The newest segment moves to the position before; see `Ring::position_of`.
        let turn = |newest: u32| {
            Turn::new(
                shape,
                &Ring::at_generation(k, l, u64::from((ring.segments() - newest) % ring.segments())),
            )
        };
        Self { words, turns: (0..ring.segments()).map(turn).collect() }
    }

    #[inline]
    pub(crate) fn shared(&self) -> SharedRowsRef<'_, WORDS> {
        SharedRowsRef { rows: self.words.as_chunks().0, turns: &self.turns }
    }
}

/// [`SharedRows`], borrowed for a call or a batch.
#[derive(Clone, Copy)]
pub(crate) struct SharedRowsRef<'a, const WORDS: usize> {
    rows: &'a [SharedRow<WORDS>],
    turns: &'a [Turn<WORDS>],
}

impl<'a, const WORDS: usize> SharedRowsRef<'a, WORDS> {
    #[inline(always)]
    fn moment(&self, ring: &Ring) -> Moment<'a, WORDS> {
        let turn = &self.turns[ring.newest().index()];
        Moment { turn, stamp: Stamp::of_generation(ring.generation()) }
    }

    /// Reads the generation again, for rows that are already claimed.
    #[inline(always)]
    fn moment_now(&self, view: &mut View<'_>) -> Moment<'a, WORDS> {
        view.is_current();
        self.moment(&view.ring)
    }

    /// Claims the rows of the items in order, up to the first row that another thread or an earlier item
    /// holds. Returns the items whose rows are claimed, the other items, and a moment at which the rows are
    /// claimed; `None` if there are no items.
    ///
    /// A claim waits until all earlier memory accesses are done, and later ones wait for the claim.
    /// Consecutive claims wait for that only once.
    ///
    /// A thread that waits for a row holds no other row, so no two threads wait for each other, and no thread
    /// waits for itself.
    #[inline(always)]
    fn claim_next<'i, K: Kernel>(
        &self,
        kernel: K,
        items: &'i [RowItem<'a, WORDS>],
        view: &mut View<'_>,
    ) -> Option<ClaimedItems<'i, 'a, K, WORDS>> {
        let (first, others) = items.split_first()?;
        claim(first.place);
        let claimed = 1 + others.iter().take_while(|item| try_claim(item.place).is_some()).count();
        let (claimed, others) = items.split_at(claimed);
        Some((claimed, others, kernel.loaded(self.moment_now(view))))
    }
}

/// A row that this thread has claimed.
struct Held<'a, const WORDS: usize> {
    row: &'a SharedRow<WORDS>,
    words: [u64; WORDS],
    last: u64,
}

impl<'a, const WORDS: usize> Held<'a, WORDS> {
    /// For use right after the claim, which found this last word.
    #[inline(always)]
    fn just_claimed<K: Kernel>(kernel: K, row: &'a SharedRow<WORDS>, last: u64) -> Self {
        Self { row, words: kernel.load_just_claimed(row, last), last }
    }

    /// For use some time after the claim.
    #[inline(always)]
    fn claimed<K: Kernel>(kernel: K, row: &'a SharedRow<WORDS>) -> Self {
        let last = row[WORDS - 1].load(Ordering::Relaxed);
        Self { row, words: kernel.load(row, last), last }
    }

    /// Inserts an item and releases the row, which was already claimed at the moment `now`.
    #[inline(always)]
    fn check_and_insert<K: Kernel>(mut self, kernel: K, item: u64, now: &K::Loaded<'_, WORDS>) -> bool {
        let seen = kernel.check_and_insert(&mut self.words, item, self.last, now);
        kernel.store(self.row, &self.words);
        seen
    }
}

/// Claims a row by its last word and returns that word, if no other thread holds the row.
#[inline(always)]
fn try_claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> Option<u64> {
    let last = &row[WORDS - 1];
    let found = last.load(Ordering::Relaxed);
    let is_free = found & CLAIM == 0;
    (is_free && last.compare_exchange(found, found | CLAIM, Ordering::SeqCst, Ordering::Relaxed).is_ok())
        .then_some(found)
}

/// Claims a row as soon as no other thread holds it.
#[inline(always)]
fn claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> u64 {
    try_claim(row).unwrap_or_else(|| wait_to_claim(row))
}

#[cold]
#[inline(never)]
fn wait_to_claim<const WORDS: usize>(row: &SharedRow<WORDS>) -> u64 {
    wait_for(|| try_claim(row))
}

/// Returns the row, with its last word as it was read before.
#[inline(always)]
pub(crate) fn load<const WORDS: usize>(row: &SharedRow<WORDS>, last: u64) -> [u64; WORDS] {
    core::array::from_fn(|word| if word == WORDS - 1 { last } else { row[word].load(Ordering::Acquire) })
}

/// Stores a row, its last word last, which ends the claim. A thread that sees any of the words also sees the
/// generation in which it was written.
#[inline(always)]
pub(crate) fn store<const WORDS: usize>(row: &SharedRow<WORDS>, words: &[u64; WORDS]) {
    fence(Ordering::Release);
    for (word, &bits) in row[..WORDS - 1].iter().zip(words) {
        word.store(bits, Ordering::Relaxed);
    }
    row[WORDS - 1].store(words[WORDS - 1], Ordering::Release);
}

impl<'a, const WORDS: usize> SharedSegments for SharedRowsRef<'a, WORDS> {
    type Place = &'a SharedRow<WORDS>;

    #[inline(always)]
    fn locate(&self, hash: u64) -> RowItem<'a, WORDS> {
        Located { hash, place: &self.rows[row_of(hash, self.rows.len())] }
    }

    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, _item: u64, row: Self::Place, _ring: &Ring) {
        kernel.prefetch(row);
    }

    #[inline(always)]
    fn prefetch_to_write<K: Kernel>(&self, kernel: K, _item: u64, row: Self::Place, _ring: &Ring) {
        kernel.prefetch_to_write(row);
    }

    #[inline(always)]
    fn contains<K: Kernel>(&self, kernel: K, item: u64, row: Self::Place, view: &mut View<'_>) -> bool {
        view.is_current();
        loop {
            let last = row[WORDS - 1].load(Ordering::Acquire);
            let now = self.moment(&view.ring);
            if kernel.contains(&kernel.load(row, last), item, last, &kernel.loaded(now)) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: Kernel>(&self, kernel: K, item: u64, row: Self::Place, view: &mut View<'_>) {
        _ = self.check_and_insert(kernel, item, row, view);
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(
        &self,
        kernel: K,
        item: u64,
        row: Self::Place,
        view: &mut View<'_>,
    ) -> bool {
        let last = claim(row);
        let now = self.moment_now(view);
        Held::just_claimed(kernel, row, last).check_and_insert(kernel, item, &kernel.loaded(now))
    }

    #[inline(always)]
    fn insert_all<K: Kernel>(&self, kernel: K, items: &[Located<Self::Place>], view: &mut View<'_>) {
        let mut rest = items;
        while let Some((claimed, after, now)) = self.claim_next(kernel, rest, view) {
            for item in claimed {
                Held::claimed(kernel, item.place).check_and_insert(kernel, item.hash, &now);
            }
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
        while let Some((claimed, after, now)) = self.claim_next(kernel, rest, view) {
            for (item, seen) in claimed.iter().zip(&mut *seen) {
                *seen = Held::claimed(kernel, item.place).check_and_insert(kernel, item.hash, &now);
            }
            (rest, seen) = (after, &mut seen[claimed.len()..]);
        }
    }

    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        let row = self.locate(item).place;
        let last = row[WORDS - 1].load(Ordering::Acquire);
        let now = self.moment(ring);
        now.turn.segment_matches(portable::matching(&load(row, last), item) & now.live(last), age)
    }

    /// Stamps tell which segments are empty.
    fn empty_newest(&self, _next: &Ring) {}

    fn keep_house(&self, view: &mut View<'_>) {
        for place in rows_to_visit(view.ring.generation(), self.rows.len()) {
            let row = &self.rows[place];
            let last = claim(row);
            let (now, mut words) = (self.moment_now(view), load(row, last));
            refresh(&mut words, now);
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
