//! Reads items: one Python object, or the items of a bulk call (arrays and columns, read in place, or any
//! iterable).
//!
//! A bulk call adds all of its items or none, so invalid items are refused here, before the filter sees the
//! first item.
//!
//! | file | owns |
//! |---|---|
//! | `item.rs`, `decimal.rs` | which bytes a Python object is; integers as decimal text |
//! | `column.rs` | the trait of many items in memory |
//! | `sequence.rs` | iterables of Python objects |
//! | `buffer.rs`, `strided.rs` | numpy and other buffers; elements of a fixed width |
//! | `arrow.rs`, `arrow_c.rs` | columns of Arrow; Arrow's C interface |

mod arrow;
mod arrow_c;
mod buffer;
mod column;
mod decimal;
mod item;
mod sequence;
mod strided;

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

use column::{Column, Hashes};
pub(crate) use item::{hash_of, item_bytes, with_bytes};

/// Number of hashes that are computed before they are passed to the filter. They fit into the processor's
/// cache.
const CHUNK: usize = 1024;

/// The items of a bulk call.
pub(crate) struct Items {
    columns: Vec<Box<dyn Column>>,
    hash_function: HashFunction,
    /// True if the caller passed an array or a column; the answers are then an array, too.
    pub(crate) are_columns: bool,
}

impl Items {
    pub(crate) fn read(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Self> {
        if items.is_instance_of::<PyList>() || items.is_instance_of::<PyTuple>() {
            return Self::from_objects(items, function);
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
                buffer::Found::Column(column) => Self::from_columns(vec![column], function),
                buffer::Found::Objects => Self { are_columns: true, ..Self::from_objects(items, function)? },
            });
        }
        let has_array = items.hasattr("__array__")?;
        if items.hasattr("__arrow_c_stream__")? || items.hasattr("__arrow_c_array__")? {
            match arrow::read(items) {
                Ok(columns) => return Ok(Self::from_columns(columns, function)),
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
            return Ok(Self { are_columns: true, ..Self::from_objects(items, function)? });
        }
        Self::from_objects(items, function)
    }

    fn from_objects(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Self> {
        let hashes = Box::new(Hashes(sequence::hashes(items, function)?));
        Ok(Self { are_columns: false, ..Self::from_columns(vec![hashes], function) })
    }

    fn from_columns(columns: Vec<Box<dyn Column>>, hash_function: HashFunction) -> Self {
        Self { columns, hash_function, are_columns: true }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.iter().map(|column| column.len()).sum()
    }

    /// Passes the hashes to `take` in order, one chunk at a time, with the position of the chunk's first
    /// item.
    pub(crate) fn for_each_chunk(&self, mut take: impl FnMut(usize, &[u64])) {
        let mut hashes = [0; CHUNK];
        let mut before = 0;
        for column in &self.columns {
            for first in (0..column.len()).step_by(CHUNK) {
                let chunk = &mut hashes[..CHUNK.min(column.len() - first)];
                column.hash(self.hash_function, first, chunk);
                take(before + first, chunk);
            }
            before += column.len();
        }
    }
}
