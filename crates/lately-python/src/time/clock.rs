//! Whose clock a filter follows.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use lately::{AnyFilter, Clock as Owner, Filter, SharedFilter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Now;

/// A filter that remembers whose times it gets.
pub(crate) trait Clocked: AnyFilter {
    fn remember(&mut self, owner: Owner);
}

impl Clocked for Filter {
    fn remember(&mut self, owner: Owner) {
        self.set_clock(owner);
    }
}

impl Clocked for &SharedFilter {
    fn remember(&mut self, owner: Owner) {
        self.set_clock(owner);
    }
}

/// The clock of a time window. The core never reads a clock; this type reads the system clock until a caller
/// gives a time. From then on the window uses the caller's clock: one call without a time must not expire a
/// stream of last year's events.
pub(crate) struct Clock {
    is_time_window: bool,
    /// A copy of what the filter remembers, which can be read without its lock.
    owner: AtomicU8,
    /// How many times were further ahead than their call allowed.
    refused: AtomicU64,
}

impl Clock {
    pub(crate) fn of(filter: &Filter) -> Self {
        let owner = match filter.clock() {
            // A snapshot with times of which nobody said whose they are: the system clock might expire all items.
            Owner::Unset if filter.latest_ms().is_some() => Owner::Events,
            owner => owner,
        };
        Self {
            is_time_window: filter.window().span().is_some(),
            owner: AtomicU8::new(owner as u8),
            refused: AtomicU64::new(0),
        }
    }

    fn is(&self, owner: Owner) -> bool {
        self.owner.load(Ordering::Relaxed) == owner as u8
    }

    fn set(&self, filter: &mut impl Clocked, owner: Owner) {
        if !self.is(owner) {
            filter.remember(owner);
            self.owner.store(owner as u8, Ordering::Relaxed);
        }
    }

    /// Returns true if a call without a time reads the system clock.
    #[inline]
    pub(crate) fn is_systems(&self) -> bool {
        self.is_time_window && !self.is(Owner::Events)
    }

    /// How many times were further ahead of the latest one than their call allowed.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Forgets whose times the filter got, as a cleared filter does.
    pub(crate) fn reset(&self, filter: &mut Filter) {
        self.set(filter, Owner::Unset);
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
        filter: &mut impl Clocked,
        now: Now,
        adds: bool,
    ) -> Result<(), lately::JumpError> {
        if !self.is_time_window {
            return Ok(());
        }
        let Some(now_ms) = now.millis else {
            if adds && self.is(Owner::Unset) {
                self.set(filter, Owner::System);
            }
            if self.is(Owner::System) {
                filter.advance_to(system_ms());
            }
            return Ok(());
        };
        self.set(filter, Owner::Events);
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
    pub(crate) fn follow(&self, filter: &mut impl Clocked, now: Now, adds: bool) {
        let _counted = self.advance(filter, now, adds);
    }
}

fn system_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
