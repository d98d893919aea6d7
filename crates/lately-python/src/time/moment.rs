//! One time as a Python object.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDateTime, PyInt, PyType, PyTzInfo};

/// Converts a time to milliseconds since 1970. A whole number is milliseconds already, of any clock.
#[inline]
pub(super) fn millis(now: &Bound<'_, PyAny>) -> PyResult<u64> {
    if now.is_exact_instance_of::<PyInt>() {
        return of_number(now);
    }
    match of_aware_datetime(now)? {
        Some(millis) => Ok(millis),
        None => match now.cast::<PyDateTime>() {
            Ok(time) => of_datetime(time),
            Err(_) => of_other(now),
        },
    }
}

/// The short way for nearly all datetimes; `None` for other objects, and for datetimes that need the long way.
///
/// Python subtracts datetimes of one zone without asking it for offsets, so this asks at most once. Between a zone and
/// UTC, Python would ask twice.
#[inline]
fn of_aware_datetime(now: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    static DATETIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = now.py();
    // A subclass may know nanoseconds (pandas does) and round them.
    if !now.get_type().is(DATETIME.import(py, "datetime", "datetime")?) {
        return Ok(None);
    }
    let zone = now.getattr(intern!(py, "tzinfo"))?;
    if zone.is_none() {
        return Ok(None);
    }
    let since = match epoch_in(&zone)? {
        Epoch::Utc(epoch) => now.sub(epoch)?,
        Epoch::Local(epoch) => {
            let offset = now.call_method0(intern!(py, "utcoffset"))?;
            if offset.is_none() {
                return Ok(None);
            }
            now.sub(epoch)?.sub(offset)?
        }
    };
    let days: i64 = since.getattr(intern!(py, "days"))?.extract()?;
    let seconds: u64 = since.getattr(intern!(py, "seconds"))?.extract()?;
    let micros: u64 = since.getattr(intern!(py, "microseconds"))?.extract()?;
    Ok(u64::try_from(days).ok().map(|days| (days * 86_400 + seconds) * 1000 + micros / 1000))
}

/// The start of 1970, as a datetime of a time zone.
enum Epoch<T> {
    /// In UTC, for a zone whose offset never changes.
    Utc(T),
    /// On the clocks of the zone.
    Local(T),
}

impl<T> Epoch<T> {
    fn map<U>(&self, convert: impl FnOnce(&T) -> U) -> Epoch<U> {
        match self {
            Self::Utc(epoch) => Epoch::Utc(convert(epoch)),
            Self::Local(epoch) => Epoch::Local(convert(epoch)),
        }
    }
}

/// A time zone whose epoch is known.
struct Known {
    zone: Py<PyAny>,
    epoch: Epoch<Py<PyAny>>,
}

/// Returns the epoch in a time zone. Remembers the last one: most streams have one zone.
#[inline]
fn epoch_in<'py>(zone: &Bound<'py, PyAny>) -> PyResult<Epoch<Bound<'py, PyAny>>> {
    static LAST: Mutex<Option<Known>> = Mutex::new(None);
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let py = zone.py();
    if let Some(known) = &*last()
        && known.zone.is(zone)
    {
        return Ok(known.epoch.map(|epoch| epoch.clone_ref(py).into_bound(py)));
    }
    let epoch = new_epoch_in(zone)?;
    let known = Known { zone: zone.clone().unbind(), epoch: epoch.map(|epoch| epoch.clone().unbind()) };
    let before = last().replace(known);
    // Without the lock: a zone may run code when it is freed.
    drop(before);
    Ok(epoch)
}

fn new_epoch_in<'py>(zone: &Bound<'py, PyAny>) -> PyResult<Epoch<Bound<'py, PyAny>>> {
    static FIXED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = zone.py();
    let epoch = |zone: &Bound<'py, PyTzInfo>| PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(zone));
    if zone.get_type().is(FIXED.import(py, "datetime", "timezone")?) {
        return epoch(&*PyTzInfo::utc(py)?)?.call_method1("astimezone", (zone,)).map(Epoch::Utc);
    }
    Ok(Epoch::Local(epoch(zone.cast()?)?.into_any()))
}

fn of_datetime(time: &Bound<'_, PyDateTime>) -> PyResult<u64> {
    let py = time.py();
    // NaT of pandas, which is a datetime, is not equal to itself.
    if time.ne(time)? {
        return Err(not_a_time());
    }
    if time.call_method0(intern!(py, "utcoffset"))?.is_none() {
        return Err(PyValueError::new_err(format!(
            "now = {} has no time zone and is ambiguous: add a time zone, for example with \
             .replace(tzinfo=timezone.utc) or .astimezone()",
            time.repr()?
        )));
    }
    let utc = PyTzInfo::utc(py)?;
    let epoch = PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?;
    let since: Duration = time.sub(epoch)?.extract().map_err(|_| before_1970(time))?;
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn of_other(now: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = now.py();
    if let Ok(dtype) = now.getattr(intern!(py, "dtype"))
        && dtype.getattr("kind").is_ok_and(|kind| kind.eq("M").unwrap_or(false))
    {
        // numpy's datetime64 has no time zone; by numpy's definition it is UTC.
        let millis: i64 = numpy_millis(now)?.call_method1("astype", ("int64",))?.extract()?;
        if millis == i64::MIN {
            return Err(not_a_time());
        }
        return u64::try_from(millis).map_err(|_| before_1970(now));
    }
    let is_bool = now.is_instance_of::<PyBool>() || now.get_type().name()? == "bool";
    if !is_bool && let Ok(index) = now.call_method0(intern!(py, "__index__")) {
        return of_number(&index);
    }
    Err(PyTypeError::new_err(format!(
        "now cannot be of type {}: give a datetime with a time zone, a datetime64, or whole milliseconds as an int, for \
         example time.time_ns() // 1_000_000",
        now.get_type().fully_qualified_name()?
    )))
}

/// Converts a time of numpy, or an array of them, to a `datetime64` of milliseconds. Without this check, numpy would
/// silently convert a time that is too far away to another one.
pub(super) fn numpy_millis<'py>(times: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = times.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let unit = times.getattr(intern!(py, "dtype"))?;
    let millis = times.call_method1(intern!(py, "astype"), ("M8[ms]",))?;
    // Times of a finer unit are rounded, and never too far away.
    if numpy.call_method1("can_cast", (&unit, "M8[ms]"))?.is_truthy()? {
        let is_same =
            millis.call_method1(intern!(py, "astype"), (unit,))?.rich_compare(times, CompareOp::Eq)?;
        let is_missing = numpy.call_method1("isnat", (times,))?;
        if !is_same.bitor(is_missing)?.call_method0("all")?.is_truthy()? {
            return Err(PyValueError::new_err(
                "now is too far away to be counted in milliseconds: give a time before the year 292278994",
            ));
        }
    }
    Ok(millis)
}

fn of_number(now: &Bound<'_, PyAny>) -> PyResult<u64> {
    now.extract().map_err(|_| {
        PyValueError::new_err(format!("now = {now} ms is not possible: give 0 to {} ms", u64::MAX))
    })
}

fn not_a_time() -> PyErr {
    PyValueError::new_err("now is NaT, which is no time: leave now out, or give a time")
}

fn before_1970(now: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!(
        "now = {now} is before 1970: give a later time, or milliseconds of your own clock as an int"
    ))
}
