//! How the items of a bulk call are read.

use lately::HashFunction;

use super::nulls::Nulls;

/// What is needed of items that have to be read one by one.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    Hashes(HashFunction),
    Bytes,
}

/// How the items of a bulk call are read; `reader.rs` does so.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) wanted: Wanted,
    pub(crate) nulls: Nulls,
}
