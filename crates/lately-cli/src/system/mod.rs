//! The operating system: all code that differs between Unix and other systems is here.

pub(crate) mod closed_streams;
pub(crate) mod directory;
pub(crate) mod identity;
pub(crate) mod read_at;
pub(crate) mod signals;
pub(crate) mod standard_streams;
pub(crate) mod waiting;
