//! Answers for Python: a list of bools, or a numpy array of bools.

use pyo3::exceptions::PyImportError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};

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
        let mut outcome = Ok(());
        // numpy uses this memory without a copy, and may write to it.
        let bytes = PyByteArray::new_with(py, len, |bytes: &mut [u8]| {
            // SAFETY: `bool` has the size and alignment of `u8`; the bytes are zeros, which are valid
            // (`false`); and every bool that is written is a valid byte.
            outcome = fill(unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [bool]) });
            Ok(())
        })?;
        let dtype = numpy.getattr(intern!(py, "bool_"))?;
        let answers = numpy.call_method1(intern!(py, "frombuffer"), (bytes, dtype))?;
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
