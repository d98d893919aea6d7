//! Running operations of many threads, one item at a time or many with their memory asked for ahead; as `crate::batch`.
#![allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel

use super::SharedFilter;
use super::progress::Progress;
use crate::batch::{CheckAndInsert, CheckOrInsert, Insert, Located, Stages, pipeline};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::shared::{SharedMemory, SharedSegments, View};
use crate::layout::whichever;

/// How many inserts of a batch are counted at once: one access to what all threads write, instead of so many.
const BEGUN_AT_ONCE: u64 = 32;

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
    #[inline(always)]
    fn begin(&mut self) {
        if self.begun == 0 {
            self.begun = self.progress.begin(self.to_come.min(BEGUN_AT_ONCE), self.memory);
            self.to_come -= self.begun;
        }
        self.begun -= 1;
    }
}

/// What is done with one item; answers whether it was seen lately (a plain insert does not ask).
pub(crate) trait Operation: Copy {
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool;
}

impl Operation for Insert {
    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        hand.begin();
        hand.segments.insert(kernel, item.hash, item.place, &mut hand.view);
        false
    }
}

impl Operation for CheckAndInsert {
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
        hand.begin();
        hand.segments.check_and_insert(kernel, item.hash, item.place, &mut hand.view)
    }
}

impl Operation for CheckOrInsert {
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
    #[inline(always)]
    fn apply<S: SharedSegments, K: Kernel>(self, kernel: K, hand: &mut Hand<'_, S>, item: Located) -> bool {
        hand.segments.contains(kernel, item.hash, item.place, &mut hand.view)
    }
}

/// `hash_at(i)` hashes item i, `answer(i, seen)` takes its answer.
struct Batch<'a, O, H, A> {
    filter: &'a SharedFilter,
    len: usize,
    hash_at: H,
    answer: A,
    operation: O,
}

impl<O: Operation, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Work for Batch<'_, O, H, A> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { filter, len, hash_at, answer, operation } = self;
        let SharedFilter { memory, progress, ring, .. } = filter;
        whichever!(SharedMemory: memory, segments => {
            let (view, to_come) = (progress.view(ring), len as u64);
            let hand = Hand { segments: segments.shared(), memory, progress, view, to_come, begun: 0 };
            pipeline(Applying { kernel, hand, hash_at, answer, operation }, len);
        });
    }
}

struct Applying<'a, K, S, O, H, A> {
    kernel: K,
    hand: Hand<'a, S>,
    hash_at: H,
    answer: A,
    operation: O,
}

impl<K: Kernel, S: SharedSegments, O: Operation, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Stages
    for Applying<'_, K, S, O, H, A>
{
    #[inline(always)]
    fn look_up(&self, i: usize) -> Located {
        let Hand { segments, view, .. } = &self.hand;
        let hash = (self.hash_at)(i);
        let item = Located { hash, place: segments.place(hash) };
        segments.prefetch(self.kernel, item.hash, item.place, &view.ring);
        item
    }

    #[inline(always)]
    fn apply(&mut self, i: usize, item: Located) {
        let answer = self.operation.apply(self.kernel, &mut self.hand, item);
        (self.answer)(i, answer);
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
        let SharedFilter { memory, progress, ring, .. } = self.filter;
        whichever!(SharedMemory: memory, segments => {
            let mut hand = Hand { segments: segments.shared(), memory, progress, view: progress.view(ring), to_come: 1, begun: 0 };
            let item = Located { hash: self.hash, place: hand.segments.place(self.hash) };
            self.operation.apply(kernel, &mut hand, item)
        })
    }
}

impl SharedFilter {
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
        self.instructions.run(Batch { filter: self, len, hash_at, answer, operation });
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
