//! `APBF.INFO`: a filter's promise, shape, memory and counts.

use lately::Statistics;

use super::card;
use super::fields::{self, CONSTANTS, Constants, Field};
use super::keys::no_such_key;
use crate::arguments::shown;
use crate::server::{Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Info;

impl Command for Info {
    const DESCRIPTION: Description = Description::new(
        c"apbf.info",
        c"Returns a filter's promise, shape, memory and counts; or one field.",
        Some(KeyUse::Reads),
        &[Parameter::text(c"field").optional()],
    )
    .takes(c"O(1): estimates come from a sample of the filter");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, rest) = call.key_and_rest()?;
        let key = call.open_to_look::<Value>(key);
        let value = key.value()?.ok_or_else(no_such_key)?;
        match rest {
            [] => Ok(Reply::Map(all_fields(value))),
            [field] => one_field(value, field.as_ref()),
            _ => Err(Failure::Arity),
        }
    }
}

/// Predictions of the model, and counts. None of them reads the filter's memory, except the last.
const COUNTS: &[Field<Value>] = &[
    ("error_rate", |value| Reply::Real(value.filter().worst_false_positive_rate())),
    ("slack", |value| Reply::Real(value.filter().peak_slack())),
    ("memory_bytes", |value| Reply::count(value.filter().memory_bytes())),
    ("peak_memory_bytes", |value| Reply::count(value.filter().counters().peak_memory_bytes)),
    ("growths", |value| Reply::count(value.filter().counters().growths)),
    ("shrinks", |value| Reply::count(value.filter().counters().shrinks)),
    ("allocated_bytes", |value| Reply::count(value.allocated_bytes() as u64)),
    ("inserts", |value| Reply::count(value.filter().counters().inserts)),
    ("new_items", |value| Reply::count(value.traffic.new_items.get())),
    ("repeats", |value| Reply::count(value.traffic.repeats.get())),
    ("lookups", |value| Reply::count(value.traffic.lookups.get())),
    ("misses", |value| Reply::count(value.traffic.misses.get())),
    ("generation", |value| Reply::count(value.filter().counters().generation)),
    ("latest_ms", |value| value.filter().latest_ms().map_or(Reply::Null, Reply::count)),
    ("backward_steps", |value| Reply::count(value.filter().counters().backward_steps)),
    ("overloaded_generations", |value| Reply::count(value.filter().counters().overloaded_generations)),
    ("estimated_items", |value| card::estimate(value).map_or(Reply::Null, Reply::count)),
];

/// Estimates from a sample.
const ESTIMATES: &[Field<Statistics>] = &[
    ("fills", |it| Reply::Array(it.fill_by_age.iter().copied().map(Reply::Real).collect())),
    ("estimated_error_rate", |it| Reply::Real(it.estimated_false_positive_rate)),
    ("estimated_spilled_items", |it| Reply::count(it.estimated_spilled_items.round() as u64)),
];

/// Small, so that a reply with all estimates takes less than 0.1 ms.
const SAMPLE_BYTES: u64 = 8 << 10;

fn estimates(value: &Value) -> Statistics {
    value.as_of_now().estimate(SAMPLE_BYTES)
}

fn all_fields(value: &Value) -> Vec<(&'static str, Reply)> {
    let (constants, estimates) = (Constants::of_filter(value.filter()), estimates(value));
    fields::all(CONSTANTS, &constants)
        .chain(fields::all(COUNTS, value))
        .chain(fields::all(ESTIMATES, &estimates))
        .collect()
}

fn one_field(value: &Value, wanted: &[u8]) -> Result<Reply, Failure> {
    let filter = value.filter();
    let constant = fields::one(CONSTANTS, wanted).map(|of| of(&Constants::of_filter(filter)));
    constant
        .or_else(|| fields::one(COUNTS, wanted).map(|of| of(value)))
        .or_else(|| fields::one(ESTIMATES, wanted).map(|of| of(&estimates(value))))
        .ok_or_else(|| {
            let names = CONSTANTS.iter().map(|(name, _)| *name);
            let names = names.chain(COUNTS.iter().map(|(name, _)| *name));
            let names: Vec<_> = names.chain(ESTIMATES.iter().map(|(name, _)| *name)).collect();
            Failure::new(format!("'{}' is not a field: fields are {}", shown(wanted), names.join(", ")))
        })
}
