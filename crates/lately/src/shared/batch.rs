//! Runs operations of many threads: one item at a time, or many with their memory prefetched. Compare
//! `crate::single` and `crate::batch`.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::SharedFilter;
use super::progress::Progress;
use crate::batch::{AHEAD, CheckAndInsert, CheckOrInsert, Hashes, Insert, Located};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::shared::{SharedMemory, SharedSegments, View};
use crate::layout::whichever;

/// How many inserts of a batch are counted at once: one access to the shared counter instead of this many. If
/// the caller's code panics in the middle of a batch, fewer than this many inserts are counted but not made.
/// The window is then shorter by their number, once.
const BEGUN_AT_ONCE: u64 = 32;

/// How many items are looked up, and then applied, at a time; a divisor of [`AHEAD`].
const GROUP: usize = 16;
/// Groups that have been looked up: the one being applied, those being prefetched, and one more.
const GROUPS: usize = 2 + AHEAD / GROUP;
const _: () = assert!(AHEAD.is_multiple_of(GROUP));

/// The state of one thread during a call.
pub(crate) struct Hand<'a, S> {
    segments: S,
    memory: &'a SharedMemory,
    progress: &'a Progress,
    view: View<'a>,
    /// Inserts that this call will still make and has not counted yet.
    to_come: u64,
    /// Inserts that are counted as begun but not made yet.
    begun: u64,
}

impl<S> Hand<'_, S> {
    /// Begins up to `most` inserts, at least one; returns how many.
    #[inline(always)]
    fn begin(&mut self, most: usize) -> usize {
        if self.begun == 0 {
            self.begun = self.progress.begin(self.to_come.min(BEGUN_AT_ONCE), self.memory);
            self.to_come -= self.begun;
        }
        let begun = self.begun.min(most as u64);
        self.begun -= begun;
        begun as usize
    }
}

/// An operation on one item; returns true if the item was seen lately (a plain insert does not check).
pub(crate) trait Operation: Copy {
    /// Whether the operation inserts every item.
    const INSERTS: bool;
    /// Whether the caller uses the answers.
    const ANSWERS: bool = true;

    fn apply<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        item: Located<S::Place>,
    ) -> bool;

    /// Calls [`apply`](Self::apply) for each item in order, and writes the i-th answer to `seen[i]` if the
    /// caller uses the answers.
    #[inline(always)]
    fn apply_all<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        items: &[Located<S::Place>],
        seen: &mut [bool],
    ) {
        for (i, item) in items.iter().enumerate() {
            let was_seen = self.apply(kernel, hand, *item);
            if Self::ANSWERS {
                seen[i] = was_seen;
            }
        }
    }
}

impl Operation for Insert {
    const INSERTS: bool = true;
    const ANSWERS: bool = false;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        item: Located<S::Place>,
    ) -> bool {
        hand.begin(1);
        hand.segments.insert(kernel, item.hash, item.place, &mut hand.view);
        false
    }

    #[inline(always)]
    fn apply_all<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        items: &[Located<S::Place>],
        _seen: &mut [bool],
    ) {
        let mut rest = items;
        while !rest.is_empty() {
            let (begun, others) = rest.split_at(hand.begin(rest.len()));
            hand.segments.insert_all(kernel, begun, &mut hand.view);
            rest = others;
        }
    }
}

impl Operation for CheckAndInsert {
    const INSERTS: bool = true;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        item: Located<S::Place>,
    ) -> bool {
        // Check before the shift that the insert may cause.
        if hand.begun == 0
            && hand.progress.is_full()
            && hand.segments.contains(kernel, item.hash, item.place, &mut hand.view)
        {
            Insert.apply(kernel, hand, item);
            return true;
        }
        hand.begin(1);
        hand.segments.check_and_insert(kernel, item.hash, item.place, &mut hand.view)
    }

    #[inline(always)]
    fn apply_all<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        items: &[Located<S::Place>],
        seen: &mut [bool],
    ) {
        let mut done = 0;
        while done < items.len() {
            if hand.begun == 0 && hand.progress.is_full() {
                seen[done] = self.apply(kernel, hand, items[done]);
                done += 1;
                continue;
            }
            let begun = &items[done..][..hand.begin(items.len() - done)];
            hand.segments.check_and_insert_all(
                kernel,
                begun,
                &mut hand.view,
                &mut seen[done..][..begun.len()],
            );
            done += begun.len();
        }
    }
}

impl Operation for CheckOrInsert {
    const INSERTS: bool = false;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        item: Located<S::Place>,
    ) -> bool {
        if hand.segments.contains(kernel, item.hash, item.place, &mut hand.view) {
            return true;
        }
        // Count one by one: every counted insert must be made, and only now it is known that this one will
        // be. If another thread has inserted the item meanwhile, it is inserted again.
        hand.progress.begin(1, hand.memory);
        hand.segments.check_and_insert(kernel, item.hash, item.place, &mut hand.view)
    }
}

/// A query; changes nothing.
#[derive(Clone, Copy)]
pub(super) struct Contains;

impl Operation for Contains {
    const INSERTS: bool = false;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        item: Located<S::Place>,
    ) -> bool {
        hand.segments.contains(kernel, item.hash, item.place, &mut hand.view)
    }
}

/// `seen[i]` is the answer to the i-th item.
struct Batch<'a, S, O, H> {
    hand: Hand<'a, S>,
    hashes: H,
    seen: &'a mut [bool],
    operation: O,
}

impl<S: SharedSegments, O: Operation, H: Hashes> Work for Batch<'_, S, O, H> {
    type Output = ();

    /// Prefetches items [`AHEAD`] of those being applied, and looks up one more group in advance. It works in
    /// groups because hashing an item may run a caller's code, which must not run while this thread holds a
    /// row that others wait for. A group is prefetched before the next one is hashed, because a claim waits
    /// for earlier prefetches.
    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { mut hand, mut hashes, seen, operation } = self;
        let len = hashes.len();
        let mut groups = [[hand.segments.locate(0); GROUP]; GROUPS];
        hand.look_up(&mut hashes, groups[..GROUPS - 1].as_flattened_mut());
        hand.prefetch::<O, K>(kernel, &groups.as_flattened()[..AHEAD.min(len)]);
        for (round, first) in (0..len).step_by(GROUP).enumerate() {
            if first + AHEAD < len {
                hand.prefetch::<O, K>(kernel, &groups[(round + GROUPS - 2) % GROUPS]);
            }
            hand.look_up(&mut hashes, &mut groups[(round + GROUPS - 1) % GROUPS]);
            let group = &groups[round % GROUPS][..GROUP.min(len - first)];
            let seen = if O::ANSWERS { &mut seen[first..][..group.len()] } else { &mut [][..] };
            operation.apply_all(kernel, &mut hand, group, seen);
        }
    }
}

impl<S: SharedSegments> Hand<'_, S> {
    /// Finds the places of the next items, as long as there are hashes left.
    #[inline(always)]
    fn look_up(&self, hashes: &mut impl Hashes, slots: &mut [Located<S::Place>]) {
        for (item, hash) in slots.iter_mut().zip(hashes) {
            *item = self.segments.locate(hash);
        }
    }

    /// Prefetches items. The last group of a batch may not be full; the rest of it are items that have been
    /// applied already.
    #[inline(always)]
    fn prefetch<O: Operation, K: Kernel>(&self, kernel: K, items: &[Located<S::Place>]) {
        let Hand { segments, view, .. } = self;
        for item in items {
            if O::INSERTS {
                segments.prefetch_to_write(kernel, item.hash, item.place, &view.ring);
            } else {
                segments.prefetch(kernel, item.hash, item.place, &view.ring);
            }
        }
    }
}

struct Single<'a, O> {
    filter: &'a SharedFilter,
    hash: u64,
    operation: O,
}

impl<O: Operation> Work for Single<'_, O> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        whichever!(SharedMemory: &self.filter.memory, segments => {
            let mut hand = self.filter.hand(segments.shared(), 1);
            let item = hand.segments.locate(self.hash);
            self.operation.apply(kernel, &mut hand, item)
        })
    }
}

impl SharedFilter {
    /// Creates the state for a call that makes up to `inserts` inserts.
    #[inline(always)]
    fn hand<S>(&self, segments: S, inserts: usize) -> Hand<'_, S> {
        let Self { memory, progress, ring, .. } = self;
        Hand { segments, memory, progress, view: progress.view(ring), to_come: inserts as u64, begun: 0 }
    }

    #[inline]
    pub(crate) fn run<O: Operation>(&self, operation: O, hash: u64) -> bool {
        self.instructions.run(Single { filter: self, hash, operation })
    }

    #[inline]
    pub(crate) fn run_query(&self, hash: u64) -> bool {
        self.run(Contains, hash)
    }

    pub(crate) fn run_batch<O: Operation>(&self, operation: O, hashes: impl Hashes, seen: &mut [bool]) {
        whichever!(SharedMemory: &self.memory, segments => {
            let hand = self.hand(segments.shared(), hashes.len());
            self.instructions.run(Batch { hand, hashes, seen, operation });
        });
    }

    pub(crate) fn run_batch_query(&self, hashes: impl Hashes, seen: &mut [bool]) {
        self.run_batch(Contains, hashes, seen);
    }
}
