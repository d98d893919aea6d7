//! The classes that users instantiate: `Filter` and `SharedFilter`.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::base_filter::BaseFilter;
use crate::errors::{self, NoMemory};
use crate::promise::Keywords;
use crate::state::Shared;

/// A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory.
///
/// The filter always reports any of the last `window` inserts. It reports an item that was never added at
/// most at the requested rate. Several threads may use it; their calls run one at a time (see SharedFilter).
///
/// window: how many of the newest inserts are never forgotten.
/// within, capacity: instead of window: the timedelta whose inserts are never forgotten, and the largest
///     number of inserts expected in it.
/// false_positive_rate: how often an item that was never added may be reported, at the worst moment.
/// max_slack: how many items that have left the window may still be reported, as a fraction of the window. By
///     default the planner aims at 0.2.
/// layout: "slices", "blocks" or "rows". By default the planner chooses.
/// prefer: "speed" (the default) or "memory".
/// max_memory: the maximum number of bytes. If the rate or the window is left out, the planner takes the best
///     that fits.
/// shape: use only this (k, l).
/// overload: what a time window keeps if more inserts arrive than its capacity: "keep_window" (the default)
///     or "keep_rate".
/// seed: the seed of the hash; 0 by default. Filters that exchange snapshots must use the same seed.
/// key: 16 secret bytes, for streams with hostile senders. The hash is then SipHash instead of XXH3.
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
        let filter = Keywords::read("Filter", promise)?.build(py)?;
        Ok(Self::initializer(filter, false))
    }

    /// Loads a filter from a file that save or the command `lately` has written. It continues exactly in the
    /// saved state.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Self>> {
        let filter = py.detach(|| lately::Filter::load(path)).map_err(errors::snapshot)?;
        Py::new(py, Self::initializer(filter, false))
    }

    /// Restores a filter from the result of to_bytes.
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

    /// Forgets everything. The filter is then like a new one, with its clock unset.
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

/// A filter that threads share: bulk calls of several threads run at the same time, without a lock around the
/// filter.
///
/// It takes the keywords of Filter, and its snapshots have the same format. If several threads check and add
/// the same new item at the same time, exactly one of them is told that it is new (with the layout "rows",
/// the default for most promises).
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
        let filter = Keywords::read("SharedFilter", promise)?.build(py)?;
        let shared = py.detach(|| Shared::new(filter)).map_err(errors::config)?;
        Ok(Self::initializer(shared, false))
    }

    /// Loads a filter from a file that save or the command `lately` has written. It continues exactly in the
    /// saved state.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Self>> {
        let filter = py.detach(|| lately::Filter::load(path)).map_err(errors::snapshot)?;
        Self::of(py, filter, false)
    }

    /// Restores a filter from the result of to_bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, snapshot: &Bound<'_, PyBytes>) -> PyResult<Py<Self>> {
        let bytes = snapshot.as_bytes();
        let filter = py.detach(|| lately::Filter::from_bytes(bytes)).map_err(errors::snapshot)?;
        Self::of(py, filter, false)
    }

    /// Returns a Filter with the same state. It contains every insert that returned before the call.
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

    /// Converts an existing filter. Only the allocation can fail, because the promise is known to be
    /// possible.
    fn of(py: Python<'_>, filter: lately::Filter, told: bool) -> PyResult<Py<Self>> {
        let bytes = filter.memory_bytes();
        let shared = py.detach(|| Shared::new(filter)).map_err(|_| NoMemory::ForFilter { bytes })?;
        Py::new(py, Self::initializer(shared, told))
    }
}

/// Wraps a filter of the core in an object of the class it had.
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

/// Restores a pickled filter; pickle calls this.
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
