//! Layouts that many threads use: the same places and bits as in a [`Filter`](crate::Filter), in atomic
//! words.
//!
//! One thread makes a shift, in this order: it empties the segment that is about to be recycled (its items
//! have left the window), publishes the new generation, and lets the next generation begin only after g more
//! inserts have begun. Meanwhile the other threads go on, in the old generation or in the new one.
//!
//! An insert is counted first, then reads the generation, then writes. A shift publishes the generation, then
//! adds up the counts of all threads: if it does not see that of an insert, that insert sees the new
//! generation. So an insert ends up in a generation that had not ended when it began, and stays for l more
//! generations. In each of these at least g other inserts begin, so l * g inserts begin after it before any of
//! its bits is cleared. How long the writing takes does not matter. If it takes longer than those l
//! generations, its bits land in recycled segments, where they can only make a false match more likely.
//!
//! A query finds an item whose insert has returned, whatever shifts happen meanwhile, as long as that insert
//! is in the window: its bits keep their places, and the ages at which the query looks for them are no older
//! than the item. But while the query is running, that insert may leave the window after the item has been
//! inserted again, and the query looks for the bits of the new insert where they cannot be. The item was in
//! the window at every moment. So a query that finds nothing checks whether the generation has moved, and if
//! so looks again. If it has not moved, at most the clearing for the next shift can have begun, and then the
//! new insert was complete before: a query goes from the oldest ages to the youngest, and meets the new bits
//! later. Rows and bins need further arguments; see
//! `rows::shared` and `bins::shared`.

use super::Memory;
use super::bins::SharedBins;
use super::rows::SharedRows;
use super::segmented::{Blocks, Slices};
use super::words::atomic::AtomicWords;
use crate::ring::{Age, Ring};

/// [`Memory`] that many threads use.
pub(crate) enum SharedMemory {
    Slices(Slices<AtomicWords>),
    Blocks(Blocks<AtomicWords>),
    Rows64(SharedRows<8>),
    Rows128(SharedRows<16>),
    Bins8(SharedBins<8, true>),
    Bins16(SharedBins<16, false>),
    LongBins(SharedBins<16, true>),
}

impl SharedMemory {
    /// Returns `None` if the memory cannot be allocated, or if it is elastic: threads cannot share it.
    pub(crate) fn copy_of(memory: &Memory, ring: &Ring) -> Option<Self> {
        let words = AtomicWords::copy_of(memory.contents().words())?;
        Some(match memory {
            Memory::Slices(slices) => Self::Slices(slices.with_words(words)),
            Memory::Blocks(blocks) => Self::Blocks(blocks.with_words(words)),
            Memory::Rows64(rows) => Self::Rows64(SharedRows::new(rows.shape(), words, ring)),
            Memory::Rows128(rows) => Self::Rows128(SharedRows::new(rows.shape(), words, ring)),
            Memory::Bins8(bins) => Self::Bins8(SharedBins::new(bins, words)),
            Memory::Bins16(bins) => Self::Bins16(SharedBins::new(bins, words)),
            Memory::LongBins(bins) => Self::LongBins(SharedBins::new(bins, words)),
            Memory::Elastic(_) => return None,
        })
    }
}

/// Brings a copy up to date with the current ring. Copying began in generation `before`, after its shift was complete.
/// Segments that were recycled meanwhile may have been copied before or after that, so they are emptied.
/// Every other word has a value that it had at some moment since copying began.
pub(crate) fn forget_what_moved(memory: &mut Memory, before: u64, now: &Ring) {
    let recycled = (now.generation() - before).min(now.segments().into()) as u32;
    match memory {
        Memory::Slices(slices) => {
            (0..recycled).for_each(|age| slices.update().empty(now.position_of(Age(age))));
        }
        Memory::Blocks(blocks) => {
            (0..recycled).for_each(|age| blocks.update().empty(now.position_of(Age(age))));
        }
        Memory::Rows64(rows) => rows.catch_up(recycled, now),
        Memory::Rows128(rows) => rows.catch_up(recycled, now),
        Memory::Bins8(bins) => bins.catch_up(recycled, now),
        Memory::Bins16(bins) => bins.catch_up(recycled, now),
        Memory::LongBins(bins) => bins.catch_up(recycled, now),
        // Never shared.
        Memory::Elastic(_) => {}
    }
}
