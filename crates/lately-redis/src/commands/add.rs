//! `APBF.ADD`, `APBF.ADDNX` and their forms for many items: check whether an item was seen lately, and add
//! it.

use std::ffi::CStr;

use super::keys::no_such_key;
use super::options::Options;
use super::reserve;
use super::room::make_room;
use super::templates;
use crate::replication::{self, Refresh};
use crate::server::{self, Argument, Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::traffic;
use crate::value::Value;

pub(super) const EVENT: &CStr = c"apbf.add";

pub(super) struct Add;
pub(super) struct AddNx;
pub(super) struct MAdd;
pub(super) struct MAddNx;

impl Command for Add {
    const DESCRIPTION: Description = Description::new(
        c"apbf.add",
        c"Adds an item. Returns 1 if it was not seen lately, 0 if it was. Every sighting refreshes the item.",
        Some(KeyUse::Inserts),
        &[Parameter::ITEM],
    )
    .fast();

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        add_one(call, Refresh::Every)
    }
}

impl Command for AddNx {
    const DESCRIPTION: Description = Description::new(
        c"apbf.addnx",
        c"Adds an item unless it was seen lately. Returns 1 if added, 0 if not. Repeats do not refresh the item.",
        Some(KeyUse::Inserts),
        &[Parameter::ITEM],
    )
    .fast();

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        add_one(call, Refresh::First)
    }
}

impl Command for MAdd {
    const DESCRIPTION: Description = Description::new(
        replication::MADD,
        c"Adds items in order, each as APBF.ADD does.",
        Some(KeyUse::Inserts),
        &[Parameter::ITEMS],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        add_many(call, Refresh::Every)
    }
}

impl Command for MAddNx {
    const DESCRIPTION: Description = Description::new(
        replication::MADDNX,
        c"Adds items in order, each as APBF.ADDNX does.",
        Some(KeyUse::Inserts),
        &[Parameter::ITEMS],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        add_many(call, Refresh::First)
    }
}

fn add_one(call: &Call<'_>, refresh: Refresh) -> Result<Reply, Failure> {
    let (key, item) = call.key_and::<1>()?;
    let mut is_new = [false];
    Addition { key, items: item, refresh, if_missing: IfMissing::AutoCreate, verbatim: true }
        .run(call, &mut is_new)?;
    Ok(is_new[0].into())
}

fn add_many(call: &Call<'_>, refresh: Refresh) -> Result<Reply, Failure> {
    let (key, items) = call.key_and_rest()?;
    let mut are_new = vec![false; items.len()];
    Addition { key, items, refresh, if_missing: IfMissing::AutoCreate, verbatim: true }
        .run(call, &mut are_new)?;
    Ok(are_new.into())
}

/// What to do if the key is missing.
#[derive(Clone, Copy)]
pub(super) enum IfMissing {
    Refuse,
    /// What the configs say.
    AutoCreate,
    Create(Options),
}

impl IfMissing {
    /// The options of the new key. A primary sends the creation of a key, so commands that come from a primary or a file
    /// never create one.
    fn options(self, call: &Call<'_>, key: &Argument) -> Result<Options, Failure> {
        match self {
            _ if call.is_replayed() => Err(no_such_key()),
            Self::Refuse => Err(no_such_key()),
            Self::AutoCreate => templates::options_for(key.as_ref()),
            Self::Create(options) => Ok(options),
        }
    }
}

/// Items to be added to a key's filter.
pub(super) struct Addition<'a> {
    pub(super) key: &'a Argument,
    pub(super) items: &'a [Argument],
    pub(super) refresh: Refresh,
    pub(super) if_missing: IfMissing,
    /// Whether the command can be sent to replicas unchanged.
    pub(super) verbatim: bool,
}

impl Addition<'_> {
    /// Adds the items. Sets `are_new` to true for each item that was new.
    pub(super) fn run(&self, call: &Call<'_>, are_new: &mut [bool]) -> Result<(), Failure> {
        let mut key = call.open_to_write::<Value>(self.key);
        if key.value()?.is_none() {
            reserve::create(call, &mut key, &self.if_missing.options(call, self.key)?)?;
        }
        let value = key.value()?.ok_or_else(no_such_key)?;
        let now_ms = value.has_clock().then(server::now_ms);
        // An ADDNX that adds nothing changes nothing, so nothing is replicated.
        if are_repeats(value, self.items, self.refresh, now_ms) {
            return Ok(());
        }
        make_room(call, self.key, value, self.items.len() as u64, now_ms)?;
        if add(value, self.items, self.refresh, now_ms, are_new) {
            replication::send_addition(call, self.key, self.items, self.refresh, now_ms, self.verbatim);
            key.notify_change(EVENT);
        }
        Ok(())
    }
}

/// Returns true if the filter would not change, not even its time: all items were seen lately, and repeats do not
/// refresh them. For count windows, finding that out would cost a second look at each item, and they have no time.
pub(super) fn are_repeats(value: &Value, items: &[Argument], refresh: Refresh, now_ms: Option<u64>) -> bool {
    let (Some(now_ms), Refresh::First) = (now_ms, refresh) else { return false };
    let filter = value.filter().as_of(now_ms);
    let are_repeats = items.iter().all(|item| filter.contains(item));
    if are_repeats {
        value.traffic.count_additions(items.len(), items.len());
    }
    are_repeats
}

/// Adds items at the given time. Returns true if the filter has changed. `are_new` has the length of `items`.
pub(super) fn add(
    value: &mut Value,
    items: &[Argument],
    refresh: Refresh,
    now_ms: Option<u64>,
    are_new: &mut [bool],
) -> bool {
    let before = value.filter().counters();
    value.change(|filter| {
        if let Some(now_ms) = now_ms {
            filter.advance_to(now_ms);
        }
        match (items, &mut *are_new, refresh) {
            ([item], [is_new], Refresh::Every) => *is_new = filter.check_and_insert(item),
            ([item], [is_new], Refresh::First) => *is_new = filter.check_or_insert(item),
            (_, _, Refresh::Every) => filter.check_and_insert_batch(items, are_new),
            (_, _, Refresh::First) => filter.check_or_insert_batch(items, are_new),
        }
    });
    // The filter returns true for seen items, the reply for new ones.
    are_new.iter_mut().for_each(|is_new| *is_new = !*is_new);
    let after = value.filter().counters();
    value.traffic.count_additions(items.len(), are_new.iter().filter(|&&is_new| !is_new).count());
    traffic::count_change(&before, &after);
    after != before || now_ms.is_some()
}
