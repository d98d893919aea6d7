//! `APBF.SNAPSHOT` and `APBF.LOAD`: the snapshot format that the command line, Python and all servers share.

use lately::Filter;

use super::keys::{create_from_arguments, no_such_key, open_missing};
use crate::configs::check_size;
use crate::server::{Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Snapshot;
pub(super) struct Load;

impl Command for Snapshot {
    const DESCRIPTION: Description = Description::new(
        c"apbf.snapshot",
        c"Returns the filter as bytes, in the format of the command line tool lately.",
        Some(KeyUse::Reads),
        &[],
    )
    .takes(c"O(N) for N bytes");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open_to_look::<Value>(key);
        let value = key.value()?.ok_or_else(no_such_key)?;
        Ok(Reply::Bytes(value.filter().to_bytes()))
    }
}

impl Command for Load {
    const DESCRIPTION: Description = Description::new(
        c"apbf.load",
        c"Creates a filter from a snapshot.",
        Some(KeyUse::Creates),
        &[Parameter::text(c"bytes")],
    )
    .takes(c"O(N) for N bytes");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, [bytes]) = call.key_and::<1>()?;
        let key = open_missing(call, name)?;
        if !call.is_replayed() {
            // The length of a snapshot differs from the size of its filter by a few bytes only.
            check_size(bytes.as_ref().len() as u64)?;
        }
        let value = Value::new(|| Filter::from_bytes(bytes.as_ref()))?;
        if !call.is_replayed() {
            check_size(value.filter().most_memory_bytes_after(u64::MAX))?;
        }
        create_from_arguments(call, key, value, c"apbf.load")
    }
}
