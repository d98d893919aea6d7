//! The classes that users build: `Filter` and `SharedFilter`.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::base_filter::BaseFilter;
use crate::errors::{self, NoMemory};
use crate::promise::Promise;
use crate::state::Shared;

/// A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory.
///
/// Any of the last `window` inserts is reported, always; an item never added, at most at the rate asked for. Threads may share
/// it, one at a time; see SharedFilter.
///
/// window: never forget so many of the newest inserts.
/// within, capacity: instead of window, never forget the inserts of the last timedelta; and the most inserts expected in one.
/// false_positive_rate: how often an item never added may be reported, at the worst moment.
/// max_slack: how many items that have left the window may still be reported, as a share of it; aims at 0.2.
/// layout: "slices", "blocks" or "rows"; the planner chooses otherwise.
/// prefer: "speed" (the default) or "memory".
/// max_memory: at most so many bytes. Without a rate or a window, it gives the best that fits.
/// shape: only this (k, l).
/// overload: what a time window keeps when more comes than its capacity: "keep_window" (the default) or "keep_rate".
/// seed: of the hash; 0 by default. Filters that exchange snapshots must agree on it.
/// key: 16 secret bytes, where senders are hostile: SipHash takes the place of XXH3.
///
/// >>> from lately import Filter
/// >>> seen = Filter(window=1_000_000, false_positive_rate=1e-4)
/// >>> seen.check_and_add("order-17"), seen.check_and_add("order-17")
/// (False, True)
/// >>> Filter(window=0, false_positive_rate=1e-4)
/// Traceback (most recent call last):
///     ...
/// lately.ConfigError: a window of 0 inserts cannot be kept: ask for 1 to 281474976710656
#[pyclass(frozen, extends = BaseFilter, module = "lately")]
pub(crate) struct Filter;

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(
        signature = (**promise),
        text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None, seed=None, key=None)"
    )]
    fn new(py: Python<'_>, promise: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let filter = Promise::read("Filter", promise)?.build(py)?;
        Ok(Self::initializer(filter, false))
    }

    /// The filter that was saved to a file, here or by the command `lately`; it goes on exactly where it was.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Self>> {
        let filter = py.detach(|| lately::Filter::load(path)).map_err(errors::snapshot)?;
        Py::new(py, Self::initializer(filter, false))
    }

    /// The filter that to_bytes was called on.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("kept")
    /// >>> Filter.from_bytes(seen.to_bytes()) == seen
    /// True
    #[staticmethod]
    fn from_bytes(py: Python<'_>, snapshot: &Bound<'_, PyBytes>) -> PyResult<Py<Self>> {
        let bytes = snapshot.as_bytes();
        let filter = py.detach(|| lately::Filter::from_bytes(bytes)).map_err(errors::snapshot)?;
        Py::new(py, Self::initializer(filter, false))
    }

    /// Forgets everything; the filter is as new, its clock unset.
    fn clear(slf: PyRef<'_, Self>) {
        let py = slf.py();
        let base = slf.into_super();
        let this: &BaseFilter = &base;
        this.clock.forget();
        py.detach(|| this.state.clear());
    }
}

impl Filter {
    fn initializer(filter: lately::Filter, told: bool) -> PyClassInitializer<Self> {
        PyClassInitializer::from(BaseFilter::own(filter, told)).add_subclass(Self)
    }
}

/// A filter for threads to share: bulk calls of several threads run at the same time, without a lock around the filter.
///
/// It takes the keywords of Filter, and its snapshots are those of a Filter. Of threads that bring the same new item at the
/// same time, exactly one is told that it is new (in the layout "rows", the default for most promises).
///
/// >>> from concurrent.futures import ThreadPoolExecutor
/// >>> from lately import SharedFilter
/// >>> seen = SharedFilter(window=100_000, false_positive_rate=1e-6)
/// >>> with ThreadPoolExecutor(4) as pool:
/// ...     answers = list(pool.map(seen.check_and_add, ["order-17"] * 4))
/// >>> answers.count(False)
/// 1
#[pyclass(frozen, extends = BaseFilter, module = "lately")]
pub(crate) struct SharedFilter;

#[pymethods]
impl SharedFilter {
    #[new]
    #[pyo3(
        signature = (**promise),
        text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None, seed=None, key=None)"
    )]
    fn new(py: Python<'_>, promise: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let filter = Promise::read("SharedFilter", promise)?.build(py)?;
        let shared = py.detach(|| Shared::new(filter)).map_err(errors::config)?;
        Ok(Self::initializer(shared, false))
    }

    /// The filter that was saved to a file, here or by the command `lately`; it goes on exactly where it was.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Self>> {
        let filter = py.detach(|| lately::Filter::load(path)).map_err(errors::snapshot)?;
        Self::of(py, filter, false)
    }

    /// The filter that to_bytes was called on.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, snapshot: &Bound<'_, PyBytes>) -> PyResult<Py<Self>> {
        let bytes = snapshot.as_bytes();
        let filter = py.detach(|| lately::Filter::from_bytes(bytes)).map_err(errors::snapshot)?;
        Self::of(py, filter, false)
    }

    /// A Filter in the state this one is in: every insert that has returned before the call is in it.
    fn snapshot(slf: PyRef<'_, Self>) -> PyResult<Py<Filter>> {
        let py = slf.py();
        let base = slf.into_super();
        let this: &BaseFilter = &base;
        let filter = py.detach(|| this.state.copied())?;
        Py::new(py, Filter::initializer(filter, this.clock.told()))
    }
}

impl SharedFilter {
    fn initializer(shared: Shared, told: bool) -> PyClassInitializer<Self> {
        PyClassInitializer::from(BaseFilter::shared(shared, told)).add_subclass(Self)
    }

    /// Shares a filter that could be built. If there is no memory to, its promise is not at fault.
    fn of(py: Python<'_>, filter: lately::Filter, told: bool) -> PyResult<Py<Self>> {
        let bytes = filter.memory_bytes();
        let shared = py.detach(|| Shared::new(filter)).map_err(|_| NoMemory::ForFilter { bytes })?;
        Py::new(py, Self::initializer(shared, told))
    }
}

/// A filter of the core's as an object of the class that it had.
pub(crate) fn object(
    py: Python<'_>,
    filter: lately::Filter,
    is_shared: bool,
    told: bool,
) -> PyResult<Py<PyAny>> {
    if is_shared {
        Ok(SharedFilter::of(py, filter, told)?.into_any())
    } else {
        Ok(Py::new(py, Filter::initializer(filter, told))?.into_any())
    }
}

/// What pickle calls.
#[pyfunction]
#[pyo3(name = "_restore")]
pub(crate) fn restore(
    py: Python<'_>,
    is_shared: bool,
    snapshot: &Bound<'_, PyBytes>,
    told: bool,
) -> PyResult<Py<PyAny>> {
    let bytes = snapshot.as_bytes();
    let filter = py.detach(|| lately::Filter::from_bytes(bytes)).map_err(errors::snapshot)?;
    object(py, filter, is_shared, told)
}
