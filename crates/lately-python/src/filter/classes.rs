//! The classes: what their objects hold, and how objects are made. Their methods are in other files.

use std::sync::OnceLock;

use lately::{HashFunction, Plan};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::core_filter::CoreFilter;
use crate::errors;

/// The base class of Filter and SharedFilter, for isinstance and annotations. It cannot be instantiated.
///
/// An item is a str (its UTF-8), a bytes, bytearray or memoryview, an int (its decimal text), or a tuple of
/// these, which identify it together: "17", b"17" and 17 are the same item, and so are ("a", "17") and
/// ("a", 17).
#[pyclass(frozen, subclass, weakref, module = "lately")]
pub(crate) struct BaseFilter {
    pub(super) core: CoreFilter,
    pub(super) hash_function: HashFunction,
    /// Computed when first needed, because it takes a while; it never changes.
    plan: OnceLock<Plan>,
}

impl BaseFilter {
    fn new(core: CoreFilter) -> Self {
        Self { hash_function: core.hash_function(), core, plan: OnceLock::new() }
    }

    pub(super) fn cached_plan(&self, py: Python<'_>) -> &Plan {
        py.detach(|| self.plan.get_or_init(|| self.core.plan()))
    }
}

/// A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory.
///
/// The filter always reports any of the last `window` inserts. It reports an item that was never added at
/// most at the requested rate. Several threads may use it; their calls run one at a time (see SharedFilter).
///
/// window: how many of the newest inserts are never forgotten.
/// within: instead of window: the timedelta whose inserts are never forgotten. Memory follows the traffic, up
///     to max_memory (256 MiB by default).
/// capacity: the largest number of different items expected within that time; they may all come at once.
///     Memory is then fixed.
/// false_positive_rate: how often an item that was never added may be reported, at the worst moment.
/// max_slack: how many items that have left the window may still be reported, as a fraction of the window. By
///     default the planner aims at 0.2.
/// layout: "slices", "blocks", "rows" or "bins". By default the planner chooses.
/// prefer: "balanced" (the default: the least memory among the layouts that touch at most two cache lines),
///     "speed" (the fewest memory accesses) or "memory" (the least memory).
/// max_memory: the maximum number of bytes. If the rate or the window is left out, the planner takes the best
///     that fits. Without capacity: the most that the filter grows to.
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

impl Filter {
    pub(super) fn initializer(filter: lately::Filter) -> PyClassInitializer<Self> {
        PyClassInitializer::from(BaseFilter::new(CoreFilter::locked(filter))).add_subclass(Self)
    }

    pub(super) fn object(py: Python<'_>, filter: lately::Filter) -> PyResult<Py<Self>> {
        Py::new(py, Self::initializer(filter))
    }
}

/// A filter that threads share: bulk calls of several threads run at the same time, without a lock around the
/// filter.
///
/// It takes the keywords of Filter, and its snapshots have the same format. A time window needs a capacity. If
/// several threads check and add the same new item at the same time, exactly one of them is told that it is
/// new. That holds in the layouts "bins" and "rows", so it takes one of them, unless you name another layout.
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

impl SharedFilter {
    /// `core` must be shared.
    pub(super) fn initializer(core: CoreFilter) -> PyClassInitializer<Self> {
        PyClassInitializer::from(BaseFilter::new(core)).add_subclass(Self)
    }

    /// Converts an existing filter.
    pub(super) fn object(py: Python<'_>, filter: lately::Filter) -> PyResult<Py<Self>> {
        let bytes = filter.memory_bytes();
        let core = py.detach(|| CoreFilter::shared(filter)).map_err(|error| errors::sharing(error, bytes))?;
        Py::new(py, Self::initializer(core))
    }
}

/// Makes an object of a class: of `SharedFilter`, or otherwise of `Filter`.
pub(super) fn object(class: &Bound<'_, PyType>, filter: lately::Filter) -> PyResult<Py<PyAny>> {
    let py = class.py();
    if class.is(py.get_type::<SharedFilter>()) {
        Ok(SharedFilter::object(py, filter)?.into_any())
    } else {
        Ok(Filter::object(py, filter)?.into_any())
    }
}
