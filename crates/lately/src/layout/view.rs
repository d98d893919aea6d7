//! The ring of a shared filter, as one thread sees it; `shared` explains how threads work together.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::ring::Ring;
use crate::sync::{AtomicU64, Ordering, sequential};

/// The ring as a thread last saw it.
pub(crate) struct View<'a> {
    /// [`Ring::code`] of the current generation.
    published: &'a AtomicU64,
    code: u64,
    pub(crate) ring: Ring,
}

impl<'a> View<'a> {
    /// `published` is the [`Ring::code`] of the current generation; `ring` provides k and l.
    #[inline]
    pub(crate) fn new(published: &'a AtomicU64, ring: &Ring) -> Self {
        sequential();
        let code = published.load(Ordering::SeqCst);
        Self { published, code, ring: ring.at_code(code) }
    }

    /// Returns true if the generation is still the same. If not, updates the view to the new one.
    #[inline(always)]
    pub(crate) fn is_current(&mut self) -> bool {
        sequential();
        let code = self.published.load(Ordering::SeqCst);
        let is_current = code == self.code;
        if !is_current {
            self.move_to(code);
        }
        is_current
    }

    /// The ring as it is now, without updating the view.
    pub(crate) fn current_ring(&self) -> Ring {
        sequential();
        self.ring.at_code(self.published.load(Ordering::SeqCst))
    }

    #[cold]
    fn move_to(&mut self, code: u64) {
        (self.code, self.ring) = (code, self.ring.at_code(code));
    }
}
