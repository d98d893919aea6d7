//! The methods that only `Filter` has.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::classes::Filter;
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

    /// Forgets everything. The filter is then like a new one, with its clock unset.
    fn clear(slf: &Bound<'_, Self>) {
        let base = slf.as_super().get();
        slf.py().detach(|| base.core.clear());
    }
}
