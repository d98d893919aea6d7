//! The commands that are sent to replicas and the append-only file. None of them depends on the receiver's
//! clock, configs or planner.
//!
//! ```text
//! a filter is created     APBF.CREATE key blueprint                      the dimensions, not the promise
//! a count window changes  ADD, ADDNX, MADD, MADDNX: the command itself   only inserts change it
//!                         INSERT: APBF.MADD, or APBF.MADDNX for NX
//! a time window changes   APBF.APPLY key now_ms EVERY|FIRST [item ...]   the primary's time is an argument
//! nothing changes         nothing: for example ADDNX of an item that was seen lately
//! ```

use std::ffi::CStr;

use crate::server::{Argument, Call};
use crate::value::Value;

pub(crate) const CREATE: &CStr = c"apbf.create";
pub(crate) const PATCH: &CStr = c"apbf.patch";
pub(crate) const LOAD: &CStr = c"apbf.load";
/// The keyword before the number of a piece's first byte.
pub(crate) const CURSOR: &CStr = c"CURSOR";
pub(crate) const APPLY: &CStr = c"apbf.apply";
pub(crate) const MADD: &CStr = c"apbf.madd";
pub(crate) const MADDNX: &CStr = c"apbf.maddnx";

/// Which sightings of an item are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Every sighting (ADD): an item is new again after it was silent for one window.
    Every,
    /// Only the first (ADDNX): an item is new about once per window.
    First,
}

impl Refresh {
    pub(crate) const KEYWORDS: [(&'static str, Self); 2] = [("EVERY", Self::Every), ("FIRST", Self::First)];

    fn keyword(self) -> &'static CStr {
        match self {
            Self::Every => c"EVERY",
            Self::First => c"FIRST",
        }
    }

    fn command(self) -> &'static CStr {
        match self {
            Self::Every => MADD,
            Self::First => MADDNX,
        }
    }
}

/// Replicates the creation of a filter.
pub(crate) fn send_creation(call: &Call<'_>, key: &Argument, value: &Value) {
    call.replicate_bytes(CREATE, key, &value.filter().blueprint());
}

/// Replicates that the clock of a time window was advanced, and nothing added.
pub(crate) fn send_time(call: &Call<'_>, key: &Argument, now_ms: u64) {
    call.replicate_items_at(APPLY, key, now_ms, Refresh::Every.keyword(), &[]);
}

/// Replicates an addition of items. `verbatim`: the command that added them can be replicated unchanged.
pub(crate) fn send_addition(
    call: &Call<'_>,
    key: &Argument,
    items: &[Argument],
    refresh: Refresh,
    now_ms: Option<u64>,
    verbatim: bool,
) {
    match now_ms {
        Some(now_ms) => call.replicate_items_at(APPLY, key, now_ms, refresh.keyword(), items),
        None if verbatim => call.replicate_verbatim(),
        None => call.replicate_items(refresh.command(), key, items),
    }
}
