//! Answers for Python: a list of bools, or a numpy array of bools.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyImportError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{self, Interrupted};

/// Returns the `len` answers that `fill` writes: for columns a numpy array, if numpy is installed; otherwise
/// a list.
pub(crate) fn collect(
    py: Python<'_>,
    len: usize,
    as_column: bool,
    fill: impl FnOnce(&mut [bool]) -> Result<(), Interrupted>,
) -> PyResult<Bound<'_, PyAny>> {
    let told = |answers: &Bound<'_, PyAny>, outcome: Result<(), Interrupted>| {
        outcome.map_err(|interrupted| interrupted.describe(py, len, Some(answers)))
    };
    if as_column && let Some(numpy) = numpy(py)? {
        let answers =
            numpy.call_method1(intern!(py, "zeros"), (len, numpy.getattr(intern!(py, "bool_"))?))?;
        let memory = PyUntypedBuffer::get(&answers)?;
        let outcome = if len == 0 {
            fill(&mut [])
        } else {
            // SAFETY: a new array of `len` bools lies in one piece and nobody else knows it. numpy's bools and those of
            // Rust are one byte, 0 or 1.
            fill(unsafe { std::slice::from_raw_parts_mut(memory.buf_ptr().cast::<bool>(), len) })
        };
        drop(memory);
        told(&answers, outcome)?;
        return Ok(answers);
    }
    // Memory for the answers is allocated before the filter sees the items: a call that fails adds nothing.
    let answers = PyList::new(py, [false])?.as_sequence().repeat(len)?.cast_into::<PyList>()?;
    let mut seen = errors::room_for_items(len)?;
    seen.resize(len, false);
    let outcome = fill(&mut seen);
    for (position, _) in seen.into_iter().enumerate().filter(|&(_, seen)| seen) {
        answers.set_item(position, true)?;
    }
    let answers = answers.into_any();
    told(&answers, outcome)?;
    Ok(answers)
}

fn numpy(py: Python<'_>) -> PyResult<Option<Bound<'_, PyModule>>> {
    match py.import(intern!(py, "numpy")) {
        Ok(numpy) => Ok(Some(numpy)),
        Err(error) if error.is_instance_of::<PyImportError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}
