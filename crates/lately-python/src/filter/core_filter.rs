//! A filter of the core, locked or shared, as used by the threads of the interpreter.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately::{
    AgeRange, ConfigError, Filter, HashFunction, JumpError, Plan, SharedFilter, SnapshotError, Statistics,
    Window,
};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use super::action::Action;
use super::bulk::Bulk;
use super::snapshot;
use crate::errors::{Interrupted, NoMemory};
use crate::time::{Clock, Now, Times};

pub(super) struct CoreFilter {
    filter: Kind,
    pub(super) clock: Clock,
}

/// Boxed, because the core's filters contain SIMD tables, and memory allocated by Python is not aligned for
/// them.
enum Kind {
    /// Calls of several threads run one at a time.
    Locked(Box<Mutex<Filter>>),
    Shared(Box<Shared>),
}

struct Shared {
    filter: SharedFilter,
    /// Held while a thread reads the system clock and advances the filter, so that the filter receives the
    /// times in order.
    system_clock: Mutex<()>,
}

impl Shared {
    /// Advances the filter to the time of a call, and returns it.
    fn at(&self, clock: &Clock, now: Now, adds: bool) -> &SharedFilter {
        let reads_system_clock = now.millis.is_none() && clock.is_systems();
        let _in_order =
            reads_system_clock.then(|| self.system_clock.lock().unwrap_or_else(PoisonError::into_inner));
        clock.follow(&mut &self.filter, now, adds);
        &self.filter
    }

    /// The same for a call that only reads.
    fn as_read(&self, clock: &Clock) -> &SharedFilter {
        self.at(clock, Now::default(), false)
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

impl CoreFilter {
    pub(super) fn locked(filter: Filter) -> Self {
        let clock = Clock::of(&filter);
        Self { filter: Kind::Locked(Box::new(Mutex::new(filter))), clock }
    }

    /// Needs memory for both filters during the call. Call it detached from the interpreter.
    pub(super) fn shared(filter: Filter) -> Result<Self, ConfigError> {
        let clock = Clock::of(&filter);
        let filter = SharedFilter::try_from(filter)?;
        Ok(Self { filter: Kind::Shared(Box::new(Shared { filter, system_clock: Mutex::new(()) })), clock })
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.filter, Kind::Shared(_))
    }

    /// Locks the filter at the time of a call that only reads.
    fn read<'a>(&self, filter: &'a Mutex<Filter>) -> MutexGuard<'a, Filter> {
        let mut filter = lock(filter);
        self.clock.follow(&mut *filter, Now::default(), false);
        filter
    }
}

/// These methods may take a while. Call them detached from the interpreter (`Python::detach`).
impl CoreFilter {
    /// Performs a bulk call and writes the answers to `seen`, which must be as long as the items, or empty if
    /// the action has no answers. Calls `pause` between turns, without the lock of the filter: it may run
    /// Python code.
    pub(super) fn perform_many(
        &self,
        mut bulk: Bulk<'_>,
        seen: &mut [bool],
        mut pause: impl FnMut() -> PyResult<()>,
    ) -> Result<(), Interrupted> {
        if let Times::ForAll(now) = *bulk.times {
            let adds = bulk.action.adds();
            match &self.filter {
                Kind::Locked(filter) => self.clock.follow(&mut *lock(filter), now, adds),
                Kind::Shared(shared) => _ = shared.at(&self.clock, now, adds),
            }
        }
        loop {
            let is_more = match &self.filter {
                Kind::Locked(filter) => bulk.take_turn(&mut *lock(filter), seen),
                Kind::Shared(shared) => bulk.take_turn(&mut &shared.filter, seen),
            };
            if !is_more {
                return Ok(());
            }
            pause().map_err(|error| Interrupted { done: bulk.cursor.done, error })?;
        }
    }

    /// Fails if the time is too far ahead.
    pub(super) fn advance_to(&self, now: Now) -> Result<(), JumpError> {
        match &self.filter {
            Kind::Locked(filter) => self.clock.advance(&mut *lock(filter), now, true),
            Kind::Shared(shared) => self.clock.advance(&mut &shared.filter, now, true),
        }
    }

    pub(super) fn guaranteed_window(&self) -> u64 {
        match &self.filter {
            Kind::Locked(filter) => self.read(filter).guaranteed_window(),
            Kind::Shared(shared) => shared.as_read(&self.clock).guaranteed_window(),
        }
    }

    pub(super) fn guaranteed_span(&self) -> Option<Duration> {
        match &self.filter {
            Kind::Locked(filter) => self.read(filter).guaranteed_span(),
            Kind::Shared(shared) => shared.as_read(&self.clock).guaranteed_span(),
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.filter {
            Kind::Locked(filter) => self.read(filter).memory_bytes(),
            Kind::Shared(shared) => shared.filter.memory_bytes(),
        }
    }

    pub(super) fn hash_function(&self) -> HashFunction {
        match &self.filter {
            Kind::Locked(filter) => lock(filter).hash_function(),
            Kind::Shared(shared) => shared.filter.hash_function(),
        }
    }

    pub(super) fn plan(&self) -> Plan {
        match &self.filter {
            Kind::Locked(filter) => lock(filter).plan(),
            Kind::Shared(shared) => shared.filter.plan(),
        }
    }

    pub(super) fn statistics(&self) -> Result<Statistics, NoMemory> {
        match &self.filter {
            Kind::Locked(filter) => Ok(self.read(filter).statistics()),
            Kind::Shared(shared) => {
                shared.as_read(&self.clock);
                Ok(shared.copy()?.statistics())
            }
        }
    }

    /// Returns a copy, which is always a `Filter` of the core.
    pub(super) fn copy(&self) -> Result<Filter, NoMemory> {
        match &self.filter {
            Kind::Locked(filter) => {
                let filter = lock(filter);
                filter.try_clone().map_err(|_| NoMemory::ForFilter { bytes: filter.memory_bytes() })
            }
            Kind::Shared(shared) => shared.copy(),
        }
    }

    pub(super) fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        match &self.filter {
            Kind::Locked(filter) => {
                // Writing needs the filter locked; waiting for the disk does not.
                let pending = lock(filter).start_save(path)?;
                pending.finish()
            }
            Kind::Shared(shared) => shared.filter.save(path),
        }
    }

    /// Clears the filter. Does nothing for a shared filter: its class has no such method.
    pub(super) fn clear(&self) {
        if let Kind::Locked(filter) = &self.filter {
            let mut filter = lock(filter);
            filter.clear();
            self.clock.reset(&mut filter);
        }
    }

    pub(super) fn equals(&self, other: &Self) -> Result<bool, NoMemory> {
        match (&self.filter, &other.filter) {
            _ if std::ptr::eq(self, other) => Ok(true),
            (Kind::Locked(left), Kind::Locked(right)) => {
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
        if let Kind::Locked(filter) = &self.filter
            && let Some(len) = py.detach(|| fixed_snapshot_len(&lock(filter)))
        {
            return snapshot::new_bytes(py, len, |bytes| snapshot::write(&lock(filter), bytes));
        }
        let copy = py.detach(|| self.copy())?;
        snapshot::new_bytes(py, copy.snapshot_len(), |bytes| snapshot::write(&copy, bytes))
    }
}

/// Returns the length of the filter's snapshots, or `None` if it may change: an elastic window grows.
fn fixed_snapshot_len(filter: &Filter) -> Option<u64> {
    (!matches!(filter.window(), Window::Elastic { .. })).then(|| filter.snapshot_len())
}

/// These methods are short. Call them attached to the interpreter.
impl CoreFilter {
    #[inline]
    pub(super) fn perform(&self, py: Python<'_>, action: Action, hash: u64, now: Now) -> bool {
        match &self.filter {
            Kind::Locked(filter) => {
                let mut filter = lock_attached(py, filter);
                self.clock.follow(&mut *filter, now, action.adds());
                action.perform(&mut *filter, hash)
            }
            Kind::Shared(shared) => action.perform(&mut shared.at(&self.clock, now, action.adds()), hash),
        }
    }

    pub(super) fn age_of_hash(&self, py: Python<'_>, hash: u64) -> Option<AgeRange> {
        match &self.filter {
            Kind::Locked(filter) => {
                let mut filter = lock_attached(py, filter);
                self.clock.follow(&mut *filter, Now::default(), false);
                filter.age_of_hash(hash)
            }
            Kind::Shared(shared) => shared.as_read(&self.clock).age_of_hash(hash),
        }
    }
}
