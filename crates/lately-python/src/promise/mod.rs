//! From the keywords of a call to a promise, and from a promise to plans or a filter.

mod keyword;
mod keywords;
mod planning;

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pub(crate) use keywords::Keywords;

use crate::report;
use keyword::Keyword;

/// Reads a span of time that is an argument of another call.
pub(crate) fn span(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Keyword { name, value }.span()
}

/// Returns the plans of filters that keep a promise, best first, without building a filter.
///
/// Takes the keywords of Filter, except seed and key. Filter builds the first plan. The other plans are the
/// best of each other layout and k, ordered by memory.
///
/// >>> from lately import plan
/// >>> best, *others = plan(window=1_000_000, false_positive_rate=1e-4)
/// >>> best.layout, best.memory_bytes
/// ('bins', 3215368)
/// >>> min(others, key=lambda plan: plan.memory_bytes).layout
/// 'slices'
#[pyfunction]
#[pyo3(
    signature = (**promise),
    text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None)"
)]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    promise: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let keywords = Keywords::read("plan", promise)?;
    if keywords.hash_function.is_some() {
        return Err(PyTypeError::new_err(
            "plan() takes no seed and no key: leave them out, a plan does not depend on them",
        ));
    }
    let plans = keywords.plans(py)?;
    PyList::new(py, plans.iter().map(|plan| report::plan(py, plan)).collect::<PyResult<Vec<_>>>()?)
}
