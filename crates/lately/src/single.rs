//! Runs an operation on one item with the machine's best instructions; see `batch` for many items.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::batch::{Located, Operation, State};
use crate::filter::Filter;
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Memory, Query, Update, whichever};
use crate::ring::Ring;

/// One operation. Rows of one cache line, the usual layout, have their own path: they take so few
/// instructions that distinguishing layouts, or saving the registers that another layout needs, would cost
/// them a tenth.
struct Single<'a, O> {
    filter: &'a mut Filter,
    hash: u64,
    operation: O,
}

impl<O: Operation> Work for Single<'_, O> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        let Filter { memory: Memory::Rows64(rows), ring, ageing, .. } = self.filter else {
            return run_apart(kernel, SingleElsewhere(self));
        };
        apply(self.operation, kernel, State { segments: rows.update(), ring, ageing }, self.hash)
    }
}

/// One operation in any layout.
struct SingleElsewhere<'a, O>(Single<'a, O>);

impl<O: Operation> Work for SingleElsewhere<'_, O> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        let Self(Single { filter: Filter { memory, ring, ageing, .. }, hash, operation }) = self;
        whichever!(Memory: memory, segments => {
            apply(operation, kernel, State { segments: segments.update(), ring, ageing }, hash)
        })
    }
}

/// Runs work in a separate function. This function must have no target features: one with them would be
/// inlined anyway.
#[inline(never)]
fn run_apart<W: Work, K: Kernel>(kernel: K, work: W) -> W::Output {
    kernel.run(work)
}

#[inline(always)]
fn apply<O: Operation, S: Update, K: Kernel>(
    operation: O,
    kernel: K,
    mut state: State<'_, S>,
    hash: u64,
) -> bool {
    let item = Located::new(hash, &state.segments);
    operation.apply(kernel, &mut state, item)
}

/// One query; see [`Single`].
struct SingleQuery<'a> {
    filter: &'a Filter,
    hash: u64,
}

impl Work for SingleQuery<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        let Filter { memory: Memory::Rows64(rows), ring, .. } = self.filter else {
            return run_apart(kernel, SingleQueryElsewhere(self));
        };
        query(kernel, &rows.query(), self.hash, ring)
    }
}

/// One query in any layout; see [`SingleElsewhere`].
struct SingleQueryElsewhere<'a>(SingleQuery<'a>);

impl Work for SingleQueryElsewhere<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> bool {
        let Self(SingleQuery { filter: Filter { memory, ring, .. }, hash }) = self;
        whichever!(Memory: memory, segments => query(kernel, &segments.query(), hash, ring))
    }
}

#[inline(always)]
fn query<S: Query, K: Kernel>(kernel: K, segments: &S, hash: u64, ring: &Ring) -> bool {
    segments.contains(kernel, hash, segments.place(hash), ring)
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
}
