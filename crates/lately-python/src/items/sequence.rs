//! Items that are Python objects, one by one.

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::item;

pub(super) fn hashes(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Vec<u64>> {
    let items = items.try_iter().map_err(|error| {
        let name = items.get_type().fully_qualified_name().map_or_else(|_| "this".into(), |name| name.to_string());
        let refused = PyTypeError::new_err(format!(
            "{name} is not many items: pass a list, a numpy array, an Arrow or Polars column, or another iterable"
        ));
        refused.set_cause(items.py(), Some(error));
        refused
    })?;
    let mut hashes = Vec::with_capacity(items.size_hint().0);
    for (position, item) in items.enumerate() {
        let item = item?;
        hashes.push(item::hash(&item, function).map_err(|error| at(item.py(), position, error))?);
    }
    Ok(hashes)
}

/// Says which item it was, where that is the only thing to add.
fn at(py: Python<'_>, position: usize, error: PyErr) -> PyErr {
    if !error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return error;
    }
    PyTypeError::new_err(format!("item {position}: {}", error.value(py)))
}
