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
            let inserts = [*age.inserts.start(), *age.inserts.end()];
            let times = age.time.map(|time| [time.start(), time.end()].map(|time| time.as_millis() as u64));
            let numbers = inserts.into_iter().chain(times.into_iter().flatten());
            Reply::Array(numbers.map(Reply::count).collect())
        }))
    }
}
