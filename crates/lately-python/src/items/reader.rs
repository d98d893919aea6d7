//! Finds out which kind of column or iterable an object is.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyByteArray, PyBytes, PyList, PyString, PyTuple};

use super::arrow::{self, Producer};
use super::buffer::{self, Found};
use super::column::{Column, column_refused};
use super::reading::Reading;
use super::{Items, Source, numpy_strings, sequence};
use crate::arrow::Exported;

impl Reading {
    /// Reads the columns of a table that identify a row, if `key` names them; otherwise all items.
    pub(crate) fn read_key(
        self,
        items: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Items> {
        match key {
            Some(key) => self.read(&select(items, key)?),
            None => self.read(items),
        }
    }

    pub(crate) fn read(self, items: &Bound<'_, PyAny>) -> PyResult<Items> {
        if items.is_instance_of::<PyList>() || items.is_instance_of::<PyTuple>() {
            return self.objects(items, false);
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
        match buffer::read(items, self.wanted)? {
            Some(Found::Column(column)) => return Ok(columns(vec![column], Vec::new())),
            Some(Found::Collected(collected)) => return Ok(collected.into_items(true)),
            Some(Found::Empty) => return Ok(columns(Vec::new(), Vec::new())),
            Some(Found::Objects) => return self.objects(items, true),
            None => {}
        }
        let is_table = items.hasattr("columns")?;
        let items = if is_table { &without_index(items)? } else { items };
        // A wrapper of narwhals.
        let items = if items.hasattr("to_native")? { &items.call_method0("to_native")? } else { items };
        let has_array = items.hasattr("__array__")? && !is_table;
        if Exported::is_offered_by(items)? {
            let producer = producer_of(items)?;
            if producer == Producer::Polars
                && items.getattr("dtype").is_ok_and(|dtype| dtype.to_string() == "Object")
            {
                return self.objects(&items.call_method0("to_list")?, true);
            }
            match Exported::from(items) {
                Ok(exported) => {
                    let (found, missing) = arrow::columns(items.py(), exported, producer, self.nulls)?;
                    return Ok(columns(found, missing));
                }
                // A pandas series offers Arrow even if pyarrow is missing or cannot convert its values.
                Err(error) if !has_array => return Err(error),
                Err(_) => {}
            }
        }
        if has_array {
            let array = items.py().import("numpy")?.call_method1("asarray", (items,))?;
            if !array.is(items) {
                return self.read(&array);
            }
            // `asarray` returned the same array, which `buffer::read` could not read: it exports no memory.
            return match numpy_strings::read(items, self)? {
                Some(collected) => Ok(collected.into_items(true)),
                None => self.objects(items, true),
            };
        }
        if is_table {
            // Most tables iterate over the names of their columns, which are not items.
            let remedy = "pass one column, or a list of tuples, for example list(zip(table[\"user\"], table[\"page\"]))";
            return Err(column_refused("tables without Arrow's PyCapsule interface", remedy));
        }
        self.objects(items, false)
    }

    fn objects(self, items: &Bound<'_, PyAny>, are_columns: bool) -> PyResult<Items> {
        Ok(sequence::read(items, self)?.into_items(are_columns))
    }
}

fn columns(columns: Vec<Box<dyn Column>>, missing: Vec<usize>) -> Items {
    Items { source: Source::Columns(columns), missing, are_columns: true }
}

/// Selects columns of a table, by one name or several.
fn select<'py>(table: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let names: Vec<String> = match key.extract::<String>() {
        Ok(name) => vec![name],
        Err(_) => key.extract().map_err(|_| {
            let kind = key.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "key cannot be of type {kind}: give the name of a column, or several names, for example (\"user\", \"page\")"
            ))
        })?,
    };
    if !table.hasattr("columns")? {
        return Err(PyTypeError::new_err(format!(
            "key names columns, but items of type {} are not a table: leave out key, or pass a table",
            table.get_type().fully_qualified_name()?
        )));
    }
    // Polars and pyarrow; pandas selects by a list in brackets.
    if table.hasattr("select")? { table.call_method1("select", (names,)) } else { table.get_item(names) }
}

fn producer_of(items: &Bound<'_, PyAny>) -> PyResult<Producer> {
    let is_polars = items.get_type().module()?.to_cow()?.starts_with("polars");
    Ok(if is_polars { Producer::Polars } else { Producer::Other })
}

/// Removes the index of a table of pandas, which would export it to Arrow as another column.
fn without_index<'py>(table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !table.hasattr("reset_index")? {
        return Ok(table.clone());
    }
    let options = [("drop", true)].into_py_dict(table.py())?;
    table.call_method("reset_index", (), Some(&options))
}
