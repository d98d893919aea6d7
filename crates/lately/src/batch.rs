//! Running operations on the machine's best instructions, one item at a time or many with their memory asked for ahead.
#![allow(clippy::inline_always)] // see `kernel::Work`: what is not inlined is not compiled for the kernel

use crate::filter::Filter;
use crate::layout::kernel::{Kernel, Work};

/// How many items ahead of the one being handled memory is asked for. A rolling distance keeps as many fetches under way
/// as the machine allows; hashing a whole batch first and probing it then does not.
const AHEAD: usize = 32;

/// What is done to a filter with one item; answers whether the item was seen lately (a plain insert does not ask).
pub(crate) trait Operation: Copy {
    fn apply<K: Kernel>(self, kernel: K, filter: &mut Filter, hash: u64) -> bool;
}

#[derive(Clone, Copy)]
pub(crate) struct Insert;

impl Operation for Insert {
    #[inline(always)]
    fn apply<K: Kernel>(self, kernel: K, filter: &mut Filter, hash: u64) -> bool {
        if filter.ageing.is_full() {
            filter.start_generation_if_due();
        }
        filter.memory.insert(kernel, hash, &filter.ring);
        filter.ageing.count_insert();
        false
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckAndInsert;

impl Operation for CheckAndInsert {
    #[inline(always)]
    fn apply<K: Kernel>(self, kernel: K, filter: &mut Filter, hash: u64) -> bool {
        // The question comes before the shift that the insert may bring.
        if filter.ageing.is_full() {
            let seen = filter.memory.contains(kernel, hash, &filter.ring);
            Insert.apply(kernel, filter, hash);
            return seen;
        }
        filter.ageing.count_insert();
        filter.memory.check_and_insert(kernel, hash, &filter.ring)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckOrInsert;

impl Operation for CheckOrInsert {
    #[inline(always)]
    fn apply<K: Kernel>(self, kernel: K, filter: &mut Filter, hash: u64) -> bool {
        let seen = filter.memory.contains(kernel, hash, &filter.ring);
        if !seen {
            Insert.apply(kernel, filter, hash);
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
        self.operation.apply(kernel, self.filter, self.hash)
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
        self.filter.memory.contains(kernel, self.hash, &self.filter.ring)
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
    fn run<K: Kernel>(mut self, kernel: K) {
        let (operation, answer) = (self.operation, &mut self.answer);
        pipeline(
            self.filter,
            self.len,
            self.hash_at,
            |filter, hash| filter.memory.prefetch(kernel, hash, &filter.ring),
            |filter, i, hash| answer(i, operation.apply(kernel, filter, hash)),
        );
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
    fn run<K: Kernel>(mut self, kernel: K) {
        let answer = &mut self.answer;
        pipeline(
            self.filter,
            self.len,
            self.hash_at,
            |filter, hash| filter.memory.prefetch(kernel, hash, &filter.ring),
            |filter, i, hash| answer(i, filter.memory.contains(kernel, hash, &filter.ring)),
        );
    }
}

/// Hashes and prefetches [`AHEAD`] items ahead of the one that is applied.
#[inline(always)]
fn pipeline<F>(
    mut filter: F,
    len: usize,
    hash_at: impl Fn(usize) -> u64,
    prefetch: impl Fn(&F, u64),
    mut apply: impl FnMut(&mut F, usize, u64),
) {
    let mut hashes = [0; AHEAD];
    for (i, hash) in hashes.iter_mut().enumerate().take(len) {
        *hash = hash_at(i);
        prefetch(&filter, *hash);
    }
    for i in 0..len {
        let hash = hashes[i % AHEAD];
        if i + AHEAD < len {
            let next = hash_at(i + AHEAD);
            prefetch(&filter, next);
            hashes[i % AHEAD] = next;
        }
        apply(&mut filter, i, hash);
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
