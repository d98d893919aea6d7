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
//! query knows of looks like one that is long out of date; so a query that finds nothing asks whether the generation has
//! moved, and if so looks again.

use alloc::boxed::Box;

use super::portable;
use super::turn::{Moment, Stamp, Turn};
use super::{row_of, rows_to_visit};
use crate::layout::atomic::AtomicWords;
use crate::layout::kernel::Kernel;
use crate::layout::shared::{SharedSegments, View};
use crate::ring::{Age, Ring};
use crate::shape::RowShape;
use crate::sync::{AtomicU64, Ordering, wait_a_moment};

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

    /// Claims a row; whoever has it brings it back with [`Claimed::store`].
    #[inline(always)]
    fn claim(&self, place: usize, view: &mut View<'_>) -> (Claimed<'a, WORDS>, Moment<'a, WORDS>) {
        let row = &self.rows[place];
        let last = claim(&row[WORDS - 1]);
        view.is_current();
        (Claimed { row, words: load(row, last) }, self.moment(&view.ring))
    }
}

/// A row that others do not write to, and what it is to become.
struct Claimed<'a, const WORDS: usize> {
    row: &'a [AtomicU64; WORDS],
    words: [u64; WORDS],
}

impl<const WORDS: usize> Claimed<'_, WORDS> {
    /// The last word, which ends the claim, is stored last.
    #[inline(always)]
    fn store(self) {
        for (word, &bits) in self.row[..WORDS - 1].iter().zip(&self.words) {
            word.store(bits, Ordering::Relaxed);
        }
        self.row[WORDS - 1].store(self.words[WORDS - 1], Ordering::Release);
    }
}

/// Claims a row by its last word, and returns that.
#[inline(always)]
fn claim(last: &AtomicU64) -> u64 {
    let mut tries = 0;
    loop {
        let found = last.load(Ordering::Relaxed);
        if found & CLAIM == 0
            && last.compare_exchange(found, found | CLAIM, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        {
            return found;
        }
        wait_a_moment(tries);
        tries += 1;
    }
}

/// The row, with its last word as it was read before.
#[inline(always)]
fn load<const WORDS: usize>(row: &[AtomicU64; WORDS], last: u64) -> [u64; WORDS] {
    core::array::from_fn(|word| if word == WORDS - 1 { last } else { row[word].load(Ordering::Acquire) })
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
            let words = load(row, row[WORDS - 1].load(Ordering::Acquire));
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
        let (mut claimed, now) = self.claim(place, view);
        kernel.insert(&mut claimed.words, item, now);
        claimed.store();
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(&self, kernel: K, item: u64, place: usize, view: &mut View<'_>) -> bool {
        let (mut claimed, now) = self.claim(place, view);
        let seen = kernel.check_and_insert(&mut claimed.words, item, now);
        claimed.store();
        seen
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
            let (mut claimed, now) = self.claim(place, view);
            portable::refresh(&mut claimed.words, now);
            claimed.store();
        }
    }

    /// The last word is read first, as in a query: no word of the copy is older than its stamp.
    fn copy_to(&self, words: &mut [u64]) {
        for (row, copy) in self.rows.iter().zip(words.as_chunks_mut::<WORDS>().0) {
            *copy = load(row, row[WORDS - 1].load(Ordering::Acquire) & !CLAIM);
        }
    }
}
