//! `APBF.AGE`: how long ago was it added?

use std::ffi::CStr;

use crate::failure::Failure;
use crate::server::{self, Call, Command, KeyUse, Parameter, Reply};

pub(super) struct Age;

impl Command for Age {
    const NAME: &'static CStr = c"apbf.age";
    const SUMMARY: &'static CStr =
        c"The least and the most inserts (and milliseconds) since the item was last added; nil if it was not seen lately.";
    const FLAGS: &'static CStr = c"readonly fast";
    const ARITY: i32 = 3;
    const KEY: Option<KeyUse> = Some(KeyUse::Reads);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY, Parameter::ITEM];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, [item]) = call.key_and::<1>()?;
        let key = call.open(key);
        let age = key.value()?.and_then(|value| value.filter.as_of(server::now_ms()).age_of(item));
        Ok(age.map_or(Reply::Null, |age| {
            let ranges = [Some(age.inserts), age.millis].into_iter().flatten();
            Reply::Array(ranges.flat_map(|range| [*range.start(), *range.end()]).map(Reply::count).collect())
        }))
    }
}
