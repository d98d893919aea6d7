//! The items of a bulk call: arrays and columns, read in place, or any iterable.
//!
//! A bulk call adds all of its items or none, so invalid items are refused here, before the filter sees the
//! first item.

mod arrow;
mod arrow_c;
mod buffer;
mod sequence;
mod strided;

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

/// Number of hashes that are computed before they are passed to the filter. They fit into the processor's
/// cache.
const CHUNK: usize = 1024;

/// Items that can be read without the interpreter. They own the memory they read, or keep it alive.
pub(crate) trait Column: Send + Sync {
    fn len(&self) -> usize;
    /// Computes the hashes of `hashes.len()` items from `first` on; the items must exist.
    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]);
}

/// Items whose hashes are already computed.
struct Hashes(Vec<u64>);

impl Column for Hashes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, _function: HashFunction, first: usize, hashes: &mut [u64]) {
        hashes.copy_from_slice(&self.0[first..first + hashes.len()]);
    }
}

pub(crate) struct Items {
    columns: Vec<Box<dyn Column>>,
    /// True if the caller passed an array or a column; the answers are then an array, too.
    pub(crate) are_columns: bool,
}

impl Items {
    pub(crate) fn read(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Self> {
        if items.is_instance_of::<PyList>() || items.is_instance_of::<PyTuple>() {
            return Self::from_sequence(items, function);
        }
        if items.is_instance_of::<PyString>()
            || items.is_instance_of::<PyBytes>()
            || items.is_instance_of::<PyByteArray>()
        {
            return Err(PyTypeError::new_err(format!(
                "{} is one item, not many: call the method without _many, or pass a list",
                items.get_type().fully_qualified_name()?
            )));
        }
        if let Some(found) = buffer::read(items, function)? {
            return Ok(match found {
                buffer::Found::Column(column) => Self { columns: vec![column], are_columns: true },
                buffer::Found::Objects => Self { are_columns: true, ..Self::from_sequence(items, function)? },
            });
        }
        let has_array = items.hasattr("__array__")?;
        if items.hasattr("__arrow_c_stream__")? || items.hasattr("__arrow_c_array__")? {
            match arrow::read(items) {
                Ok(columns) => return Ok(Self { columns, are_columns: true }),
                Err(arrow::Failure::Refused(error)) => return Err(error),
                // A pandas series offers Arrow even if pyarrow is missing or cannot convert its values.
                Err(arrow::Failure::NotExported(error)) if !has_array => return Err(error),
                Err(arrow::Failure::NotExported(_)) => {}
            }
        }
        if has_array {
            let array = items.py().import("numpy")?.call_method1("asarray", (items,))?;
            if !array.is(items) {
                return Self::read(&array, function);
            }
            // `asarray` returned the same array, which `buffer::read` could not read: it exports no memory
            // (numpy's StringDType). The answers are still an array.
            return Ok(Self { are_columns: true, ..Self::from_sequence(items, function)? });
        }
        Self::from_sequence(items, function)
    }

    fn from_sequence(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Self> {
        Ok(Self { columns: vec![Box::new(Hashes(sequence::hashes(items, function)?))], are_columns: false })
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.iter().map(|column| column.len()).sum()
    }

    /// Passes the hashes to `take` in order, one chunk at a time, with the position of the chunk's first
    /// item.
    pub(crate) fn for_each_chunk(&self, function: HashFunction, mut take: impl FnMut(usize, &[u64])) {
        let mut hashes = [0; CHUNK];
        let mut before = 0;
        for column in &self.columns {
            for first in (0..column.len()).step_by(CHUNK) {
                let chunk = &mut hashes[..CHUNK.min(column.len() - first)];
                column.hash(function, first, chunk);
                take(before + first, chunk);
            }
            before += column.len();
        }
    }
}

/// The error for columns whose elements are not items.
fn column_refused(kind: &str, remedy: &str) -> PyErr {
    PyTypeError::new_err(format!("items must be strings, bytes or integers, not {kind}: {remedy}"))
}
