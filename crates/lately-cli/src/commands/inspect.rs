//! `lately inspect`: shows the content of a state.

use std::path::PathBuf;

use clap::Args;
use lately::{AgeRange, Clock, Counters, Filter, HashFunction, Layout, Window};
use serde_json::{Value, json};

use super::human::{Listing, human_bytes, human_window};
use crate::dates::{date, exactly};
use crate::failure::Failure;
use crate::writing::{load_state, print};

const EXAMPLES: &str = "\
Examples:
  lately inspect seen.lately
  lately inspect --json seen.lately | jq .statistics.inserts";

/// Show a state: its promise, its shape and its fill
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// A state saved by `dedup --state`
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let filter = load_state(&self.file)?;
        if self.json { print(&format!("{:#}\n", describe(&filter))) } else { print(&text(&filter)) }
    }
}

/// Returns the name only: the key of a keyed hash is secret.
fn hash_name(filter: &Filter) -> &'static str {
    match filter.hash_function() {
        HashFunction::Xxh3 { .. } => "xxh3",
        HashFunction::SipHash13 { .. } => "siphash13",
        _ => "unknown",
    }
}

fn describe(filter: &Filter) -> Value {
    json!({
        "plan": filter.plan(),
        "layout": filter.plan().layout().to_string(),
        "hash": hash_name(filter),
        "clock": filter.clock().to_string(),
        "guaranteed_window": filter.guaranteed_window(),
        "guaranteed_span_ms": filter.guaranteed_span().map(|span| span.as_millis() as u64),
        "statistics": filter.statistics(),
    })
}

fn text(filter: &Filter) -> String {
    let (plan, statistics) = (filter.plan(), filter.statistics());
    let is_elastic = matches!(plan.window, Window::Elastic { .. });
    let mut listing = Listing::new(15);
    listing.line("promise", format!("never forgets {}", human_window(&plan.window)));
    listing.line("", format!("mistakes at most {:.3e} of new records for repeats", plan.false_positive_rate));
    listing
        .line("", format!("still reports older records, on average at most {:.3} of a window", plan.slack()));
    let span = filter.guaranteed_span().map(|span| format!(", {}", exactly(span)));
    listing.line(
        "guaranteed now",
        format!("{} records{}", filter.guaranteed_window(), span.unwrap_or_default()),
    );
    listing.line("shape", plan.shape);
    // Cache lines hold fingerprints of all generations, which take their room together.
    if plan.layout() == Layout::Bins {
        let full: f64 = statistics.fill_by_age.iter().sum();
        let lines = if is_elastic { String::new() } else { format!("{} cache lines, ", plan.cells) };
        listing.line("lines", format!("{lines}{:.1}% full", full * 100.0));
    }
    let secret =
        if filter.hash_function().is_keyed() { ", with a secret key: keep the file secret too" } else { "" };
    listing.line("hash", format!("{}{secret}", hash_name(filter)));
    let memory = filter.memory_bytes();
    let most = is_elastic.then(|| {
        format!(", follows the traffic up to {} ({})", plan.memory_bytes, human_bytes(plan.memory_bytes))
    });
    listing.line("memory", format!("{memory} bytes ({}){}", human_bytes(memory), most.unwrap_or_default()));
    if is_elastic {
        let Counters { peak_memory_bytes: peak, growths, shrinks, .. } = filter.counters();
        listing.line(
            "",
            format!(
                "{peak} bytes ({}) at its peak; grew {growths} times, shrank {shrinks} times",
                human_bytes(peak)
            ),
        );
    }
    listing.line("inserts", format!("{} in {} generations", statistics.inserts, statistics.generation + 1));
    listing.line(
        "estimated now",
        format!("{:.3e} false positive rate", statistics.estimated_false_positive_rate),
    );
    listing.line("", format!("{:.0} distinct records in the window", statistics.estimated_distinct_items));
    if let Some(latest) = statistics.latest_ms {
        listing.line("latest time", date(latest));
        let source = match filter.clock() {
            Clock::System => "the system's clock",
            Clock::Events => "the times of records",
            _ => "not known",
        };
        listing.line("clock", source);
        listing.line("backward steps", statistics.backward_steps);
        listing.line("overloaded", format!("{} generations", statistics.overloaded_generations));
    }
    listing.line("", "");
    let ring = if plan.layout() == Layout::Bins { "generation" } else { "segment" };
    let width = ring.len();
    listing.line(ring, "fill, newest first");
    for (age, (fill, items)) in statistics.fill_by_age.iter().zip(&statistics.items_by_age).enumerate() {
        let held = if *fill > 0.0 { describe_ages(items) } else { "empty".into() };
        listing.line(&format!("{age:>width$}"), format!("{} {:5.1}%  {held}", bar(*fill), fill * 100.0));
    }
    listing.into_text()
}

/// Draws a bar of 30 characters, in steps of half a character.
fn bar(fill: f64) -> String {
    let halves = (fill.clamp(0.0, 1.0) * 60.0).round() as usize;
    let drawn = "█".repeat(halves / 2) + if halves % 2 == 1 { "▌" } else { "" };
    format!("{drawn:<30}")
}

fn describe_ages(items: &AgeRange) -> String {
    let inserts = format!("{} to {} records ago", items.inserts.start(), items.inserts.end());
    match &items.time {
        None => inserts,
        Some(time) => {
            let [least, most] = [time.start(), time.end()].map(|span| exactly(*span));
            format!("{inserts}, {least} to {most} ago")
        }
    }
}
