//! A window that is spread over shards: the shard of an item, and the window of each shard.

use std::collections::BTreeMap;

use lately::MAX_WINDOW;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::items::{self, Nulls, Reading, Wanted};

/// This hash must differ from the hash of the filters; otherwise the items of one shard would be close
/// together in its filter.
const SHARD_SEED: u64 = 0x6c61_7465_6c79;

/// Returns the shard of an item, from 0 to shards - 1. It is the same on every machine and in every version.
///
/// The shard is floor(h * shards / 2**64), where h is the XXH3-64 of the item's bytes with the seed
/// 0x6c6174656c79.
///
/// >>> from lately import shard_of
/// >>> shard_of("order-17", 8) == shard_of(b"order-17", 8)
/// True
/// >>> sorted({shard_of(i, 4) for i in range(100)})
/// [0, 1, 2, 3]
#[pyfunction]
#[pyo3(text_signature = "(item, shards)")]
pub(crate) fn shard_of(item: &Bound<'_, PyAny>, shards: &Bound<'_, PyAny>) -> PyResult<u32> {
    let shards = shard_count(shards)?;
    items::with_bytes(item, |bytes| shard_of_bytes(bytes, shards))
}

/// Returns the window that each shard needs so that together they keep `window`, if shard_of assigns the
/// items. With probability 1 - 1e-12, no shard receives more than this many of any given `window` distinct
/// items.
///
/// >>> from lately import shard_window
/// >>> shard_window(1_000_000, 8)
/// 127427
#[pyfunction]
#[pyo3(text_signature = "(window, shards)")]
pub(crate) fn shard_window(window: u64, shards: &Bound<'_, PyAny>) -> PyResult<u64> {
    let count = shard_count(shards)?;
    if window > MAX_WINDOW {
        return Err(PyValueError::new_err(format!(
            "window = {window} is not possible: give at most {MAX_WINDOW}"
        )));
    }
    // This takes a while for some windows.
    Ok(shards.py().detach(|| lately::shard_window(window, count)))
}

/// The items of a shard, for the clients of `lately.redis`: its number, the positions of its items in the whole
/// call, and their bytes.
type Group<'py> = (u32, Bound<'py, PyList>, Bound<'py, PyList>);

/// Groups items by shard; each group keeps their order. Also returns how many items there are, the positions
/// of missing ones, and whether they came as an array or a column.
#[pyfunction]
#[pyo3(name = "_grouped", signature = (items, shards, nulls=None, key=None))]
pub(crate) fn grouped<'py>(
    items: &Bound<'py, PyAny>,
    shards: &Bound<'_, PyAny>,
    nulls: Option<&Bound<'_, PyAny>>,
    key: Option<&Bound<'_, PyAny>>,
) -> PyResult<(usize, Vec<usize>, bool, Vec<Group<'py>>)> {
    let py = items.py();
    let count = shard_count(shards)?;
    let items = Reading { wanted: Wanted::Bytes, nulls: Nulls::read(nulls)? }.read_key(items, key)?;
    let mut groups = BTreeMap::<u32, Group<'py>>::new();
    let mut failed = Ok(());
    items.for_each(|position, bytes| {
        let shard = shard_of_bytes(bytes, count);
        let (_, positions, group) =
            groups.entry(shard).or_insert_with(|| (shard, PyList::empty(py), PyList::empty(py)));
        let pushed = positions.append(position).and_then(|()| group.append(PyBytes::new(py, bytes)));
        failed = std::mem::replace(&mut failed, Ok(())).and(pushed);
    });
    failed?;
    Ok((items.len(), items.missing, items.are_columns, groups.into_values().collect()))
}

fn shard_of_bytes(bytes: &[u8], shards: u32) -> u32 {
    let hash = xxh3_64_with_seed(bytes, SHARD_SEED);
    // The result is below `shards`, so it fits.
    ((u128::from(hash) * u128::from(shards)) >> 64) as u32
}

fn shard_count(shards: &Bound<'_, PyAny>) -> PyResult<u32> {
    let index = || shards.call_method0("__index__").ok()?.extract::<i128>().ok();
    index().and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{shards} shards are not possible: give a whole number from 1 to {}",
            u32::MAX
        ))
    })
}
