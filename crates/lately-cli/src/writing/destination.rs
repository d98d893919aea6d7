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
    /// Adjacent kept records that follow the buffer; their bytes are still in the batch.
    adjacent: Range<usize>,
}

impl Destination {
    pub(super) fn new(sink: Sink) -> Self {
        Self { sink, buffer: Vec::new(), adjacent: 0..0 }
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
        self.adjacent = 0..0;
        let mut record = &batch.bytes()[batch.range_of(record)];
        if let Some(rest) = record.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_header) {
            self.buffer.extend_from_slice(BYTE_ORDER_MARK);
            record = rest;
        }
        self.buffer.extend_from_slice(prefix);
        self.buffer.extend_from_slice(record);
    }

    /// Adds what is not a record of the batch.
    pub(super) fn append(&mut self, batch: &Batch, text: &[u8]) {
        self.append_adjacent(batch);
        self.adjacent = 0..0;
        self.buffer.extend_from_slice(text);
    }

    #[inline]
    fn append_adjacent(&mut self, batch: &Batch) {
        self.buffer.extend_from_slice(&batch.bytes()[self.adjacent.clone()]);
    }

    /// Writes the kept records of the batch; afterwards none is held back.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        let written = if self.buffer.is_empty() {
            // All kept records are adjacent: no copy is needed.
            self.sink.write(&batch.bytes()[self.adjacent.clone()])
        } else {
            self.append_adjacent(batch);
            self.sink.write(&self.buffer)
        };
        self.adjacent = 0..0;
        if self.buffer.capacity() > 8 * BLOCK_BYTES {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        written
    }
}
