//! `APBF.EXISTS` and `APBF.MEXISTS`: was an item seen lately?

use crate::server::{Argument, Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Exists;
pub(super) struct MExists;

impl Command for Exists {
    const DESCRIPTION: Description = Description::new(
        c"apbf.exists",
        c"Returns 1 if the item was seen lately, else 0.",
        Some(KeyUse::Reads),
        &[Parameter::ITEM],
    )
    .fast();

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, item) = call.key_and::<1>()?;
        let mut seen = [false];
        look_up(call, key, item, &mut seen)?;
        Ok(seen[0].into())
    }
}

impl Command for MExists {
    const DESCRIPTION: Description = Description::new(
        c"apbf.mexists",
        c"Returns for each item 1 if it was seen lately, else 0.",
        Some(KeyUse::Reads),
        &[Parameter::ITEMS],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, items) = call.key_and_rest()?;
        let mut seen = vec![false; items.len()];
        look_up(call, key, items, &mut seen)?;
        Ok(seen.into())
    }
}

/// Leaves `seen` unchanged if the key is missing. `seen` has the length of `items`.
fn look_up(call: &Call<'_>, key: &Argument, items: &[Argument], seen: &mut [bool]) -> Result<(), Failure> {
    if let Some(value) = call.open_to_read::<Value>(key).value()? {
        let filter = value.as_of_now();
        match (items, &mut *seen) {
            ([item], [seen]) => *seen = filter.contains(item),
            _ => filter.contains_batch(items, seen),
        }
        value.traffic.count_lookups(items.len(), seen.iter().filter(|&&seen| seen).count());
    }
    Ok(())
}
