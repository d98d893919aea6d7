//! `APBF.SNAPSHOT` and `APBF.LOAD`: the project's one format, for the command line, Python and other servers.

use std::ffi::CStr;

use lately::Filter;

use crate::failure::Failure;
use crate::promise::check_size;
use crate::server::{Call, Command, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Snapshot;
pub(super) struct Load;

impl Command for Snapshot {
    const NAME: &'static CStr = c"apbf.snapshot";
    const SUMMARY: &'static CStr = c"The filter as bytes, as the command lately saves it.";
    const COMPLEXITY: &'static CStr = c"O(N) for N bytes";
    const FLAGS: &'static CStr = c"readonly";
    const ARITY: i32 = 2;
    const KEY: Option<KeyUse> = Some(KeyUse::Reads);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open(key);
        let value = key.value()?.ok_or_else(Failure::no_such_key)?;
        Ok(Reply::Bytes(value.filter.to_bytes()))
    }
}

impl Command for Load {
    const NAME: &'static CStr = c"apbf.load";
    const SUMMARY: &'static CStr = c"Creates a filter from a snapshot.";
    const COMPLEXITY: &'static CStr = c"O(N) for N bytes";
    const FLAGS: &'static CStr = c"write deny-oom";
    const ARITY: i32 = 3;
    const KEY: Option<KeyUse> = Some(KeyUse::Creates);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY, Parameter::text(c"bytes")];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, [bytes]) = call.key_and::<1>()?;
        let mut key = call.open_to_write(name);
        if key.value()?.is_some() {
            return Err(Failure::key_exists());
        }
        if !call.is_replayed() {
            // A snapshot is as long as its filter is large, but for a few bytes.
            check_size(bytes.as_ref().len() as u64)?;
        }
        key.set(Value::new(|| Filter::from_bytes(bytes.as_ref()))?)?;
        call.replicate_verbatim();
        key.has_changed(c"apbf.load");
        Ok(Reply::Ok)
    }
}
