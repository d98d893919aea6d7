//! Why a command ends early, and what its exit code says about that.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use lately::SnapshotError;

use crate::output;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was asked for cannot be done, whatever the data.
    #[error("{0}")]
    Usage(String),
    /// Anything else that has to be told.
    #[error("{0}")]
    Other(String),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Whoever reads our output has had enough: nothing to complain about.
    #[error("the output was closed")]
    OutputClosed,
    /// Everything was brought to an end in order; the exit code says which signal asked for it.
    #[error("stopped by signal {0}")]
    Stopped(i32),
}

impl Failure {
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }

    pub(crate) fn reading(path: &Path, error: &io::Error) -> Self {
        Self::Other(format!("{}: {error}", path.display()))
    }

    pub(crate) fn writing(what: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Other(format!("{what}: {error}")),
        }
    }

    /// Tells what there is to tell. 2 for usage, 1 otherwise, 128 and the signal's number after a signal, as shells do.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::OutputClosed => ExitCode::SUCCESS,
            Self::Stopped(signal) => ExitCode::from(128_u8.saturating_add(*signal as u8)),
            Self::Usage(_) => {
                output::tell(&format!("lately: {self}"));
                ExitCode::from(2)
            }
            Self::Other(_) | Self::Snapshot(_) => {
                output::tell(&format!("lately: {self}"));
                ExitCode::FAILURE
            }
        }
    }
}
