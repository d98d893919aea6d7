//! The state file: loaded at the start, locked against a second process, saved at the end and every so often.
//!
//! A state never knows of a record whose fate is not written yet: output is written (and, if it is a file, made durable)
//! before the state that includes it takes the old one's place. So a crash can repeat records, but not lose any.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fs4::fs_std::FileExt as _;
use lately::{Filter, PendingSave, SnapshotError};

use crate::failure::Failure;
use crate::output;

/// How often to look whether a checkpoint that holds up the next one is done.
const SYNC_POLL: Duration = Duration::from_millis(5);

pub(crate) struct StateFile {
    path: PathBuf,
    /// Held, never read. It locks a file of its own, because the state is replaced at every save, and a lock stays with
    /// the file it was taken on.
    _lock: File,
    interval: Option<Duration>,
    last_save: Instant,
    /// Records have come since the last save.
    is_stale: bool,
    /// A checkpoint whose syncing another thread is waiting for.
    under_way: Option<JoinHandle<Result<(), SnapshotError>>>,
}

impl StateFile {
    /// Takes the lock. `interval`: of checkpoints.
    pub(crate) fn open(path: &Path, interval: Option<Duration>) -> Result<Self, Failure> {
        // Replacing a device or a pipe by a file would be no service to anybody.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::other(format!("{}: is not a file; name one for --state", path.display())));
        }
        // Whatever link leads to it, one state has one lock.
        let path = real_path(path);
        let lock = lock_beside(&path)?;
        // Nobody else is saving now: what lies beside the state was left by a process that was killed.
        PendingSave::remove_abandoned(&path)?;
        Ok(Self { path, _lock: lock, interval, last_save: Instant::now(), is_stale: false, under_way: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The saved filter, if there is one.
    pub(crate) fn load(&self) -> Result<Option<Filter>, Failure> {
        match load(&self.path) {
            Err(SnapshotError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            loaded => Ok(Some(loaded?)),
        }
    }

    /// The filter has changed.
    pub(crate) fn touch(&mut self) {
        self.is_stale = true;
    }

    /// How long the next checkpoint can wait; `None`: until something changes.
    pub(crate) fn until_checkpoint(&self) -> Option<Duration> {
        let interval = self.interval.filter(|_| self.is_stale)?;
        let left = interval.saturating_sub(self.last_save.elapsed());
        // One after the other: a disk that takes longer than the interval is asked about now and then.
        let is_syncing = self.under_way.as_ref().is_some_and(|thread| !thread.is_finished());
        Some(if is_syncing { left.max(SYNC_POLL) } else { left })
    }

    /// Saves if it is time to. Only writing the snapshot happens here; another thread waits for the disk. `output` is what
    /// has to be durable before the state is.
    ///
    /// A checkpoint that fails is told of and tried again next time: the stream goes on, the last good state stays.
    pub(crate) fn checkpoint_if_due(&mut self, filter: &Filter, output: impl FnOnce() -> Option<File>) {
        if self.until_checkpoint() != Some(Duration::ZERO) {
            return;
        }
        self.last_save = Instant::now();
        let result = self.wait().and_then(|()| filter.start_save(&self.path));
        match result {
            Ok(pending) => {
                let output = output();
                self.under_way = Some(std::thread::spawn(move || finish(pending, output)));
                self.is_stale = false;
            }
            Err(error) => warn(&error),
        }
    }

    /// Saves, and returns when it is done.
    pub(crate) fn save(&mut self, filter: &Filter, output: Option<File>) -> Result<(), Failure> {
        if let Err(error) = self.wait() {
            // Told, but not the end: the save that follows may succeed.
            warn(&error);
        }
        let pending = filter.start_save(&self.path)?;
        finish(pending, output)?;
        self.is_stale = false;
        Ok(())
    }

    /// Waits for the checkpoint that is under way.
    fn wait(&mut self) -> Result<(), SnapshotError> {
        match self.under_way.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => {
                self.is_stale = true;
                Err(error)
            }
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for StateFile {
    /// A checkpoint that has been written is not thrown away because the run then failed.
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            warn(&error);
        }
    }
}

/// A snapshot of a state, without its lock: for those who only look.
pub(crate) fn load(path: &Path) -> Result<Filter, SnapshotError> {
    Filter::load(path).map_err(|error| match error {
        SnapshotError::Io { .. } => error,
        // The library does not know which file its bytes came from.
        damaged => {
            let source = io::Error::new(io::ErrorKind::InvalidData, damaged);
            SnapshotError::Io { path: path.display().to_string(), source }
        }
    })
}

/// The path without links; also of a file that is not there yet, if its directory is.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let directory =
        path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let beside =
        |(directory, name): (&Path, _)| fs::canonicalize(directory).map(|directory| directory.join(name));
    fs::canonicalize(path)
        .ok()
        .or_else(|| directory.zip(path.file_name()).and_then(|place| beside(place).ok()))
        .unwrap_or_else(|| path.to_path_buf())
}

fn finish(pending: PendingSave, output: Option<File>) -> Result<(), SnapshotError> {
    if let Some(output) = output {
        let path = String::from("standard output");
        output.sync_data().map_err(|source| SnapshotError::Io { path, source })?;
    }
    pending.finish()
}

fn warn(error: &SnapshotError) {
    output::tell(&format!("lately: a checkpoint failed, the one before it stays: {error}"));
}

fn lock_beside(path: &Path) -> Result<File, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let failed = |error: &io::Error| Failure::reading(&lock_path, error);
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&lock_path);
    let lock = lock.map_err(|error| failed(&error))?;
    match lock.try_lock_exclusive() {
        Ok(true) => Ok(lock),
        Ok(false) => Err(Failure::other(format!(
            "{}: another process is using this state; wait for it to end, or name another --state file",
            path.display()
        ))),
        Err(error) => Err(failed(&error)),
    }
}
