//! What the operations do to an item, and doing it to many on the machine's best instructions, their memory asked for ahead.
//! See `single` for one.
#![allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel

use crate::ageing::{Ageing, Full};
use crate::filter::Filter;
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Memory, Query, Update, whichever};
use crate::ring::Ring;

/// How many items ahead of the one being handled memory is asked for. A rolling distance keeps as many fetches under way
/// as the machine allows; hashing a whole batch first and probing it then does not.
pub(crate) const AHEAD: usize = 32;

/// A filter's state once its layout is known, so that loops are compiled for it.
pub(crate) struct State<'a, S> {
    pub(crate) segments: S,
    pub(crate) ring: &'a mut Ring,
    pub(crate) ageing: &'a mut Ageing,
}

impl<S: Update> State<'_, S> {
    #[cold]
    pub(crate) fn start_generation_if_due(&mut self) {
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

/// An item's hash, and its place in a layout.
#[derive(Clone, Copy, Default)]
pub(crate) struct Located {
    pub(crate) hash: u64,
    pub(crate) place: usize,
}

impl Located {
    #[inline(always)]
    pub(crate) fn new<S: Query>(hash: u64, segments: &S) -> Self {
        Self { hash, place: segments.place(hash) }
    }
}

/// What is done to a filter with one item; answers whether the item was seen lately (a plain insert does not ask).
pub(crate) trait Operation: Copy {
    fn apply<S: Update, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, item: Located) -> bool;
}

#[derive(Clone, Copy)]
pub(crate) struct Insert;

impl Operation for Insert {
    #[inline(always)]
    fn apply<S: Update, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, item: Located) -> bool {
        if state.ageing.is_full() {
            state.start_generation_if_due();
        }
        state.segments.insert(kernel, item.hash, item.place, state.ring);
        state.ageing.count_insert();
        false
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckAndInsert;

impl Operation for CheckAndInsert {
    #[inline(always)]
    fn apply<S: Update, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, item: Located) -> bool {
        // The question comes before the shift that the insert may bring.
        if state.ageing.is_full() {
            let seen = state.segments.contains(kernel, item.hash, item.place, state.ring);
            Insert.apply(kernel, state, item);
            return seen;
        }
        state.ageing.count_insert();
        state.segments.check_and_insert(kernel, item.hash, item.place, state.ring)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckOrInsert;

impl Operation for CheckOrInsert {
    #[inline(always)]
    fn apply<S: Update, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, item: Located) -> bool {
        let seen = state.segments.contains(kernel, item.hash, item.place, state.ring);
        if !seen {
            Insert.apply(kernel, state, item);
        }
        seen
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
        let Self { filter, len, hash_at, answer, operation } = self;
        let Filter { memory, ring, ageing, .. } = filter;
        whichever!(Memory: memory, segments => {
            let state = State { segments: segments.update(), ring, ageing };
            pipeline(Applying { kernel, state, hash_at, answer, operation }, len);
        });
    }
}

struct Applying<'a, K, S, O, H, A> {
    kernel: K,
    state: State<'a, S>,
    hash_at: H,
    answer: A,
    operation: O,
}

impl<K: Kernel, S: Update, O: Operation, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Stages
    for Applying<'_, K, S, O, H, A>
{
    #[inline(always)]
    fn look_up(&self, i: usize) -> Located {
        let State { segments, ring, .. } = &self.state;
        let item = Located::new((self.hash_at)(i), segments);
        segments.prefetch(self.kernel, item.hash, item.place, ring);
        item
    }

    #[inline(always)]
    fn apply(&mut self, i: usize, item: Located) {
        let answer = self.operation.apply(self.kernel, &mut self.state, item);
        (self.answer)(i, answer);
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
        let Self { filter, len, hash_at, answer } = self;
        let ring = &filter.ring;
        whichever!(Memory: &filter.memory, segments => {
            pipeline(Querying { kernel, segments: segments.query(), ring, hash_at, answer }, len);
        });
    }
}

struct Querying<'a, K, S, H, A> {
    kernel: K,
    segments: S,
    ring: &'a Ring,
    hash_at: H,
    answer: A,
}

impl<K: Kernel, S: Query, H: Fn(usize) -> u64, A: FnMut(usize, bool)> Stages for Querying<'_, K, S, H, A> {
    #[inline(always)]
    fn look_up(&self, i: usize) -> Located {
        let item = Located::new((self.hash_at)(i), &self.segments);
        self.segments.prefetch(self.kernel, item.hash, item.place, self.ring);
        item
    }

    #[inline(always)]
    fn apply(&mut self, i: usize, item: Located) {
        (self.answer)(i, self.segments.contains(self.kernel, item.hash, item.place, self.ring));
    }
}

/// What happens to each item of a batch, twice. Methods must be `#[inline(always)]`; closures would not be, always.
trait Stages {
    /// Hashes item i and asks for its memory.
    fn look_up(&self, i: usize) -> Located;
    /// Does what is to be done with it, and answers.
    fn apply(&mut self, i: usize, item: Located);
}

/// Looks up and prefetches items [`AHEAD`] of the one that is applied.
#[inline(always)]
fn pipeline(mut stages: impl Stages, len: usize) {
    let mut items = [Located::default(); AHEAD];
    for (i, item) in items.iter_mut().enumerate().take(len) {
        *item = stages.look_up(i);
    }
    for i in 0..len {
        let item = items[i % AHEAD];
        if i + AHEAD < len {
            items[i % AHEAD] = stages.look_up(i + AHEAD);
        }
        stages.apply(i, item);
    }
}

impl Filter {
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
