//! The commands that primaries send to replicas and write into append-only files. Any client may send them,
//! so their arguments are checked like those of all other commands.

use lately::Filter;

use super::keys::{create_from_arguments, no_such_key, open_missing};
use super::room::{check_memory, make_room};
use super::{add, reserve};
use crate::arguments::{Arguments, integer};
use crate::configs::check_size;
use crate::replication::{APPLY, CREATE, PATCH, Refresh};
use crate::server::{Call, Command, Description, Failure, KeyUse, Parameter, Reply};
use crate::value::Value;

pub(super) struct Create;
pub(super) struct Patch;
pub(super) struct Apply;

impl Command for Create {
    const DESCRIPTION: Description = Description::new(
        CREATE,
        c"Internal: creates a filter with the dimensions in the blueprint.",
        Some(KeyUse::Creates),
        &[Parameter::text(c"blueprint")],
    );

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, [blueprint]) = call.key_and::<1>()?;
        let key = open_missing(call, name)?;
        if !call.is_replayed() {
            check_memory(call)?;
            check_size(Filter::memory_of_snapshot(blueprint.as_ref())?)?;
        }
        let value = Value::new(|| Filter::from_blueprint(blueprint.as_ref()))?;
        create_from_arguments(call, key, value, reserve::EVENT)
    }
}

impl Command for Patch {
    const DESCRIPTION: Description = Description::new(
        PATCH,
        c"Internal: overwrites words of a filter's memory.",
        Some(KeyUse::Inserts),
        &[Parameter::integer(c"first-word"), Parameter::text(c"words")],
    )
    .takes(c"O(N) for N bytes");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, [first, words]) = call.key_and::<2>()?;
        let first = integer("first-word", first.as_ref(), 0..=usize::MAX)?;
        let (words, rest) = words.as_ref().as_chunks();
        if !rest.is_empty() {
            return Err(Failure::new(format!(
                "words has {} bytes, but must have a multiple of 8",
                words.len() * 8 + rest.len()
            )));
        }
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut key = call.open_to_write::<Value>(name);
        key.value()?.ok_or_else(no_such_key)?.change(|filter| filter.set_words(first, &words))?;
        call.replicate_verbatim();
        key.notify_change(c"apbf.patch");
        Ok(Reply::Ok)
    }
}

impl Command for Apply {
    const DESCRIPTION: Description = Description::new(
        APPLY,
        c"Internal: sets the time of a time window, and adds items.",
        Some(KeyUse::Inserts),
        &[
            Parameter::integer(c"now-ms"),
            Parameter::one_of(
                c"refresh",
                &[Parameter::keyword(c"every", c"EVERY"), Parameter::keyword(c"first", c"FIRST")],
            ),
            Parameter::ITEMS.optional(),
        ],
    )
    .takes(c"O(N) for N items");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, rest) = call.key_and_rest()?;
        let mut arguments = Arguments::new(rest);
        let now_ms = arguments.integer("now-ms", 0..=i64::MAX.cast_unsigned())?;
        let refresh = arguments.one_of("refresh", Refresh::KEYWORDS)?;
        let items = arguments.rest();
        let mut key = call.open_to_write::<Value>(name);
        let value = key.value()?.ok_or_else(no_such_key)?;
        let mut are_new = vec![false; items.len()];
        if add::are_repeats(value, items, refresh, Some(now_ms)) {
            return Ok(are_new.into());
        }
        if !call.is_replayed() {
            make_room(call, name, value, items.len() as u64, Some(now_ms))?;
        }
        if add::add(value, items, refresh, Some(now_ms), &mut are_new) {
            call.replicate_verbatim();
            key.notify_change(add::EVENT);
        }
        Ok(are_new.into())
    }
}
