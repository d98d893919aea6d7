//! Decides on each record: new, seen lately, or without a key.

mod refresh;
mod sieve;
mod verdict;

pub(crate) use refresh::Refresh;
pub(crate) use sieve::{Clock, Sieve};
pub(crate) use verdict::{Counts, Verdict};
