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
use std::thread;
use std::time::Duration;

use super::batch::Batch;
use super::content::{Content, Kind};
use super::followed::{AtEnd, Followed, Resumed, rotated_between};
use super::input::{self, Follow, Inputs};
use super::position::Position;
use super::record_finder::RecordFinder;
use super::stop::{self, Stop};
use crate::failure::Failure;
use crate::system::standard_streams::tell;
use crate::system::waiting;

/// How often to look whether a followed file has grown.
const POLL: Duration = Duration::from_millis(100);
/// How often a rotated file must not have grown before the new one is read: programs need a moment to open it.
const QUIET_POLLS: u32 = 10;

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
            let read = match &inputs.follow {
                Some(follow) => self.follow(path, follow, &mut batch),
                None => self.read_file(path, &mut batch, paths.peek().is_none()),
            };
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

    /// Reads a file for ever, also after it was rotated.
    fn follow(&mut self, path: &Path, follow: &Follow, batch: &mut Batch) -> Result<(), ReadEnd> {
        let mut header = follow.header.as_deref();
        let mut next = follow.from.as_ref().and_then(|from| resume(path, from).transpose()).transpose()?;
        loop {
            let mut followed = match next.take() {
                Some(followed) => followed,
                None => self.wait_for(path)?,
            };
            if followed.read > 0 && self.finder.has_header() {
                match header.take() {
                    // It is at the beginning of the file, which is not read again.
                    Some(header) => batch.append(header),
                    None => followed = self.wait_for(path)?,
                }
            }
            self.finder.start_file(path);
            self.finder.add_complete(batch)?;
            batch.position = Some(Box::new(followed.position(0)));
            self.hand_over(batch)?;
            let mut read = self.read_followed(path, &mut followed, batch);
            let filled = batch.filled;
            if read.is_ok()
                && let Err(failure) = self.finder.end_file(batch, false)
            {
                // Without the end that was added to the last record.
                batch.filled = filled;
                read = Err(failure.into());
            }
            // Also after a failure: the records before it are decided and saved.
            self.note_position(&followed, batch);
            read?;
        }
    }

    /// Opens a file as soon as it exists.
    fn wait_for(&self, path: &Path) -> Result<Followed, ReadEnd> {
        let mut is_told = false;
        loop {
            if let Some(followed) = Followed::open(path).map_err(|error| Failure::file(path, &error))? {
                return Ok(followed);
            }
            if !is_told {
                tell(&format!("lately: {}: there is no such file yet; waiting for it", path.display()));
                is_told = true;
            }
            self.stop.wait(|| thread::sleep(POLL))?;
        }
    }

    /// Reads a file until another one has its name, or it was truncated.
    fn read_followed(
        &mut self,
        path: &Path,
        followed: &mut Followed,
        batch: &mut Batch,
    ) -> Result<(), ReadEnd> {
        let failed = |error: &io::Error| Failure::file(path, error);
        // What was rotated may still be written for a while.
        let mut quiet = 0;
        loop {
            // A regular file never blocks for long.
            self.stop.wait(|| {})?;
            let room = batch.room().map_err(|_| self.finder.no_memory())?;
            let read = match self.stop.read(&mut &followed.file, room) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&error).into()),
            };
            if read > 0 {
                quiet = 0;
                let bytes = &batch.buffer[batch.filled..batch.filled + read];
                if followed.read == 0 && matches!(Kind::of(bytes), Kind::Gzip | Kind::Zstd) {
                    return Err(Failure::other(format!(
                        "{}: is compressed, so it cannot be followed; leave out --follow to read it to its end",
                        path.display()
                    ))
                    .into());
                }
                followed.note_read(read).map_err(|error| failed(&error))?;
                batch.filled += read;
                self.finder.add_complete(batch)?;
                while batch.is_full() {
                    self.hand_over_at(followed, batch)?;
                    self.finder.add_complete(batch)?;
                }
                self.finder.cut_oversize(batch)?;
                if !batch.ends.is_empty() || !batch.notices.is_empty() {
                    self.hand_over_at(followed, batch)?;
                }
                continue;
            }
            self.stop.wait(|| thread::sleep(POLL))?;
            // Right before the next read: a file that was truncated and has grown again is not read from its middle.
            match followed.at_end(path).map_err(|error| failed(&error))? {
                AtEnd::Growing => {}
                AtEnd::Rotated if quiet < QUIET_POLLS => quiet += 1,
                AtEnd::Rotated => {
                    tell_of_unread(path, followed);
                    return Ok(());
                }
                AtEnd::Truncated => {
                    tell(&format!(
                        "lately: {}: was truncated; reading it from its beginning",
                        path.display()
                    ));
                    return Ok(());
                }
            }
        }
    }

    /// The same as [`hand_over`](Self::hand_over), with the place after the complete records. While a record that is too
    /// long is read piece by piece, the place is before it.
    fn hand_over_at(&mut self, followed: &Followed, batch: &mut Batch) -> Result<(), ReadEnd> {
        self.note_position(followed, batch);
        self.hand_over(batch)
    }

    fn note_position(&self, followed: &Followed, batch: &mut Batch) {
        if !self.finder.is_in_oversize() {
            batch.position = Some(Box::new(followed.position(batch.filled - batch.complete())));
        }
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

/// Tells which files were rotated after this one, so that they have never been the one with the name.
fn tell_of_unread(path: &Path, followed: &Followed) {
    let between = rotated_between(path, &followed.file);
    if !between.is_empty() {
        tell(&format!(
            "lately: {}: was rotated more than once since it was read last; what is in {} is not read: read it in a run \
             without --follow",
            path.display(),
            between.join(", ")
        ));
    }
}

/// Finds the file of an earlier run, and tells what cannot be read any more.
fn resume(path: &Path, from: &Position) -> Result<Option<Followed>, Failure> {
    Ok(match Followed::resume(path, from)? {
        Resumed::Found(followed) => Some(followed),
        Resumed::Lost(why) => {
            tell(&format!(
                "lately: {}: the last run has read {} bytes of a file that cannot be read on, because {why}; what it got \
                 after them is lost; reading the file from its beginning",
                path.display(),
                from.offset
            ));
            None
        }
    })
}
