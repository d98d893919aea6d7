//! Reads items: one Python object, or the items of a bulk call (arrays and columns, read in place, or any
//! iterable).
//!
//! A bulk call adds all of its items or none, so invalid items are refused here, before the filter sees the
//! first item.
//!
//! | file | owns |
//! |---|---|
//! | `item.rs` | which bytes a Python object is |
//! | `column.rs` | the trait of many items in memory |
//! | `sequence.rs` | iterables of Python objects |
//! | `buffer.rs`, `strided.rs` | numpy and other buffers; elements of a fixed width |
//! | `arrow/` | columns and tables of Arrow |
//! | `keys.rs` | several columns, whose values together are one key |

mod arrow;
mod buffer;
mod column;
mod item;
mod keys;
mod sequence;
mod strided;

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyByteArray, PyBytes, PyList, PyString, PyTuple};

use crate::arrow::Exported;
use column::{Column, column_refused};
pub(crate) use item::{hash_of, item_bytes, with_bytes};

/// Number of hashes that are computed before they are passed to the filter. They fit into the processor's
/// cache.
const CHUNK: usize = 1024;

/// The items of a bulk call.
pub(crate) struct Items {
    source: Source,
    hash_function: HashFunction,
    /// True if the caller passed an array or a column; the answers are then an array, too.
    pub(crate) are_columns: bool,
}

enum Source {
    /// Read one after the other.
    Columns(Vec<Box<dyn Column>>),
    /// Already hashed.
    Hashes(Vec<u64>),
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
            let source = match found {
                buffer::Found::Column(column) => Source::Columns(vec![column]),
                buffer::Found::Hashes(hashes) => Source::Hashes(hashes),
                buffer::Found::Objects => Source::Hashes(sequence::hashes(items, function)?),
            };
            return Ok(Self::of_column(source, function));
        }
        let is_table = items.hasattr("columns")?;
        let items = if is_table { &without_index(items)? } else { items };
        // A wrapper of narwhals.
        let items = if items.hasattr("to_native")? { &items.call_method0("to_native")? } else { items };
        let has_array = items.hasattr("__array__")? && !is_table;
        if Exported::is_offered_by(items)? {
            let producer =
                if is_of_polars(items)? { arrow::Producer::Polars } else { arrow::Producer::Other };
            if producer == arrow::Producer::Polars
                && items.getattr("dtype").is_ok_and(|dtype| dtype.to_string() == "Object")
            {
                let objects = sequence::hashes(&items.call_method0("to_list")?, function)?;
                return Ok(Self::of_column(Source::Hashes(objects), function));
            }
            match Exported::from(items) {
                Ok(exported) => {
                    let columns = arrow::columns(items.py(), exported, producer)?;
                    return Ok(Self::of_column(Source::Columns(columns), function));
                }
                // A pandas series offers Arrow even if pyarrow is missing or cannot convert its values.
                Err(error) if !has_array => return Err(error),
                Err(_) => {}
            }
        }
        if has_array {
            let array = items.py().import("numpy")?.call_method1("asarray", (items,))?;
            if !array.is(items) {
                return Self::read(&array, function);
            }
            // `asarray` returned the same array, which `buffer::read` could not read: it exports no memory
            // (numpy's StringDType). The answers are still an array.
            return Ok(Self::of_column(Source::Hashes(sequence::hashes(items, function)?), function));
        }
        if is_table {
            // Most tables iterate over the names of their columns, which are not items.
            let remedy = "pass one column, or a list of tuples, for example list(zip(table[\"user\"], table[\"page\"]))";
            return Err(column_refused("tables without Arrow's PyCapsule interface", remedy));
        }
        Self::from_objects(items, function)
    }

    fn from_objects(items: &Bound<'_, PyAny>, hash_function: HashFunction) -> PyResult<Self> {
        let source = Source::Hashes(sequence::hashes(items, hash_function)?);
        Ok(Self { source, hash_function, are_columns: false })
    }

    fn of_column(source: Source, hash_function: HashFunction) -> Self {
        Self { source, hash_function, are_columns: true }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.source {
            Source::Columns(columns) => columns.iter().map(|column| column.len()).sum(),
            Source::Hashes(hashes) => hashes.len(),
        }
    }

    /// Returns the hashes of the next items, with the position of the first one; `None` at the end.
    pub(crate) fn next_hashes<'a>(&'a self, cursor: &'a mut Cursor) -> Option<(usize, &'a [u64])> {
        let first = cursor.done;
        match &self.source {
            Source::Hashes(hashes) => {
                let end = hashes.len().min(first + CHUNK);
                cursor.done = end;
                (first < end).then(|| (first, &hashes[first..end]))
            }
            Source::Columns(columns) => loop {
                let column = columns.get(cursor.column)?;
                let left = column.len() - cursor.in_column;
                if left == 0 {
                    cursor.column += 1;
                    cursor.in_column = 0;
                    continue;
                }
                let hashes = &mut cursor.hashes[..CHUNK.min(left)];
                column.hash(self.hash_function, cursor.in_column, hashes);
                cursor.in_column += hashes.len();
                cursor.done += hashes.len();
                return Some((first, hashes));
            },
        }
    }
}

/// How far a bulk call is.
pub(crate) struct Cursor {
    /// How many items were read.
    pub(crate) done: usize,
    /// The number of the column to read next, and how many of its items were read.
    column: usize,
    in_column: usize,
    hashes: [u64; CHUNK],
}

impl Cursor {
    pub(crate) fn start() -> Self {
        Self { done: 0, column: 0, in_column: 0, hashes: [0; CHUNK] }
    }
}

fn is_of_polars(items: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(items.get_type().module()?.to_cow()?.starts_with("polars"))
}

/// Removes the index of a table of pandas, which would export it to Arrow as another column.
fn without_index<'py>(table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !table.hasattr("reset_index")? {
        return Ok(table.clone());
    }
    let options = [("drop", true)].into_py_dict(table.py())?;
    table.call_method("reset_index", (), Some(&options))
}
