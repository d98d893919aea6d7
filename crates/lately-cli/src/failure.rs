//! Why a command ends early, and its exit code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use lately::SnapshotError;

use crate::system::standard_streams::tell;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The arguments are wrong, whatever the data.
    #[error("{0}")]
    Usage(String),
    /// Any other failure with a message.
    #[error("{0}")]
    Other(String),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The reader of the output has closed it, which is not an error.
    #[error("the output was closed")]
    OutputClosed,
    /// There were repeats, and the user asked for an exit code that says so.
    #[error("there were repeats")]
    Duplicates,
    /// The run ended in order because of a signal; the exit code says which.
    #[error("stopped by signal {0}")]
    Stopped(i32),
}

impl Failure {
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }

    /// A file could not be read or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::Other(format!("{}: {error}", path.display()))
    }

    /// Standard output could not be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Other(format!("standard output: {error}")),
        }
    }

    /// Prints the message, if there is one, and returns the exit code: 0 for a closed output, 2 for usage,
    /// 3 for repeats, 128 plus the signal's number after a signal, as shells do, and 1 otherwise.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::OutputClosed => ExitCode::SUCCESS,
            Self::Duplicates => ExitCode::from(3),
            Self::Stopped(signal) => ExitCode::from(128_u8.saturating_add(*signal as u8)),
            Self::Usage(_) => {
                tell(&format!("lately: {self}"));
                ExitCode::from(2)
            }
            Self::Other(_) | Self::Snapshot(_) => {
                tell(&format!("lately: {self}"));
                ExitCode::FAILURE
            }
        }
    }
}
