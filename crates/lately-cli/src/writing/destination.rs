//! Records on their way to one place, with as few copies and system calls as possible.

use std::ops::Range;

use super::sink::Sink;
use crate::csv::BYTE_ORDER_MARK;
use crate::failure::Failure;
use crate::reading::{BLOCK_BYTES, Batch};

pub(super) struct Destination {
    pub(super) sink: Sink,
    /// Kept records that are not written yet.
    buffer: Vec<u8>,
    /// Long runs of adjacent kept records, which stay in the batch, and the places in the buffer where they belong.
    long: Vec<(usize, Range<usize>)>,
    /// Adjacent kept records that follow the buffer; their bytes are still in the batch.
    adjacent: Range<usize>,
}

/// A run of this many bytes is written from the batch: another system call costs less than a copy, and a record that
/// hardly fits into memory does not fit twice.
const LONG: usize = 64 << 10;

impl Destination {
    pub(super) fn new(sink: Sink) -> Self {
        Self { sink, buffer: Vec::new(), long: Vec::new(), adjacent: 0..0 }
    }

    /// Keeps a record as it is.
    #[inline]
    pub(super) fn keep(&mut self, batch: &Batch, record: usize) {
        let range = batch.range_of(record);
        if range.start != self.adjacent.end {
            self.append_adjacent(batch);
            self.adjacent.start = range.start;
        }
        self.adjacent.end = range.end;
    }

    /// Keeps a record after these bytes. The byte order mark of a header stays at the very beginning.
    pub(super) fn keep_after(&mut self, prefix: &[u8], batch: &Batch, record: usize, is_header: bool) {
        self.append_adjacent(batch);
        let mut range = batch.range_of(record);
        if is_header && batch.bytes()[range.clone()].starts_with(BYTE_ORDER_MARK) {
            self.buffer.extend_from_slice(BYTE_ORDER_MARK);
            range.start += BYTE_ORDER_MARK.len();
        }
        self.buffer.extend_from_slice(prefix);
        self.adjacent = range;
    }

    /// Adds what is not a record of the batch.
    pub(super) fn append(&mut self, batch: &Batch, text: &[u8]) {
        self.append_adjacent(batch);
        self.adjacent = 0..0;
        self.buffer.extend_from_slice(text);
    }

    #[inline]
    fn append_adjacent(&mut self, batch: &Batch) {
        if self.adjacent.len() >= LONG {
            self.long.push((self.buffer.len(), self.adjacent.clone()));
        } else {
            self.buffer.extend_from_slice(&batch.bytes()[self.adjacent.clone()]);
        }
    }

    /// Writes the kept records of the batch; afterwards none is held back.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        if self.buffer.is_empty() && self.long.is_empty() {
            // All kept records are adjacent: no copy is needed.
            self.sink.write(&batch.bytes()[self.adjacent.clone()])?;
        } else {
            self.append_adjacent(batch);
            let mut written = 0;
            for (place, run) in self.long.drain(..) {
                self.sink.write(&self.buffer[written..place])?;
                self.sink.write(&batch.bytes()[run])?;
                written = place;
            }
            self.sink.write(&self.buffer[written..])?;
        }
        self.adjacent = 0..0;
        if self.buffer.capacity() > 8 * BLOCK_BYTES {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        Ok(())
    }
}
