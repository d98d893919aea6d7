//! A filter of the core, exclusive or shared, as used by the threads of the interpreter.

use std::convert::Infallible;
use std::mem;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately::{AgeRange, Filter, HashFunction, Plan, SharedFilter, SnapshotError, Statistics};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use crate::clock::Now;
use crate::errors::NoMemory;
use crate::items::Items;
use crate::operation::Operation;

/// Boxed, because the core's filters contain SIMD tables, and memory allocated by Python is not aligned for
/// them.
pub(crate) enum State {
    /// Calls of several threads run one at a time.
    Own(Box<Mutex<Filter>>),
    Shared(Box<Shared>),
}

pub(crate) struct Shared {
    filter: SharedFilter,
    /// Memory of a `Filter` with this state.
    memory_bytes: u64,
    /// Held while a thread reads the system clock and advances the filter, so that the filter receives the
    /// times in order.
    clock: Mutex<()>,
}

impl Shared {
    pub(crate) fn new(filter: Filter) -> Result<Self, lately::ConfigError> {
        let memory_bytes = filter.memory_bytes();
        Ok(Self { filter: SharedFilter::try_from(filter)?, memory_bytes, clock: Mutex::new(()) })
    }

    fn advance_to(&self, now: Now) {
        let _turn =
            matches!(now, Now::System).then(|| self.clock.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(now_ms) = now.millis() {
            self.filter.advance_to(now_ms);
        }
    }

    fn snapshot(&self) -> Result<Filter, NoMemory> {
        let bytes = self.memory_bytes;
        self.filter.try_snapshot().map_err(|_| NoMemory::ForFilter { bytes })
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

/// These methods may take a while. Call them detached from the interpreter (`Python::detach`).
impl State {
    /// `seen` must be as long as `items`, or empty if the operation has no answers.
    pub(crate) fn run(&self, operation: Operation, items: &Items, now: Now, seen: &mut [bool]) {
        let mut seen_from = |first: usize, hashes: &[u64], ask: &mut dyn FnMut(&[u64], &mut [bool])| {
            let answers = if operation.answers() { &mut seen[first..first + hashes.len()] } else { &mut [] };
            ask(hashes, answers);
        };
        match self {
            Self::Own(filter) => {
                let mut filter = lock(filter);
                if let Some(now_ms) = now.millis() {
                    filter.advance_to(now_ms);
                }
                let mut ask = |hashes: &[u64], seen: &mut [bool]| operation.many(&mut filter, hashes, seen);
                items.for_each_chunk(|first, hashes| seen_from(first, hashes, &mut ask));
            }
            Self::Shared(shared) => {
                shared.advance_to(now);
                let mut ask =
                    |hashes: &[u64], seen: &mut [bool]| operation.many_shared(&shared.filter, hashes, seen);
                items.for_each_chunk(|first, hashes| seen_from(first, hashes, &mut ask));
            }
        }
    }

    pub(crate) fn advance_to(&self, now: Now) {
        match self {
            Self::Own(filter) => {
                let mut filter = lock(filter);
                if let Some(now_ms) = now.millis() {
                    filter.advance_to(now_ms);
                }
            }
            Self::Shared(shared) => shared.advance_to(now),
        }
    }

    pub(crate) fn guaranteed_window(&self) -> u64 {
        match self {
            Self::Own(filter) => lock(filter).guaranteed_window(),
            Self::Shared(shared) => shared.filter.guaranteed_window(),
        }
    }

    pub(crate) fn guaranteed_span(&self) -> Option<Duration> {
        match self {
            Self::Own(filter) => lock(filter).guaranteed_span(),
            Self::Shared(shared) => shared.filter.guaranteed_span(),
        }
    }

    pub(crate) fn hash_function(&self) -> HashFunction {
        match self {
            Self::Own(filter) => lock(filter).hash_function(),
            Self::Shared(shared) => shared.filter.hash_function(),
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        match self {
            Self::Own(filter) => lock(filter).plan(),
            Self::Shared(shared) => shared.filter.plan(),
        }
    }

    pub(crate) fn statistics(&self) -> Result<Statistics, NoMemory> {
        match self {
            Self::Own(filter) => Ok(lock(filter).statistics()),
            Self::Shared(shared) => Ok(shared.snapshot()?.statistics()),
        }
    }

    /// Returns a `Filter` of the core with this state.
    pub(crate) fn copied(&self) -> Result<Filter, NoMemory> {
        match self {
            Self::Own(filter) => {
                let filter = lock(filter);
                filter.try_clone().map_err(|_| NoMemory::ForFilter { bytes: filter.memory_bytes() })
            }
            Self::Shared(shared) => shared.snapshot(),
        }
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        match self {
            Self::Own(filter) => {
                // Writing needs the filter locked; waiting for the disk does not.
                let pending = lock(filter).start_save(path)?;
                pending.finish()
            }
            Self::Shared(shared) => shared.filter.save(path),
        }
    }

    /// Clears the filter. Does nothing for a shared filter: the core cannot clear it.
    pub(crate) fn clear(&self) {
        if let Self::Own(filter) = self {
            lock(filter).clear();
        }
    }

    pub(crate) fn equals(&self, other: &Self) -> Result<bool, NoMemory> {
        match (self, other) {
            _ if std::ptr::eq(self, other) => Ok(true),
            (Self::Own(left), Self::Own(right)) => {
                // All threads lock in the same order; otherwise two threads could deadlock.
                let address = |filter: &Mutex<Filter>| std::ptr::from_ref(filter).addr();
                let (first, second) =
                    if address(left) < address(right) { (left, right) } else { (right, left) };
                let first = lock(first);
                Ok(*first == *lock(second))
            }
            _ => Ok(self.copied()? == other.copied()?),
        }
    }
}

/// This method creates a Python object, so call it attached to the interpreter. It detaches while it works.
impl State {
    pub(crate) fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self {
            // The length is fixed at construction, so it does not change between the two locks.
            Self::Own(filter) => {
                let len = py.detach(|| lock(filter).snapshot_len());
                bytes_of(py, len, |bytes| write_snapshot(&lock(filter), bytes))
            }
            Self::Shared(shared) => {
                let copy = py.detach(|| shared.snapshot())?;
                bytes_of(py, copy.snapshot_len(), |bytes| write_snapshot(&copy, bytes))
            }
        }
    }
}

/// Creates a bytes object and writes directly into it: a snapshot is as large as its filter, so a second copy
/// would be expensive.
fn bytes_of(py: Python<'_>, len: u64, write: impl FnOnce(&mut [u8]) + Send) -> PyResult<Bound<'_, PyBytes>> {
    let refused = || NoMemory::ForFilter { bytes: len };
    let len = usize::try_from(len).map_err(|_| refused())?;
    // Only the allocation can fail.
    let bytes = PyBytes::new_with(py, len, |bytes| {
        py.detach(|| write(bytes));
        Ok(())
    });
    bytes.map_err(|_| refused().into())
}

fn write_snapshot(filter: &Filter, mut rest: &mut [u8]) {
    let written: Result<(), Infallible> = filter.write_snapshot(|piece| {
        let (place, after) = mem::take(&mut rest).split_at_mut(piece.len());
        place.copy_from_slice(piece);
        rest = after;
        Ok(())
    });
    let Ok(()) = written;
}

/// These methods are short. Call them attached to the interpreter.
impl State {
    #[inline]
    pub(crate) fn one(&self, py: Python<'_>, operation: Operation, hash: u64, now: Now) -> bool {
        match self {
            Self::Own(filter) => {
                let mut filter = lock_attached(py, filter);
                if let Some(now_ms) = now.millis() {
                    filter.advance_to(now_ms);
                }
                operation.one(&mut filter, hash)
            }
            Self::Shared(shared) => {
                shared.advance_to(now);
                operation.one_shared(&shared.filter, hash)
            }
        }
    }

    pub(crate) fn age_of_hash(&self, py: Python<'_>, hash: u64) -> Option<AgeRange> {
        match self {
            Self::Own(filter) => lock_attached(py, filter).age_of_hash(hash),
            Self::Shared(shared) => shared.filter.age_of_hash(hash),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}
