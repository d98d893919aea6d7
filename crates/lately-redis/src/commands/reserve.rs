//! `APBF.RESERVE`: creates a filter.

use std::ffi::CStr;

use super::keys::open_missing;
use super::options::{Options, PLANNING_TIME, RATE_WINDOW_AND_OPTIONS};
use super::room::check_memory;
use crate::arguments::Arguments;
use crate::replication;
use crate::server::{Call, Command, Description, Failure, KeyUse, Reply, WriteKey};
use crate::value::Value;

pub(super) const EVENT: &CStr = c"apbf.reserve";

pub(super) struct Reserve;

impl Command for Reserve {
    const DESCRIPTION: Description = Description::new(
        c"apbf.reserve",
        c"Creates a filter that never forgets the last window inserts, or with SPAN those of the span.",
        Some(KeyUse::Creates),
        &RATE_WINDOW_AND_OPTIONS,
    )
    .takes(PLANNING_TIME);

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, rest) = call.key_and_rest()?;
        let options = Options::read(&mut Arguments::new(rest))?;
        let mut key = open_missing(call, name)?;
        create(call, &mut key, &options)?;
        Ok(Reply::Ok)
    }
}

/// Creates the filter of a key that does not exist.
pub(super) fn create(
    call: &Call<'_>,
    key: &mut WriteKey<'_, Value>,
    options: &Options,
) -> Result<(), Failure> {
    check_memory(call)?;
    let name = key.name();
    let value = key.set(options.build()?)?;
    replication::send_creation(call, name, value);
    key.notify_change(EVENT);
    Ok(())
}
