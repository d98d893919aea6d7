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
    timed: bool,
    told: AtomicBool,
}

impl Clock {
    pub(crate) fn new(timed: bool, told: bool) -> Self {
        Self { timed, told: AtomicBool::new(told) }
    }

    /// Returns true if a caller has given a time.
    pub(crate) fn told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// Resets to a state in which no caller has given a time.
    pub(crate) fn forget(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    /// Returns the time of a call with this `now`.
    #[inline]
    pub(crate) fn read(&self, now: Option<&Bound<'_, PyAny>>) -> PyResult<Now> {
        match now {
            None if !self.timed || self.told() => Ok(Now::Unchanged),
            None => Ok(Now::System),
            Some(_) if !self.timed => Err(PyValueError::new_err(
                "now was given, but a count window has no clock: leave it out, or build the filter with \
                 within=timedelta and capacity=inserts",
            )),
            Some(now) => {
                let now_ms = millis(now)?;
                self.told.store(true, Ordering::Relaxed);
                Ok(Now::Told(now_ms))
            }
        }
    }
}

/// The time of a call.
#[derive(Clone, Copy)]
pub(crate) enum Now {
    /// The filter's time stays the same.
    Unchanged,
    Told(u64),
    /// The system clock, read when it is the call's turn. If it were read earlier, a call that had to wait
    /// would count as a backward step of the clock.
    System,
}

impl Now {
    #[inline]
    pub(crate) fn millis(self) -> Option<u64> {
        match self {
            Self::Unchanged => None,
            Self::Told(now_ms) => Some(now_ms),
            Self::System => Some(system_ms()),
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
fn millis(now: &Bound<'_, PyAny>) -> PyResult<u64> {
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
