//! Sub-interpreters: one process with several interpreters, as web servers may have.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The main interpreter's number, by definition.
const MAIN: i64 = 0;

/// Fails in a sub-interpreter: it would share classes and remembered objects with the main one, and either may free
/// them while the other uses them. Python itself refuses only sub-interpreters with a lock of their own.
pub(crate) fn check_is_main(_py: Python<'_>) -> PyResult<()> {
    // SAFETY: the interpreter is attached, so there is a current one.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if number == MAIN {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "lately cannot be loaded in a sub-interpreter (this is interpreter {number}): load it in the main interpreter, for \
         example with WSGIApplicationGroup %{{GLOBAL}} in mod_wsgi, or in a process of its own"
    )))
}
