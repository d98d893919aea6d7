//! Errors of the core as exceptions, in its words, except where those are words of Rust.

use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    lately,
    ConfigError,
    PyValueError,
    "A filter that cannot be built as asked. The message names the value, the limit and the remedy."
);
create_exception!(
    lately,
    SnapshotError,
    PyValueError,
    "Bytes, or a file, that are not one whole snapshot of this format."
);

pub(crate) fn config(error: lately::ConfigError) -> PyErr {
    ConfigError::new_err(match error {
        lately::ConfigError::MissingWindow => {
            "no window was asked for: give window=inserts, or within=timedelta and capacity=inserts, or max_memory=bytes \
             with false_positive_rate for the largest window that fits"
                .into()
        }
        lately::ConfigError::MissingRate => {
            "no false positive rate was asked for: give false_positive_rate, or max_memory=bytes for the best rate that \
             fits, or shape=(k, l) for the paper's half-full design"
                .into()
        }
        lately::ConfigError::OverloadWithoutTime => {
            "an overload policy was given for a count window, which cannot be overloaded: leave it out, or ask for \
             within=timedelta and capacity=inserts"
                .into()
        }
        other => other.to_string(),
    })
}

pub(crate) fn snapshot(error: lately::SnapshotError) -> PyErr {
    match error {
        // With its number Python finds the subclass: FileNotFoundError and the like.
        lately::SnapshotError::Io { path, source } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, describe(&source), path)),
            None => PyOSError::new_err(format!("{path}: {source}")),
        },
        // The snapshot is not at fault.
        lately::SnapshotError::Allocation { .. } => PyMemoryError::new_err(error.to_string()),
        other => SnapshotError::new_err(other.to_string()),
    }
}

/// Memory that could not be had. Rust's own way would be to end the process, and with it all that Python holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoMemory {
    ForFilter { bytes: u64 },
    ForItems { bytes: u64 },
}

impl NoMemory {
    pub(crate) fn for_items<T>(count: usize) -> Self {
        Self::ForItems { bytes: (count as u64).saturating_mul(size_of::<T>() as u64) }
    }
}

impl From<NoMemory> for PyErr {
    fn from(error: NoMemory) -> Self {
        PyMemoryError::new_err(match error {
            NoMemory::ForFilter { bytes } => format!(
                "{bytes} bytes for another filter cannot be allocated here: let go of one that is not needed; to keep a Filter, \
                 save it, which takes no copy"
            ),
            NoMemory::ForItems { bytes } => {
                format!("{bytes} bytes for these items cannot be allocated here: pass them in smaller parts")
            }
        })
    }
}

/// An empty vector with room for something of each of so many items.
pub(crate) fn room_for_items<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| NoMemory::for_items::<T>(count))?;
    Ok(room)
}

/// What the system said, without the number that Python adds itself.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
