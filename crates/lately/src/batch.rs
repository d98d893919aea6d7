//! Running operations on the machine's best instructions, one item at a time or many with their memory asked for ahead.
#![allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel

use crate::ageing::{Ageing, Full};
use crate::filter::Filter;
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Segments, whichever};
use crate::ring::Ring;

/// How many items ahead of the one being handled memory is asked for. A rolling distance keeps as many fetches under way
/// as the machine allows; hashing a whole batch first and probing it then does not.
const AHEAD: usize = 32;

/// A filter's state once its layout is known, so that loops are compiled for it.
pub(crate) struct State<'a, S: ?Sized> {
    pub(crate) segments: &'a mut S,
    pub(crate) ring: &'a mut Ring,
    pub(crate) ageing: &'a mut Ageing,
}

impl<S: Segments + ?Sized> State<'_, S> {
    #[cold]
    fn start_generation_if_due(&mut self) {
        match self.ageing.on_full() {
            Full::StartGeneration => self.start_generation(self.ageing.now_or_zero()),
            Full::Continue => {}
        }
    }

    /// Every segment becomes one generation older, and the newest starts empty.
    pub(crate) fn start_generation(&mut self, start_ms: u64) {
        self.ring.advance_generation();
        self.segments.recycle_newest(self.ring);
        self.ageing.start_generation(self.ring, start_ms);
    }
}

/// What is done to a filter with one item; answers whether the item was seen lately (a plain insert does not ask).
pub(crate) trait Operation: Copy {
    fn apply<S: Segments, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, hash: u64) -> bool;
}

#[derive(Clone, Copy)]
pub(crate) struct Insert;

impl Operation for Insert {
    #[inline(always)]
    fn apply<S: Segments, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, hash: u64) -> bool {
        if state.ageing.is_full() {
            state.start_generation_if_due();
        }
        state.segments.insert(kernel, hash, state.ring);
        state.ageing.count_insert();
        false
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckAndInsert;

impl Operation for CheckAndInsert {
    #[inline(always)]
    fn apply<S: Segments, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, hash: u64) -> bool {
        // The question comes before the shift that the insert may bring.
        if state.ageing.is_full() {
            let seen = state.segments.contains(kernel, hash, state.ring);
            Insert.apply(kernel, state, hash);
            return seen;
        }
        state.ageing.count_insert();
        state.segments.check_and_insert(kernel, hash, state.ring)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckOrInsert;

impl Operation for CheckOrInsert {
    #[inline(always)]
    fn apply<S: Segments, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, hash: u64) -> bool {
        let seen = state.segments.contains(kernel, hash, state.ring);
        if !seen {
            Insert.apply(kernel, state, hash);
        }
        seen
    }
}

struct Single<'a, O> {
    filter: &'a mut Filter,
    hash: u64,
    operation: O,
}

impl<O: Operation> Work for Single<'_, O> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        let Filter { memory, ring, ageing, .. } = self.filter;
        whichever!(memory, segments => {
            self.operation.apply(kernel, &mut State { segments, ring, ageing }, self.hash)
        })
    }
}

struct SingleQuery<'a> {
    filter: &'a Filter,
    hash: u64,
}

impl Work for SingleQuery<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        whichever!(&self.filter.memory, segments => segments.contains(kernel, self.hash, &self.filter.ring))
    }
}

/// `hash_at(i)` hashes item i, `answer(i, seen)` takes its answer.
struct Batch<'a, O, H, A> {
    filter: &'a mut Filter,
    len: usize,
    hash_at: H,
    answer: A,
    operation: O,
}

impl<O: Operation, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Work for Batch<'_, O, H, A> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { filter, len, hash_at, mut answer, operation } = self;
        let Filter { memory, ring, ageing, .. } = filter;
        whichever!(memory, segments => pipeline(
            State { segments, ring, ageing },
            len,
            hash_at,
            |state, hash| state.segments.prefetch(kernel, hash, state.ring),
            |state, i, hash| answer(i, operation.apply(kernel, state, hash)),
        ));
    }
}

struct BatchQuery<'a, H, A> {
    filter: &'a Filter,
    len: usize,
    hash_at: H,
    answer: A,
}

impl<H: Fn(usize) -> u64, A: FnMut(usize, bool)> Work for BatchQuery<'_, H, A> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { filter, len, hash_at, mut answer } = self;
        let ring = &filter.ring;
        whichever!(&filter.memory, segments => pipeline(
            segments,
            len,
            hash_at,
            |segments, hash| segments.prefetch(kernel, hash, ring),
            |segments, i, hash| answer(i, segments.contains(kernel, hash, ring)),
        ));
    }
}

/// Hashes and prefetches [`AHEAD`] items ahead of the one that is applied.
#[inline(always)]
fn pipeline<S>(
    mut state: S,
    len: usize,
    hash_at: impl Fn(usize) -> u64,
    prefetch: impl Fn(&S, u64),
    mut apply: impl FnMut(&mut S, usize, u64),
) {
    let mut hashes = [0; AHEAD];
    for (i, hash) in hashes.iter_mut().enumerate().take(len) {
        *hash = hash_at(i);
        prefetch(&state, *hash);
    }
    for i in 0..len {
        let hash = hashes[i % AHEAD];
        if i + AHEAD < len {
            let next = hash_at(i + AHEAD);
            prefetch(&state, next);
            hashes[i % AHEAD] = next;
        }
        apply(&mut state, i, hash);
    }
}

impl Filter {
    #[inline]
    pub(crate) fn run<O: Operation>(&mut self, operation: O, hash: u64) -> bool {
        let instructions = self.instructions;
        instructions.run(Single { filter: self, hash, operation })
    }

    #[inline]
    pub(crate) fn run_query(&self, hash: u64) -> bool {
        self.instructions.run(SingleQuery { filter: self, hash })
    }

    pub(crate) fn run_batch<O: Operation>(
        &mut self,
        operation: O,
        len: usize,
        hash_at: impl Fn(usize) -> u64,
        answer: impl FnMut(usize, bool),
    ) {
        let instructions = self.instructions;
        instructions.run(Batch { filter: self, len, hash_at, answer, operation });
    }

    pub(crate) fn run_batch_query(
        &self,
        len: usize,
        hash_at: impl Fn(usize) -> u64,
        answer: impl FnMut(usize, bool),
    ) {
        self.instructions.run(BatchQuery { filter: self, len, hash_at, answer });
    }
}
