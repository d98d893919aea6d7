//! Where output goes: all bytes are written, or the caller is told of the failure.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lately::PendingSave;

use super::torn;
use crate::failure::Failure;
use crate::reading::Splitter;
use crate::system::directory::sync_name;
use crate::system::{standard_streams, waiting};

/// Standard output, or a file that a flag names.
pub(crate) struct Sink {
    file: File,
    /// `None`: standard output.
    path: Option<PathBuf>,
}

impl Sink {
    pub(super) fn standard_output() -> Result<Self, Failure> {
        let file = standard_streams::output().map_err(|error| Failure::output(&error))?;
        Ok(Self { file, path: None })
    }

    /// Opens a file. With `continues`, what it has stays, and is followed by what is written.
    pub(super) fn create(path: &Path, continues: bool) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(continues).truncate(!continues);
        let file = options.open(path).map_err(|error| Failure::file(path, &error))?;
        // A state will say that records are in it.
        if continues && file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            let target = PendingSave::target_of(path);
            sync_name(&target).map_err(|error| {
                Failure::other(format!(
                    "{}: its directory cannot be synced, so a power cut could lose the file: {error}; make the directory \
                     readable, or name a file in another one",
                    path.display()
                ))
            })?;
        }
        Ok(Self { file, path: Some(path.to_path_buf()) })
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_all(&self.file, bytes).map_err(|error| self.failure(&error))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns true if this is not standard output.
    pub(super) fn is_named(&self) -> bool {
        self.path.is_some()
    }

    /// Mends the end of a file that is continued. It had `saved` bytes at the last save.
    pub(super) fn mend(&self, saved: Option<u64>, splitter: Splitter) -> Result<Option<String>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        torn::mend(&self.file, path, saved, splitter).map_err(|error| Failure::file(path, &error))
    }

    /// Returns true if this is a regular file with content.
    pub(super) fn has_content(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    }

    /// Returns another handle of a file, which can be synced. Pipes and terminals cannot.
    pub(super) fn durable(&self) -> Option<Self> {
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = if is_file { self.file.try_clone().ok()? } else { return None };
        Some(Self { file, path: self.path.clone() })
    }

    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.file.sync_data().map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match &self.path {
            None => Failure::output(error),
            Some(path) => Failure::file(path, error),
        }
    }

    #[cfg(test)]
    pub(super) fn of(file: File) -> Self {
        Self { file, path: None }
    }
}

/// Prints the whole output of a command.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    Sink::standard_output()?.write(text.as_bytes())
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
