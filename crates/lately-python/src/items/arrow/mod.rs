//! Arrow columns and tables whose elements are items.
//!
//! | file | owns |
//! |---|---|
//! | `kind.rs` | which Arrow types are items |
//! | `categories.rs` | values of a dictionary |
//! | `texts.rs` | strings and bytes of any length |

mod categories;
mod kind;
mod texts;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::column::Column;
use crate::arrow::Exported;
use kind::Kind;
pub(super) use kind::Producer;

pub(super) fn columns(
    py: Python<'_>,
    exported: Exported,
    producer: Producer,
) -> PyResult<Vec<Box<dyn Column>>> {
    let kind = Kind::of(py, exported.schema(), producer)?;
    let mut columns = Vec::with_capacity(exported.chunks.len());
    let mut before = 0;
    for array in exported.chunks {
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
