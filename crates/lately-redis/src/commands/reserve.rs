//! `APBF.RESERVE`: creates a filter.

use std::ffi::CStr;

use super::OPTIONS;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::promise::Asked;
use crate::replication;
use crate::server::{Call, Command, Description, KeyUse, Parameter, Reply};

pub(super) const EVENT: &CStr = c"apbf.reserve";

pub(super) struct Reserve;

impl Command for Reserve {
    const DESCRIPTION: Description = Description::new(
        c"apbf.reserve",
        c"Creates a filter that never forgets the last window inserts, or with SPAN those of the span.",
        Some(KeyUse::Creates),
        &[
            Parameter::KEY,
            Parameter::real(c"error-rate"),
            Parameter::integer(c"window"),
            OPTIONS[0],
            OPTIONS[1],
            OPTIONS[2],
            OPTIONS[3],
            OPTIONS[4],
        ],
    )
    .takes(c"O(1); if no filter with these options was planned lately, the client waits for the plan");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, rest) = call.key_and_rest()?;
        let asked = Asked::read(&mut Arguments::new(rest))?;
        let mut key = call.open_to_write(name);
        if key.value()?.is_some() {
            return Err(Failure::key_exists());
        }
        let value = key.set(asked.build(call)?)?;
        replication::created(call, name, value);
        key.has_changed(EVENT);
        Ok(Reply::Ok)
    }
}
