//! The reading thread does everything that does not need the filter.
//!
//! It sends a batch as soon as a read has completed at least one record, so that a record from a pipe never
//! waits for a block to fill. If the main thread is slower, no batch is free; the pipe fills meanwhile, and
//! the next read returns more.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::batch::Batch;
use super::content::{Content, Kind};
use super::input::{self, Inputs};
use super::record_finder::RecordFinder;
use super::stop::{self, Stop};
use crate::failure::Failure;
use crate::system::waiting;

/// A message to the main thread.
pub(super) enum Event {
    Batch(Batch),
    /// The input has ended.
    End,
    /// Reading failed; nothing more will come.
    Failed(Failure),
    /// A signal requests the end.
    Stop(i32),
    /// A signal requests statistics.
    Report,
}

pub(super) struct Reader {
    pub(super) inputs: Inputs,
    pub(super) finder: RecordFinder,
    pub(super) events: Sender<Event>,
    pub(super) stop: Arc<Stop>,
    /// Batches that can be reused.
    pub(super) free: Receiver<Batch>,
}

/// Why the reader reads no more.
enum ReadEnd {
    /// The main thread wants no more batches, and knows why.
    NotWanted,
    Failed(Failure),
}

impl From<stop::Requested> for ReadEnd {
    fn from(_: stop::Requested) -> Self {
        Self::NotWanted
    }
}

impl From<Failure> for ReadEnd {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Reader {
    pub(super) fn run(mut self) {
        // A panic has printed its message; the other thread must not wait for this one forever.
        let result = catch_unwind(AssertUnwindSafe(|| self.read_all()));
        let result = result.unwrap_or_else(|_| Err(Failure::other("reading ended unexpectedly").into()));
        // Sending fails only if the other thread has ended, and then the event is not needed.
        let _ = match result {
            Ok(()) => self.events.send(Event::End),
            Err(ReadEnd::Failed(failure)) => self.events.send(Event::Failed(failure)),
            Err(ReadEnd::NotWanted) => Ok(()),
        };
    }

    fn read_all(&mut self) -> Result<(), ReadEnd> {
        let inputs = self.inputs.clone();
        let mut batch = self.next_batch()?;
        let mut paths = inputs.iter().peekable();
        while let Some(path) = paths.next() {
            let read = self.read_file(path, &mut batch, paths.peek().is_none());
            if let Err(ReadEnd::Failed(failure)) = read {
                // Records that were read before the failure still count; what follows them is not needed.
                batch.filled = batch.complete();
                self.hand_over(&mut batch)?;
                return Err(ReadEnd::Failed(failure));
            }
            read?;
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path, batch: &mut Batch, is_last_file: bool) -> Result<(), ReadEnd> {
        let mut content = Content::Plain(self.stop.wait(|| input::open(path))??);
        // Where the file begins in the batch, until it is known whether it is compressed.
        let mut first = Some(batch.filled);
        let name = input::name_of(path);
        self.finder.start_file(&name);
        loop {
            self.stop.wait(|| content.plain_file().map(waiting::until_readable))?;
            let room = batch.room().map_err(|_| self.finder.no_memory())?;
            let read = match self.stop.read(&mut content, room) {
                Ok(read) => read,
                // A signal came, or another process that reads from the same pipe was faster.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) =>
                {
                    continue;
                }
                Err(error) => return Err(Failure::file(&name, &error).into()),
            };
            batch.filled += read;
            if let Some(start) = first {
                match Kind::of(&batch.buffer[start..batch.filled]) {
                    // A file may end before it tells.
                    Kind::Unknown if read > 0 => continue,
                    Kind::Plain | Kind::Unknown => {}
                    kind => {
                        let compressed = batch.buffer[start..batch.filled].to_vec();
                        batch.filled = start;
                        content = content.decompressed(kind, &compressed);
                        first = None;
                        continue;
                    }
                }
                first = None;
            }
            if read == 0 {
                self.finder.end_file(batch, is_last_file)?;
            } else {
                self.finder.add_complete(batch)?;
                while batch.is_full() {
                    self.hand_over(batch)?;
                    self.finder.add_complete(batch)?;
                }
                self.finder.cut_oversize(batch)?;
            }
            if !batch.ends.is_empty() || !batch.notices.is_empty() {
                self.hand_over(batch)?;
            }
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// Sends the complete records, and moves the rest to another batch.
    fn hand_over(&mut self, batch: &mut Batch) -> Result<(), ReadEnd> {
        let mut next = self.next_batch()?;
        next.append_rest_of(batch);
        let complete = std::mem::replace(batch, next);
        self.events.send(Event::Batch(complete)).map_err(|_| ReadEnd::NotWanted)
    }

    fn next_batch(&self) -> Result<Batch, ReadEnd> {
        let mut batch = self.free.recv().map_err(|_| ReadEnd::NotWanted)?;
        batch.clear();
        Ok(batch)
    }
}
