//! The classes: `Filter`, `SharedFilter`, and `BaseFilter`, which has what both can do.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lately::{HashFunction, Plan, Window};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::clock::Clock;
use crate::items::Items;
use crate::operation::Operation;
use crate::promise::Promise;
use crate::{answers, errors, item, report};

/// What Filter and SharedFilter can do. It is not built itself, but stands for either in isinstance and annotations.
///
/// An item is a str (its UTF-8), bytes-like, or an int (its decimal text): "17", b"17" and 17 are the same item.
#[pyclass(frozen, subclass, module = "lately")]
pub(crate) struct BaseFilter {
    state: State,
    hash_function: HashFunction,
    clock: Clock,
    /// Never changes, and takes a while to compute.
    plan: OnceLock<Plan>,
}

/// Boxed, because the core's filters hold tables for SIMD, and Python's own memory is not aligned for them.
enum State {
    /// Calls of several threads go through one after the other.
    Own(Box<Mutex<lately::Filter>>),
    Shared(Box<lately::SharedFilter>),
}

/// Outside of the interpreter. A panic of another thread has left a whole filter behind: the core's are never half done.
fn lock(filter: &Mutex<lately::Filter>) -> MutexGuard<'_, lately::Filter> {
    filter.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BaseFilter {
    fn own(filter: lately::Filter, told: bool) -> Self {
        Self {
            hash_function: filter.hash_function(),
            clock: Clock::new(filter.guaranteed_span().is_some(), told),
            state: State::Own(Box::new(Mutex::new(filter))),
            plan: OnceLock::new(),
        }
    }

    fn shared(filter: lately::SharedFilter, told: bool) -> Self {
        Self {
            hash_function: filter.hash_function(),
            clock: Clock::new(filter.guaranteed_span().is_some(), told),
            state: State::Shared(Box::new(filter)),
            plan: OnceLock::new(),
        }
    }

    #[inline]
    fn one(
        &self,
        operation: Operation,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let hash = item::hash(item, self.hash_function)?;
        let now_ms = self.clock.read(now)?;
        Ok(match &self.state {
            State::Own(filter) => {
                // Who waits for another thread's bulk call lets go of the interpreter.
                let mut filter = filter.lock_py_attached(item.py()).unwrap_or_else(PoisonError::into_inner);
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                operation.one(&mut filter, hash)
            }
            State::Shared(filter) => {
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                operation.one_shared(filter, hash)
            }
        })
    }

    fn many<'py>(
        &self,
        operation: Operation,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = items.py();
        let items = Items::read(items, self.hash_function)?;
        let now_ms = self.clock.read(now)?;
        if !operation.answers() {
            py.detach(|| self.run(operation, &items, now_ms, &mut []));
            return Ok(py.None().into_bound(py));
        }
        answers::collect(py, items.len(), items.are_columns, |seen| {
            py.detach(|| self.run(operation, &items, now_ms, seen));
        })
    }

    /// Without the interpreter. `seen` is as long as `items`, or empty if the operation does not answer.
    fn run(&self, operation: Operation, items: &Items, now_ms: Option<u64>, seen: &mut [bool]) {
        let mut seen_from = |first: usize, hashes: &[u64], ask: &mut dyn FnMut(&[u64], &mut [bool])| {
            let answers = if operation.answers() { &mut seen[first..first + hashes.len()] } else { &mut [] };
            ask(hashes, answers);
        };
        match &self.state {
            State::Own(filter) => {
                let mut filter = lock(filter);
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                let mut ask = |hashes: &[u64], seen: &mut [bool]| operation.many(&mut filter, hashes, seen);
                items.for_each_chunk(self.hash_function, |first, hashes| seen_from(first, hashes, &mut ask));
            }
            State::Shared(filter) => {
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                let mut ask = |hashes: &[u64], seen: &mut [bool]| operation.many_shared(filter, hashes, seen);
                items.for_each_chunk(self.hash_function, |first, hashes| seen_from(first, hashes, &mut ask));
            }
        }
    }

    fn cached_plan(&self, py: Python<'_>) -> &Plan {
        py.detach(|| {
            self.plan.get_or_init(|| match &self.state {
                State::Own(filter) => lock(filter).plan(),
                State::Shared(filter) => filter.plan(),
            })
        })
    }

    /// A filter of the core in this state.
    fn copied(&self) -> lately::Filter {
        match &self.state {
            State::Own(filter) => lock(filter).clone(),
            State::Shared(filter) => filter.snapshot(),
        }
    }

    fn bytes(&self, py: Python<'_>) -> Vec<u8> {
        py.detach(|| match &self.state {
            State::Own(filter) => lock(filter).to_bytes(),
            State::Shared(filter) => filter.to_bytes(),
        })
    }

    fn equals(&self, other: &Self) -> bool {
        match (&self.state, &other.state) {
            _ if std::ptr::eq(self, other) => true,
            (State::Own(left), State::Own(right)) => {
                // In an order that is the same for all threads, or two could wait for each other.
                let (first, second) = if std::ptr::from_ref(&**left) < std::ptr::from_ref(&**right) {
                    (left, right)
                } else {
                    (right, left)
                };
                let first = lock(first);
                *first == *lock(second)
            }
            _ => self.copied() == other.copied(),
        }
    }
}

#[pymethods]
impl BaseFilter {
    /// Adds an item. It is reported as long as it is in the window: for so many inserts, itself included, or for the span of
    /// a time window.
    ///
    /// `now` is for time windows: an aware datetime, or milliseconds of a clock of yours. Left out, it is the system's clock;
    /// but once a time has been told, it is the latest time told.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("order-17")
    /// >>> "order-17" in seen, b"order-17" in seen, "order-18" in seen
    /// (True, True, False)
    #[pyo3(signature = (item, now=None))]
    fn add(&self, item: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.one(Operation::Add, item, now).map(|_| ())
    }

    /// Whether the item was added lately: True for every item of the window. False says that it is not in the window, not
    /// that it was never added.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add(17)
    /// >>> seen.contains("17"), seen.contains(18)
    /// (True, False)
    #[pyo3(signature = (item, now=None))]
    fn contains(&self, item: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        self.one(Operation::Contains, item, now)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.one(Operation::Contains, item, None)
    }

    /// Deduplication where every sighting refreshes: says whether the item was seen lately, and adds it. An item is new again
    /// once it has been silent for the window.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> [seen.check_and_add(order) for order in ["a", "b", "a"]]
    /// [False, False, True]
    #[pyo3(signature = (item, now=None))]
    fn check_and_add(&self, item: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        self.one(Operation::CheckAndAdd, item, now)
    }

    /// Deduplication where only the first sighting counts: says whether the item was seen lately, and adds it only if not. An
    /// item is new about once per window, however often it comes.
    ///
    /// >>> from datetime import timedelta
    /// >>> from lately import Filter
    /// >>> told = Filter(within=timedelta(minutes=10), capacity=1000, false_positive_rate=1e-6)
    /// >>> [told.check_or_add("disk full", now=minute * 60_000) for minute in (0, 9, 12, 15)]
    /// [False, True, False, True]
    #[pyo3(signature = (item, now=None))]
    fn check_or_add(&self, item: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        self.one(Operation::CheckOrAdd, item, now)
    }

    /// add for each of many items, in order.
    ///
    /// Items come as a list or another iterable, as a numpy array of integers, S or U, or as a column of Arrow, Polars or
    /// pandas. Arrays and columns are read where they lie, without Python's lock; nobody may write to them meanwhile. If one
    /// of the items is none, nothing is added.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(range(100))
    /// >>> 99 in seen, 100 in seen
    /// (True, False)
    #[pyo3(signature = (items, now=None))]
    fn add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.many(Operation::Add, items, now)
    }

    /// contains for each of many items. Items are as for add_many; arrays and columns are answered with a numpy array of
    /// bools (a list, where there is no numpy), everything else with a list.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(["a", "b"])
    /// >>> seen.contains_many(["a", "c", "b"])
    /// [True, False, True]
    #[pyo3(signature = (items, now=None))]
    fn contains_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.many(Operation::Contains, items, now)
    }

    /// check_and_add for each of many items, in order; a repeat among them is seen. Items are as for add_many, answers as for
    /// contains_many.
    ///
    /// >>> import numpy
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.check_and_add_many(["a", "b", "a"])
    /// [False, False, True]
    /// >>> ids = numpy.array([17, 18, 17], dtype="uint64")
    /// >>> ids[~seen.check_and_add_many(ids)]
    /// array([17, 18], dtype=uint64)
    #[pyo3(signature = (items, now=None))]
    fn check_and_add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.many(Operation::CheckAndAdd, items, now)
    }

    /// check_or_add for each of many items, in order. Items are as for add_many, answers as for contains_many.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.check_or_add_many(["a", "b", "a"])
    /// [False, False, True]
    #[pyo3(signature = (items, now=None))]
    fn check_or_add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.many(Operation::CheckOrAdd, items, now)
    }

    /// How long ago the item was last added, as an AgeRange, or None if the filter does not know it. Ages are known to a
    /// generation.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("first")
    /// >>> seen.add_many(range(100))
    /// >>> 100 in seen.age_of("first").inserts
    /// True
    /// >>> seen.age_of("never") is None
    /// True
    fn age_of<'py>(&self, item: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let hash = item::hash(item, self.hash_function)?;
        let age = match &self.state {
            State::Own(filter) => {
                filter.lock_py_attached(item.py()).unwrap_or_else(PoisonError::into_inner).age_of_hash(hash)
            }
            State::Shared(filter) => filter.age_of_hash(hash),
        };
        age.map(|age| report::age_range(item.py(), &age)).transpose()
    }

    /// Tells a time window the time: an aware datetime, or milliseconds of a clock of yours. Time does not run backwards: an
    /// earlier time counts as the latest told.
    ///
    /// >>> from datetime import datetime, timedelta, timezone
    /// >>> from lately import Filter
    /// >>> recent = Filter(within=timedelta(seconds=60), capacity=1000, false_positive_rate=1e-6)
    /// >>> noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    /// >>> recent.add("click", now=noon)
    /// >>> recent.advance_to(noon + timedelta(seconds=60))
    /// >>> "click" in recent
    /// True
    /// >>> recent.advance_to(noon + timedelta(minutes=3))
    /// >>> "click" in recent
    /// False
    fn advance_to(&self, now: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(now_ms) = self.clock.read(Some(now))? {
            now.py().detach(|| match &self.state {
                State::Own(filter) => lock(filter).advance_to(now_ms),
                State::Shared(filter) => filter.advance_to(now_ms),
            });
        }
        Ok(())
    }

    /// How many of the newest inserts are certain to be reported. For a count window: what was asked for, rounded up to whole
    /// generations. For a time window: what the generations now in the window have brought.
    ///
    /// >>> from lately import Filter
    /// >>> Filter(window=1000, false_positive_rate=1e-6).guaranteed_window >= 1000
    /// True
    #[getter]
    fn guaranteed_window(&self, py: Python<'_>) -> u64 {
        py.detach(|| match &self.state {
            State::Own(filter) => lock(filter).guaranteed_window(),
            State::Shared(filter) => filter.guaranteed_window(),
        })
    }

    /// For a time window: what was added less than this timedelta ago is certain to be reported. None for a count window.
    #[getter]
    fn guaranteed_span(&self, py: Python<'_>) -> Option<Duration> {
        py.detach(|| match &self.state {
            State::Own(filter) => lock(filter).guaranteed_span(),
            State::Shared(filter) => filter.guaranteed_span(),
        })
    }

    /// The shape in force and what the exact model predicts of it, as a Plan.
    ///
    /// >>> from lately import Filter
    /// >>> Filter(window=1_000_000, false_positive_rate=1e-4).plan().memory_bytes
    /// 5370824
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report::plan(py, self.cached_plan(py))
    }

    /// What the filter has been through and what its bits say now, as Statistics. Reads all of its memory.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(range(500))
    /// >>> seen.statistics().inserts
    /// 500
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let statistics = py.detach(|| match &self.state {
            State::Own(filter) => lock(filter).statistics(),
            State::Shared(filter) => filter.statistics(),
        });
        report::statistics(py, &statistics)
    }

    /// Saves a snapshot, for load here, for the command `lately`, and for everything else that reads the format. Whatever
    /// happens, the file then holds the old snapshot or the new one, whole.
    ///
    /// >>> import os, tempfile
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("kept")
    /// >>> path = os.path.join(tempfile.mkdtemp(), "seen.lately")
    /// >>> seen.save(path)
    /// >>> "kept" in Filter.load(path)
    /// True
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let save = || match &self.state {
            // Only the writing needs the filter; the waiting for the disk does not.
            State::Own(filter) => {
                let pending = lock(filter).start_save(&path)?;
                pending.finish()
            }
            State::Shared(filter) => filter.save(&path),
        };
        py.detach(save).map_err(errors::snapshot)
    }

    /// The filter as a snapshot, for from_bytes on any machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes(py))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("lately._native")?.getattr("_restore")?;
        let is_shared = matches!(self.state, State::Shared(_));
        let arguments = (is_shared, self.to_bytes(py), self.clock.told()).into_pyobject(py)?;
        Ok((restore, arguments))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let copy = py.detach(|| self.copied());
        object(py, copy, matches!(self.state, State::Shared(_)), self.clock.told())
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__copy__(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let plan = self.cached_plan(py);
        let class = if matches!(self.state, State::Own(_)) { "Filter" } else { "SharedFilter" };
        let window = match plan.window {
            Window::Count { inserts } => format!("the last {inserts} inserts"),
            Window::Time { span_ms, capacity, .. } => {
                format!("the last {span_ms} ms, up to {capacity} inserts")
            }
            _ => "a window".into(),
        };
        let (shape, rate, bytes) = (plan.shape, plan.false_positive_rate, plan.memory_bytes);
        format!("<lately.{class}: {window}, rate {rate:.3e}, {bytes} bytes, {shape}>")
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match other.cast::<Self>() {
            Ok(other)
                if matches!(self.state, State::Own(_)) == matches!(other.get().state, State::Own(_)) =>
            {
                let other = other.get();
                Ok(py.detach(|| self.equals(other)).into_pyobject(py)?.to_owned().into_any())
            }
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
}

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
        base.clock.forget();
        if let State::Own(filter) = &base.state {
            py.detach(|| lock(filter).clear());
        }
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
        Self::initializer(py, filter, false)
    }

    /// The filter that was saved to a file, here or by the command `lately`; it goes on exactly where it was.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<Self>> {
        let filter = py.detach(|| lately::Filter::load(path)).map_err(errors::snapshot)?;
        Py::new(py, Self::initializer(py, filter, false)?)
    }

    /// The filter that to_bytes was called on.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, snapshot: &Bound<'_, PyBytes>) -> PyResult<Py<Self>> {
        let bytes = snapshot.as_bytes();
        let filter = py.detach(|| lately::Filter::from_bytes(bytes)).map_err(errors::snapshot)?;
        Py::new(py, Self::initializer(py, filter, false)?)
    }

    /// A Filter in the state this one is in: every insert that has returned before the call is in it.
    fn snapshot(slf: PyRef<'_, Self>) -> PyResult<Py<Filter>> {
        let py = slf.py();
        let base = slf.into_super();
        let this: &BaseFilter = &base;
        let filter = py.detach(|| this.copied());
        Py::new(py, Filter::initializer(filter, this.clock.told()))
    }
}

impl SharedFilter {
    fn initializer(py: Python<'_>, filter: lately::Filter, told: bool) -> PyResult<PyClassInitializer<Self>> {
        let filter = py.detach(|| lately::SharedFilter::try_from(filter)).map_err(errors::config)?;
        Ok(PyClassInitializer::from(BaseFilter::shared(filter, told)).add_subclass(Self))
    }
}

fn object(py: Python<'_>, filter: lately::Filter, is_shared: bool, told: bool) -> PyResult<Py<PyAny>> {
    if is_shared {
        Ok(Py::new(py, SharedFilter::initializer(py, filter, told)?)?.into_any())
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
