//! `APBF.CARD`: how many different items are in the window?

use lately::Layout;

use crate::server::{Call, Command, Description, Failure, KeyUse, Reply};
use crate::value::Value;

/// Size of the sample: large enough for an error of a percent, too small for a noticeable pause.
const SAMPLE_BYTES: u64 = 32 << 10;

pub(super) struct Card;

impl Command for Card {
    const DESCRIPTION: Description = Description::new(
        c"apbf.card",
        c"Estimates how many different items the window holds. Only for LAYOUT BINS.",
        Some(KeyUse::Reads),
        &[],
    )
    .takes(c"O(1): reads a sample of the filter");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, []) = call.key_and::<0>()?;
        let key = call.open_to_look::<Value>(key);
        let Some(value) = key.value()? else { return Ok(Reply::Integer(0)) };
        estimate(value).map(Reply::count).ok_or_else(|| {
            Failure::new(format!(
                "in LAYOUT {} an item that was added again counts again, so different items cannot be counted: use LAYOUT BINS for that",
                value.filter().shape().segment.layout().to_string().to_ascii_uppercase()
            ))
        })
    }
}

/// Returns about how many different items are in the window; `None` if the layout counts repeats.
pub(super) fn estimate(value: &Value) -> Option<u64> {
    if value.filter().shape().segment.layout() != Layout::Bins {
        return None;
    }
    let estimate = value.as_of_now().estimate_distinct_items(SAMPLE_BYTES).round() as u64;
    // In a large filter with few items, the estimate is the number of inserts. But no more items can be there than were
    // new, or came before they were counted.
    Some(estimate.min(value.uncounted_inserts() + value.traffic.new_items.get()))
}
