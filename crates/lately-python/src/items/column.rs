//! A column: many items in memory, which are hashed without the interpreter.

use lately::HashFunction;
use pyo3::PyErr;
use pyo3::exceptions::PyTypeError;

/// Items that can be read without the interpreter. They own the memory they read, or keep it alive.
pub(super) trait Column: Send + Sync {
    fn len(&self) -> usize;
    /// Computes the hashes of `hashes.len()` items from `first` on; the items must exist.
    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]);
}

/// Items whose hashes are already computed.
pub(super) struct Hashes(pub(super) Vec<u64>);

impl Column for Hashes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, _function: HashFunction, first: usize, hashes: &mut [u64]) {
        hashes.copy_from_slice(&self.0[first..first + hashes.len()]);
    }
}

/// The error for a column whose elements are not items.
pub(super) fn column_refused(kind: &str, remedy: &str) -> PyErr {
    PyTypeError::new_err(format!("items must be strings, bytes or integers, not {kind}: {remedy}"))
}
