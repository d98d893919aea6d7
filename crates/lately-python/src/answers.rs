//! Answers for Python: a list of bools, or a numpy array of them.

use pyo3::exceptions::PyImportError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};

/// `fill` writes `len` answers. Columns are answered with a column, if there is numpy to make one.
pub(crate) fn collect(
    py: Python<'_>,
    len: usize,
    as_column: bool,
    fill: impl FnOnce(&mut [bool]),
) -> PyResult<Bound<'_, PyAny>> {
    if as_column && let Some(numpy) = numpy(py)? {
        // Memory that numpy can use as it is, and write to.
        let bytes = PyByteArray::new_with(py, len, |bytes: &mut [u8]| {
            // SAFETY: `bool` has the size and alignment of `u8`; the bytes are zeros, which are `false`; and whatever bool is
            // written is a valid byte.
            fill(unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [bool]) });
            Ok(())
        })?;
        return numpy.call_method1(intern!(py, "frombuffer"), (bytes, numpy.getattr(intern!(py, "bool_"))?));
    }
    let mut seen = vec![false; len];
    fill(&mut seen);
    Ok(PyList::new(py, seen)?.into_any())
}

fn numpy(py: Python<'_>) -> PyResult<Option<Bound<'_, PyModule>>> {
    match py.import(intern!(py, "numpy")) {
        Ok(numpy) => Ok(Some(numpy)),
        Err(error) if error.is_instance_of::<PyImportError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}
