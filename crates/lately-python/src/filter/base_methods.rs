//! `BaseFilter`: the methods that `Filter` and `SharedFilter` have in common.

use lately::Window;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyType};

use super::action::Action;
use super::bulk::Bulk;
use super::classes::{self, BaseFilter};
use super::snapshot;
use crate::items::{Cursor, Nulls, Reading, Wanted};
use crate::time::{Now, Times};
use crate::{answers, errors, items, report};

impl BaseFilter {
    #[inline]
    fn perform(
        &self,
        action: Action,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let hash = items::hash_of(item, self.hash_function)?;
        self.core.clock.check_given(now, max_jump)?;
        let now = Now::read(now, max_jump)?;
        Ok(self.core.perform(item.py(), action, hash, now))
    }

    fn perform_many<'py>(
        &self,
        action: Action,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = items.py();
        let nulls = Nulls::read(nulls)?;
        let items = Reading { wanted: Wanted::Hashes(self.hash_function), nulls }.read_key(items, key)?;
        self.core.clock.check_given(now, max_jump)?;
        let times = Times::read(now, max_jump, items.len())?;
        let bulk = Bulk {
            action,
            items: &items,
            hash_function: self.hash_function,
            times: &times,
            clock: &self.core.clock,
            cursor: Cursor::start(),
        };
        let perform = |seen: &mut [bool]| {
            if nulls.answer() && !seen.is_empty() {
                items.missing.iter().for_each(|&position| seen[position] = true);
            }
            py.detach(|| self.core.perform_many(bulk, seen, check_signals))
        };
        if action.has_answers() {
            answers::collect(py, items.len(), items.are_columns, perform)
        } else {
            perform(&mut []).map_err(|interrupted| interrupted.describe(py, items.len(), None))?;
            Ok(py.None().into_bound(py))
        }
    }
}

fn check_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

#[pymethods]
impl BaseFilter {
    /// Adds an item. The filter reports it as long as it is one of the last `window` inserts, or for the span
    /// of a time window.
    ///
    /// `now` is for time windows: a datetime with a time zone, or milliseconds of your own clock. Without it,
    /// the filter uses the latest time that a call has given; if no call has given one, the system clock.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("order-17")
    /// >>> "order-17" in seen, b"order-17" in seen, "order-18" in seen
    /// (True, True, False)
    #[pyo3(signature = (item, now=None, *, max_jump=None))]
    fn add(
        &self,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.perform(Action::Add, item, now, max_jump).map(|_| ())
    }

    /// Returns True if the item was added lately: always for an item in the window. False means that the item
    /// is not in the window, not that it was never added.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add(17)
    /// >>> seen.contains("17"), seen.contains(18)
    /// (True, False)
    #[pyo3(signature = (item, now=None, *, max_jump=None))]
    fn contains(
        &self,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        self.perform(Action::Contains, item, now, max_jump)
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.perform(Action::Contains, item, None, None)
    }

    /// Returns True if the item was seen lately, and adds it. Every sighting refreshes the item: it is new
    /// again once it has been silent for the window.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> [seen.check_and_add(order) for order in ["a", "b", "a"]]
    /// [False, False, True]
    #[pyo3(signature = (item, now=None, *, max_jump=None))]
    fn check_and_add(
        &self,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        self.perform(Action::CheckAndAdd, item, now, max_jump)
    }

    /// Returns True if the item was seen lately; otherwise adds it. Only the first sighting counts: an item
    /// is new about once per window, however often it arrives.
    ///
    /// >>> from datetime import timedelta
    /// >>> from lately import Filter
    /// >>> sent = Filter(within=timedelta(minutes=10), capacity=1000, false_positive_rate=1e-6)
    /// >>> [sent.check_or_add("disk full", now=minute * 60_000) for minute in (0, 9, 12, 15)]
    /// [False, True, False, True]
    #[pyo3(signature = (item, now=None, *, max_jump=None))]
    fn check_or_add(
        &self,
        item: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        self.perform(Action::CheckOrAdd, item, now, max_jump)
    }

    /// Adds many items, in order.
    ///
    /// `items` is a list or another iterable, a numpy array of integers, S or U, or a column of Arrow, Polars
    /// or pandas. Arrays and columns are read in place, with the GIL released; no thread may write to them
    /// during the call. A table of several columns gives one item per row, the tuple of its values; `key` names
    /// the columns to use. If any element is not a valid item, nothing is added.
    ///
    /// now: one time for all items, or a column of times as long as the items; max_jump: see advance_to.
    /// nulls: what to do with missing items: "fail" (the default), answer them as new with "pass", or as seen
    ///     with "drop"; they are never added.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(range(100))
    /// >>> 99 in seen, 100 in seen
    /// (True, False)
    #[pyo3(signature = (items, now=None, *, max_jump=None, nulls=None, key=None))]
    fn add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.perform_many(Action::Add, items, now, max_jump, nulls, key)
    }

    /// Calls contains for each item. `items` is as for add_many. For arrays and columns, the result is a
    /// numpy array of bools (a list if numpy is not installed); for other iterables, it is a list.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(["a", "b"])
    /// >>> seen.contains_many(["a", "c", "b"])
    /// [True, False, True]
    #[pyo3(signature = (items, now=None, *, max_jump=None, nulls=None, key=None))]
    fn contains_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.perform_many(Action::Contains, items, now, max_jump, nulls, key)
    }

    /// Calls check_and_add for each item, in order; a repeat within the call counts as seen. `items` is as
    /// for add_many, the result as for contains_many.
    ///
    /// >>> import numpy
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.check_and_add_many(["a", "b", "a"])
    /// [False, False, True]
    /// >>> ids = numpy.array([17, 18, 17], dtype="uint64")
    /// >>> ids[~seen.check_and_add_many(ids)]
    /// array([17, 18], dtype=uint64)
    #[pyo3(signature = (items, now=None, *, max_jump=None, nulls=None, key=None))]
    fn check_and_add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.perform_many(Action::CheckAndAdd, items, now, max_jump, nulls, key)
    }

    /// Calls check_or_add for each item, in order. `items` is as for add_many, the result as for
    /// contains_many.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.check_or_add_many(["a", "b", "a"])
    /// [False, False, True]
    #[pyo3(signature = (items, now=None, *, max_jump=None, nulls=None, key=None))]
    fn check_or_add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.perform_many(Action::CheckOrAdd, items, now, max_jump, nulls, key)
    }

    /// Returns how long ago the item was last added, as an AgeRange, to the precision of a generation.
    /// Returns None if the filter does not contain the item.
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
        let hash = items::hash_of(item, self.hash_function)?;
        let age = self.core.age_of_hash(item.py(), hash);
        age.map(|age| report::age_range(item.py(), &age)).transpose()
    }

    /// Sets the time of a time window: a datetime with a time zone, or milliseconds of your own clock. Time
    /// never runs backwards: an earlier time counts as the latest time given so far.
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
    #[pyo3(signature = (now, *, max_jump=None))]
    fn advance_to(&self, now: &Bound<'_, PyAny>, max_jump: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.core.clock.check_given(Some(now), max_jump)?;
        let time = Now::read(Some(now), max_jump)?;
        now.py().detach(|| self.core.advance_to(time)).map_err(|error| errors::jump(&error))
    }

    /// How many of the newest inserts are certain to be reported. For a count window: the requested window,
    /// rounded up to whole generations. For a time window: the number of inserts in the generations that are
    /// now in the window.
    ///
    /// >>> from lately import Filter
    /// >>> Filter(window=1000, false_positive_rate=1e-6).guaranteed_window >= 1000
    /// True
    #[getter]
    fn guaranteed_window(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.core.guaranteed_window())
    }

    /// For a time window: items added less than this timedelta ago are certain to be reported. None for a
    /// count window.
    #[getter]
    fn guaranteed_span<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let span = py.detach(|| self.core.guaranteed_span());
        // In whole milliseconds, the span may be a little longer than the longest timedelta. The longest
        // timedelta is then guaranteed as well.
        let longest = || py.get_type::<PyDelta>().getattr("max");
        span.map(|span| span.into_pyobject(py).map(Bound::into_any).or_else(|_| longest())).transpose()
    }

    /// The memory of the filter in bytes. It is fixed, except for a time window without a capacity: that one
    /// follows the traffic.
    ///
    /// >>> from datetime import timedelta
    /// >>> from lately import Filter
    /// >>> recent = Filter(within=timedelta(minutes=10), false_positive_rate=1e-3)
    /// >>> recent.memory_bytes < 20_000
    /// True
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.core.memory_bytes())
    }

    /// Returns the filter's shape and the predictions of the exact model, as a Plan.
    ///
    /// >>> from lately import Filter
    /// >>> Filter(window=1_000_000, false_positive_rate=1e-4).plan().memory_bytes
    /// 3215368
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report::plan(py, self.cached_plan(py))
    }

    /// Returns counters, and estimates from the current bits, as Statistics. Reads all memory of the filter.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add_many(range(500))
    /// >>> seen.statistics().inserts
    /// 500
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let statistics = py.detach(|| self.core.statistics())?;
        report::statistics(py, &statistics, self.core.clock.refused())
    }

    /// Saves a snapshot to a file. load opens it, and so do the command `lately` and every other reader of
    /// the format. Even after a failure, the file holds a complete snapshot: the old one or the new one.
    ///
    /// >>> import os, tempfile
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("kept")
    /// >>> path = os.path.join(tempfile.mkdtemp(), "seen.lately")
    /// >>> seen.save(path)
    /// >>> "kept" in Filter.load(path)
    /// True
    fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = path.py();
        let path = snapshot::path(path)?;
        py.detach(|| self.core.save(&path)).map_err(errors::snapshot)
    }

    /// Returns the filter as a snapshot, for from_bytes on any machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.core.to_bytes(py)
    }

    /// Loads a filter from a file that save or the command `lately` has written. It continues exactly in the
    /// saved state.
    #[classmethod]
    fn load(class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        classes::object(class, snapshot::load(path)?)
    }

    /// Restores a filter from the result of to_bytes.
    ///
    /// >>> from lately import Filter
    /// >>> seen = Filter(window=1000, false_positive_rate=1e-6)
    /// >>> seen.add("kept")
    /// >>> Filter.from_bytes(seen.to_bytes()) == seen
    /// True
    #[classmethod]
    fn from_bytes(class: &Bound<'_, PyType>, snapshot: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        classes::object(class, snapshot::from_bytes(snapshot)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let restore = slf.get_type().getattr(intern!(slf.py(), "from_bytes"))?;
        Ok((restore, (slf.get().to_bytes(slf.py())?,)))
    }

    fn __copy__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let base = slf.get();
        let copy = slf.py().detach(|| base.core.copy())?;
        classes::object(&slf.get_type(), copy)
    }

    fn __deepcopy__(slf: &Bound<'_, Self>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::__copy__(slf)
    }

    fn __sizeof__(&self, py: Python<'_>) -> u64 {
        size_of::<Self>() as u64 + py.detach(|| self.core.memory_bytes())
    }

    /// Returns an independent copy.
    fn copy(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::__copy__(slf)
    }

    /// Adds many items: add_many by the name that sets use.
    #[pyo3(signature = (items, now=None, *, max_jump=None, nulls=None, key=None))]
    fn update<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        now: Option<&Bound<'py, PyAny>>,
        max_jump: Option<&Bound<'py, PyAny>>,
        nulls: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.add_many(items, now, max_jump, nulls, key)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let plan = self.cached_plan(py);
        let class = if self.core.is_shared() { "SharedFilter" } else { "Filter" };
        let window = match plan.window {
            Window::Count { inserts } => format!("the last {inserts} inserts"),
            Window::Time { span, capacity, .. } => {
                let span_ms = span.as_millis();
                format!("the last {span_ms} ms, up to {capacity} inserts")
            }
            Window::Elastic { span, .. } => {
                let (span_ms, most) = (span.as_millis(), plan.memory_bytes);
                format!("the last {span_ms} ms, memory as needed, at most {most} bytes")
            }
            _ => "a window".into(),
        };
        let (shape, rate) = (plan.shape, plan.false_positive_rate);
        let bytes = py.detach(|| self.core.memory_bytes());
        format!("<lately.{class}: {window}, rate {rate:.3e}, {bytes} bytes, {shape}>")
    }

    /// How the filter looks in a notebook: what it keeps, and how full its segments are.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(intern!(slf.py(), "lately._html"))?.call_method1(intern!(slf.py(), "of"), (slf,))
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match other.cast::<Self>().map(Bound::get) {
            Ok(other) if self.core.is_shared() == other.core.is_shared() => {
                let is_equal = py.detach(|| self.core.equals(&other.core))?;
                Ok(is_equal.into_pyobject(py)?.to_owned().into_any())
            }
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
}
