//! Applies operations to a filter that threads share: one item at a time, or many with their memory
//! prefetched. Compare `filter::apply`.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::SharedFilter;
use super::progress::Progress;
use crate::filter::apply::{InAnyLayout, call_not_inlined};
use crate::filter::operation::{AHEAD, Access, Contains, GROUP, Hashes, Many, One, Operation};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::shared::SharedMemory;
use crate::layout::view::View;
use crate::layout::{Located, SharedUpdate, whichever};

/// How many inserts of a batch are counted at once. If
/// the caller's code panics in the middle of a batch, fewer than this many inserts are counted but not made.
/// The window is then shorter by their number, once.
const BEGUN_AT_ONCE: u64 = 32;

/// Groups that have been looked up: the one being applied, those being prefetched, and one more.
const GROUPS: usize = 2 + AHEAD / GROUP;

/// A shared filter as one thread sees it during a call.
struct SharedAccess<'a, S, K> {
    kernel: K,
    layout: S,
    memory: &'a SharedMemory,
    progress: &'a Progress,
    view: View<'a>,
    /// Inserts that this call will still make and has not counted yet.
    to_come: u64,
    /// Inserts that are counted as begun but not made yet.
    begun: u64,
}

impl<'a, S: SharedUpdate, K: Kernel> SharedAccess<'a, S, K> {
    /// For a call that makes up to `inserts` inserts.
    #[inline(always)]
    fn new(filter: &'a SharedFilter, layout: S, kernel: K, inserts: usize) -> Self {
        let SharedFilter { memory, progress, ring, .. } = filter;
        let view = progress.view(ring);
        Self { kernel, layout, memory, progress, view, to_come: inserts as u64, begun: 0 }
    }

    /// Begins up to `most` inserts, at least one; returns how many.
    #[inline(always)]
    fn begin(&mut self, most: usize) -> usize {
        if self.begun == 0 {
            self.begun = self.progress.begin(self.to_come.min(BEGUN_AT_ONCE), S::CLAIMS, self.memory);
            self.to_come -= self.begun;
        }
        let begun = self.begun.min(most as u64);
        self.begun -= begun;
        begun as usize
    }

    /// Returns true if the next insert may cause a shift.
    #[inline(always)]
    fn may_shift(&self) -> bool {
        self.begun == 0 && self.progress.is_full()
    }

    /// Finds the places of the next items, as long as there are hashes left.
    #[inline(always)]
    fn look_up(&self, hashes: &mut impl Hashes, slots: &mut [Located<S::Place>]) {
        for (item, hash) in slots.iter_mut().zip(hashes) {
            *item = self.layout.locate(hash);
        }
    }

    /// Prefetches items. The last group of a batch may not be full; the rest of it are items that have been
    /// applied already.
    #[inline(always)]
    fn prefetch<O: Operation>(&self, items: &[Located<S::Place>]) {
        let Self { kernel, layout, view, .. } = self;
        for item in items {
            layout.prefetch(*kernel, *item, &view.ring, O::USES);
        }
    }
}

impl<S: SharedUpdate, K: Kernel> Access for SharedAccess<'_, S, K> {
    type Place = S::Place;

    #[inline(always)]
    fn contains(&mut self, item: Located<S::Place>) -> bool {
        self.layout.contains(self.kernel, item, &mut self.view)
    }

    #[inline(always)]
    fn insert(&mut self, item: Located<S::Place>) {
        self.begin(1);
        self.layout.insert(self.kernel, item, &mut self.view);
    }

    #[inline(always)]
    fn check_and_insert(&mut self, item: Located<S::Place>) -> bool {
        // Check before the shift that the insert may cause.
        if self.may_shift() && self.contains(item) {
            self.insert(item);
            return true;
        }
        self.begin(1);
        self.layout.check_and_insert(self.kernel, item, &mut self.view)
    }

    #[inline(always)]
    fn check_or_insert(&mut self, item: Located<S::Place>) -> bool {
        if self.contains(item) {
            return true;
        }
        // Count one by one: every counted insert must be made, and only now it is known that this one will
        // be. If another thread has inserted the item meanwhile, it is inserted again.
        self.progress.begin(1, S::CLAIMS, self.memory);
        self.layout.check_and_insert(self.kernel, item, &mut self.view)
    }

    #[inline(always)]
    fn insert_all(&mut self, items: &[Located<S::Place>]) {
        let mut rest = items;
        while !rest.is_empty() {
            let (begun, others) = rest.split_at(self.begin(rest.len()));
            self.layout.insert_all(self.kernel, begun, &mut self.view);
            rest = others;
        }
    }

    #[inline(always)]
    fn check_and_insert_all(&mut self, items: &[Located<S::Place>], seen: &mut [bool]) {
        let mut done = 0;
        while done < items.len() {
            if self.may_shift() {
                seen[done] = self.check_and_insert(items[done]);
                done += 1;
                continue;
            }
            let begun = &items[done..][..self.begin(items.len() - done)];
            let seen = &mut seen[done..][..begun.len()];
            self.layout.check_and_insert_all(self.kernel, begun, &mut self.view, seen);
            done += begun.len();
        }
    }
}

impl<O: Operation> Work for One<&SharedFilter, O> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let SharedMemory::Rows64(rows) = &self.filter.memory else {
            return call_not_inlined(kernel, InAnyLayout(self));
        };
        self.perform(kernel, rows.shared())
    }
}

impl<O: Operation> Work for InAnyLayout<One<&SharedFilter, O>> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let Self(one) = self;
        whichever!(SharedMemory: &one.filter.memory, layout => one.perform(kernel, layout.shared()))
    }
}

impl<O: Operation> One<&SharedFilter, O> {
    #[inline(always)]
    fn perform<S: SharedUpdate, K: Kernel>(self, kernel: K, layout: S) -> bool {
        let mut access = SharedAccess::new(self.filter, layout, kernel, 1);
        let item = access.layout.locate(self.hash);
        self.operation.apply(&mut access, item)
    }
}

impl<S: SharedUpdate, O: Operation, H: Hashes> Work for Many<'_, (&SharedFilter, S), O, H> {
    type Output = ();

    /// Prefetches items [`AHEAD`] of those being applied, and looks up one more group in advance. It works in
    /// groups because hashing an item may run a caller's code, which must not run while this thread holds a
    /// row that others wait for. A group is prefetched before the next one is hashed, because a claim waits
    /// for earlier prefetches.
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        let Self { filter: (filter, layout), operation, mut hashes, seen } = self;
        let len = hashes.len();
        let mut access = SharedAccess::new(filter, layout, kernel, len);
        let mut groups = [[access.layout.locate(0); GROUP]; GROUPS];
        access.look_up(&mut hashes, groups[..GROUPS - 1].as_flattened_mut());
        access.prefetch::<O>(&groups.as_flattened()[..AHEAD.min(len)]);
        for (round, first) in (0..len).step_by(GROUP).enumerate() {
            if first + AHEAD < len {
                access.prefetch::<O>(&groups[(round + GROUPS - 2) % GROUPS]);
            }
            access.look_up(&mut hashes, &mut groups[(round + GROUPS - 1) % GROUPS]);
            let group = &groups[round % GROUPS][..GROUP.min(len - first)];
            access.view.is_current();
            let seen = if O::ANSWERS { &mut seen[first..][..group.len()] } else { &mut [][..] };
            operation.apply_all(&mut access, group, seen);
        }
    }
}

impl SharedFilter {
    #[inline]
    pub(in crate::filter) fn apply<O: Operation>(&self, operation: O, hash: u64) -> bool {
        self.kernel.call(One { filter: self, operation, hash })
    }

    #[inline]
    pub(in crate::filter) fn query(&self, hash: u64) -> bool {
        self.apply(Contains, hash)
    }

    pub(in crate::filter) fn apply_all<O: Operation>(
        &self,
        operation: O,
        hashes: impl Hashes,
        seen: &mut [bool],
    ) {
        whichever!(SharedMemory: &self.memory, layout => {
            self.kernel.call(Many { filter: (self, layout.shared()), operation, hashes, seen });
        });
    }

    pub(in crate::filter) fn query_all(&self, hashes: impl Hashes, seen: &mut [bool]) {
        self.apply_all(Contains, hashes, seen);
    }
}
