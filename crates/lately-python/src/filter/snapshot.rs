//! Snapshots: the bytes of a filter, in memory or in a file.

use std::convert::Infallible;
use std::mem;
use std::path::PathBuf;

use lately::Filter;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::errors::{self, NoMemory};

/// Restores a filter from bytes, or any other object with a buffer of bytes.
pub(super) fn from_bytes(snapshot: &Bound<'_, PyAny>) -> PyResult<Filter> {
    let py = snapshot.py();
    let copied;
    let bytes = match snapshot.cast::<PyBytes>() {
        Ok(bytes) => bytes,
        Err(_) => {
            // Its owner may change it meanwhile.
            copied = PyMemoryView::from(snapshot)
                .and_then(|view| view.call_method0("tobytes"))
                .map_err(|_| wrong_type(snapshot))?
                .cast_into::<PyBytes>()?;
            &copied
        }
    };
    let bytes = bytes.as_bytes();
    py.detach(|| Filter::from_bytes(bytes)).map_err(errors::snapshot)
}

fn wrong_type(snapshot: &Bound<'_, PyAny>) -> PyErr {
    let kind = snapshot.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "a snapshot cannot be of type {kind}: give the bytes from to_bytes, or use load for a file"
    ))
}

/// Reads a path: a str, bytes or os.PathLike.
pub(super) fn path(path: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    path.py()
        .import(intern!(path.py(), "os"))?
        .call_method1(intern!(path.py(), "fsdecode"), (path,))?
        .extract()
}

pub(super) fn load(from: &Bound<'_, PyAny>) -> PyResult<Filter> {
    let path = path(from)?;
    from.py().detach(|| Filter::load(path)).map_err(errors::snapshot)
}

/// Creates a bytes object and writes directly into it: a snapshot is as large as its filter, so a second copy
/// would be expensive.
pub(super) fn new_bytes(
    py: Python<'_>,
    len: u64,
    write: impl FnOnce(&mut [u8]) + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    let refused = || NoMemory::ForFilter { bytes: len };
    let len = usize::try_from(len).map_err(|_| refused())?;
    // Only the allocation can fail.
    let bytes = PyBytes::new_with(py, len, |bytes| {
        py.detach(|| write(bytes));
        Ok(())
    });
    bytes.map_err(|_| refused().into())
}

/// Writes the snapshot of a filter to `rest`, which must have exactly its length.
pub(super) fn write(filter: &Filter, mut rest: &mut [u8]) {
    let written: Result<(), Infallible> = filter.write_snapshot(|piece| {
        let (place, after) = mem::take(&mut rest).split_at_mut(piece.len());
        place.copy_from_slice(piece);
        rest = after;
        Ok(())
    });
    let Ok(()) = written;
}
