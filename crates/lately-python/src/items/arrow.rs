//! Arrow columns of pyarrow, Polars and every other library with the Arrow PyCapsule interface. They are read
//! without a copy.

use std::ffi::CStr;

use lately::HashFunction;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::arrow_c::{Array, Owned, Schema, Stream};
use super::column::{Column, column_refused};
use super::strided::Strided;

pub(super) enum Failure {
    /// The object did not export Arrow data.
    NotExported(PyErr),
    /// The object exported Arrow data, but they are not items.
    Refused(PyErr),
}

pub(super) fn read(items: &Bound<'_, PyAny>) -> Result<Vec<Box<dyn Column>>, Failure> {
    let (schema, chunks) = export(items).map_err(Failure::NotExported)?;
    columns(&schema.0, chunks).map_err(Failure::Refused)
}

fn export(items: &Bound<'_, PyAny>) -> PyResult<(Owned<Schema>, Vec<Owned<Array>>)> {
    if !items.hasattr("__arrow_c_stream__")? {
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            items.call_method0("__arrow_c_array__")?.extract()?;
        let (schema, array) = (schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?);
        return Ok((Owned::take_from(schema)?, vec![Owned::take_from(array)?]));
    }
    let capsule = items.call_method0("__arrow_c_stream__")?;
    let mut stream = Owned::<Stream>::take_from(capsule.cast::<PyCapsule>()?)?;
    let schema = stream.schema()?;
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next()? {
        chunks.push(chunk);
    }
    Ok((schema, chunks))
}

fn columns(schema: &Schema, chunks: Vec<Owned<Array>>) -> PyResult<Vec<Box<dyn Column>>> {
    let kind = Kind::of(schema)?;
    let mut columns = Vec::with_capacity(chunks.len());
    let mut before = 0;
    for array in chunks.into_iter().filter(|array| array.0.length > 0) {
        if let Some(position) = first_null(kind, &array.0) {
            return Err(PyValueError::new_err(format!(
                "item {} is null: drop nulls first (drop_null, drop_nulls, dropna), or fill them with a value of your \
                 choice",
                before + position
            )));
        }
        before += array.0.length as usize;
        columns.push(kind.column(array)?);
    }
    Ok(columns)
}

/// Arrow types that can be items, by their memory layout.
#[derive(Clone, Copy)]
enum Kind {
    Integers {
        is_signed: bool,
        width: usize,
    },
    /// Bytes of a fixed width.
    Fixed {
        width: usize,
    },
    /// Strings or bytes stored one after the other, with offsets of 32 bits.
    Offsets32,
    /// The same with offsets of 64 bits.
    Offsets64,
    /// Strings or bytes, each located by a view.
    Views,
    /// Nothing but nulls.
    Nulls,
}

/// Name of the type, and the remedy.
const BOOLEANS: (&str, &str) = ("booleans", "cast the column to integers or to strings");

impl Kind {
    fn of(schema: &Schema) -> PyResult<Self> {
        if schema.format.is_null() {
            return Err(PyValueError::new_err(
                "the Arrow schema has no format: report this to the library that exported it",
            ));
        }
        // SAFETY: the schema is live, and its format is a text that ends with a zero byte.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
        if !schema.dictionary.is_null() {
            let remedy = "cast the column to strings first: .cast(pl.String), .astype(\"str\"), or .dictionary_decode()";
            return Err(column_refused("categories", remedy));
        }
        let refused = |kind, remedy| Err(column_refused(kind, remedy));
        // Booleans that are stored as integers of one byte.
        let is_bool8 = schema.extension_name() == Some(b"arrow.bool8");
        match &*format {
            "c" if is_bool8 => refused(BOOLEANS.0, BOOLEANS.1),
            "c" | "s" | "i" | "l" => Ok(Self::Integers { is_signed: true, width: integer_width(&format) }),
            "C" | "S" | "I" | "L" => Ok(Self::Integers { is_signed: false, width: integer_width(&format) }),
            "u" | "z" => Ok(Self::Offsets32),
            "U" | "Z" => Ok(Self::Offsets64),
            "vu" | "vz" => Ok(Self::Views),
            "n" => Ok(Self::Nulls),
            "b" => refused(BOOLEANS.0, BOOLEANS.1),
            "e" | "f" | "g" => {
                refused("floats", "cast the column to int64 if they are whole numbers, or to strings")
            }
            "+s" => refused(
                "tables",
                "pass one column, for example table[\"id\"]; to identify rows by several columns, concatenate them first",
            ),
            other => match (other.strip_prefix("w:").map(str::parse), other.starts_with('t')) {
                (Some(Ok(width)), _) => Ok(Self::Fixed { width }),
                (_, true) => refused("dates or times", "cast the column to int64, or to strings"),
                _ => refused(
                    &format!("elements of the Arrow type `{other}`"),
                    "cast the column to strings or int64",
                ),
            },
        }
    }

    fn column(self, array: Owned<Array>) -> PyResult<Box<dyn Column>> {
        Ok(match self {
            Self::Integers { is_signed, width } => {
                let integers = strided(array, width)?.into_integers(is_signed, false);
                integers.ok_or_else(|| {
                    column_refused("integers of an unsupported width", "cast the column to int64")
                })?
            }
            Self::Fixed { width } => strided(array, width)?.into_bytes(false),
            Self::Offsets32 => Box::new(Offsets::<i32>::new(array)?),
            Self::Offsets64 => Box::new(Offsets::<i64>::new(array)?),
            Self::Views | Self::Nulls => Box::new(Views::new(array)?),
        })
    }
}

fn integer_width(format: &str) -> usize {
    match format {
        "c" | "C" => 1,
        "s" | "S" => 2,
        "i" | "I" => 4,
        _ => 8,
    }
}

/// Returns the buffer with this number; null if the array has none.
fn buffer(array: &Array, number: usize) -> *const u8 {
    if number >= array.n_buffers as usize || array.buffers.is_null() {
        return std::ptr::null();
    }
    // SAFETY: the array is live, and `number` is less than its number of buffers.
    unsafe { *array.buffers.add(number) }.cast()
}

/// Returns the buffer with this number, or an error if the array has none.
fn required_buffer(array: &Array, number: usize) -> PyResult<*const u8> {
    let found = buffer(array, number);
    if found.is_null() {
        return Err(PyValueError::new_err(format!(
            "the Arrow array lacks its buffer {number}: report this to the library that exported it"
        )));
    }
    Ok(found)
}

/// Returns the position of the first null. The array must not be empty.
fn first_null(kind: Kind, array: &Array) -> Option<usize> {
    if matches!(kind, Kind::Nulls) {
        return Some(0);
    }
    let validity = buffer(array, 0);
    if array.null_count == 0 || validity.is_null() {
        return None;
    }
    let offset = array.offset as usize;
    (0..array.length as usize).find(|i| {
        let bit = offset + i;
        // SAFETY: the validity buffer has a bit for every element, including those before the offset.
        unsafe { validity.add(bit / 8).read() >> (bit % 8) & 1 == 0 }
    })
}

fn strided(array: Owned<Array>, width: usize) -> PyResult<Strided> {
    let (offset, len) = (array.0.offset as usize, array.0.length as usize);
    let first = required_buffer(&array.0, 1)?.wrapping_add(offset * width);
    // SAFETY: buffer 1 of an array of fixed-width elements holds the elements one after the other, and Arrow
    // data never changes.
    Ok(unsafe { Strided::new(first, width.cast_signed(), width, len, array) })
}

/// Strings or bytes stored one after the other: element i reaches from offset i to offset i + 1.
struct Offsets<O> {
    offsets: *const O,
    data: *const u8,
    array: Owned<Array>,
}

// SAFETY: the pointers point into the memory of the array, which keeps it in place; it is only read.
unsafe impl<O> Send for Offsets<O> {}
// SAFETY: as above.
unsafe impl<O> Sync for Offsets<O> {}

impl<O> Offsets<O> {
    fn new(array: Owned<Array>) -> PyResult<Self> {
        let offsets = required_buffer(&array.0, 1)?.cast::<O>().wrapping_add(array.0.offset as usize);
        Ok(Self { offsets, data: buffer(&array.0, 2), array })
    }
}

impl<O: Copy + Into<i64>> Column for Offsets<O> {
    fn len(&self) -> usize {
        self.array.0.length as usize
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        assert!(first + hashes.len() <= self.len());
        for (i, hash) in hashes.iter_mut().enumerate() {
            // SAFETY: an array of n elements has n + 1 offsets, and both offsets of this element are among
            // them.
            let (start, end): (i64, i64) = unsafe {
                let offset = self.offsets.add(first + i);
                (offset.read_unaligned().into(), offset.add(1).read_unaligned().into())
            };
            *hash = function.hash(match usize::try_from(end - start) {
                // SAFETY: by the Arrow format, offsets are positions in the data buffer.
                Ok(len) if len > 0 => unsafe {
                    std::slice::from_raw_parts(self.data.offset(start as isize), len)
                },
                _ => &[],
            });
        }
    }
}

/// Strings or bytes as views of 16 bytes: a length, then either the content (up to 12 bytes) or its location.
struct Views {
    views: *const [u8; 16],
    array: Owned<Array>,
}

// SAFETY: the pointer points into the memory of the array, which keeps it in place; it is only read.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}

impl Views {
    fn new(array: Owned<Array>) -> PyResult<Self> {
        let views = required_buffer(&array.0, 1)?.cast::<[u8; 16]>().wrapping_add(array.0.offset as usize);
        Ok(Self { views, array })
    }
}

impl Column for Views {
    fn len(&self) -> usize {
        self.array.0.length as usize
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        assert!(first + hashes.len() <= self.len());
        for (i, hash) in hashes.iter_mut().enumerate() {
            // SAFETY: there is a view for every element.
            let view = unsafe { &*self.views.add(first + i) };
            let number =
                |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
            let len = number(0);
            *hash = function.hash(match view.get(4..4 + len) {
                Some(inside) => inside,
                None => {
                    // Buffers 0 and 1 are the validity and the views.
                    let data = buffer(&self.array.0, 2 + number(8));
                    // SAFETY: by the Arrow format, a long view names a data buffer and the position of its
                    // bytes in that buffer.
                    unsafe { std::slice::from_raw_parts(data.add(number(12)), len) }
                }
            });
        }
    }
}
