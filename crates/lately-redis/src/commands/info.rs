//! `APBF.INFO`: a filter's promise, shape, memory and counters.

use lately::Statistics;

use super::card::SAMPLE_BYTES;
use super::keys::no_such_key;
use super::plan;
use crate::arguments::shown;
use crate::server::{Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Info;

impl Command for Info {
    const DESCRIPTION: Description = Description::new(
        c"apbf.info",
        c"Returns a filter's promise, shape, memory and counters; or one field.",
        Some(KeyUse::Reads),
        &[Parameter::text(c"field").optional()],
    )
    .takes(c"O(1): reads a sample of the filter");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, rest) = call.key_and_rest()?;
        let key = call.open_to_read::<Value>(key);
        let fields = describe(key.value()?.ok_or_else(no_such_key)?);
        match rest {
            [] => Ok(Reply::Map(fields)),
            [field] => one_field(fields, field.as_ref()),
            _ => Err(Failure::Arity),
        }
    }
}

fn one_field(fields: Vec<(&'static str, Reply)>, wanted: &[u8]) -> Result<Reply, Failure> {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let unknown =
        || Failure::new(format!("'{}' is not a field: fields are {}", shown(wanted), names.join(", ")));
    let found = names.iter().position(|name| wanted.eq_ignore_ascii_case(name.as_bytes()));
    let place = found.ok_or_else(unknown)?;
    fields.into_iter().nth(place).map(|(_, value)| value).ok_or_else(unknown)
}

fn describe(value: &Value) -> Vec<(&'static str, Reply)> {
    let Statistics {
        inserts,
        generation,
        fill_by_age,
        estimated_false_positive_rate,
        estimated_distinct_items,
        backward_steps,
        overloaded_generations,
        latest_ms,
        ..
    } = value.as_of_now().estimate(SAMPLE_BYTES);
    let mut fields = plan::describe(value.plan());
    let filter = value.filter();
    for (name, reply) in &mut fields {
        if *name == "memory_bytes" {
            *reply = Reply::count(filter.memory_bytes());
        }
    }
    fields.extend([
        ("most_memory_bytes", Reply::count(filter.most_memory_bytes_after(u64::MAX))),
        ("allocated_bytes", Reply::count(value.allocated_bytes() as u64)),
        ("inserts", Reply::count(inserts)),
        ("generation", Reply::count(generation)),
        ("fills", Reply::Array(fill_by_age.into_iter().map(Reply::Real).collect())),
        ("estimated_error_rate", Reply::Real(estimated_false_positive_rate)),
        ("estimated_items", Reply::count(estimated_distinct_items.round() as u64)),
        ("latest_ms", latest_ms.map_or(Reply::Null, Reply::count)),
        ("backward_steps", Reply::count(backward_steps)),
        ("overloaded_generations", Reply::count(overloaded_generations)),
    ]);
    fields
}
