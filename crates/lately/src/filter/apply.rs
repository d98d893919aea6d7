//! Applies operations to a filter that one thread owns: one item by the shortest path, or many with their
//! memory prefetched.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::Filter;
use super::operation::{AHEAD, Access, Contains, GROUP, Hashes, Many, One, Operation};
use crate::ageing::{Ageing, Full, NoRoom};
use crate::layout::kernel::{Kernel, Work};
use crate::layout::{Located, Memory, Query, Update, Use, whichever};
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
            Full::Fit => self.fit(),
        }
    }

    /// Makes every segment one generation older and empties the newest.
    pub(super) fn start_generation(&mut self, start_ms: u64) {
        self.ring.advance_generation();
        self.ageing.start_generation(self.ring, start_ms);
        self.layout.recycle_newest(self.ring);
    }

    /// Gives an elastic window the room that it needs after items have left it. If it cannot grow any more, the overload
    /// policy waits for an insert: as time goes by, nothing is dropped.
    pub(super) fn fit_to_time(&mut self) {
        if let Some(inserts) = self.layout.fit(self.ring, 0).next {
            self.ageing.look_after(inserts);
        }
    }

    /// Gives an elastic window the room that it needs. If it cannot grow any more, applies its overload policy.
    fn fit(&mut self) {
        self.ageing.look_now();
        // Under `Overload::KeepRate`, the window may have to lose several generations.
        while self.ageing.is_full() {
            let fit = self.layout.fit(self.ring, self.ageing.early_left(self.ring));
            if fit.starts_generation {
                self.start_generation(self.ageing.now_or_zero());
            }
            match fit.next {
                Some(inserts) => self.ageing.look_after(inserts),
                None => match self.ageing.on_no_room(self.ring) {
                    NoRoom::StartGeneration => self.start_generation(self.ageing.now_or_zero()),
                    NoRoom::Drop => self.layout.shorten_window(self.ring),
                    NoRoom::Continue => {}
                },
            }
        }
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

    #[inline(always)]
    fn insert_all(&mut self, items: &[Located<S::Place>]) {
        let mut rest = items;
        while !rest.is_empty() {
            let (begun, others) = rest.split_at(self.begin(rest.len()));
            let Self { kernel, filter } = self;
            for item in begun {
                filter.layout.insert(*kernel, *item, filter.ring);
            }
            rest = others;
        }
    }

    #[inline(always)]
    fn check_and_insert_all(&mut self, items: &[Located<S::Place>], seen: &mut [bool]) {
        let mut done = 0;
        while done < items.len() {
            // Check before the shift that the first insert may cause.
            let is_seen = self.filter.ageing.is_full() && self.contains(items[done]);
            let begun = self.begin(items.len() - done);
            let Self { kernel, filter } = self;
            for (item, seen) in items[done..][..begun].iter().zip(&mut seen[done..][..begun]) {
                *seen = filter.layout.check_and_insert(*kernel, *item, filter.ring);
            }
            seen[done] |= is_seen;
            done += begun;
        }
    }
}

impl<S: Update, K: Kernel> OwnedAccess<'_, S, K> {
    /// Begins up to `most` inserts, at least one, in the generation to which they belong; returns how many.
    #[inline(always)]
    fn begin(&mut self, most: usize) -> usize {
        let filter = &mut self.filter;
        if filter.ageing.is_full() {
            filter.shift_if_due();
        }
        filter.ageing.count_inserts(most as u64) as usize
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
pub(super) struct InAnyLayout<O>(pub(super) O);

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
pub(in crate::filter) fn call_not_inlined<W: Work, K: Kernel>(kernel: K, work: W) -> W::Output {
    kernel.call(work)
}

impl<O: Operation, H: Hashes> Work for Many<'_, &mut Filter, O, H> {
    type Output = ();

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        let Self { filter: Filter { memory, ring, ageing, .. }, operation, hashes, mut seen } = self;
        whichever!(Memory: memory, layout => {
            let filter = OwnedFilter { layout: layout.update(), ring, ageing };
            let mut access = OwnedAccess { kernel, filter };
            let mut upcoming = Upcoming::new(hashes);
            upcoming.look_up_first(kernel, &access.filter.layout, access.filter.ring, O::USES);
            while upcoming.left > 0 {
                let group = upcoming.group();
                let answers = if O::ANSWERS { group.len() } else { 0 };
                let answers = seen.split_off_mut(..answers).expect("an answer for each item");
                operation.apply_all(&mut access, group, answers);
                upcoming.look_up_next(kernel, &access.filter.layout, access.filter.ring, O::USES);
            }
        });
    }
}

impl<H: Hashes> Work for Many<'_, &Filter, Contains, H> {
    type Output = ();

    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        let Self { filter: Filter { memory, ring, .. }, hashes, mut seen, .. } = self;
        whichever!(Memory: memory, layout => {
            let layout = layout.query();
            let mut upcoming = Upcoming::new(hashes);
            upcoming.look_up_first(kernel, &layout, ring, Contains::USES);
            while upcoming.left > 0 {
                let group = upcoming.group();
                let answers = seen.split_off_mut(..group.len()).expect("an answer for each item");
                for (item, seen) in group.iter().zip(answers) {
                    *seen = layout.contains(kernel, *item, ring);
                }
                upcoming.look_up_next(kernel, &layout, ring, Contains::USES);
            }
        });
    }
}

/// The next items of a batch, whose memory is being prefetched: a ring of groups.
struct Upcoming<H, P> {
    hashes: H,
    items: [[Located<P>; GROUP]; AHEAD / GROUP],
    /// The group to apply next.
    next: usize,
    /// The items that have not been applied.
    left: usize,
}

impl<H: Hashes, P: Copy + Default> Upcoming<H, P> {
    #[inline(always)]
    fn new(hashes: H) -> Self {
        Self { left: hashes.len(), hashes, items: Default::default(), next: 0 }
    }

    #[inline(always)]
    fn look_up_first<K: Kernel>(
        &mut self,
        kernel: K,
        layout: &impl Query<Place = P>,
        ring: &Ring,
        uses: Use,
    ) {
        for (item, hash) in self.items.as_flattened_mut().iter_mut().zip(&mut self.hashes) {
            *item = layout.locate(hash);
            layout.prefetch(kernel, *item, ring, uses);
        }
    }

    /// The items to apply next.
    #[inline(always)]
    fn group(&self) -> &[Located<P>] {
        &self.items[self.next][..self.left.min(GROUP)]
    }

    /// Replaces the items that have just been applied by those that come [`AHEAD`] of them.
    #[inline(always)]
    fn look_up_next<K: Kernel>(&mut self, kernel: K, layout: &impl Query<Place = P>, ring: &Ring, uses: Use) {
        for (item, hash) in self.items[self.next].iter_mut().zip(&mut self.hashes) {
            *item = layout.locate(hash);
            layout.prefetch(kernel, *item, ring, uses);
        }
        self.left = self.left.saturating_sub(GROUP);
        self.next = (self.next + 1) % (AHEAD / GROUP);
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
