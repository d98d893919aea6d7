//! `APBF.EXISTS` and `APBF.MEXISTS`: was it seen lately?

use std::ffi::CStr;

use crate::failure::Failure;
use crate::info;
use crate::server::{self, Argument, Call, Command, KeyUse, Parameter, Reply};

pub(super) struct Exists;
pub(super) struct MExists;

impl Command for Exists {
    const NAME: &'static CStr = c"apbf.exists";
    const SUMMARY: &'static CStr = c"1 if the item was seen lately, else 0.";
    const FLAGS: &'static CStr = c"readonly fast";
    const ARITY: i32 = 3;
    const KEY: Option<KeyUse> = Some(KeyUse::Reads);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY, Parameter::ITEM];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, item) = call.key_and::<1>()?;
        let mut seen = [false];
        look_up(call, key, item, &mut seen)?;
        Ok(seen[0].into())
    }
}

impl Command for MExists {
    const NAME: &'static CStr = c"apbf.mexists";
    const SUMMARY: &'static CStr = c"For each item 1 if it was seen lately, else 0.";
    const COMPLEXITY: &'static CStr = c"O(N) for N items";
    const FLAGS: &'static CStr = c"readonly";
    const ARITY: i32 = -3;
    const KEY: Option<KeyUse> = Some(KeyUse::Reads);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY, Parameter::ITEMS];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, items) = call.key_and_rest()?;
        let mut seen = vec![false; items.len()];
        look_up(call, key, items, &mut seen)?;
        Ok(seen.into())
    }
}

/// Nothing was seen where there is no key. `seen` has as many places as there are items.
fn look_up(call: &Call<'_>, key: &Argument, items: &[Argument], seen: &mut [bool]) -> Result<(), Failure> {
    if let Some(value) = call.open(key).value()? {
        value.filter.as_of(server::now_ms()).contains_batch(items, seen);
        info::count_hits(seen.iter().filter(|&&seen| seen).count() as u64);
    }
    Ok(())
}
