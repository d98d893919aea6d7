//! The flags that describe a filter's promise.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use lately::{Layout, MIN_RATE, Prefer, Promise};

use super::units;

#[derive(Args, Debug)]
#[command(next_help_heading = "Window", group = ArgGroup::new("kind").required(true).args(["window", "within"]))]
pub(crate) struct PromiseFlags {
    /// Never forget the last N records (5000, 250k, 1M, 1e6)
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = units::count)]
    window: Option<u64>,
    /// Never forget the records of the last SPAN (500ms, 30s, 10m, 24h, 7d); memory follows the traffic, up to
    /// --max-memory
    #[arg(long, short = 't', value_name = "SPAN", allow_hyphen_values = true, value_parser = units::span)]
    within: Option<Duration>,
    /// Use fixed memory, for at most N different records in one SPAN, in whatever bursts they come; above
    /// that, more new records are mistaken for repeats
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = units::count, requires = "within", conflicts_with = "window")]
    capacity: Option<u64>,
    /// The rate at which new records may be mistaken for repeats; with --refresh first, a share of keys, not of
    /// records [default: 1e-4]
    // A default also with --max-memory, so that a plan that does not fit fails. Without a rate, the library
    // looks for the best rate that fits, which could be so high that records are lost. The help text names
    // the default, because completions show only the text.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = rate, default_value = "1e-4", hide_default_value = true)]
    fp: f64,
    /// The most records beyond the window that may still be reported, as a share of the window [default: aims
    /// at 0.2]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = slack)]
    slack: Option<f64>,
    /// The most memory (64MiB, 1GB): a filter that needs more is refused; with --within and no --capacity, it
    /// grows only to this [default: 256MiB]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = units::bytes)]
    max_memory: Option<u64>,
    /// Use this layout [default: the planner chooses]
    #[arg(long, value_name = "LAYOUT", value_parser = layouts())]
    layout: Option<Layout>,
    /// What the planner minimises
    #[arg(long, value_name = "WHAT", value_parser = preferences(), default_value = Prefer::default().name())]
    prefer: Prefer,
}

impl From<&PromiseFlags> for Promise {
    fn from(flags: &PromiseFlags) -> Self {
        let mut promise = Self::default();
        promise.window = flags.window;
        promise.span = flags.within;
        promise.capacity = flags.capacity;
        promise.false_positive_rate = Some(flags.fp);
        promise.max_slack = flags.slack;
        promise.max_memory = flags.max_memory;
        promise.layout = flags.layout;
        promise.prefer = flags.prefer;
        promise
    }
}

fn layouts() -> impl TypedValueParser<Value = Layout> {
    named(Layout::ALL.iter().map(|layout| {
        PossibleValue::new(layout.name()).help(match layout {
            Layout::Slices => Some("The least slack, and the least memory at high rates"),
            Layout::Blocks => Some("Between slices and rows"),
            Layout::Rows => Some("The fastest: one memory access"),
            Layout::Bins => Some("Little memory with two memory accesses; bursts do not raise the rate"),
            _ => None,
        })
    }))
}

fn preferences() -> impl TypedValueParser<Value = Prefer> {
    named(Prefer::ALL.iter().map(|prefer| {
        PossibleValue::new(prefer.name()).help(match prefer {
            Prefer::Balanced => {
                Some("The least memory among the layouts with at most two memory accesses: bins and rows")
            }
            Prefer::Speed => Some(
                "The fewest memory accesses among the plans that need at most three times the least memory",
            ),
            Prefer::Memory => Some("The least memory"),
            _ => None,
        })
    }))
}

/// Parses a setting by the library's names. `values` are these names, for the help and for completions.
fn named<T>(values: impl Iterator<Item = PossibleValue>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate =
        text.parse().ok().filter(|rate| is_possible(|promise| promise.false_positive_rate = Some(*rate)));
    rate.ok_or_else(|| {
        format!("not a rate that can be promised; ask for at least {MIN_RATE:e} and less than 1")
    })
}

fn slack(text: &str) -> Result<f64, String> {
    let slack = text.parse().ok().filter(|slack| is_possible(|promise| promise.max_slack = Some(*slack)));
    slack.ok_or_else(|| "not a share of the window; ask for more than 0, for example 0.1".into())
}

/// Returns true if the library accepts a setting. It checks the setting again when it plans, but a stored
/// filter is not planned.
fn is_possible(set: impl FnOnce(&mut Promise)) -> bool {
    let mut promise = Promise::default();
    set(&mut promise);
    promise.check_given().is_ok()
}

#[cfg(test)]
mod tests {
    use lately::DEFAULT_ELASTIC_MEMORY;

    use super::*;
    use crate::commands::human::human_bytes;

    #[test]
    fn the_help_names_the_librarys_default_limit() {
        let command = PromiseFlags::augment_args(clap::Command::new("test"));
        let help = command.get_arguments().find(|flag| flag.get_id() == "max_memory").unwrap().get_help();
        let limit = human_bytes(DEFAULT_ELASTIC_MEMORY).replace(".0 ", "");
        assert!(help.unwrap().to_string().contains(&format!("[default: {limit}]")), "{help:?}");
    }

    #[test]
    fn every_name_of_the_library_is_explained() {
        let layouts: Vec<_> = layouts().possible_values().unwrap().collect();
        let preferences: Vec<_> = preferences().possible_values().unwrap().collect();
        assert_eq!((layouts.len(), preferences.len()), (Layout::ALL.len(), Prefer::ALL.len()));
        for value in layouts.iter().chain(&preferences) {
            assert!(value.get_help().is_some(), "{} has no help", value.get_name());
        }
    }
}
