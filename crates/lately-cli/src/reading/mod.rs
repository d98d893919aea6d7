//! Reads bytes and finds the records in them.

mod splitter;

pub(crate) use splitter::{Splitter, append_ends};
