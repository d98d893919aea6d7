//! `APBF.CARD`: how many different items are in the window?

use crate::server::{Call, Command, Description, Failure, KeyUse, Reply};
use crate::value::Value;

/// Size of the sample for estimates: large enough for an error of a few percent, too small for a noticeable
/// pause.
pub(super) const SAMPLE_BYTES: u64 = 256 << 10;

pub(super) struct Card;

impl Command for Card {
    const DESCRIPTION: Description = Description::new(
        c"apbf.card",
        c"Estimates how many different items the window holds.",
        Some(KeyUse::Reads),
        &[],
    )
    .takes(c"O(1): reads a sample of the filter");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open_to_look::<Value>(key);
        let estimate =
            key.value()?.map_or(0.0, |value| value.as_of_now().estimate_distinct_items(SAMPLE_BYTES));
        Ok(Reply::count(estimate.round() as u64))
    }
}
