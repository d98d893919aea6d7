//! The fields of a filter and of a plan: their names, and how each is computed, so that one field costs no more than
//! itself.

use lately::{Filter, Plan, Shape, Window};

use super::options::overload_word;
use crate::server::Reply;

/// A named field of a `T`.
pub(super) type Field<T> = (&'static str, fn(&T) -> Reply);

/// What never changes, and is the same in a filter and in its plan.
pub(super) struct Constants {
    window: Window,
    shape: Shape,
    items_per_generation: u64,
    /// The most memory of an elastic filter.
    most_memory_bytes: u64,
    is_keyed: bool,
}

pub(super) const CONSTANTS: &[Field<Constants>] = &[
    ("window", |it| Reply::count(it.window.items())),
    ("span_ms", |it| it.window.span().map_or(Reply::Null, |span| Reply::count(span.as_millis() as u64))),
    ("overload", |it| {
        it.window.overload().map_or(Reply::Null, |overload| Reply::Text(overload_word(overload).into()))
    }),
    ("layout", |it| Reply::Text(it.shape.segment.layout().to_string())),
    ("shape", |it| Reply::Text(it.shape.to_string())),
    // The name only: the key is secret.
    ("hash", |it| Reply::Text(if it.is_keyed { "siphash13" } else { "xxh3" }.into())),
    ("items_per_generation", |it| Reply::count(it.items_per_generation)),
    ("guaranteed_window", |it| {
        Reply::count(it.items_per_generation * u64::from(it.shape.window_generations))
    }),
    ("most_memory_bytes", |it| Reply::count(it.most_memory_bytes)),
    ("bits_per_item", |it| Reply::Real(it.most_memory_bytes as f64 * 8.0 / it.window.items() as f64)),
];

impl Constants {
    pub(super) fn of_plan(plan: &Plan, is_keyed: bool) -> Self {
        let Plan { window, shape, items_per_generation, memory_bytes, .. } = *plan;
        Self { window, shape, items_per_generation, most_memory_bytes: memory_bytes, is_keyed }
    }

    pub(super) fn of_filter(filter: &Filter) -> Self {
        Self {
            window: filter.window(),
            shape: filter.shape(),
            items_per_generation: filter.items_per_generation(),
            most_memory_bytes: filter.most_memory_bytes_after(u64::MAX),
            is_keyed: filter.hash_function().is_keyed(),
        }
    }
}

/// Returns the names and values of all fields of `of`.
pub(super) fn all<'a, T>(
    fields: &'a [Field<T>],
    of: &'a T,
) -> impl Iterator<Item = (&'static str, Reply)> + 'a {
    fields.iter().map(move |(name, value)| (*name, value(of)))
}

/// Returns how the field of this name is computed, if it is among these. Ignores upper and lower case.
pub(super) fn one<T>(fields: &[Field<T>], wanted: &[u8]) -> Option<fn(&T) -> Reply> {
    let found = fields.iter().find(|(name, _)| wanted.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, value)| *value)
}
