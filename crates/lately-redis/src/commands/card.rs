//! `APBF.CARD`: how many different items are in the window?

use super::SAMPLE_BYTES;
use crate::server::{self, Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Card;

impl Command for Card {
    const DESCRIPTION: Description = Description::new(
        c"apbf.card",
        c"Estimates how many different items the window holds.",
        Some(KeyUse::Reads),
        &[Parameter::KEY],
    )
    .takes(c"O(1): reads a sample of the filter");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open_to_read::<Value>(key);
        let estimate = key
            .value()?
            .map_or(0.0, |value| value.filter.as_of(server::now_ms()).estimate_distinct_items(SAMPLE_BYTES));
        Ok(Reply::count(estimate.round() as u64))
    }
}
