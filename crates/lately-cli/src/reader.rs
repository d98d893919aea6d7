//! Reads blocks, finds the records in them and hashes their keys: everything that does not need the filter.
//!
//! The reader runs on its own thread. It sends a batch as soon as a read has completed at least one record,
//! so that a record from a pipe never waits for a block to fill. If the sieve is slower, no batch is free;
//! the pipe fills meanwhile, and the next read returns more.

use std::fs::File;
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use lately::HashFunction;

use crate::batch::{Batch, MAX_RECORDS, Unkeyed, UnkeyedKind};
use crate::csv::BYTE_ORDER_MARK;
use crate::failure::Failure;
use crate::input::{self, Inputs};
use crate::keys::Keys;
use crate::reading::{Splitter, append_ends};
use crate::system::waiting;

/// What to do with a record without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Missing {
    /// Let it pass, as if it were new
    Pass,
    /// Leave it out
    Drop,
    /// End the run with an error
    Fail,
}

/// A message to the sieve.
pub(crate) enum Event {
    Batch(Batch),
    /// The input has ended.
    End,
    /// Reading failed; nothing more will come.
    Failed(Failure),
    /// A signal requests the end.
    Stop(i32),
}

/// Lets the two threads agree on the end after a signal: every complete record that was read is decided, and
/// nothing more is read.
///
/// Each thread first stores its own flag and then loads the other's. So if the thread that requests the end
/// sees the reader waiting, the reader will see the request before it reads.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Nothing more may be read.
    is_wanted: AtomicBool,
    /// The reader waits for a file to open or for bytes to read, or will never read again. It has handed over
    /// every complete record it has read.
    is_waiting: AtomicBool,
    /// The reader is in a read that should not block.
    is_reading: AtomicBool,
}

impl Ending {
    pub(crate) fn ask_for(&self) {
        self.is_wanted.store(true, Ordering::SeqCst);
    }

    /// Returns true if every complete record that the reader has read is in the channel.
    pub(crate) fn has_nothing_in_hand(&self) -> bool {
        self.is_waiting.load(Ordering::SeqCst)
    }

    #[cfg(test)]
    pub(crate) fn in_a_read() -> Self {
        Self { is_reading: true.into(), ..Self::default() }
    }

    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading.load(Ordering::SeqCst)
    }

    /// Reads the bytes that are available.
    fn read(&self, file: &mut File, room: &mut [u8]) -> io::Result<usize> {
        self.is_reading.store(true, Ordering::SeqCst);
        let result = file.read(room);
        self.is_reading.store(false, Ordering::SeqCst);
        result
    }

    /// Runs a step that may block and consumes no input (opening a pipe can block, too). Fails if the end was
    /// requested before or during it.
    fn wait<T>(&self, work: impl FnOnce() -> T) -> Result<T, HungUp> {
        self.is_waiting.store(true, Ordering::SeqCst);
        if self.is_wanted.load(Ordering::SeqCst) {
            return Err(HungUp);
        }
        let result = work();
        self.is_waiting.store(false, Ordering::SeqCst);
        if self.is_wanted.load(Ordering::SeqCst) {
            self.is_waiting.store(true, Ordering::SeqCst);
            return Err(HungUp);
        }
        Ok(result)
    }
}

pub(crate) struct Reader {
    pub(crate) inputs: Inputs,
    pub(crate) splitter: Splitter,
    pub(crate) keys: Keys,
    pub(crate) missing: Missing,
    pub(crate) hash_function: HashFunction,
    pub(crate) events: Sender<Event>,
    pub(crate) ending: Arc<Ending>,
    /// Batches that can be reused.
    pub(crate) free: Receiver<Batch>,
}

/// The reader's position in the current file.
struct Position<'a> {
    path: &'a Path,
    /// Records of this file so far.
    records: u64,
    /// Bytes of the batch that have been searched for record ends.
    scanned: usize,
}

/// The other thread wants no more batches, and knows why.
struct HungUp;

enum Ended {
    HungUp,
    Failed(Failure),
}

impl From<HungUp> for Ended {
    fn from(_: HungUp) -> Self {
        Self::HungUp
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Reader {
    pub(crate) fn run(mut self) {
        // A panic has printed its message; the other thread must not wait for this one forever.
        let result = catch_unwind(AssertUnwindSafe(|| self.read_all()));
        let result = result.unwrap_or_else(|_| Err(Failure::other("reading ended unexpectedly").into()));
        // Sending fails only if the other thread has ended, and then the event is not needed.
        let _ = match result {
            Ok(()) => self.events.send(Event::End),
            Err(Ended::Failed(failure)) => self.events.send(Event::Failed(failure)),
            Err(Ended::HungUp) => Ok(()),
        };
    }

    fn read_all(&mut self) -> Result<(), Ended> {
        let inputs = self.inputs.clone();
        let mut header = None;
        let mut batch = self.next_batch()?;
        let mut paths = inputs.iter().peekable();
        while let Some(path) = paths.next() {
            let mut position = Position { path, records: 0, scanned: 0 };
            let is_last = paths.peek().is_none();
            let read = self.read_file(&mut position, &mut header, &mut batch, is_last);
            if let Err(Ended::Failed(failure)) = read {
                // Records that were read before the failure still count.
                self.hand_over(&mut batch)?;
                return Err(Ended::Failed(failure));
            }
            read?;
        }
        Ok(())
    }

    fn read_file(
        &mut self,
        position: &mut Position<'_>,
        header: &mut Option<Vec<u8>>,
        batch: &mut Batch,
        is_last: bool,
    ) -> Result<(), Ended> {
        let mut file = self.ending.wait(|| input::open(position.path))??;
        self.splitter.restart();
        loop {
            self.ending.wait(|| waiting::until_readable(&file))?;
            let read = match self.ending.read(&mut file, batch.room()) {
                Ok(read) => read,
                // A signal came, or another process that reads from the same pipe was faster.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) =>
                {
                    continue;
                }
                Err(error) => {
                    return Err(Failure::file(&input::name_of(position.path), &error).into());
                }
            };
            batch.filled += read;
            if read == 0 && batch.filled > batch.complete() {
                // The last record lacks its terminator. It is added only if another file follows.
                if !is_last {
                    batch.append(&[self.splitter.terminator()]);
                }
                self.take_record(position, header, batch, batch.filled)?;
            } else {
                self.take_records(position, header, batch)?;
            }
            if !batch.ends.is_empty() {
                self.hand_over(batch)?;
                position.scanned = batch.filled;
            }
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// Takes all complete records.
    fn take_records(
        &mut self,
        position: &mut Position<'_>,
        header: &mut Option<Vec<u8>>,
        batch: &mut Batch,
    ) -> Result<(), Ended> {
        if let (Splitter::Terminated(terminator), true) = (&self.splitter, self.keys.are_whole_records()) {
            return Ok(self.take_whole_records(*terminator, position, batch)?);
        }
        while let Some(end) = self.splitter.find_end(&batch.buffer[..batch.filled], position.scanned) {
            self.take_record(position, header, batch, end)?;
            position.scanned = end;
            if batch.is_full() {
                self.hand_over(batch)?;
                position.scanned = 0;
            }
        }
        position.scanned = batch.filled;
        Ok(())
    }

    /// Does the same in one tight loop, for the most common case: whole records are the keys.
    fn take_whole_records(
        &mut self,
        terminator: u8,
        position: &mut Position<'_>,
        batch: &mut Batch,
    ) -> Result<(), HungUp> {
        let hash_function = self.hash_function;
        loop {
            let Batch { buffer, filled, ends, hashes, .. } = batch;
            let (known, mut start) = (ends.len(), ends.last().copied().unwrap_or(0));
            append_ends(terminator, &buffer[..*filled], position.scanned, MAX_RECORDS, ends);
            ends.truncate(MAX_RECORDS);
            hashes.extend(ends[known..].iter().map(|&end| {
                let record = &buffer[start..end - 1];
                start = end;
                hash_function.hash(record)
            }));
            if !batch.is_full() {
                position.scanned = batch.filled;
                return Ok(());
            }
            self.hand_over(batch)?;
            position.scanned = 0;
        }
    }

    #[inline]
    fn take_record(
        &mut self,
        position: &mut Position<'_>,
        header: &mut Option<Vec<u8>>,
        batch: &mut Batch,
        end: usize,
    ) -> Result<(), Failure> {
        let record = &batch.buffer[batch.complete()..end];
        let mut without_key = None;
        if position.records == 0 && self.keys.has_header() {
            without_key = Some(self.take_header(position.path, header, record)?);
        } else if let Some(key) = self.keys.key_of(record) {
            batch.hashes.push(self.hash_function.hash(key.bytes));
            batch.times.extend(key.time_ms);
        } else if self.missing == Missing::Fail {
            return Err(Failure::other(format!(
                "{}: record {} has no key (or no time): the requested field, column or path is missing; \
                 use --missing pass or --missing drop to continue with the next record",
                input::name_of(position.path).display(),
                position.records + 1,
            )));
        } else {
            without_key = Some(UnkeyedKind::Missing);
        }
        if let Some(kind) = without_key {
            batch.unkeyed.push(Unkeyed { record: batch.ends.len(), kind });
        }
        batch.ends.push(end);
        position.records += 1;
        Ok(())
    }

    #[cold]
    fn take_header(
        &mut self,
        path: &Path,
        first: &mut Option<Vec<u8>>,
        record: &[u8],
    ) -> Result<UnkeyedKind, Failure> {
        let name = input::name_of(path);
        self.keys
            .read_header(record)
            .map_err(|problem| Failure::other(format!("{}: {problem}", name.display())))?;
        let text = record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record).trim_ascii_end();
        match first {
            None => {
                *first = Some(text.to_vec());
                Ok(UnkeyedKind::Header)
            }
            Some(first) if first == text => Ok(UnkeyedKind::RepeatedHeader),
            Some(first) => Err(Failure::other(format!(
                "{}: its header is {}, but the first file's is {}; process files with other columns in a separate run",
                name.display(),
                String::from_utf8_lossy(text),
                String::from_utf8_lossy(first),
            ))),
        }
    }

    /// Sends the complete records, and moves the rest to another batch.
    fn hand_over(&mut self, batch: &mut Batch) -> Result<(), HungUp> {
        let mut next = self.next_batch()?;
        next.append(&batch.buffer[batch.complete()..batch.filled]);
        let complete = std::mem::replace(batch, next);
        self.events.send(Event::Batch(complete)).map_err(|_| HungUp)
    }

    fn next_batch(&self) -> Result<Batch, HungUp> {
        let mut batch = self.free.recv().map_err(|_| HungUp)?;
        batch.clear();
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_waits_when_the_end_is_requested_reads_nothing_more() {
        let ending = Ending::default();
        assert!(ending.wait(|| assert!(ending.has_nothing_in_hand())).is_ok());
        assert!(!ending.has_nothing_in_hand(), "it may be reading");
        let found_something = ending.wait(|| {
            ending.ask_for();
            assert!(ending.has_nothing_in_hand(), "the other thread does not wait for this one");
        });
        assert!(found_something.is_err() && ending.has_nothing_in_hand());
        assert!(ending.wait(|| panic!("the end was already requested")).is_err());
    }
}
