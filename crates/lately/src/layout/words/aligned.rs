//! Words that begin at a cache line.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use super::huge_pages;
use crate::layout::instructions::LINE_BYTES;

/// A cache line, in words.
pub(super) const LINE_WORDS: usize = LINE_BYTES / 8;
/// The cost of alignment: the allocator aligns to one word, so up to seven words are skipped.
pub(crate) const ALIGNMENT_BYTES: u64 = (LINE_BYTES - 8) as u64;

/// Zeroed words. The first one is at the start of a cache line. They are on huge pages if the system offers
/// them.
pub(crate) struct AlignedWords {
    buffer: Box<[u64]>,
    offset: usize,
    len: usize,
}

impl AlignedWords {
    /// Returns `None` if the memory cannot be allocated.
    ///
    /// `vec![0; n]` gives zeroed pages that cost nothing until they are touched, but it aborts if the
    /// allocator fails. So this first makes a reservation, which returns an error, and frees it at once.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        Vec::<u64>::new().try_reserve_exact(len.checked_add(LINE_WORDS - 1)?).ok()?;
        Some(Self::zeroed_or_abort(len))
    }

    fn zeroed_or_abort(len: usize) -> Self {
        let buffer = vec![0_u64; len + LINE_WORDS - 1].into_boxed_slice();
        huge_pages::ask_for(&buffer);
        // `align_offset` may fail (in constant evaluation); any offset that fits is correct, if slower.
        let offset = buffer.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS - 1);
        Self { buffer, offset, len }
    }

    /// Changes the number of words; new ones are zero. Where the allocator can, it moves no word; elsewhere this needs
    /// memory for both during the call. If the memory cannot be allocated, the program aborts, as for a `Vec` that
    /// grows.
    pub(crate) fn resize(&mut self, len: usize) {
        let mut buffer = core::mem::take(&mut self.buffer).into_vec();
        let wanted = len.saturating_add(LINE_WORDS - 1);
        let (kept, used) = (len.min(self.len), buffer.len().min(wanted));
        if wanted < buffer.len() {
            buffer.truncate(wanted);
            buffer.shrink_to_fit();
        } else {
            buffer.reserve_exact(wanted - buffer.len());
        }
        buffer.resize(wanted, 0);
        let offset = buffer.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS - 1);
        // A buffer elsewhere may have another alignment.
        buffer.copy_within(self.offset..self.offset + kept, offset);
        buffer[offset + kept..used.max(offset + kept)].fill(0);
        huge_pages::ask_for(&buffer);
        (self.offset, self.len, self.buffer) = (offset, len, buffer.into_boxed_slice());
    }

    /// Returns the words as rows of one or more cache lines; `len` must be a whole number of rows. The buffer
    /// has less than one line after the words, so the result has no additional row, and its end need not be
    /// computed.
    #[inline]
    pub(crate) fn as_rows<const WORDS: usize>(&self) -> &[[u64; WORDS]] {
        self.buffer[self.offset..].as_chunks().0
    }

    /// See [`as_rows`](Self::as_rows).
    #[inline]
    pub(crate) fn as_rows_mut<const WORDS: usize>(&mut self) -> &mut [[u64; WORDS]] {
        self.buffer[self.offset..].as_chunks_mut().0
    }
}

impl Deref for AlignedWords {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &self.buffer[self.offset..self.offset + self.len]
    }
}

impl DerefMut for AlignedWords {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.buffer[self.offset..self.offset + self.len]
    }
}

/// Another allocation has another alignment, so the words are copied to the start of a line there.
impl Clone for AlignedWords {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed_or_abort(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl PartialEq for AlignedWords {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for AlignedWords {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_at_a_cache_line_and_so_does_a_copy() {
        for len in [0, 1, 8, 100, 1 << 20] {
            let mut words = AlignedWords::zeroed(len).unwrap();
            assert_eq!((words.len(), words.as_ptr().addr() % LINE_BYTES), (len, 0));
            words.iter_mut().zip(1..).for_each(|(word, value)| *word = value);
            let copy = words.clone();
            assert_eq!(copy.as_ptr().addr() % LINE_BYTES, 0);
            assert!(copy == words);
        }
    }

    /// Tests every offset at which the allocator may have put the buffer, and a copy, whose offset differs.
    #[test]
    fn rows_are_exactly_the_words() {
        fn check<const WORDS: usize>() {
            for (rows, offset) in (0..4).flat_map(|rows| (0..LINE_WORDS).map(move |offset| (rows, offset))) {
                let len = rows * WORDS;
                let buffer = (0..(len + LINE_WORDS - 1) as u64).collect();
                let mut words = AlignedWords { buffer, offset, len };
                let expected: Vec<u64> = (offset..offset + len).map(|word| word as u64).collect();
                let copy = words.clone();
                for seen in [copy.as_rows::<WORDS>(), words.as_rows_mut()] {
                    assert_eq!(seen.as_flattened(), expected, "{rows} rows at {offset}");
                }
                assert_eq!(words.as_rows::<WORDS>().as_flattened(), expected, "{rows} rows at {offset}");
            }
        }
        check::<8>();
        check::<16>();
        check::<32>();
    }

    #[test]
    fn an_impossible_size_returns_none_instead_of_aborting() {
        assert!(AlignedWords::zeroed(usize::MAX / 8).is_none());
        assert!(AlignedWords::zeroed(usize::MAX).is_none());
    }
}
