//! Records and their keys' hashes, on their way from the reading thread to the main thread and back.

use std::collections::TryReserveError;
use std::ops::Range;

use super::position::Position;
use crate::keys::Missing;

/// The most bytes per read: enough that system calls and handing over cost little, few enough for the cache.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;
/// The most records in a batch, so that a stream of empty lines does not need more memory than others.
pub(super) const MAX_RECORDS: usize = 16 << 10;

/// Complete records, side by side as they were read, with their keys' hashes.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The first `filled` bytes are input. The buffer grows only for a record that does not fit.
    pub(super) buffer: Vec<u8>,
    pub(super) filled: usize,
    /// The number of bytes that have been searched for record ends.
    pub(super) scanned: usize,
    /// Where each record ends.
    pub(super) ends: Vec<usize>,
    /// The hashes of the keys, for the records that have one, in order.
    pub(crate) hashes: Vec<u64>,
    /// The times of the same records, if `--time-field` is given.
    pub(crate) times: Vec<u64>,
    /// The records that have no key, in order.
    pub(crate) unkeyed: Vec<Unkeyed>,
    /// About the first record of the run whose time was not read, for each reason.
    pub(crate) examples: Vec<(Missing, String)>,
    /// What is to be told at the end of the run.
    pub(crate) notices: Vec<String>,
    /// The place in a followed file after these records.
    pub(crate) position: Option<Box<Position>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Unkeyed {
    pub(crate) record: usize,
    pub(crate) kind: UnkeyedKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnkeyedKind {
    /// The key or the time is missing.
    Missing(Missing),
    /// The record is longer than `--max-record`. It may be only the beginning.
    Oversize,
    /// More of such a record.
    OversizeRest,
    /// The header of a CSV file.
    Header,
    /// The same header again, at the start of a later file.
    RepeatedHeader,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; BLOCK_BYTES],
            filled: 0,
            scanned: 0,
            ends: Vec::new(),
            hashes: Vec::new(),
            times: Vec::new(),
            unkeyed: Vec::new(),
            examples: Vec::new(),
            notices: Vec::new(),
            position: None,
        }
    }

    /// Empties the batch, and frees the memory that an unusually long record has needed.
    pub(super) fn clear(&mut self) {
        if self.buffer.len() > 2 * BLOCK_BYTES {
            self.buffer = vec![0; BLOCK_BYTES];
        }
        self.filled = 0;
        self.scanned = 0;
        self.ends.clear();
        self.hashes.clear();
        self.times.clear();
        self.unkeyed.clear();
        self.examples.clear();
        self.notices.clear();
        self.position = None;
    }

    /// Appends bytes, and makes room for them.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        if end > self.buffer.len() {
            self.buffer.resize(end.max(BLOCK_BYTES), 0);
        }
        self.buffer[self.filled..end].copy_from_slice(bytes);
        self.filled = end;
    }

    /// Appends the bytes after the complete records of another batch to this one, which is empty.
    pub(super) fn append_rest_of(&mut self, other: &Self) {
        self.append(&other.buffer[other.complete()..other.filled]);
        self.scanned = other.scanned - other.complete();
    }

    /// Returns the space for the next read: at least a quarter of a block, and at most one block, however
    /// long a record was. The bytes after a full batch must be copied to the next one.
    pub(super) fn room(&mut self) -> Result<&mut [u8], TryReserveError> {
        if self.buffer.len() - self.filled < BLOCK_BYTES / 4 {
            // A record does not fit. The system moves large buffers without a copy, so small steps cost little.
            let more = (self.buffer.len() / 8).max(BLOCK_BYTES);
            self.buffer.try_reserve_exact(more)?;
            self.buffer.resize(self.buffer.len() + more, 0);
        }
        let end = self.buffer.len().min(self.filled + BLOCK_BYTES);
        Ok(&mut self.buffer[self.filled..end])
    }

    /// The end of the last complete record.
    pub(super) fn complete(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(super) fn is_full(&self) -> bool {
        self.ends.len() >= MAX_RECORDS
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.complete()]
    }

    /// Returns the header of CSV, if it is in this batch.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        let header = self.unkeyed.iter().find(|unkeyed| unkeyed.kind == UnkeyedKind::Header)?;
        Some(&self.buffer[self.range_of(header.record)])
    }

    pub(crate) fn range_of(&self, record: usize) -> Range<usize> {
        let start = record.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[record]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_never_longer_than_a_block() {
        let mut batch = Batch::new();
        for _ in 0..100 {
            let room = batch.room().unwrap().len();
            assert!((BLOCK_BYTES / 4..=BLOCK_BYTES).contains(&room), "{room}");
            batch.filled += room;
        }
    }
}
