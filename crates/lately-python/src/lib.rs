//! The native part of the Python package `lately`: items, arrays and columns become hashes here, and answers become Python.
//!
//! `python/lately` is the package around it; docs/python.md describes both for users.

#![allow(unsafe_code)]
// Python's and Arrow's C interfaces; each block says why it is sound.
// What these arguments hold is decided by PyO3, not here.
#![allow(clippy::needless_pass_by_value)]
// The documentation of what Python sees is Python's: docstrings, not Markdown.
#![allow(clippy::doc_markdown, clippy::doc_link_with_quotes)]

mod answers;
mod base_filter;
mod clock;
mod decimal;
mod errors;
mod filter;
mod item;
mod items;
mod operation;
mod promise;
mod report;
mod shards;
mod state;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::base_filter::BaseFilter;
    #[pymodule_export]
    use crate::errors::{ConfigError, SnapshotError};
    #[pymodule_export]
    use crate::filter::{Filter, SharedFilter, restore};
    #[pymodule_export]
    use crate::item::item_bytes;
    #[pymodule_export]
    use crate::promise::plan;
    #[pymodule_export]
    use crate::shards::{shard_of, shard_window};
}
