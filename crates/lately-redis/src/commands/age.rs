//! `APBF.AGE`: how long ago was an item added?

use crate::server::{Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Age;

impl Command for Age {
    const DESCRIPTION: Description = Description::new(
        c"apbf.age",
        c"Returns the least and most inserts (and milliseconds) since the item was added; nil if not seen lately.",
        Some(KeyUse::Reads),
        &[Parameter::ITEM],
    )
    .fast();

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, [item]) = call.key_and::<1>()?;
        let key = call.open_to_read::<Value>(key);
        let age = key.value()?.and_then(|value| value.as_of_now().age_of(item));
        Ok(age.map_or(Reply::Null, |age| {
            let ranges = [Some(age.inserts), age.millis].into_iter().flatten();
            Reply::Array(ranges.flat_map(|range| [*range.start(), *range.end()]).map(Reply::count).collect())
        }))
    }
}
