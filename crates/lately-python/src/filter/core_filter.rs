//! A filter of the core, locked or shared, as used by the threads of the interpreter.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately::{
    AgeRange, AnyFilter, ConfigError, Filter, HashFunction, Plan, SharedFilter, SnapshotError, Statistics,
};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use super::action::Action;
use super::snapshot;
use crate::clock::CallTime;
use crate::errors::NoMemory;
use crate::items::Items;

/// Boxed, because the core's filters contain SIMD tables, and memory allocated by Python is not aligned for
/// them.
pub(super) enum CoreFilter {
    /// Calls of several threads run one at a time.
    Locked(Box<Mutex<Filter>>),
    Shared(Box<Shared>),
}

pub(super) struct Shared {
    filter: SharedFilter,
    /// Held while a thread reads the system clock and advances the filter, so that the filter receives the
    /// times in order.
    system_clock: Mutex<()>,
}

impl Shared {
    fn advance_to(&self, time: CallTime) {
        let _in_order = matches!(time, CallTime::SystemClock)
            .then(|| self.system_clock.lock().unwrap_or_else(PoisonError::into_inner));
        advance(&mut &self.filter, time);
    }

    fn copy(&self) -> Result<Filter, NoMemory> {
        let bytes = self.filter.memory_bytes();
        self.filter.try_to_filter().map_err(|_| NoMemory::ForFilter { bytes })
    }
}

/// Locks the filter while detached from the interpreter. After a panic of another thread the filter is still
/// consistent: the core never leaves an operation half done.
fn lock(filter: &Mutex<Filter>) -> MutexGuard<'_, Filter> {
    filter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the filter while attached to the interpreter. A thread that waits for another thread's bulk call
/// detaches meanwhile.
fn lock_attached<'a>(py: Python<'_>, filter: &'a Mutex<Filter>) -> MutexGuard<'a, Filter> {
    filter.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Performs the action on all items, chunk by chunk. `seen` is empty if the action has no answers.
fn perform_many(filter: &mut impl AnyFilter, action: Action, items: &Items, seen: &mut [bool]) {
    items.for_each_chunk(|first, hashes| {
        let seen = if seen.is_empty() { &mut [] } else { &mut seen[first..first + hashes.len()] };
        action.perform_many(filter, hashes, seen);
    });
}

#[inline]
fn advance(filter: &mut impl AnyFilter, time: CallTime) {
    if let Some(now_ms) = time.millis() {
        filter.advance_to(now_ms);
    }
}

impl CoreFilter {
    pub(super) fn locked(filter: Filter) -> Self {
        Self::Locked(Box::new(Mutex::new(filter)))
    }

    /// Needs memory for both filters during the call. Call it detached from the interpreter.
    pub(super) fn shared(filter: Filter) -> Result<Self, ConfigError> {
        let filter = SharedFilter::try_from(filter)?;
        Ok(Self::Shared(Box::new(Shared { filter, system_clock: Mutex::new(()) })))
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

/// These methods may take a while. Call them detached from the interpreter (`Python::detach`).
impl CoreFilter {
    /// Performs the action on all items and writes the answers to `seen`, which must be as long as `items`,
    /// or empty if the action has no answers.
    pub(super) fn perform_many(&self, action: Action, items: &Items, time: CallTime, seen: &mut [bool]) {
        match self {
            Self::Locked(filter) => {
                let mut filter = lock(filter);
                advance(&mut *filter, time);
                perform_many(&mut *filter, action, items, seen);
            }
            Self::Shared(shared) => {
                shared.advance_to(time);
                perform_many(&mut &shared.filter, action, items, seen);
            }
        }
    }

    pub(super) fn advance_to(&self, time: CallTime) {
        match self {
            Self::Locked(filter) => advance(&mut *lock(filter), time),
            Self::Shared(shared) => shared.advance_to(time),
        }
    }

    pub(super) fn guaranteed_window(&self) -> u64 {
        match self {
            Self::Locked(filter) => lock(filter).guaranteed_window(),
            Self::Shared(shared) => shared.filter.guaranteed_window(),
        }
    }

    pub(super) fn guaranteed_span(&self) -> Option<Duration> {
        match self {
            Self::Locked(filter) => lock(filter).guaranteed_span(),
            Self::Shared(shared) => shared.filter.guaranteed_span(),
        }
    }

    pub(super) fn hash_function(&self) -> HashFunction {
        match self {
            Self::Locked(filter) => lock(filter).hash_function(),
            Self::Shared(shared) => shared.filter.hash_function(),
        }
    }

    pub(super) fn plan(&self) -> Plan {
        match self {
            Self::Locked(filter) => lock(filter).plan(),
            Self::Shared(shared) => shared.filter.plan(),
        }
    }

    pub(super) fn statistics(&self) -> Result<Statistics, NoMemory> {
        match self {
            Self::Locked(filter) => Ok(lock(filter).statistics()),
            Self::Shared(shared) => Ok(shared.copy()?.statistics()),
        }
    }

    /// Returns a copy, which is always a `Filter` of the core.
    pub(super) fn copy(&self) -> Result<Filter, NoMemory> {
        match self {
            Self::Locked(filter) => {
                let filter = lock(filter);
                filter.try_clone().map_err(|_| NoMemory::ForFilter { bytes: filter.memory_bytes() })
            }
            Self::Shared(shared) => shared.copy(),
        }
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        match self {
            Self::Locked(filter) => {
                // Writing needs the filter locked; waiting for the disk does not.
                let pending = lock(filter).start_save(path)?;
                pending.finish()
            }
            Self::Shared(shared) => shared.filter.save(path),
        }
    }

    /// Clears the filter. Does nothing for a shared filter: its class has no such method.
    pub(super) fn clear(&self) {
        if let Self::Locked(filter) = self {
            lock(filter).clear();
        }
    }

    pub(super) fn equals(&self, other: &Self) -> Result<bool, NoMemory> {
        match (self, other) {
            _ if std::ptr::eq(self, other) => Ok(true),
            (Self::Locked(left), Self::Locked(right)) => {
                // All threads lock in the same order; otherwise two threads could deadlock.
                let address = |filter: &Mutex<Filter>| std::ptr::from_ref(filter).addr();
                let (first, second) =
                    if address(left) < address(right) { (left, right) } else { (right, left) };
                let first = lock(first);
                Ok(*first == *lock(second))
            }
            _ => Ok(self.copy()? == other.copy()?),
        }
    }
}

/// This method creates a Python object, so call it attached to the interpreter. It detaches while it works.
impl CoreFilter {
    pub(super) fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self {
            // The length is fixed at construction, so it does not change between the two locks.
            Self::Locked(filter) => {
                let len = py.detach(|| lock(filter).snapshot_len());
                snapshot::new_bytes(py, len, |bytes| snapshot::write(&lock(filter), bytes))
            }
            Self::Shared(shared) => {
                let copy = py.detach(|| shared.copy())?;
                snapshot::new_bytes(py, copy.snapshot_len(), |bytes| snapshot::write(&copy, bytes))
            }
        }
    }
}

/// These methods are short. Call them attached to the interpreter.
impl CoreFilter {
    #[inline]
    pub(super) fn perform(&self, py: Python<'_>, action: Action, hash: u64, time: CallTime) -> bool {
        match self {
            Self::Locked(filter) => {
                let mut filter = lock_attached(py, filter);
                advance(&mut *filter, time);
                action.perform(&mut *filter, hash)
            }
            Self::Shared(shared) => {
                shared.advance_to(time);
                action.perform(&mut &shared.filter, hash)
            }
        }
    }

    pub(super) fn age_of_hash(&self, py: Python<'_>, hash: u64) -> Option<AgeRange> {
        match self {
            Self::Locked(filter) => lock_attached(py, filter).age_of_hash(hash),
            Self::Shared(shared) => shared.filter.age_of_hash(hash),
        }
    }
}
