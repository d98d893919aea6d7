//! `APBF.CARD`: how many different items are in the window?

use std::ffi::CStr;

use super::SAMPLE_BYTES;
use crate::failure::Failure;
use crate::server::{self, Call, Command, KeyUse, Parameter, Reply};

pub(super) struct Card;

impl Command for Card {
    const NAME: &'static CStr = c"apbf.card";
    const SUMMARY: &'static CStr = c"About how many different items the window holds.";
    const COMPLEXITY: &'static CStr = c"O(1): a sample of the filter is looked at";
    const FLAGS: &'static CStr = c"readonly";
    const ARITY: i32 = 2;
    const KEY: Option<KeyUse> = Some(KeyUse::Reads);
    const PARAMETERS: &'static [Parameter] = &[Parameter::KEY];

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open(key);
        let estimate = key
            .value()?
            .map_or(0.0, |value| value.filter.as_of(server::now_ms()).estimate_distinct_items(SAMPLE_BYTES));
        Ok(Reply::count(estimate.round() as u64))
    }
}
