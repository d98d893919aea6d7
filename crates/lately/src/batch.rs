//! The operations on one item, and running them on many items with the machine's best instructions, with
//! their memory prefetched. See `single` for one item.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::iter::FusedIterator;

use crate::ageing::{Ageing, Full};
use crate::filter::Filter;
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Memory, Query, Update, whichever};
use crate::ring::Ring;

/// How many items ahead memory is prefetched. A rolling distance keeps as many fetches in flight as the
/// machine allows; hashing a whole batch first and probing it afterwards does not.
pub(crate) const AHEAD: usize = 32;

/// The state of a filter once its layout is known, so that loops are compiled for that layout.
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

    /// Makes every segment one generation older and empties the newest.
    pub(crate) fn start_generation(&mut self, start_ms: u64) {
        self.ring.advance_generation();
        self.segments.recycle_newest(self.ring);
        self.ageing.start_generation(self.ring, start_ms);
    }
}

/// An item's hash, and its place in a layout.
#[derive(Clone, Copy, Default)]
pub(crate) struct Located<P = usize> {
    pub(crate) hash: u64,
    pub(crate) place: P,
}

impl Located {
    #[inline(always)]
    pub(crate) fn new<S: Query>(hash: u64, segments: &S) -> Self {
        Self { hash, place: segments.place(hash) }
    }
}

/// An operation on one item; returns true if the item was seen lately (a plain insert does not check).
pub(crate) trait Operation: Copy {
    /// Whether the caller uses the answers.
    const ANSWERS: bool = true;

    fn apply<S: Update, K: Kernel>(self, kernel: K, state: &mut State<'_, S>, item: Located) -> bool;
}

#[derive(Clone, Copy)]
pub(crate) struct Insert;

impl Operation for Insert {
    const ANSWERS: bool = false;

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
        // Check before the shift that the insert may cause.
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

/// The hashes of a batch's items. The iterator may be called again after it has ended.
pub(crate) trait Hashes: ExactSizeIterator<Item = u64> + FusedIterator {}
impl<H: ExactSizeIterator<Item = u64> + FusedIterator> Hashes for H {}

/// `seen[i]` is the answer to the i-th item.
struct Batch<'a, O, H> {
    filter: &'a mut Filter,
    hashes: H,
    seen: &'a mut [bool],
    operation: O,
}

impl<O: Operation, H: Hashes> Work for Batch<'_, O, H> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { filter, hashes, seen, operation } = self;
        let Filter { memory, ring, ageing, .. } = filter;
        whichever!(Memory: memory, segments => {
            let state = State { segments: segments.update(), ring, ageing };
            pipeline(Applying { kernel, state, seen, operation }, hashes);
        });
    }
}

struct Applying<'a, K, S, O> {
    kernel: K,
    state: State<'a, S>,
    seen: &'a mut [bool],
    operation: O,
}

impl<K: Kernel, S: Update, O: Operation> Stages for Applying<'_, K, S, O> {
    #[inline(always)]
    fn look_up(&self, hash: u64) -> Located {
        let State { segments, ring, .. } = &self.state;
        let item = Located::new(hash, segments);
        segments.prefetch(self.kernel, item.hash, item.place, ring);
        item
    }

    #[inline(always)]
    fn apply(&mut self, i: usize, item: Located) {
        let seen = self.operation.apply(self.kernel, &mut self.state, item);
        if O::ANSWERS {
            self.seen[i] = seen;
        }
    }
}

struct BatchQuery<'a, H> {
    filter: &'a Filter,
    hashes: H,
    seen: &'a mut [bool],
}

impl<H: Hashes> Work for BatchQuery<'_, H> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { filter, hashes, seen } = self;
        let ring = &filter.ring;
        whichever!(Memory: &filter.memory, segments => {
            pipeline(Querying { kernel, segments: segments.query(), ring, seen }, hashes);
        });
    }
}

struct Querying<'a, K, S> {
    kernel: K,
    segments: S,
    ring: &'a Ring,
    seen: &'a mut [bool],
}

impl<K: Kernel, S: Query> Stages for Querying<'_, K, S> {
    #[inline(always)]
    fn look_up(&self, hash: u64) -> Located {
        let item = Located::new(hash, &self.segments);
        self.segments.prefetch(self.kernel, item.hash, item.place, self.ring);
        item
    }

    #[inline(always)]
    fn apply(&mut self, i: usize, item: Located) {
        self.seen[i] = self.segments.contains(self.kernel, item.hash, item.place, self.ring);
    }
}

/// The two stages for each item of a batch. Methods must be `#[inline(always)]`; closures would not always be
/// inlined.
trait Stages {
    /// Finds an item's place and prefetches its memory.
    fn look_up(&self, hash: u64) -> Located;
    /// Applies the operation and stores the answer.
    fn apply(&mut self, i: usize, item: Located);
}

/// Looks up and prefetches items [`AHEAD`] of the one being applied.
#[inline(always)]
fn pipeline(mut stages: impl Stages, mut hashes: impl Hashes) {
    let len = hashes.len();
    let mut items = [Located::default(); AHEAD];
    for (item, hash) in items.iter_mut().zip(&mut hashes) {
        *item = stages.look_up(hash);
    }
    for i in 0..len {
        let item = items[i % AHEAD];
        if let Some(hash) = hashes.next() {
            items[i % AHEAD] = stages.look_up(hash);
        }
        stages.apply(i, item);
    }
}

impl Filter {
    pub(crate) fn run_batch<O: Operation>(&mut self, operation: O, hashes: impl Hashes, seen: &mut [bool]) {
        let instructions = self.instructions;
        instructions.run(Batch { filter: self, hashes, seen, operation });
    }

    pub(crate) fn run_batch_query(&self, hashes: impl Hashes, seen: &mut [bool]) {
        self.instructions.run(BatchQuery { filter: self, hashes, seen });
    }
}
