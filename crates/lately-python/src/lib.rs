//! The native part of the Python package `lately`. It converts items, arrays and columns to hashes, and
//! answers to Python objects.
//!
//! `python/lately` is the package around it. docs/python.md describes both for users.

// For the C interfaces of Python and Arrow; each block says why it is sound.
#![allow(unsafe_code)]
// PyO3 decides the types of these arguments.
#![allow(clippy::needless_pass_by_value)]
// Doc comments of Python classes and functions become docstrings, which are not Markdown.
#![allow(clippy::doc_markdown, clippy::doc_link_with_quotes)]

mod answers;
mod arrow;
mod errors;
mod filter;
mod interpreter;
mod items;
mod promise;
mod report;
mod shards;
mod time;

use pyo3::prelude::*;

// Nothing here was tested without Python's lock, so a free-threaded Python switches it on.
#[pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::errors::{ConfigError, JumpError, SnapshotError};
    #[pymodule_export]
    #[expect(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::filter::{BaseFilter, Filter, SharedFilter};
    #[pymodule_export]
    use crate::items::item_bytes;
    #[pymodule_export]
    use crate::promise::plan;
    #[pymodule_export]
    use crate::shards::{grouped, shard_of, shard_window};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpreter::check_is_main(module.py())?;
        module.add("AllocationError", crate::errors::allocation_error(module.py())?)
    }
}
