//! The methods that only `SharedFilter` has.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::classes::{Filter, SharedFilter};
use super::core_filter::CoreFilter;
use crate::errors;
use crate::promise::Keywords;

#[pymethods]
impl SharedFilter {
    #[new]
    #[pyo3(
        signature = (**promise),
        text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None, seed=None, key=None)"
    )]
    fn new(py: Python<'_>, promise: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let filter = Keywords::read("SharedFilter", promise)?.build_for_threads(py)?;
        let core = py.detach(|| CoreFilter::shared(filter)).map_err(errors::config)?;
        Ok(Self::initializer(core))
    }

    /// Returns a Filter with the same state. It contains every insert that returned before the call.
    ///
    /// >>> from lately import SharedFilter
    /// >>> shared = SharedFilter(window=1000, false_positive_rate=1e-6)
    /// >>> shared.add("kept")
    /// >>> "kept" in shared.to_filter()
    /// True
    fn to_filter(slf: &Bound<'_, Self>) -> PyResult<Py<Filter>> {
        let base = slf.as_super().get();
        let copy = slf.py().detach(|| base.core.copy())?;
        Filter::object(slf.py(), copy)
    }
}
