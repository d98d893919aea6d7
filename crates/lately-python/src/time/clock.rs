//! Whose clock a filter follows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use lately::AnyFilter;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Now;

/// The clock of a time window. The core never reads a clock; this type reads the system clock until a caller
/// gives a time. From then on the window uses the caller's clock: one call without a time must not expire a
/// stream of last year's events.
pub(crate) struct Clock {
    is_time_window: bool,
    /// True if a caller has given a time.
    time_given: AtomicBool,
    /// How many times were further ahead than their call allowed.
    refused: AtomicU64,
}

impl Clock {
    pub(crate) fn new(is_time_window: bool, time_given: bool) -> Self {
        Self { is_time_window, time_given: AtomicBool::new(time_given), refused: AtomicU64::new(0) }
    }

    /// Returns true if a call without a time reads the system clock.
    #[inline]
    pub(crate) fn is_systems(&self) -> bool {
        self.is_time_window && !self.time_given()
    }

    pub(crate) fn time_given(&self) -> bool {
        self.time_given.load(Ordering::Relaxed)
    }

    /// How many times were further ahead of the latest one than their call allowed.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns to the system clock, until a caller gives a time again.
    pub(crate) fn reset(&self) {
        self.time_given.store(false, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
    }

    /// Fails if a call gives a time to a count window.
    pub(crate) fn check_given(
        &self,
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let word = match (now, max_jump) {
            (None, None) => return Ok(()),
            (None, Some(_)) => {
                return Err(PyValueError::new_err(
                    "max_jump was given without now: leave it out, or give now",
                ));
            }
            _ if self.is_time_window => return Ok(()),
            (Some(_), _) => "now",
        };
        Err(PyValueError::new_err(format!(
            "{word} was given, but a count window has no clock: leave it out, or build the filter with within=timedelta"
        )))
    }

    /// Advances the filter to the time of a call. Without a time, and unless a caller has given one before,
    /// this is the system's. A call that adds items starts the system clock; others only follow it.
    #[inline]
    pub(crate) fn advance(
        &self,
        filter: &mut impl AnyFilter,
        now: Now,
        adds: bool,
    ) -> Result<(), lately::JumpError> {
        if !self.is_time_window {
            return Ok(());
        }
        let Some(now_ms) = now.millis else {
            if self.is_systems() && (adds || filter.latest_ms().is_some()) {
                filter.advance_to(system_ms());
            }
            return Ok(());
        };
        self.time_given.store(true, Ordering::Relaxed);
        match now.max_jump {
            None => filter.advance_to(now_ms),
            Some(max_jump) => filter.advance_at_most(now_ms, max_jump).inspect_err(|_| {
                self.refused.fetch_add(1, Ordering::Relaxed);
            })?,
        }
        Ok(())
    }

    /// The same, but a time that is too far ahead is only counted: the filter stays at its latest time.
    #[inline]
    pub(crate) fn follow(&self, filter: &mut impl AnyFilter, now: Now, adds: bool) {
        let _counted = self.advance(filter, now, adds);
    }
}

fn system_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
