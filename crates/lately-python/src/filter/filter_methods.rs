//! The methods that only `Filter` has.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::classes::Filter;
use super::snapshot;
use crate::promise::Keywords;

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(
        signature = (**promise),
        text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None, seed=None, key=None)"
    )]
    fn new(py: Python<'_>, promise: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let filter = Keywords::read("Filter", promise)?.build(py)?;
        Ok(Self::initializer(filter))
    }

    /// Loads a filter from a file that save or the command `lately` has written. It continues exactly in the
    /// saved state.
    #[staticmethod]
    fn load(path: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        Self::object(path.py(), snapshot::load(path)?)
    }

    /// Restores a filter from the result of to_bytes.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("kept")
    /// >>> Filter.from_bytes(seen.to_bytes()) == seen
    /// True
    #[staticmethod]
    fn from_bytes(snapshot: &Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        Self::object(snapshot.py(), snapshot::from_bytes(snapshot)?)
    }

    /// Forgets everything. The filter is then like a new one, with its clock unset.
    fn clear(slf: &Bound<'_, Self>) {
        let base = slf.as_super().get();
        slf.py().detach(|| base.core.clear());
    }
}
