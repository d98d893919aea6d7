//! Arrow data of pyarrow, Polars and every other library with the Arrow PyCapsule interface. They are read
//! without a copy.
//!
//! | file | owns |
//! |---|---|
//! | `array.rs` | a slice of an array: its buffers, children and nulls |
//! | `c_interface.rs` | Arrow's C interface |

mod array;
mod c_interface;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(crate) use array::ArraySlice;
pub(crate) use c_interface::Schema;
use c_interface::{Array, Owned, Stream};

/// A column or a table: its type, and its chunks in order.
pub(crate) struct Exported {
    schema: Owned<Schema>,
    /// Chunks without elements are left out.
    pub(crate) chunks: Vec<ArraySlice>,
}

impl Exported {
    /// Returns true if the object offers Arrow data.
    pub(crate) fn is_offered_by(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")?)
    }

    /// Asks the object for its data. Fails if it cannot export them.
    pub(crate) fn from(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (schema, arrays) = export(object)?;
        let mut chunks = Vec::with_capacity(arrays.len());
        for array in arrays {
            chunks.push(ArraySlice::whole(array)?);
        }
        chunks.retain(|chunk| chunk.len > 0);
        Ok(Self { schema, chunks })
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema.0
    }
}

fn export(object: &Bound<'_, PyAny>) -> PyResult<(Owned<Schema>, Vec<Owned<Array>>)> {
    if !object.hasattr("__arrow_c_stream__")? {
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            object.call_method0("__arrow_c_array__")?.extract()?;
        let (schema, array) = (schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?);
        return Ok((Owned::take_from(schema)?, vec![Owned::take_from(array)?]));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let mut stream = Owned::<Stream>::take_from(capsule.cast::<PyCapsule>()?)?;
    let schema = stream.schema()?;
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next()? {
        chunks.push(chunk);
    }
    Ok((schema, chunks))
}
