//! Writes the kept records to standard output, with as few copies and system calls as possible.

use std::fs::File;
use std::ops::Range;

use super::standard_output::StandardOutput;
use crate::csv::BYTE_ORDER_MARK;
use crate::deciding::Verdict;
use crate::failure::Failure;
use crate::reading::{BLOCK_BYTES, Batch};

/// `--emit`: which records are written, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Emit {
    /// Records not seen lately
    Unique,
    /// Records seen lately
    Duplicates,
    /// All records, each after a column that says new, seen, missing or late
    Tagged,
    /// No records
    #[value(skip)]
    Nothing,
}

pub(crate) struct Output {
    standard_output: StandardOutput,
    emit: Emit,
    /// The byte after a tag.
    tag_delimiter: u8,
    /// Kept records that are not written yet.
    buffer: Vec<u8>,
    /// Adjacent kept records that follow the buffer; their bytes are still in the batch.
    adjacent: Range<usize>,
}

impl Output {
    pub(crate) fn open(emit: Emit, tag_delimiter: u8) -> Result<Self, Failure> {
        let standard_output = StandardOutput::open()?;
        Ok(Self { standard_output, emit, tag_delimiter, buffer: Vec::new(), adjacent: 0..0 })
    }

    /// Notes the verdict on a record. [`write`](Self::write) writes the kept ones, and must be called before
    /// the next batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &Batch, record: usize, verdict: Verdict) {
        let is_kept = match self.emit {
            Emit::Unique => verdict != Verdict::Seen,
            Emit::Duplicates => matches!(verdict, Verdict::Seen | Verdict::Header),
            Emit::Nothing => false,
            Emit::Tagged => return self.append_tagged(batch, record, verdict),
        };
        if is_kept {
            let range = batch.range_of(record);
            if range.start != self.adjacent.end {
                self.append_adjacent(batch);
                self.adjacent.start = range.start;
            }
            self.adjacent.end = range.end;
        }
    }

    fn append_tagged(&mut self, batch: &Batch, record: usize, verdict: Verdict) {
        let mut record = &batch.bytes()[batch.range_of(record)];
        if verdict == Verdict::Rest {
            return self.buffer.extend_from_slice(record);
        }
        if let (Verdict::Header, Some(header)) = (verdict, record.strip_prefix(BYTE_ORDER_MARK)) {
            // A byte order mark must stay at the very beginning.
            self.buffer.extend_from_slice(BYTE_ORDER_MARK);
            record = header;
        }
        self.buffer.extend_from_slice(tag(verdict).as_bytes());
        self.buffer.push(self.tag_delimiter);
        self.buffer.extend_from_slice(record);
    }

    #[inline]
    fn append_adjacent(&mut self, batch: &Batch) {
        self.buffer.extend_from_slice(&batch.bytes()[self.adjacent.clone()]);
    }

    /// Writes the kept records of the batch; afterwards none is held back.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        let written = if self.buffer.is_empty() {
            // All kept records are adjacent: no copy is needed.
            self.standard_output.write(&batch.bytes()[self.adjacent.clone()])
        } else {
            self.append_adjacent(batch);
            self.standard_output.write(&self.buffer)
        };
        self.adjacent = 0..0;
        if self.buffer.capacity() > 8 * BLOCK_BYTES {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        written
    }

    pub(crate) fn writes_records(&self) -> bool {
        self.emit != Emit::Nothing
    }

    pub(crate) fn file(&self) -> &File {
        self.standard_output.file()
    }

    /// Returns another handle of the output if it is a file. Files can be synced; pipes and terminals cannot.
    pub(crate) fn durable(&self) -> Option<File> {
        let is_file = self.file().metadata().is_ok_and(|metadata| metadata.is_file());
        if is_file { self.file().try_clone().ok() } else { None }
    }
}

fn tag(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
        Verdict::Missing => "missing",
        Verdict::Late => "late",
        Verdict::Oversize => "oversize",
        // It follows its beginning, which has a tag.
        Verdict::Rest => "",
        // The name of the column of tags.
        Verdict::Header => "lately",
    }
}
