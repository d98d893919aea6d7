//! Snapshots: the bytes of a filter, in memory or in a file.

use std::convert::Infallible;
use std::mem;
use std::path::PathBuf;

use lately::Filter;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{self, NoMemory};

pub(super) fn from_bytes(snapshot: &Bound<'_, PyBytes>) -> PyResult<Filter> {
    let bytes = snapshot.as_bytes();
    snapshot.py().detach(|| Filter::from_bytes(bytes)).map_err(errors::snapshot)
}

pub(super) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Filter> {
    py.detach(|| Filter::load(path)).map_err(errors::snapshot)
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
