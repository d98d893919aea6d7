//! The state file: loaded at the start, locked against a second process, saved at the end and every so often.
//!
//! A state never knows of a record whose fate is not written yet: output is written (and, if it is a file, made durable)
//! before the state that includes it takes the old one's place. So a crash can repeat records, but not lose any.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    under_way: Option<JoinHandle<Result<(), Unsaved>>>,
}

impl StateFile {
    /// Takes the lock. `interval`: of checkpoints.
    pub(crate) fn open(path: &Path, interval: Option<Duration>) -> Result<Self, Failure> {
        // Replacing a device or a pipe by a file would be no service to anybody.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::other(format!("{}: is not a file; name one for --state", path.display())));
        }
        // Whatever link leads to it, one state has one lock.
        let path = PendingSave::target_of(path);
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

    /// How long there is nothing to do for checkpoints; `None`: until something changes.
    pub(crate) fn until_checkpoint(&self) -> Option<Duration> {
        // One after the other: a disk that takes longer than the interval is asked about now and then.
        if self.under_way.is_some() {
            return Some(SYNC_POLL);
        }
        let interval = self.interval.filter(|_| self.is_stale)?;
        Some(interval.saturating_sub(self.last_save.elapsed()))
    }

    /// Saves if it is time to. Only writing the snapshot happens here; another thread waits for the disk. `output` is what
    /// has to be durable before the state is.
    ///
    /// A checkpoint that fails is told of and tried again next time: the stream goes on, the last good state stays. Only if output
    /// is lost is that the end.
    pub(crate) fn checkpoint_if_due(
        &mut self,
        filter: &Filter,
        output: impl FnOnce() -> Option<File>,
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
                self.under_way = Some(std::thread::spawn(move || finish(pending, output)));
                self.is_stale = false;
            }
            Err(error) => warn(&error),
        }
        Ok(())
    }

    /// Saves, and returns when it is done.
    pub(crate) fn save(&mut self, filter: &Filter, output: Option<File>) -> Result<(), Failure> {
        self.wait()?;
        let pending = filter.start_save(&self.path)?;
        finish(pending, output).map_err(|unsaved| match unsaved {
            Unsaved::OutputLost(failure) => failure,
            Unsaved::StateFailed(error) => error.into(),
        })?;
        self.is_stale = false;
        Ok(())
    }

    /// Waits for the checkpoint that is under way. That it failed is told, but not the end: the next may succeed.
    fn wait(&mut self) -> Result<(), Failure> {
        match self.under_way.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(Unsaved::StateFailed(error)))) => {
                warn(&error);
                self.is_stale = true;
                Ok(())
            }
            Some(Ok(Err(Unsaved::OutputLost(failure)))) => Err(failure),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

/// Why there is no new state.
enum Unsaved {
    /// What was written before it cannot be made durable. The system says so once; asked again, it would be content.
    OutputLost(Failure),
    StateFailed(SnapshotError),
}

impl Drop for StateFile {
    /// A checkpoint that has been written is not thrown away because the run then failed.
    fn drop(&mut self) {
        if let Err(failure) = self.wait() {
            failure.report();
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

fn finish(pending: PendingSave, output: Option<File>) -> Result<(), Unsaved> {
    if let Some(output) = output {
        let lost = |error| Unsaved::OutputLost(Failure::writing(output::STANDARD_OUTPUT, &error));
        output.sync_data().map_err(lost)?;
    }
    pending.finish().map_err(Unsaved::StateFailed)
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
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Failure::other(format!(
            "{}: another process is using this state; wait for it to end, or name another --state file",
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
        let state = StateFile::open(&directory.join("state"), Some(Duration::from_millis(1))).unwrap();
        let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
        (directory, state, filter)
    }

    /// Does what a stream does while nothing comes, until the checkpoint under way is done.
    fn pass_the_time(state: &mut StateFile, filter: &Filter) -> Result<(), Failure> {
        while let Some(patience) = state.until_checkpoint() {
            std::thread::sleep(patience);
            state.checkpoint_if_due(filter, || None)?;
        }
        Ok(())
    }

    /// The system complains of lost output once: the save after that would know of records that nobody has.
    #[cfg(unix)]
    #[test]
    fn output_that_cannot_be_made_durable_ends_it_all() {
        let (directory, mut state, filter) = state_and_filter("lost");
        // It cannot be synced.
        let output = || File::open("/dev/null").ok();
        state.touch();
        std::thread::sleep(Duration::from_millis(2));
        assert!(state.checkpoint_if_due(&filter, output).is_ok(), "nobody knows yet");
        assert!(pass_the_time(&mut state, &filter).is_err());
        assert!(state.save(&filter, output()).is_err());
        assert!(!state.path().exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_checkpoint_that_failed_is_tried_again_though_nothing_comes() {
        let (directory, mut state, filter) = state_and_filter("again");
        let take_away = || {
            let is_temporary = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tmp");
            let entries = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(is_temporary).for_each(|path| fs::remove_file(path).unwrap());
            None
        };
        state.touch();
        std::thread::sleep(Duration::from_millis(2));
        assert!(state.checkpoint_if_due(&filter, take_away).is_ok());
        assert!(pass_the_time(&mut state, &filter).is_ok() && state.path().exists());
        fs::remove_dir_all(directory).unwrap();
    }
}
