//! An allocator that counts, for tests that promise how much is allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub struct CountingAllocator {
    live: AtomicUsize,
    peak: AtomicUsize,
    calls: AtomicUsize,
}

impl CountingAllocator {
    pub const fn new() -> Self {
        Self { live: AtomicUsize::new(0), peak: AtomicUsize::new(0), calls: AtomicUsize::new(0) }
    }

    /// Runs `work`; returns its result, the bytes it left allocated, the most it held at once, and its calls.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> (T, Allocated) {
        let (live, calls) = (self.live.load(Relaxed), self.calls.load(Relaxed));
        self.peak.store(live, Relaxed);
        let result = work();
        let allocated = Allocated {
            kept_bytes: self.live.load(Relaxed).saturating_sub(live),
            peak_bytes: self.peak.load(Relaxed) - live,
            calls: self.calls.load(Relaxed) - calls,
        };
        (result, allocated)
    }

    fn grow(&self, bytes: usize) {
        self.calls.fetch_add(1, Relaxed);
        let live = self.live.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(live, Relaxed);
    }
}

#[derive(Debug)]
pub struct Allocated {
    pub kept_bytes: usize,
    pub peak_bytes: usize,
    pub calls: usize,
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller's promises are ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller's promises are ours.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are ours.
        unsafe { System.dealloc(pointer, layout) }
    }
}
