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
use super::turn::{Moment, Stamp, Turn};
use super::{row_of, rows_to_visit};
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

    /// Changes a row that nobody else writes to meanwhile, by what `change` makes of it.
    #[inline(always)]
    fn claim_and<K: Kernel, T>(
        &self,
        kernel: K,
        place: usize,
        view: &mut View<'_>,
        change: impl FnOnce(&mut [u64; WORDS], Moment<'a, WORDS>) -> T,
    ) -> T {
        let row = &self.rows[place];
        let last = claim(&row[WORDS - 1]);
        view.is_current();
        let mut words = kernel.load(row, last);
        let answer = change(&mut words, self.moment(&view.ring));
        kernel.store(row, &words);
        answer
    }
}

/// Claims a row by its last word, and returns that.
#[inline(always)]
fn claim(last: &AtomicU64) -> u64 {
    try_claim(last).unwrap_or_else(|| wait_for(|| try_claim(last)))
}

#[inline(always)]
fn try_claim(last: &AtomicU64) -> Option<u64> {
    let found = last.load(Ordering::Relaxed);
    let is_free = found & CLAIM == 0;
    (is_free && last.compare_exchange(found, found | CLAIM, Ordering::SeqCst, Ordering::Relaxed).is_ok())
        .then_some(found)
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
    fn contains<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) -> bool {
        view.is_current();
        let row = &self.rows[place];
        loop {
            let words = kernel.load(row, row[WORDS - 1].load(Ordering::Acquire));
            if kernel.contains(&words, item, self.moment(&view.ring)) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) {
        self.claim_and(kernel, place, view, |row, now| kernel.insert(row, item, now));
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) -> bool {
        self.claim_and(kernel, place, view, |row, now| kernel.check_and_insert(row, item, now))
    }

    fn matches(&self, item: u64, ring: &Ring, age: Age) -> bool {
        let row = &self.rows[self.place(item)];
        let (words, now) = (load(row, row[WORDS - 1].load(Ordering::Acquire)), self.moment(ring));
        now.segment_matches(portable::matching(&words, item), now.staleness(&words), age)
    }

    /// Stamps say what is empty.
    fn empty_newest(&self, _next: &Ring) {}

    fn keep_house(&self, view: &mut View<'_>) {
        for place in rows_to_visit(view.ring.generation(), self.rows.len()) {
            self.claim_and(Portable, place, view, portable::refresh);
        }
    }

    /// The last word is read first, as in a query: no word of the copy is older than its stamp.
    fn copy_to(&self, words: &mut [u64]) {
        for (row, copy) in self.rows.iter().zip(words.as_chunks_mut::<WORDS>().0) {
            *copy = load(row, row[WORDS - 1].load(Ordering::Acquire) & !CLAIM);
        }
    }
}
