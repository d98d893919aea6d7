//! Converts errors of the core to exceptions. Some messages that name Rust methods are replaced by messages
//! that name keywords.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    lately,
    ConfigError,
    PyValueError,
    "Raised if a filter cannot be built as requested. The message names the value, the limit and the remedy."
);
create_exception!(
    lately,
    SnapshotError,
    PyValueError,
    "Raised if bytes or a file are not exactly one valid snapshot that this version can read."
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
        lately::ConfigError::TwoWindows { .. } => {
            "window and within were both given: give window (inserts), or within and capacity (a span of time)"
                .into()
        }
        lately::ConfigError::CapacityWithoutSpan { .. } => {
            "capacity was given without within: leave it out for a count window, or give within for a time window"
                .into()
        }
        lately::ConfigError::OverloadWithoutTime => {
            "an overload policy was given for a count window, which cannot be overloaded: leave it out, or build a \
             time window with within=timedelta and capacity=inserts"
                .into()
        }
        other => other.to_string(),
    })
}

pub(crate) fn snapshot(error: lately::SnapshotError) -> PyErr {
    match error {
        // From the error number, Python chooses the subclass, for example FileNotFoundError.
        lately::SnapshotError::Io { path, error } => match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, describe(&error), path.display().to_string())),
            None => PyOSError::new_err(format!("{}: {error}", path.display())),
        },
        // The snapshot is valid, so this is not a SnapshotError.
        lately::SnapshotError::Allocation { .. } => PyMemoryError::new_err(error.to_string()),
        other => SnapshotError::new_err(other.to_string()),
    }
}

/// A failed allocation. By default Rust would abort the process, and the Python program would lose its data.
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
                "cannot allocate {bytes} bytes for another filter: free a filter that you no longer need; to store a \
                 Filter, call save(), which makes no copy"
            ),
            NoMemory::ForItems { bytes } => {
                format!("cannot allocate {bytes} bytes for these items: pass them in smaller parts")
            }
        })
    }
}

/// Returns an empty vector with capacity for `count` elements.
pub(crate) fn room_for_items<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| NoMemory::for_items::<T>(count))?;
    Ok(room)
}

/// Adds the place of an invalid item to a plain TypeError; other errors stay the same.
pub(crate) fn located(py: Python<'_>, place: impl Display, error: PyErr) -> PyErr {
    if !error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return error;
    }
    PyTypeError::new_err(format!("{place}: {}", error.value(py)))
}

/// The system's error text without the error number, which Python adds itself.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
