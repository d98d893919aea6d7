//! What time it is for a filter: what the caller says, or the system's clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyInt, PyTzInfo};

/// Who tells the time of a time window. The core never reads a clock; here, where nobody tells the time, the system's is
/// read. Once a caller has told it, the window is on the caller's clock: a stream of last year's events must not be thrown
/// out because one call left out its time.
pub(crate) struct Clock {
    timed: bool,
    told: AtomicBool,
}

impl Clock {
    pub(crate) fn new(timed: bool, told: bool) -> Self {
        Self { timed, told: AtomicBool::new(told) }
    }

    /// Whether a caller has told the time.
    pub(crate) fn told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// As new: nobody has told the time yet.
    pub(crate) fn forget(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    /// The time to tell the filter.
    #[inline]
    pub(crate) fn read(&self, now: Option<&Bound<'_, PyAny>>) -> PyResult<Now> {
        match now {
            None if !self.timed || self.told() => Ok(Now::Unchanged),
            None => Ok(Now::System),
            Some(_) if !self.timed => Err(PyValueError::new_err(
                "a count window has no clock: leave out the time, or build the filter with within=timedelta and capacity",
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
    /// None is told.
    Unchanged,
    Told(u64),
    /// What the system's clock shows when it is the call's turn: had it been read before, a call that had to wait would
    /// count as a step of the clock backwards.
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

/// Milliseconds since 1970 (or of whatever clock the caller owns), or an aware datetime.
fn millis(now: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(time) = now.cast::<PyDateTime>() {
        if time.call_method0("utcoffset")?.is_none() {
            return Err(PyValueError::new_err(format!(
                "{} has no time zone, so it could mean many moments: add tzinfo, for example \
                 .replace(tzinfo=timezone.utc) or .astimezone()",
                time.repr()?
            )));
        }
        let utc = PyTzInfo::utc(now.py())?;
        let epoch = PyDateTime::new(now.py(), 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?;
        return time.sub(epoch)?.extract().map(whole_millis).map_err(|_| {
            PyValueError::new_err(format!(
                "{time} is before 1970: tell times from then on, or your own count of ms"
            ))
        });
    }
    if now.is_instance_of::<PyInt>() && !now.is_instance_of::<PyBool>() {
        return now.extract().map_err(|_| {
            PyValueError::new_err(format!("a time of {now} ms cannot be told: give 0 to {} ms", u64::MAX))
        });
    }
    Err(PyTypeError::new_err(format!(
        "a time of type {} cannot be told: give a datetime with a time zone, or whole milliseconds as an int, for example \
         time.time_ns() // 1_000_000",
        now.get_type().fully_qualified_name()?
    )))
}
