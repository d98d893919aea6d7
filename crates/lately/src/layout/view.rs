//! The ring of a shared filter, as one thread sees it; `shared` explains how threads work together.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::ring::Ring;
use crate::sync::{AtomicU64, Ordering, sequential};

/// The ring as a thread last saw it.
pub(crate) struct View<'a> {
    published: &'a AtomicU64,
    pub(crate) ring: Ring,
}

impl<'a> View<'a> {
    /// `published` is the generation; `ring` provides k and l.
    #[inline]
    pub(crate) fn new(published: &'a AtomicU64, ring: &Ring) -> Self {
        let mut view = Self { published, ring: ring.clone() };
        view.is_current();
        view
    }

    /// Returns true if the generation is still the same. If not, updates the view to the new one.
    #[inline(always)]
    pub(crate) fn is_current(&mut self) -> bool {
        sequential();
        let generation = self.published.load(Ordering::SeqCst);
        let is_current = generation == self.ring.generation();
        if !is_current {
            self.move_to(generation);
        }
        is_current
    }

    #[cold]
    fn move_to(&mut self, generation: u64) {
        let (k, l) = (self.ring.required_matches(), self.ring.window_generations());
        self.ring = Ring::at_generation(k, l, generation);
    }
}
