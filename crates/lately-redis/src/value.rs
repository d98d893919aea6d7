//! What is stored under a key.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};

use lately::{Filter, Plan, Window};

use crate::allocator;

/// All filters of this server: how many, and what they take.
static FILTERS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

pub(crate) fn filters() -> u64 {
    FILTERS.load(Ordering::Relaxed)
}

pub(crate) fn bytes_of_all() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

/// A filter, and what it takes of the server's memory.
pub(crate) struct Value {
    pub(crate) filter: Filter,
    allocated_bytes: usize,
    /// Computed when first asked for; it never changes.
    plan: OnceCell<Plan>,
}

impl Value {
    /// Takes the filter that is built, and measures what it takes.
    pub(crate) fn new<E>(build: impl FnOnce() -> Result<Filter, E>) -> Result<Box<Self>, E> {
        let (built, bytes) = allocator::measured(|| {
            build().map(|filter| Box::new(Self { filter, allocated_bytes: 0, plan: OnceCell::new() }))
        });
        built.map(|mut value| {
            value.allocated_bytes = bytes;
            FILTERS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
            value
        })
    }

    /// `None` if the memory cannot be had.
    pub(crate) fn copy(&self) -> Option<Box<Self>> {
        Self::new(|| self.filter.try_clone()).ok()
    }

    /// As the server counts them, the allocator's rounding included.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.allocated_bytes
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| self.filter.plan())
    }

    pub(crate) fn has_clock(&self) -> bool {
        matches!(self.filter.window(), Window::Time { .. })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        FILTERS.fetch_sub(1, Ordering::Relaxed);
        BYTES.fetch_sub(self.allocated_bytes as u64, Ordering::Relaxed);
    }
}
