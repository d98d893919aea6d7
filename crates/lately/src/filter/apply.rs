//! Applies operations to a filter that one thread owns: one item by the shortest path, or many with their
//! memory prefetched.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::Filter;
use super::operation::{AHEAD, Access, Contains, Hashes, Many, One, Operation};
use crate::ageing::{Ageing, Full};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Located, Memory, Query, Update, whichever};
use crate::ring::Ring;

/// A filter once its layout is known, so that loops are compiled for that layout.
pub(super) struct OwnedFilter<'a, S> {
    pub(super) layout: S,
    pub(super) ring: &'a mut Ring,
    pub(super) ageing: &'a mut Ageing,
}

impl<S: Update> OwnedFilter<'_, S> {
    /// Starts the next generation if the newest one has its full number of items.
    #[cold]
    pub(super) fn shift_if_due(&mut self) {
        match self.ageing.on_full() {
            Full::StartGeneration => self.start_generation(self.ageing.now_or_zero()),
            Full::Continue => {}
        }
    }

    /// Makes every segment one generation older and empties the newest.
    pub(super) fn start_generation(&mut self, start_ms: u64) {
        self.ring.advance_generation();
        self.layout.recycle_newest(self.ring);
        self.ageing.start_generation(self.ring, start_ms);
    }
}

/// The same with a kernel.
struct OwnedAccess<'a, S, K> {
    kernel: K,
    filter: OwnedFilter<'a, S>,
}

impl<S: Update, K: Kernel> Access for OwnedAccess<'_, S, K> {
    type Place = S::Place;

    #[inline(always)]
    fn contains(&mut self, item: Located<S::Place>) -> bool {
        self.filter.layout.contains(self.kernel, item, self.filter.ring)
    }

    #[inline(always)]
    fn insert(&mut self, item: Located<S::Place>) {
        let Self { kernel, filter } = self;
        if filter.ageing.is_full() {
            filter.shift_if_due();
        }
        filter.layout.insert(*kernel, item, filter.ring);
        filter.ageing.count_insert();
    }

    #[inline(always)]
    fn check_and_insert(&mut self, item: Located<S::Place>) -> bool {
        // Check before the shift that the insert may cause.
        if self.filter.ageing.is_full() {
            let seen = self.contains(item);
            self.insert(item);
            return seen;
        }
        let Self { kernel, filter } = self;
        filter.ageing.count_insert();
        filter.layout.check_and_insert(*kernel, item, filter.ring)
    }

    #[inline(always)]
    fn check_or_insert(&mut self, item: Located<S::Place>) -> bool {
        let seen = self.contains(item);
        if !seen {
            self.insert(item);
        }
        seen
    }
}

impl<O: Operation> Work for One<&mut Filter, O> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let Filter { memory: Memory::Rows64(rows), ring, ageing, .. } = self.filter else {
            return call_not_inlined(kernel, InAnyLayout(self));
        };
        let filter = OwnedFilter { layout: rows.update(), ring, ageing };
        let item = filter.layout.locate(self.hash);
        self.operation.apply(&mut OwnedAccess { kernel, filter }, item)
    }
}

/// Rows of one cache line, the fastest layout, have their own path: they take so few instructions that
/// distinguishing layouts, or saving the registers that another layout needs, would cost them a tenth. This
/// is the path of all layouts.
struct InAnyLayout<O>(O);

impl<O: Operation> Work for InAnyLayout<One<&mut Filter, O>> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let Self(One { filter: Filter { memory, ring, ageing, .. }, operation, hash }) = self;
        whichever!(Memory: memory, layout => {
            let filter = OwnedFilter { layout: layout.update(), ring, ageing };
            let item = filter.layout.locate(hash);
            operation.apply(&mut OwnedAccess { kernel, filter }, item)
        })
    }
}

/// A query needs no `&mut`.
impl Work for One<&Filter, Contains> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let Filter { memory: Memory::Rows64(rows), ring, .. } = self.filter else {
            return call_not_inlined(kernel, InAnyLayout(self));
        };
        let layout = rows.query();
        layout.contains(kernel, layout.locate(self.hash), ring)
    }
}

impl Work for InAnyLayout<One<&Filter, Contains>> {
    type Output = bool;

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> bool {
        let Self(One { filter: Filter { memory, ring, .. }, hash, .. }) = self;
        whichever!(Memory: memory, layout => {
            let layout = layout.query();
            layout.contains(kernel, layout.locate(hash), ring)
        })
    }
}

/// Calls work in a separate function. This function must have no target features: one with them would be
/// inlined anyway.
#[inline(never)]
fn call_not_inlined<W: Work, K: Kernel>(kernel: K, work: W) -> W::Output {
    kernel.call(work)
}

impl<O: Operation, H: Hashes> Work for Many<'_, &mut Filter, O, H> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // `seen` is empty if there are no answers
    fn call<K: Kernel>(self, kernel: K) {
        let Self { filter: Filter { memory, ring, ageing, .. }, operation, hashes, seen } = self;
        whichever!(Memory: memory, layout => {
            let filter = OwnedFilter { layout: layout.update(), ring, ageing };
            let mut access = OwnedAccess { kernel, filter };
            let mut upcoming = Upcoming::new(kernel, hashes, &access.filter.layout, access.filter.ring, operation);
            for i in 0..upcoming.len {
                let item = upcoming.next(i, operation, kernel, &access.filter.layout, access.filter.ring);
                let was_seen = operation.apply(&mut access, item);
                if O::ANSWERS {
                    seen[i] = was_seen;
                }
            }
        });
    }
}

impl<H: Hashes> Work for Many<'_, &Filter, Contains, H> {
    type Output = ();

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        let Self { filter: Filter { memory, ring, .. }, hashes, seen, .. } = self;
        whichever!(Memory: memory, layout => {
            let layout = layout.query();
            let mut upcoming = Upcoming::new(kernel, hashes, &layout, ring, Contains);
            for (i, seen) in seen.iter_mut().enumerate() {
                let item = upcoming.next(i, Contains, kernel, &layout, ring);
                *seen = layout.contains(kernel, item, ring);
            }
        });
    }
}

/// The next items of a batch, whose memory is being prefetched.
struct Upcoming<H, P> {
    hashes: H,
    len: usize,
    items: [Located<P>; AHEAD],
}

impl<H: Hashes, P: Copy + Default> Upcoming<H, P> {
    #[inline(always)]
    fn new<O: Operation, K: Kernel>(
        kernel: K,
        hashes: H,
        layout: &impl Query<Place = P>,
        ring: &Ring,
        _operation: O,
    ) -> Self {
        let mut upcoming = Self { len: hashes.len(), hashes, items: [Located::default(); AHEAD] };
        for (item, hash) in upcoming.items.iter_mut().zip(&mut upcoming.hashes) {
            *item = layout.locate(hash);
            layout.prefetch(kernel, *item, ring, O::USES);
        }
        upcoming
    }

    /// Returns the i-th item, and prefetches the one [`AHEAD`] of it.
    #[inline(always)]
    fn next<O: Operation, K: Kernel>(
        &mut self,
        i: usize,
        _operation: O,
        kernel: K,
        layout: &impl Query<Place = P>,
        ring: &Ring,
    ) -> Located<P> {
        let place = &mut self.items[i % AHEAD];
        let item = *place;
        if let Some(hash) = self.hashes.next() {
            *place = layout.locate(hash);
            layout.prefetch(kernel, *place, ring, O::USES);
        }
        item
    }
}

impl Filter {
    #[inline]
    pub(super) fn apply<O: Operation>(&mut self, operation: O, hash: u64) -> bool {
        self.kernel.call(One { filter: self, operation, hash })
    }

    #[inline]
    pub(super) fn query(&self, hash: u64) -> bool {
        self.kernel.call(One { filter: self, operation: Contains, hash })
    }

    pub(super) fn apply_all<O: Operation>(&mut self, operation: O, hashes: impl Hashes, seen: &mut [bool]) {
        self.kernel.call(Many { filter: self, operation, hashes, seen });
    }

    pub(super) fn query_all(&self, hashes: impl Hashes, seen: &mut [bool]) {
        self.kernel.call(Many { filter: self, operation: Contains, hashes, seen });
    }
}
