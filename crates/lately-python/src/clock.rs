//! The time of a filter: given by the caller, or read from the system clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyInt, PyTzInfo};

/// The clock of a time window. The core never reads a clock; this type reads the system clock until a caller
/// gives a time. From then on the window uses the caller's clock: one call without a time must not expire a
/// stream of last year's events.
pub(crate) struct Clock {
    is_time_window: bool,
    /// True if a caller has given a time.
    time_given: AtomicBool,
}

impl Clock {
    pub(crate) fn new(is_time_window: bool, time_given: bool) -> Self {
        Self { is_time_window, time_given: AtomicBool::new(time_given) }
    }

    pub(crate) fn time_given(&self) -> bool {
        self.time_given.load(Ordering::Relaxed)
    }

    /// Returns to the system clock, until a caller gives a time again.
    pub(crate) fn reset(&self) {
        self.time_given.store(false, Ordering::Relaxed);
    }

    /// Returns the time of a call with this `now`.
    #[inline]
    pub(crate) fn time_of_call(&self, now: Option<&Bound<'_, PyAny>>) -> PyResult<CallTime> {
        match now {
            None if !self.is_time_window || self.time_given() => Ok(CallTime::Unchanged),
            None => Ok(CallTime::SystemClock),
            Some(_) if !self.is_time_window => Err(PyValueError::new_err(
                "now was given, but a count window has no clock: leave it out, or build the filter with \
                 within=timedelta and capacity=inserts",
            )),
            Some(now) => {
                let now_ms = given_millis(now)?;
                self.time_given.store(true, Ordering::Relaxed);
                Ok(CallTime::Given(now_ms))
            }
        }
    }
}

/// The time of a call.
#[derive(Clone, Copy)]
pub(crate) enum CallTime {
    /// The filter's time stays the same.
    Unchanged,
    /// Milliseconds of the caller's clock.
    Given(u64),
    /// The system clock, read when the call has the filter. If it were read earlier, a call that had to wait
    /// would count as a backward step of the clock.
    SystemClock,
}

impl CallTime {
    /// Returns the time to which the filter must advance, or `None` if its time stays the same. Reads the
    /// system clock now.
    #[inline]
    pub(crate) fn millis(self) -> Option<u64> {
        match self {
            Self::Unchanged => None,
            Self::Given(now_ms) => Some(now_ms),
            Self::SystemClock => Some(system_ms()),
        }
    }
}

fn system_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_millis)
}

fn whole_millis(since_epoch: Duration) -> u64 {
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

/// Converts an aware datetime to milliseconds since 1970; an int is already in milliseconds, of any clock.
fn given_millis(now: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(time) = now.cast::<PyDateTime>() {
        if time.call_method0("utcoffset")?.is_none() {
            return Err(PyValueError::new_err(format!(
                "now = {} has no time zone and is ambiguous: add a time zone, for example with \
                 .replace(tzinfo=timezone.utc) or .astimezone()",
                time.repr()?
            )));
        }
        let utc = PyTzInfo::utc(now.py())?;
        let epoch = PyDateTime::new(now.py(), 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?;
        return time.sub(epoch)?.extract().map(whole_millis).map_err(|_| {
            PyValueError::new_err(format!(
                "now = {time} is before 1970: give a later datetime, or milliseconds of your own clock as an int"
            ))
        });
    }
    if now.is_instance_of::<PyInt>() && !now.is_instance_of::<PyBool>() {
        return now.extract().map_err(|_| {
            PyValueError::new_err(format!("now = {now} ms is not possible: give 0 to {} ms", u64::MAX))
        });
    }
    Err(PyTypeError::new_err(format!(
        "now cannot be of type {}: give a datetime with a time zone, or whole milliseconds as an int, for example \
         time.time_ns() // 1_000_000",
        now.get_type().fully_qualified_name()?
    )))
}
