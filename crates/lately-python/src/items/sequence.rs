//! Items that are Python objects, read one by one.

use lately::HashFunction;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::item;
use crate::errors::{self, NoMemory};

/// The most items for which memory is reserved because of a length hint: a hint may be arbitrarily wrong.
const MOST_HINTED: usize = 1 << 16;

/// They take well below a millisecond.
const ITEMS_BETWEEN_SIGNALS: usize = 4096;

pub(super) fn hashes(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Vec<u64>> {
    let py = items.py();
    let items = items.try_iter().map_err(|error| {
        let name = items.get_type().fully_qualified_name().map_or_else(|_| "this".into(), |name| name.to_string());
        let refused = PyTypeError::new_err(format!(
            "expected many items, not {name}: pass a list, a numpy array, an Arrow or Polars column, or another iterable"
        ));
        refused.set_cause(items.py(), Some(error));
        refused
    })?;
    let mut hashes = Vec::with_capacity(items.size_hint().0.min(MOST_HINTED));
    for (position, item) in items.enumerate() {
        let item = item?;
        // An iterator that is written in C, such as itertools.count, lets no signal through.
        if position % ITEMS_BETWEEN_SIGNALS == 0 {
            py.check_signals()?;
        }
        let hash = item::hash_of(&item, function)
            .map_err(|error| errors::located(item.py(), format_args!("item {position}"), error))?;
        // Doubles the capacity if the vector is full. An endless iterable fails here.
        hashes.try_reserve(1).map_err(|_| NoMemory::for_items::<u64>(2 * position))?;
        hashes.push(hash);
    }
    Ok(hashes)
}
