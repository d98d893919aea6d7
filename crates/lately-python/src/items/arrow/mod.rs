//! Arrow columns and tables of pyarrow, Polars and every other library with the Arrow PyCapsule interface.
//! They are read without a copy.
//!
//! | file | owns |
//! |---|---|
//! | `kind.rs` | which Arrow types are items |
//! | `array.rs` | a slice of an array: its buffers, children and nulls |
//! | `texts.rs` | strings and bytes of any length |
//! | `c_interface.rs` | Arrow's C interface |

mod array;
mod c_interface;
mod kind;
mod texts;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::column::Column;
use array::ArraySlice;
use c_interface::{Array, Owned, Schema, Stream};
use kind::Kind;

pub(super) enum Failure {
    /// The object did not export Arrow data.
    NotExported(PyErr),
    /// The object exported Arrow data, but they are not items.
    Refused(PyErr),
}

pub(super) fn read(items: &Bound<'_, PyAny>) -> Result<Vec<Box<dyn Column>>, Failure> {
    let (schema, chunks) = export(items).map_err(Failure::NotExported)?;
    columns(items.py(), &schema.0, chunks).map_err(Failure::Refused)
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

fn columns(py: Python<'_>, schema: &Schema, chunks: Vec<Owned<Array>>) -> PyResult<Vec<Box<dyn Column>>> {
    let kind = Kind::of(py, schema)?;
    let mut columns = Vec::with_capacity(chunks.len());
    let mut before = 0;
    for array in chunks.into_iter().map(ArraySlice::whole).filter(|array| array.len > 0) {
        if let Some(null) = kind.first_null(&array)? {
            let place = null.column.map(|name| format!(" in the column \"{name}\"")).unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "item {} is null{place}: drop nulls first (drop_null, drop_nulls, dropna), or fill them with a value of \
                 your choice",
                before + null.position
            )));
        }
        before += array.len;
        columns.push(kind.column(array)?);
    }
    Ok(columns)
}
