//! Converts errors of the core to exceptions. Some messages that name Rust methods are replaced by messages
//! that name keywords.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PySlice, PyTuple, PyType};

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
create_exception!(
    lately,
    JumpError,
    PyValueError,
    "Raised by advance_to if the time is further ahead of the latest one than max_jump. Nothing has changed then."
);

/// `AllocationError`: a ConfigError, because another promise would help, and a MemoryError, as which the
/// interpreter reports refused memory.
pub(crate) fn allocation_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let bases = PyTuple::new(py, [py.get_type::<ConfigError>(), py.get_type::<PyMemoryError>()])?;
        let namespace = [
            ("__module__", "lately"),
            (
                "__doc__",
                "Raised if the memory of a new filter cannot be allocated here. It is also a MemoryError.",
            ),
        ];
        let class = py.get_type::<PyType>().call1(("AllocationError", bases, namespace.into_py_dict(py)?))?;
        PyResult::Ok(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py))
}

pub(crate) fn allocation(bytes: u64) -> PyErr {
    let message = format!(
        "{bytes} bytes cannot be allocated here: ask for a smaller window or a higher rate, or give max_memory=bytes"
    );
    Python::attach(|py| match allocation_error(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    })
}

pub(crate) fn config(error: lately::ConfigError) -> PyErr {
    if let lately::ConfigError::Allocation { bytes } = error {
        return allocation(bytes);
    }
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
        lately::ConfigError::SharedElastic => {
            "threads cannot share a time window without a capacity: give capacity, the largest number of different \
             items that you expect in that time, or use a Filter, which threads use one at a time"
                .into()
        }
        lately::ConfigError::ElasticShape => {
            "a time window without a capacity grows and shrinks, which only the layout \"bins\" can, in a shape of its \
             own: give capacity, or leave out layout and shape"
                .into()
        }
        other => other.to_string(),
    })
}

/// The error for a time that is too far ahead.
pub(crate) fn jump(error: &lately::JumpError) -> PyErr {
    JumpError::new_err(format!(
        "now = {} ms is {} ms ahead of the latest time, {} ms, but max_jump is {} ms: check the time, or give a longer \
         max_jump",
        error.now_ms,
        error.ahead.as_millis(),
        error.latest_ms,
        error.max_jump.as_millis()
    ))
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

/// The error for a filter that cannot be shared by threads, after it was planned.
pub(crate) fn sharing(error: lately::ConfigError, bytes: u64) -> PyErr {
    match error {
        lately::ConfigError::SharedElastic => snapshot(lately::SnapshotError::SharedElastic),
        _ => NoMemory::ForFilter { bytes }.into(),
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

/// Adds the place of an invalid item to the error.
pub(crate) fn located(py: Python<'_>, place: impl Display, error: PyErr) -> PyErr {
    let message = || format!("{place}: {}", error.value(py));
    if error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return PyTypeError::new_err(message());
    }
    if error.get_type(py).is(py.get_type::<PyValueError>()) {
        return PyValueError::new_err(message());
    }
    if error.is_instance_of::<PyUnicodeEncodeError>(py) {
        // Its message is made from attributes.
        let reason = format!(
            "{place} has no UTF-8 encoding: pass bytes, for example encoded with errors=\"surrogateescape\""
        );
        let _told = error.value(py).setattr("reason", reason);
    } else {
        let _told = error.value(py).call_method1("add_note", (place.to_string(),));
    }
    error
}

/// The system's error text without the error number, which Python adds itself.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A bulk call that a signal has ended.
pub(crate) struct Interrupted {
    /// How many items were done, from the first on.
    pub(crate) done: usize,
    pub(crate) error: PyErr,
}

impl Interrupted {
    /// Returns the exception, and tells it how far the call got: for readers as a note, for programs as the
    /// attributes `items_done` and `answers`.
    pub(crate) fn describe(self, py: Python<'_>, len: usize, answers: Option<&Bound<'_, PyAny>>) -> PyErr {
        let Self { done, error } = self;
        let tell = || {
            let exception = error.value(py);
            let note = format!(
                "the call was interrupted after the first {done} of {len} items; this exception has their number as \
                 items_done{}",
                if answers.is_some() { ", and their answers as answers" } else { "" }
            );
            exception.call_method1("add_note", (note,))?;
            exception.setattr("items_done", done)?;
            if let Some(answers) = answers {
                exception
                    .setattr("answers", answers.get_item(PySlice::new(py, 0, done.cast_signed(), 1))?)?;
            }
            PyResult::Ok(())
        };
        match tell() {
            Ok(()) => error,
            Err(other) => other,
        }
    }
}
