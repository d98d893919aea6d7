//! Writes the kept records to standard output, with as few copies and system calls as possible.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;

use crate::batch::Batch;
use crate::csv::BYTE_ORDER_MARK;
use crate::failure::Failure;
use crate::system::{standard_streams, waiting};

/// Which records are written, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emit {
    Unique,
    Duplicates,
    /// All records, each after its verdict and this byte.
    Tagged(u8),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    New,
    Seen,
    /// The record has no key.
    Missing,
    /// The record names the columns.
    Header,
}

impl Verdict {
    fn tag(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Seen => "seen",
            Self::Missing => "missing",
            // The name of the column of tags.
            Self::Header => "lately",
        }
    }
}

pub(crate) struct Output {
    file: File,
    emit: Emit,
    /// Kept records that are not written yet.
    buffer: Vec<u8>,
    /// Adjacent kept records that follow the buffer; their bytes are still in the batch.
    run: Range<usize>,
}

impl Output {
    pub(crate) fn new(emit: Emit) -> Result<Self, Failure> {
        let file = standard_streams::output().map_err(|error| Failure::output(&error))?;
        Ok(Self { file, emit, buffer: Vec::new(), run: 0..0 })
    }

    /// Notes the verdict on a record. [`write`](Self::write) writes the kept ones, and must be called before
    /// the next batch.
    #[inline]
    pub(crate) fn decide(&mut self, batch: &Batch, record: usize, verdict: Verdict) {
        let is_kept = match self.emit {
            Emit::Unique => verdict != Verdict::Seen,
            Emit::Duplicates => matches!(verdict, Verdict::Seen | Verdict::Header),
            Emit::Nothing => false,
            Emit::Tagged(delimiter) => return self.tag(batch, record, verdict, delimiter),
        };
        if is_kept {
            let range = batch.range_of(record);
            if range.start != self.run.end {
                self.end_run(batch);
                self.run.start = range.start;
            }
            self.run.end = range.end;
        }
    }

    fn tag(&mut self, batch: &Batch, record: usize, verdict: Verdict, delimiter: u8) {
        let mut record = &batch.bytes()[batch.range_of(record)];
        if let (Verdict::Header, Some(header)) = (verdict, record.strip_prefix(BYTE_ORDER_MARK)) {
            // A byte order mark must stay at the very beginning.
            self.buffer.extend_from_slice(BYTE_ORDER_MARK);
            record = header;
        }
        self.buffer.extend_from_slice(verdict.tag().as_bytes());
        self.buffer.push(delimiter);
        self.buffer.extend_from_slice(record);
    }

    #[inline]
    fn end_run(&mut self, batch: &Batch) {
        self.buffer.extend_from_slice(&batch.bytes()[self.run.clone()]);
    }

    /// Writes the kept records of the batch; afterwards none is held back.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        let written = if self.buffer.is_empty() {
            // All kept records are adjacent: no copy is needed.
            write_all(&self.file, &batch.bytes()[self.run.clone()])
        } else {
            self.end_run(batch);
            write_all(&self.file, &self.buffer)
        };
        self.run = 0..0;
        if self.buffer.capacity() > 8 * crate::batch::BLOCK_BYTES {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        written.map_err(|error| Failure::output(&error))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns another handle of the output if it is a file. Files can be synced; pipes and terminals cannot.
    pub(crate) fn durable(&self) -> Option<File> {
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_file { self.file.try_clone().ok() } else { None }
    }
}

/// Writes all bytes, even if another process that shares the output has made it nonblocking.
fn write_all(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => waiting::until_writable(file),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Prints the whole output of a command.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let written = standard_streams::output().and_then(|output| write_all(&output, text.as_bytes()));
    written.map_err(|error| Failure::output(&error))
}
