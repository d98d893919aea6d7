//! A filter of the core's, of one's own or shared, as the interpreter's threads use it.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately::{AgeRange, Filter, HashFunction, Plan, SharedFilter, SnapshotError, Statistics};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::items::Items;
use crate::operation::Operation;

/// Boxed, because the core's filters hold tables for SIMD, and Python's own memory is not aligned for them.
pub(crate) enum State {
    /// Calls of several threads go through one after the other.
    Own(Box<Mutex<Filter>>),
    Shared(Box<SharedFilter>),
}

/// Outside of the interpreter. A panic of another thread has left a whole filter behind: the core's are never half done.
fn lock(filter: &Mutex<Filter>) -> MutexGuard<'_, Filter> {
    filter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Inside of it: who waits for another thread's bulk call lets go of the interpreter.
fn lock_attached<'a>(py: Python<'_>, filter: &'a Mutex<Filter>) -> MutexGuard<'a, Filter> {
    filter.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// These may take a while, and are to be called outside of the interpreter (`Python::detach`).
impl State {
    /// `seen` is as long as `items`, or empty if the operation does not answer.
    pub(crate) fn run(
        &self,
        operation: Operation,
        items: &Items,
        function: HashFunction,
        now_ms: Option<u64>,
        seen: &mut [bool],
    ) {
        let mut seen_from = |first: usize, hashes: &[u64], ask: &mut dyn FnMut(&[u64], &mut [bool])| {
            let answers = if operation.answers() { &mut seen[first..first + hashes.len()] } else { &mut [] };
            ask(hashes, answers);
        };
        match self {
            Self::Own(filter) => {
                let mut filter = lock(filter);
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                let mut ask = |hashes: &[u64], seen: &mut [bool]| operation.many(&mut filter, hashes, seen);
                items.for_each_chunk(function, |first, hashes| seen_from(first, hashes, &mut ask));
            }
            Self::Shared(filter) => {
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                let mut ask = |hashes: &[u64], seen: &mut [bool]| operation.many_shared(filter, hashes, seen);
                items.for_each_chunk(function, |first, hashes| seen_from(first, hashes, &mut ask));
            }
        }
    }

    pub(crate) fn advance_to(&self, now_ms: u64) {
        match self {
            Self::Own(filter) => lock(filter).advance_to(now_ms),
            Self::Shared(filter) => filter.advance_to(now_ms),
        }
    }

    pub(crate) fn guaranteed_window(&self) -> u64 {
        match self {
            Self::Own(filter) => lock(filter).guaranteed_window(),
            Self::Shared(filter) => filter.guaranteed_window(),
        }
    }

    pub(crate) fn guaranteed_span(&self) -> Option<Duration> {
        match self {
            Self::Own(filter) => lock(filter).guaranteed_span(),
            Self::Shared(filter) => filter.guaranteed_span(),
        }
    }

    pub(crate) fn hash_function(&self) -> HashFunction {
        match self {
            Self::Own(filter) => lock(filter).hash_function(),
            Self::Shared(filter) => filter.hash_function(),
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        match self {
            Self::Own(filter) => lock(filter).plan(),
            Self::Shared(filter) => filter.plan(),
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        match self {
            Self::Own(filter) => lock(filter).statistics(),
            Self::Shared(filter) => filter.statistics(),
        }
    }

    /// A filter of the core's in this state.
    pub(crate) fn copied(&self) -> Filter {
        match self {
            Self::Own(filter) => lock(filter).clone(),
            Self::Shared(filter) => filter.snapshot(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Own(filter) => lock(filter).to_bytes(),
            Self::Shared(filter) => filter.to_bytes(),
        }
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        match self {
            Self::Own(filter) => {
                // Only the writing needs the filter; the waiting for the disk does not.
                let pending = lock(filter).start_save(path)?;
                pending.finish()
            }
            Self::Shared(filter) => filter.save(path),
        }
    }

    /// Nothing, if threads share it: the core cannot clear such a filter.
    pub(crate) fn clear(&self) {
        if let Self::Own(filter) = self {
            lock(filter).clear();
        }
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            _ if std::ptr::eq(self, other) => true,
            (Self::Own(left), Self::Own(right)) => {
                // In an order that is the same for all threads, or two could wait for each other.
                let address = |filter: &Mutex<Filter>| std::ptr::from_ref(filter).addr();
                let (first, second) =
                    if address(left) < address(right) { (left, right) } else { (right, left) };
                let first = lock(first);
                *first == *lock(second)
            }
            _ => self.copied() == other.copied(),
        }
    }
}

/// These are over in no time, and are called inside of it.
impl State {
    #[inline]
    pub(crate) fn one(&self, py: Python<'_>, operation: Operation, hash: u64, now_ms: Option<u64>) -> bool {
        match self {
            Self::Own(filter) => {
                let mut filter = lock_attached(py, filter);
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                operation.one(&mut filter, hash)
            }
            Self::Shared(filter) => {
                if let Some(now_ms) = now_ms {
                    filter.advance_to(now_ms);
                }
                operation.one_shared(filter, hash)
            }
        }
    }

    pub(crate) fn age_of_hash(&self, py: Python<'_>, hash: u64) -> Option<AgeRange> {
        match self {
            Self::Own(filter) => lock_attached(py, filter).age_of_hash(hash),
            Self::Shared(filter) => filter.age_of_hash(hash),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}
