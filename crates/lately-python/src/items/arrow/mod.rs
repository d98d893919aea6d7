//! Arrow columns and tables whose elements are items.
//!
//! | file | owns |
//! |---|---|
//! | `kind.rs` | which Arrow types are items |
//! | `texts.rs` | strings and bytes of any length |
//! | `categories.rs` | values of a dictionary |

mod categories;
mod kind;
mod texts;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::column::Column;
use super::nulls::{self, Nulls};
use crate::arrow::Exported;
use kind::Kind;
pub(super) use kind::Producer;

/// The chunks of a column or table, and the positions of its nulls in order.
type Found = (Vec<Box<dyn Column>>, Vec<usize>);

/// Returns the chunks of the column or table, and the positions of its nulls in order.
pub(super) fn columns(
    py: Python<'_>,
    exported: Exported,
    producer: Producer,
    nulls: Nulls,
) -> PyResult<Found> {
    let kind = match Kind::of(py, exported.schema(), producer) {
        // An empty batch is no mistake, of any type. A table without columns is.
        Err(_) if exported.chunks.is_empty() && !exported.schema().is_table_without_columns() => {
            return Ok((Vec::new(), Vec::new()));
        }
        kind => kind?,
    };
    let mut columns = Vec::with_capacity(exported.chunks.len());
    let (mut before, mut missing) = (0, Vec::new());
    for array in exported.chunks {
        let mut absent = Vec::new();
        if nulls.are_skipped() {
            kind.for_each_null(&array, &mut |position| absent.push(position))?;
            absent.sort_unstable();
            absent.dedup();
        } else if let Some(null) = kind.first_null(&array)? {
            let place = null.column.map(|name| format!(" in the column \"{name}\"")).unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "item {} is null{place}: {}",
                before + null.position,
                nulls::REMEDY
            )));
        }
        missing.extend(absent.iter().map(|position| before + position));
        before += array.len;
        columns.push(kind.column(array, &absent)?);
    }
    Ok((columns, missing))
}
