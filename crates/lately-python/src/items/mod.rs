//! Many items at once: arrays and columns as they lie in memory, or anything that can be iterated over.
//!
//! A bulk call either happens as a whole or not at all, so what can be refused is refused here, before the filter hears of
//! the first item.

mod arrow;
mod arrow_c;
mod buffer;
mod sequence;
mod strided;

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

/// How many hashes are made before the filter is asked about them. They stay in the processor's cache.
const CHUNK: usize = 1024;

/// Items that need no interpreter any more. They own, or keep alive, the memory they read.
pub(crate) trait Column: Send + Sync {
    fn len(&self) -> usize;
    /// The hashes of `hashes.len()` items from `first` on; they exist.
    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]);
}

/// Items whose hashes are known already.
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
    /// Whether they came as an array or a column, so that their answers should be one, too.
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
                // A pandas series offers Arrow even where pyarrow is missing or cannot take its values.
                Err(arrow::Failure::NotExported(error)) if !has_array => return Err(error),
                Err(arrow::Failure::NotExported(_)) => {}
            }
        }
        if has_array {
            let array = items.py().import("numpy")?.call_method1("asarray", (items,))?;
            if !array.is(items) {
                return Self::read(&array, function);
            }
            // An array that comes back as it was has been looked at already: it shows no memory (numpy's StringDType), but
            // its answers are those of an array.
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

    /// Hands out the hashes in order, a chunk at a time, with the position of the chunk's first item.
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

/// The remedy for types that are columns of something else than items.
fn column_refused(kind: &str, remedy: &str) -> PyErr {
    PyTypeError::new_err(format!("items are strings, bytes or integers, not {kind}: {remedy}"))
}
