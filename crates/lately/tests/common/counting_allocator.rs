//! A counting allocator, for tests of how much memory is allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Per thread, because other tests run in parallel. Signed, because a thread may free another thread's
    // memory.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

pub struct CountingAllocator;

/// Runs `work`; returns its result, the bytes still allocated afterwards, the peak, and the number of
/// allocations.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let (live, calls) = (LIVE.get(), CALLS.get());
    PEAK.set(live);
    let result = work();
    let allocated = Allocated {
        kept_bytes: LIVE.get() - live,
        peak_bytes: (PEAK.get() - live) as usize,
        calls: CALLS.get() - calls,
    };
    (result, allocated)
}

/// Counts the requested bytes towards the peak, even if the allocation fails.
fn counted(bytes: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    CALLS.set(CALLS.get() + 1);
    LIVE.set(LIVE.get() + bytes.cast_signed());
    PEAK.set(PEAK.get().max(LIVE.get()));
    let pointer = allocate();
    if pointer.is_null() {
        LIVE.set(LIVE.get() - bytes.cast_signed());
    }
    pointer
}

#[derive(Debug)]
pub struct Allocated {
    /// Negative if more was freed than allocated.
    pub kept_bytes: isize,
    pub peak_bytes: usize,
    pub calls: usize,
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same for `System`.
        counted(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same for `System`.
        counted(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `dealloc`, and `System` allocated the pointer.
        unsafe { System.dealloc(pointer, layout) }
    }
}
