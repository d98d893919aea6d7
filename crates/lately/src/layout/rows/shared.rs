//! Rows that threads share.
//!
//! Who writes to a row claims it first, by setting the last bit of its last word; clears what has begun a new life, sets the
//! item's bits, and stores the last word, with the stamp and without the claim, last. Others who want to write to the
//! same row wait for that. So a row is cleared once before any new bit is set, no bit is lost, and of two threads that check and
//! insert the same item the second finds it. The generation is read under the claim: the row cannot be ahead of it.
//!
//! Queries do not wait. They read the last word first, so the rest of the row is at least as new as its stamp: what a stamp
//! declares cleared, they see cleared. Bits of items in the window are in the row whether somebody has claimed it or not,
//! because a writer stores every word with the bits it is to keep. But a row that was written in a later generation than the
//! query knows of looks like one that is long out of date, and words of it may be newer than its stamp; so a query that finds
//! nothing asks whether the generation has moved, and if so looks again.

use alloc::boxed::Box;

use super::portable;
use super::turn::{Moment, RowMoment, Stamp, Turn};
use super::{row_of, rows_to_visit};
use crate::batch::Located;
use crate::layout::atomic::AtomicWords;
use crate::layout::kernel::{Kernel, Portable};
use crate::layout::shared::{SharedSegments, View};
use crate::ring::{Age, Ring};
use crate::shape::RowShape;
use crate::sync::{AtomicU64, Ordering, fence, wait_for};

/// The last bit of a row.
const CLAIM: u64 = 1 << 63;

pub(crate) struct SharedRows<const WORDS: usize> {
    words: AtomicWords,
    /// One for each position of the newest segment, so that a shift changes none.
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
    rows: &'a [[AtomicU64; WORDS]],
    turns: &'a [Turn<WORDS>],
}

impl<'a, const WORDS: usize> SharedRowsRef<'a, WORDS> {
    #[inline(always)]
    fn moment(&self, ring: &Ring) -> Moment<'a, WORDS> {
        let turn = &self.turns[ring.newest().index()];
        Moment { turn, stamp: Stamp::of_generation(ring.generation()) }
    }

    /// A row for this thread alone, as soon as nobody else has it.
    #[inline(always)]
    fn hold<K: Kernel>(&self, kernel: K, place: usize, view: &mut View<'_>) -> Held<'a, WORDS> {
        let row = &self.rows[place];
        let last = try_claim(row).unwrap_or_else(|| wait_to_claim(row));
        view.is_current();
        Held::read(kernel, row, last, self.moment(&view.ring))
    }
}

/// A row that this thread has claimed.
struct Held<'a, const WORDS: usize> {
    row: &'a [AtomicU64; WORDS],
    words: [u64; WORDS],
    now: RowMoment<'a, WORDS>,
}

impl<'a, const WORDS: usize> Held<'a, WORDS> {
    /// `last` is the row's last word, `now` the moment at which the row was claimed already.
    #[inline(always)]
    fn read<K: Kernel>(kernel: K, row: &'a [AtomicU64; WORDS], last: u64, now: Moment<'a, WORDS>) -> Self {
        Self { row, words: kernel.load(row, last), now: now.for_row(last) }
    }

    /// Inserts an item, and lets go of the row.
    #[inline(always)]
    fn check_and_insert<K: Kernel>(mut self, kernel: K, item: u64) -> bool {
        let seen = kernel.check_and_insert(&mut self.words, item, self.now);
        kernel.store(self.row, &self.words);
        seen
    }

    /// Brings the row up to date, and lets go of it.
    fn refresh(mut self) {
        portable::refresh(&mut self.words, self.now);
        Portable.store(self.row, &self.words);
    }
}

/// Claims a row by its last word, and returns that, if nobody else has it.
#[inline(always)]
fn try_claim<const WORDS: usize>(row: &[AtomicU64; WORDS]) -> Option<u64> {
    let last = &row[WORDS - 1];
    let found = last.load(Ordering::Relaxed);
    let is_free = found & CLAIM == 0;
    (is_free && last.compare_exchange(found, found | CLAIM, Ordering::SeqCst, Ordering::Relaxed).is_ok())
        .then_some(found)
}

/// Claims a row as soon as nobody else has it.
#[cold]
#[inline(never)]
fn wait_to_claim<const WORDS: usize>(row: &[AtomicU64; WORDS]) -> u64 {
    wait_for(|| try_claim(row))
}

/// The row, with its last word as it was read before.
#[inline(always)]
pub(crate) fn load<const WORDS: usize>(row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
    core::array::from_fn(|word| if word == WORDS - 1 { last } else { row[word].load(Ordering::Acquire) })
}

/// A row, its last word stored last: it ends the claim. Whoever sees any of the words sees the generation it was written in.
#[inline(always)]
pub(crate) fn store<const WORDS: usize>(row: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
    fence(Ordering::Release);
    for (word, &bits) in row[..WORDS - 1].iter().zip(words) {
        word.store(bits, Ordering::Relaxed);
    }
    row[WORDS - 1].store(words[WORDS - 1], Ordering::Release);
}

impl<const WORDS: usize> SharedSegments for SharedRowsRef<'_, WORDS> {
    #[inline(always)]
    fn place(&self, item: u64) -> usize {
        row_of(item, self.rows.len())
    }

    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, _item: u64, place: usize, _ring: &Ring) {
        kernel.prefetch(&self.rows[place]);
    }

    #[inline(always)]
    fn prefetch_to_write<K: Kernel>(&self, kernel: K, _item: u64, place: usize, _ring: &Ring) {
        kernel.prefetch_to_write(&self.rows[place]);
    }

    #[inline(always)]
    fn contains<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) -> bool {
        view.is_current();
        let row = &self.rows[place];
        loop {
            let last = row[WORDS - 1].load(Ordering::Acquire);
            let now = self.moment(&view.ring).for_row(last);
            if kernel.contains(&kernel.load(row, last), item, now) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) {
        _ = self.check_and_insert(kernel, item, place, view);
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) -> bool {
        self.hold(kernel, place, view).check_and_insert(kernel, item)
    }

    #[inline(always)]
    fn insert_all<K: Kernel>(&self, kernel: K, items: &[Located], view: &mut View<'_>) {
        self.check_and_insert_all(kernel, items, view, |_, _| {});
    }

    /// Claims the next row before it writes to the one in hand. A claim waits until all that was written before it is in the cache,
    /// and what comes after it waits for the claim; so both are better spread over two rows.
    ///
    /// Who waits for a row has no other in hand, so no two threads wait for each other; nor does anybody wait for itself.
    #[inline(always)]
    fn check_and_insert_all<K: Kernel>(
        &self,
        kernel: K,
        items: &[Located],
        view: &mut View<'_>,
        mut answer: impl FnMut(usize, bool),
    ) {
        let Some((first, others)) = items.split_first() else { return };
        let (mut item, mut held) = (first, self.hold(kernel, first.place, view));
        let mut now = self.moment(&view.ring);
        for (i, next) in others.iter().enumerate() {
            let row = &self.rows[next.place];
            let claimed = try_claim(row);
            answer(i, held.check_and_insert(kernel, item.hash));
            let last = claimed.unwrap_or_else(|| wait_to_claim(row));
            // The generation is read under every claim, but seldom moves.
            if !view.is_current() {
                now = self.moment(&view.ring);
            }
            (item, held) = (next, Held::read(kernel, row, last, now));
        }
        answer(others.len(), held.check_and_insert(kernel, item.hash));
    }

    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        let row = &self.rows[self.place(item)];
        let last = row[WORDS - 1].load(Ordering::Acquire);
        let now = self.moment(ring).for_row(last);
        now.turn.segment_matches(portable::matching(&load(row, last), item) & now.live(), age)
    }

    /// Stamps say what is empty.
    fn empty_newest(&self, _next: &Ring) {}

    fn keep_house(&self, view: &mut View<'_>) {
        for place in rows_to_visit(view.ring.generation(), self.rows.len()) {
            self.hold(Portable, place, view).refresh();
        }
    }

    /// The last word is read first, as in a query: no word of the copy is older than its stamp.
    fn copy_to(&self, words: &mut [u64]) {
        for (row, copy) in self.rows.iter().zip(words.as_chunks_mut::<WORDS>().0) {
            *copy = load(row, row[WORDS - 1].load(Ordering::Acquire) & !CLAIM);
        }
    }
}
