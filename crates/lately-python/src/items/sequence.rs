//! Items that are Python objects, read one by one.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::collected::Collected;
use super::item;
use super::nulls;
use super::reading::Reading;
use crate::errors;

/// The most items for which memory is reserved because of a length hint: a hint may be arbitrarily wrong.
const MOST_HINTED: usize = 1 << 16;

/// They take well below a millisecond.
const ITEMS_BETWEEN_SIGNALS: usize = 4096;

/// Returns the length of the object, or 0 if it has none. Its code may raise another error, for example because of a
/// signal.
fn length_hint(items: &Bound<'_, PyAny>) -> PyResult<usize> {
    match items.len() {
        Err(error) if error.is_instance_of::<PyTypeError>(items.py()) => Ok(0),
        len => len,
    }
}

pub(super) fn read(items: &Bound<'_, PyAny>, reading: Reading) -> PyResult<Collected> {
    let py = items.py();
    let hint = length_hint(items)?;
    let items = items.try_iter().map_err(|error| {
        let name = items.get_type().fully_qualified_name().map_or_else(|_| "this".into(), |name| name.to_string());
        let refused = PyTypeError::new_err(format!(
            "expected many items, not {name}: pass a list, a numpy array, an Arrow or Polars column, or another iterable"
        ));
        refused.set_cause(py, Some(error));
        refused
    })?;
    let mut collected = Collected::new(reading.wanted, hint.min(MOST_HINTED))?;
    for (position, item) in items.enumerate() {
        let item = item?;
        // An iterator that is written in C, such as itertools.count, lets no signal and no other thread through.
        if position % ITEMS_BETWEEN_SIGNALS == 0 {
            py.check_signals()?;
            py.detach(|| ());
        }
        if reading.nulls.are_skipped() && nulls::is_null(&item)? {
            collected.push_missing()?;
            continue;
        }
        item::with_bytes(&item, |bytes| collected.push(bytes))
            .map_err(|error| errors::located(py, format_args!("item {position}"), error))??;
    }
    Ok(collected)
}
