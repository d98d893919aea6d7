//! Asking the system for huge pages, which save a third of the cost of a random access in large filters.

use core::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(true);

/// Whether filters of this process that are built from now on ask Linux for huge pages if they are large; they do unless
/// told otherwise. They make random accesses cheaper, but the first touch of each page dearer: it has to be cleared. In
/// a process that forks to save its state, as Redis does, a write to any byte then copies a whole huge page.
pub fn ask_for_huge_pages(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Tells Linux that the words, all zero and untouched, are worth huge pages. A hint: it may be refused or not be there.
#[cfg(all(feature = "std", target_os = "linux"))]
#[allow(unsafe_code)]
pub(super) fn ask_for<T>(words: &[T]) {
    const HUGE_PAGE: usize = 2 << 20;
    /// The largest that processors have beside huge ones: what begins with one begins with a page of any size.
    const PAGE: usize = 64 << 10;
    let bytes = size_of_val(words);
    if bytes < 2 * HUGE_PAGE || !WANTED.load(Ordering::Relaxed) {
        return;
    }
    let start = words.as_ptr().addr().next_multiple_of(PAGE);
    let end = (words.as_ptr().addr() + bytes) / PAGE * PAGE;
    let page = words.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: whole pages within one live allocation of ours, and MADV_HUGEPAGE changes no byte of them.
    unsafe {
        libc::madvise(page, end - start, libc::MADV_HUGEPAGE);
    }
}

/// Other systems have no such call, or do it by themselves.
#[cfg(not(all(feature = "std", target_os = "linux")))]
pub(super) fn ask_for<T>(_words: &[T]) {
    let _ = WANTED.load(Ordering::Relaxed);
}
