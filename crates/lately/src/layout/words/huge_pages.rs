//! Requests huge pages, which save a third of the cost of a random access in large filters.

use core::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(true);

/// Sets whether large filters that this process builds from now on ask Linux for huge pages. The default is
/// true.
///
/// Huge pages make random accesses cheaper, but the first access to each page more expensive, because the
/// page must be cleared. In a process that forks to save its state, as Redis does, a write to any byte then
/// copies a whole huge page.
pub fn ask_for_huge_pages(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Asks Linux to back the words with huge pages. This is a hint: the system may
/// refuse or ignore it.
#[cfg(all(feature = "std", target_os = "linux"))]
#[allow(unsafe_code)]
pub(super) fn ask_for<T>(words: &[T]) {
    const HUGE_PAGE: usize = 2 << 20;
    /// The largest page size of any processor, except huge pages: an address aligned to it is aligned to a
    /// page of any size.
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

/// Other systems have no such call, or use huge pages on their own.
#[cfg(not(all(feature = "std", target_os = "linux")))]
pub(super) fn ask_for<T>(_words: &[T]) {
    let _ = WANTED.load(Ordering::Relaxed);
}
