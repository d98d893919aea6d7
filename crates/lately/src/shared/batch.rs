//! Running operations of many threads, one item at a time or many with their memory asked for ahead; as `crate::single` and
//! `crate::batch`.
#![allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel

use super::SharedFilter;
use super::progress::Progress;
use crate::batch::{AHEAD, CheckAndInsert, CheckOrInsert, Insert, Located};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::shared::{SharedMemory, SharedSegments, View};
use crate::layout::whichever;

/// How many inserts of a batch are counted at once: one access to what all threads write, instead of so many. Where the caller's
/// code panics in the middle of a batch, less than so many are counted that are not made: the window is that much shorter, once.
const BEGUN_AT_ONCE: u64 = 32;

/// How many items are looked up, and then applied, at a time; a divisor of [`AHEAD`].
const GROUP: usize = 16;
const _: () = assert!(AHEAD.is_multiple_of(GROUP));

/// What a thread has in its hands during a call.
pub(crate) struct Hand<'a, S> {
    segments: S,
    memory: &'a SharedMemory,
    progress: &'a Progress,
    view: View<'a>,
    /// Inserts that this call will still make and are not counted.
    to_come: u64,
    /// Inserts that are counted as begun.
    begun: u64,
}

impl<S> Hand<'_, S> {
    /// Begins up to `most` inserts, at least one; says how many.
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

/// What is done with one item; answers whether it was seen lately (a plain insert does not ask).
pub(crate) trait Operation: Copy {
    /// Whether every item is inserted.
    const INSERTS: bool;

    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool;

    /// [`apply`](Self::apply), one after the other; `answer(i, seen)` takes the answers.
    #[inline(always)]
    fn apply_all<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        items: &[Located],
        mut answer: impl FnMut(usize, bool),
    ) {
        for (i, item) in items.iter().enumerate() {
            answer(i, self.apply(kernel, hand, *item));
        }
    }
}

impl Operation for Insert {
    const INSERTS: bool = true;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        hand.begin(1);
        hand.segments.insert(kernel, item.hash, item.place, &mut hand.view);
        false
    }

    #[inline(always)]
    fn apply_all<S: SharedSegments, K: Kernel>(
        self,
        kernel: K,
        hand: &mut Hand<'_, S>,
        items: &[Located],
        _answer: impl FnMut(usize, bool),
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
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        // The question comes before the shift that the insert may bring.
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
        items: &[Located],
        mut answer: impl FnMut(usize, bool),
    ) {
        let mut done = 0;
        while done < items.len() {
            if hand.begun == 0 && hand.progress.is_full() {
                answer(done, self.apply(kernel, hand, items[done]));
                done += 1;
                continue;
            }
            let begun = &items[done..][..hand.begin(items.len() - done)];
            let view = &mut hand.view;
            hand.segments.check_and_insert_all(kernel, begun, view, |i, seen| answer(done + i, seen));
            done += begun.len();
        }
    }
}

impl Operation for CheckOrInsert {
    const INSERTS: bool = false;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        if hand.segments.contains(kernel, item.hash, item.place, &mut hand.view) {
            return true;
        }
        // One by one: what is counted must be inserted, and only now is it known that this one will be. If another thread
        // has brought it since, it is inserted again.
        hand.progress.begin(1, hand.memory);
        hand.segments.check_and_insert(kernel, item.hash, item.place, &mut hand.view)
    }
}

/// Asks, and changes nothing.
#[derive(Clone, Copy)]
pub(super) struct Contains;

impl Operation for Contains {
    const INSERTS: bool = false;

    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        hand.segments.contains(kernel, item.hash, item.place, &mut hand.view)
    }
}

/// `hash_at(i)` hashes item i, `answer(i, seen)` takes its answer.
struct Batch<'a, S, O, H, A> {
    hand: Hand<'a, S>,
    len: usize,
    hash_at: H,
    answer: A,
    operation: O,
}

impl<S: SharedSegments, O: Operation, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Work
    for Batch<'_, S, O, H, A>
{
    type Output = ();

    /// Looks up and prefetches items [`AHEAD`] of those that are applied. A group at a time: what is called to hash an item may be
    /// anybody's code, which must not run while this thread has a row that others wait for; and a claim waits for what was
    /// asked for before.
    #[inline(always)]
    fn run<K: Kernel>(mut self, kernel: K) {
        let len = self.len;
        let mut ahead = [Located::default(); AHEAD];
        self.look_up(kernel, 0, &mut ahead);
        let mut first = 0;
        while first < len {
            let slots = &mut ahead[first % AHEAD..][..GROUP];
            let mut group = [Located::default(); GROUP];
            group.copy_from_slice(slots);
            self.look_up(kernel, first + AHEAD, slots);
            let (answer, group) = (&mut self.answer, &group[..GROUP.min(len - first)]);
            self.operation.apply_all(kernel, &mut self.hand, group, |i, seen| answer(first + i, seen));
            first += GROUP;
        }
    }
}

impl<S: SharedSegments, O: Operation, H: Fn(usize) -> u64, A> Batch<'_, S, O, H, A> {
    /// Hashes the items from `first` on, and asks for their memory.
    #[inline(always)]
    fn look_up<K: Kernel>(&self, kernel: K, first: usize, slots: &mut [Located]) {
        let Hand { segments, view, .. } = &self.hand;
        for (i, item) in (first..self.len).zip(slots) {
            let hash = (self.hash_at)(i);
            *item = Located { hash, place: segments.place(hash) };
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
            let item = Located { hash: self.hash, place: hand.segments.place(self.hash) };
            self.operation.apply(kernel, &mut hand, item)
        })
    }
}

impl SharedFilter {
    /// For a call that makes up to so many inserts.
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

    pub(crate) fn run_batch<O: Operation>(
        &self,
        operation: O,
        len: usize,
        hash_at: impl Fn(usize) -> u64,
        answer: impl FnMut(usize, bool),
    ) {
        whichever!(SharedMemory: &self.memory, segments => {
            let hand = self.hand(segments.shared(), len);
            self.instructions.run(Batch { hand, len, hash_at, answer, operation });
        });
    }

    pub(crate) fn run_batch_query(
        &self,
        len: usize,
        hash_at: impl Fn(usize) -> u64,
        answer: impl FnMut(usize, bool),
    ) {
        self.run_batch(Contains, len, hash_at, answer);
    }
}
