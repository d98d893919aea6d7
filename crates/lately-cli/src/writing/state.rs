//! The state file: loaded at the start, locked against a second process, saved at the end and at checkpoints.
//!
//! A saved state never includes a record whose output is not written yet: output is written (and synced, if
//! it is a file) before the state that includes it replaces the old one. So a crash can repeat records, but
//! cannot lose any.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lately::{Filter, PendingSave, SnapshotError};

use super::beside::{Beside, Entry, Known};
use super::sink::Sink;
use crate::failure::Failure;
use crate::reading::{Batch, Position};
use crate::system::identity::Identity;
use crate::system::standard_streams::tell;

/// How often to check whether the running checkpoint is done.
const SYNC_POLL: Duration = Duration::from_millis(5);

pub(crate) struct StateFile {
    path: PathBuf,
    /// The fingerprint of the filter that was loaded.
    loaded: Option<u64>,
    /// Holds the lock; never read. The lock is on a separate file, because every save replaces the state, and
    /// a lock belongs to the file on which it was taken.
    _lock: File,
    interval: Option<Duration>,
    last_save: Instant,
    /// True if records have arrived since the last save.
    is_stale: bool,
    /// A checkpoint that another thread is syncing.
    under_way: Option<JoinHandle<(Beside, Result<(), Unsaved>)>>,
    beside: Beside,
    /// What is known besides the filter at present.
    known: Known,
}

impl StateFile {
    /// Takes the lock. `interval` is the time between checkpoints; `None` for no checkpoints.
    /// With `waits`, waits until no other process holds it.
    pub(crate) fn open(path: &Path, interval: Option<Duration>, waits: bool) -> Result<Self, Failure> {
        // A save would replace a device or a pipe by a file.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::other(format!("{}: is not a file; name one for --state", path.display())));
        }
        // A state has one lock, whichever link leads to it.
        let path = PendingSave::target_of(path);
        let lock = lock_beside(&path, waits)?;
        // No other process is saving now: temporary files beside the state were left by a killed process.
        PendingSave::remove_abandoned(&path)?;
        let (beside, known) = (Beside::of(&path), Known::default());
        let last_save = Instant::now();
        Ok(Self {
            path,
            loaded: None,
            _lock: lock,
            interval,
            last_save,
            is_stale: false,
            under_way: None,
            beside,
            known,
        })
    }

    /// Returns the other files of a state.
    pub(crate) fn beside(path: &Path) -> [PathBuf; 2] {
        let path = PendingSave::target_of(path);
        [lock_path(&path), Beside::path_of(&path)]
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the saved filter, and what is known besides; returns `None` if the file does not exist.
    pub(crate) fn load(&mut self) -> Result<Option<Filter>, Failure> {
        let filter = match load_state(&self.path) {
            Err(SnapshotError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => None,
            loaded => Some(loaded?),
        };
        self.known = self.beside.load(filter.as_ref())?;
        self.loaded = filter.as_ref().map(Beside::fingerprint);
        Ok(filter)
    }

    /// Returns what is known besides the filter.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Keeps what is known before the first save of the run: the followed file and where it begins, and the mended files
    /// of output. A run that follows no file leaves the position of an earlier one.
    pub(crate) fn begin(
        &mut self,
        followed: Option<String>,
        position: Option<Position>,
        outputs: &[Sink],
    ) -> Result<(), Failure> {
        if followed.is_some() {
            (self.known.followed, self.known.position) = (followed, position);
        }
        self.known.measure(outputs);
        let next = Entry::new(self.loaded, self.known.clone());
        self.beside.write(&next).map_err(|error| Failure::file(self.beside.path(), &error))?;
        self.beside.is_saved(next);
        Ok(())
    }

    /// Notes where the followed file was read to, and the header of CSV.
    pub(crate) fn note(&mut self, batch: &Batch) {
        if let Some(position) = &batch.position {
            self.known.position = Some(Position::clone(position));
        }
        if let Some(header) = batch.header() {
            self.known.note_header(header);
        }
    }

    /// Returns the time since the last save, or since the start of the run.
    pub(crate) fn since_save(&self) -> Duration {
        self.last_save.elapsed()
    }

    /// Notes that the filter has changed.
    pub(crate) fn touch(&mut self) {
        self.is_stale = true;
    }

    /// Returns the time until a checkpoint needs attention; `None` if none does before the filter changes.
    pub(crate) fn until_checkpoint(&self) -> Option<Duration> {
        // Checkpoints do not overlap: if the disk takes longer than the interval, the running one is polled.
        if self.under_way.is_some() {
            return Some(SYNC_POLL);
        }
        let interval = self.interval.filter(|_| self.is_stale)?;
        Some(interval.saturating_sub(self.last_save.elapsed()))
    }

    /// Saves if a checkpoint is due. This call only writes the snapshot; another thread waits for the disk.
    /// `output` returns the files that must be synced before the state.
    ///
    /// A failed checkpoint is reported and retried at the next interval: the stream continues, and the last
    /// good state stays. Only lost output is an error.
    pub(crate) fn checkpoint_if_due(
        &mut self,
        filter: &Filter,
        output: impl FnOnce() -> Vec<Sink>,
    ) -> Result<(), Failure> {
        if self.under_way.as_ref().is_some_and(JoinHandle::is_finished) {
            self.wait()?;
        }
        if self.until_checkpoint() != Some(Duration::ZERO) {
            return Ok(());
        }
        self.last_save = Instant::now();
        match filter.start_save(&self.path) {
            Ok(pending) => {
                let output = output();
                let (next, beside) = (self.next_entry(filter, &output), self.beside.clone());
                self.under_way = Some(std::thread::spawn(move || finish(pending, output, beside, next)));
                self.is_stale = false;
            }
            Err(error) => warn(&error),
        }
        Ok(())
    }

    /// Saves, and waits until the save is complete.
    pub(crate) fn save(&mut self, filter: &Filter, output: Vec<Sink>) -> Result<(), Failure> {
        self.wait()?;
        let pending = filter.start_save(&self.path)?;
        let next = self.next_entry(filter, &output);
        let (beside, saved) = finish(pending, output, self.beside.clone(), next);
        self.beside = beside;
        saved.map_err(|unsaved| match unsaved {
            Unsaved::OutputLost(failure) => failure,
            Unsaved::StateFailed(error) => error.into(),
        })?;
        self.is_stale = false;
        self.last_save = Instant::now();
        self.beside.tidy().map_err(|error| Failure::file(self.beside.path(), &error))
    }

    fn next_entry(&mut self, filter: &Filter, outputs: &[Sink]) -> Entry {
        self.known.measure(outputs);
        Entry::new(Some(Beside::fingerprint(filter)), self.known.clone())
    }

    /// Waits for the running checkpoint. If it failed, this is reported but is not an error: the next one may
    /// succeed. Only lost output is an error.
    fn wait(&mut self) -> Result<(), Failure> {
        let (beside, saved) = match self.under_way.take().map(JoinHandle::join) {
            None => return Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        };
        self.beside = beside;
        match saved {
            Ok(()) => Ok(()),
            Err(Unsaved::StateFailed(error)) => {
                warn(&error);
                self.is_stale = true;
                Ok(())
            }
            Err(Unsaved::OutputLost(failure)) => Err(failure),
        }
    }
}

/// Why a save failed.
enum Unsaved {
    /// Output that was written before cannot be synced. The system reports this only once; a second sync
    /// would succeed.
    OutputLost(Failure),
    StateFailed(SnapshotError),
}

impl Drop for StateFile {
    /// Completes a checkpoint that has been written, even if the run failed afterwards.
    fn drop(&mut self) {
        if let Err(failure) = self.wait() {
            failure.report();
        }
    }
}

/// Loads a state without taking its lock, for commands that only read.
pub(crate) fn load_state(path: &Path) -> Result<Filter, SnapshotError> {
    Filter::load(path).map_err(|error| match error {
        SnapshotError::Io { .. } => error,
        // The library does not know which file its bytes came from.
        damaged => {
            let error = io::Error::new(io::ErrorKind::InvalidData, damaged);
            SnapshotError::Io { path: path.to_path_buf(), error }
        }
    })
}

/// Makes the save durable, after everything that must be before it. Returns what is beside the state then.
fn finish(
    pending: PendingSave,
    outputs: Vec<Sink>,
    mut beside: Beside,
    next: Entry,
) -> (Beside, Result<(), Unsaved>) {
    let write_before = |beside: &mut Beside| {
        for output in outputs {
            output.sync().map_err(Unsaved::OutputLost)?;
        }
        beside.write(&next).map_err(|error| {
            Unsaved::StateFailed(SnapshotError::Io { path: beside.path().to_path_buf(), error })
        })
    };
    if let Err(unsaved) = write_before(&mut beside) {
        return (beside, Err(unsaved));
    }
    let replaced = Identity::of_path(beside.state());
    match pending.finish() {
        Ok(()) => beside.is_saved(next),
        Err(error) => {
            if Identity::of_path(beside.state()) != replaced {
                beside.may_be_saved(next);
            }
            return (beside, Err(Unsaved::StateFailed(error)));
        }
    }
    (beside, Ok(()))
}

fn warn(error: &SnapshotError) {
    tell(&format!("lately: a checkpoint failed, the previous one stays: {error}"));
}

fn lock_path(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn lock_beside(path: &Path, waits: bool) -> Result<File, Failure> {
    let lock_path = lock_path(path);
    let failed = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => Failure::other(format!(
            "{}: the state cannot be saved there, because the directory does not exist; create it, or name another --state \
             file",
            path.display()
        )),
        _ => Failure::other(format!(
            "{}: the state cannot be locked against other processes: {}: {error}",
            path.display(),
            lock_path.display()
        )),
    };
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&lock_path);
    let lock = lock.map_err(|error| failed(&error))?;
    if waits {
        lock.lock().map_err(|error| failed(&error))?;
        return Ok(lock);
    }
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Failure::other(format!(
            "{}: another process is using this state; wait for it to end (--wait does), or name another --state file",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_and_filter(name: &str) -> (PathBuf, StateFile, Filter) {
        let directory = std::env::temp_dir().join(format!("lately-state-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let interval = Some(Duration::from_millis(1));
        let state = StateFile::open(&directory.join("state"), interval, false).unwrap();
        let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
        (directory, state, filter)
    }

    /// Acts like a stream to which no records arrive, until no checkpoint is running or due.
    fn pass_the_time(state: &mut StateFile, filter: &Filter) -> Result<(), Failure> {
        while let Some(patience) = state.until_checkpoint() {
            std::thread::sleep(patience);
            state.checkpoint_if_due(filter, Vec::new)?;
        }
        Ok(())
    }

    /// The system reports lost output only once. A later save would include records whose output was lost.
    #[cfg(unix)]
    #[test]
    fn output_that_cannot_be_synced_ends_the_run() {
        let (directory, mut state, filter) = state_and_filter("lost");
        // A file that cannot be synced.
        let output = || vec![Sink::of(File::open("/dev/null").unwrap())];
        state.touch();
        std::thread::sleep(Duration::from_millis(2));
        assert!(state.checkpoint_if_due(&filter, output).is_ok(), "the failure is not known yet");
        assert!(pass_the_time(&mut state, &filter).is_err());
        assert!(state.save(&filter, output()).is_err());
        assert!(!state.path().exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_failed_checkpoint_is_retried_even_if_no_records_arrive() {
        let (directory, mut state, filter) = state_and_filter("again");
        let take_away = || {
            let is_temporary = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tmp");
            let entries = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(is_temporary).for_each(|path| fs::remove_file(path).unwrap());
            Vec::new()
        };
        state.touch();
        std::thread::sleep(Duration::from_millis(2));
        assert!(state.checkpoint_if_due(&filter, take_away).is_ok());
        assert!(pass_the_time(&mut state, &filter).is_ok() && state.path().exists());
        fs::remove_dir_all(directory).unwrap();
    }
}
