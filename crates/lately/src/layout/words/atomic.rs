//! Words that many threads use.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, Range};

use super::aligned::LINE_WORDS;
use super::bits::{Words, WordsMut};
use super::huge_pages;
use crate::layout::instructions::{InstructionSet, LINE_BYTES};
use crate::sync::{AtomicU64, Ordering, fence};

/// The same as [`AlignedWords`](super::aligned::AlignedWords), but writable through `&self`.
pub(crate) struct AtomicWords {
    buffer: Box<[AtomicU64]>,
    offset: usize,
    len: usize,
}

impl AtomicWords {
    /// Returns `None` if the memory cannot be allocated.
    pub(crate) fn copy_of(words: &[u64]) -> Option<Self> {
        let (len, allocated) = (words.len(), words.len() + LINE_WORDS - 1);
        let mut buffer: Vec<AtomicU64> = Vec::new();
        buffer.try_reserve_exact(allocated).ok()?;
        huge_pages::ask_for(buffer.spare_capacity_mut());
        let offset = buffer.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS - 1);
        let zeros = core::iter::repeat(&0);
        buffer.extend(
            zeros.clone().take(offset).chain(words).chain(zeros).take(allocated).copied().map(AtomicU64::new),
        );
        Some(Self { buffer: buffer.into_boxed_slice(), offset, len })
    }

    #[inline]
    pub(crate) fn shared(&self) -> SharedWords<'_> {
        SharedWords(self)
    }
}

impl Deref for AtomicWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        &self.buffer[self.offset..self.offset + self.len]
    }
}

/// Words borrowed by one of many threads, for a call or a batch.
#[derive(Clone, Copy)]
pub(crate) struct SharedWords<'a>(&'a [AtomicU64]);

impl SharedWords<'_> {
    pub(crate) fn copy_to(self, words: &mut [u64]) {
        words.iter_mut().zip(self.0).for_each(|(to, from)| *to = from.load(Ordering::Acquire));
    }
}

/// Each read is at least as new as the reads before it; this costs nothing on x86.
impl Words for SharedWords<'_> {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Acquire)
    }

    #[inline(always)]
    fn prefetch<I: InstructionSet>(&self, instructions: I, index: usize) {
        instructions.prefetch(&self.0[index]);
    }
}

impl WordsMut for SharedWords<'_> {
    #[inline(always)]
    fn set_bits(&mut self, index: usize, bits: u64) {
        if self.word(index) & bits != bits {
            self.0[index].fetch_or(bits, Ordering::Release);
        }
    }

    /// The clearing becomes visible with the generation that is published next. A thread that sees a cleared
    /// word also sees the generation that was published last.
    fn clear(&mut self, range: Range<usize>) {
        fence(Ordering::Release);
        self.0[range].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}
