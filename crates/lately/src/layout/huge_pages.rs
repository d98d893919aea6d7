//! Asking the system for huge pages, which save a third of the cost of a random access in large filters.

/// Tells Linux that the words, all zero and untouched, are worth huge pages. A hint: it may be refused or not be there.
#[cfg(all(feature = "std", target_os = "linux"))]
#[allow(unsafe_code)]
pub(super) fn ask_for<T>(words: &[T]) {
    const HUGE_PAGE: usize = 2 << 20;
    const PAGE: usize = 4096;
    let bytes = size_of_val(words);
    if bytes < 2 * HUGE_PAGE {
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
pub(super) fn ask_for<T>(_words: &[T]) {}
