//! Segments, one after the other, that many threads use; see `layout::shared`.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::{Geometry, Segmented};
use crate::layout::kernel::Kernel;
use crate::layout::runs::{Matches as _, newest_run};
use crate::layout::view::View;
use crate::layout::words::atomic::{AtomicWords, SharedWords};
use crate::layout::{Located, Query, SharedUpdate, Update, Use};
use crate::ring::{Age, Ring};

impl<G: Geometry> Segmented<G, AtomicWords> {
    #[inline]
    pub(crate) fn shared(&self) -> Segmented<G, SharedWords<'_>> {
        self.with_words(self.words.shared())
    }
}

impl<G: Geometry> SharedUpdate for Segmented<G, SharedWords<'_>> {
    type Place = usize;
    const CLAIMS: bool = false;

    #[inline(always)]
    fn locate(&self, hash: u64) -> Located {
        Query::locate(self, hash)
    }

    #[inline(always)]
    fn prefetch<K: Kernel>(&self, kernel: K, item: Located, ring: &Ring, uses: Use) {
        Query::prefetch(self, kernel, item, ring, uses);
    }

    #[inline(always)]
    fn contains<K: Kernel>(&self, kernel: K, item: Located, view: &mut View<'_>) -> bool {
        loop {
            if Query::contains(self, kernel, item, &view.ring) {
                return true;
            }
            if view.is_current() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn insert<K: Kernel>(&self, kernel: K, item: Located, view: &mut View<'_>) {
        view.is_current();
        Update::insert(&mut self.with_words(self.words), kernel, item, &view.ring);
    }

    #[inline(always)]
    fn check_and_insert<K: Kernel>(&self, kernel: K, item: Located, view: &mut View<'_>) -> bool {
        let seen = SharedUpdate::contains(self, kernel, item, view);
        self.insert(kernel, item, view);
        seen
    }

    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)> {
        newest_run(ring, later, |age| self.matches_at(item, ring, age))
    }

    fn empty_newest(&self, next: &Ring) {
        self.with_words(self.words).recycle_newest(next);
    }

    fn copy_to(&self, words: &mut [u64]) {
        self.words.copy_to(words);
    }
}
