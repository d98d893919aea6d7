//! Decides on each record: new, seen lately, too late, or without a key.

mod clock;
mod on_late;
mod refresh;
mod sieve;
mod troubles;
mod verdict;

pub(crate) use clock::{Clock, EventRules};
pub(crate) use on_late::OnLate;
pub(crate) use refresh::Refresh;
pub(crate) use sieve::Sieve;
pub(crate) use troubles::Troubles;
pub(crate) use verdict::{Counts, Decided, Verdict};
