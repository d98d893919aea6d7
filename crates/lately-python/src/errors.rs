//! Errors of the core as exceptions, in its words, except where those are words of Rust.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
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
        other => SnapshotError::new_err(other.to_string()),
    }
}

/// What the system said, without the number that Python adds itself.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
