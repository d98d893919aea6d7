//! `lately plan`: ranks the filters that would keep a promise.

mod plot;
mod table;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use lately::{Plan, Promise, Window, shard_window};
use serde_json::{Value, json};

use crate::commands::flags::PromiseFlags;
use crate::dates::exactly;
use crate::failure::Failure;
use crate::writing::print;

const EXAMPLES: &str = "\
Examples:
  The plans for a million records at a rate of one in ten thousand:
    lately plan --window 1M --fp 1e-4
  The least memory for ten million records, however many memory accesses it takes:
    lately plan --window 10M --prefer memory --top 3
  An hour, in memory that follows the traffic up to a gibibyte:
    lately plan --within 1h --max-memory 1GiB
  An hour of at most ten million different records, in whatever bursts they come:
    lately plan --within 1h --capacity 10M --top 1
  The window that each of 16 shards must keep:
    lately plan --window 100M --shards 16
  The memory for each slack, as a picture:
    lately plan --window 1M --plot slack.svg";

/// Rank the plans that keep a promise; dedup uses the first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    promise: PromiseFlags,
    /// Spread the stream over N filters by a hash of the record, and plan one of them
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    shards: Option<u32>,
    /// Print at most N plans
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10)]
    top: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Draw the memory that each layout needs for each slack
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl PlanCommand {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.check_elastic()?;
        let (promise, shard_window) = self.of_one_shard();
        let mut plans = promise.plans()?;
        plans.truncate(self.top);
        if let Some(path) = &self.plot {
            let picture = plot::svg(&promise)?;
            fs::write(path, picture).map_err(|error| Failure::file(path, &error))?;
        }
        print(&if self.json {
            format!("{:#}\n", self.describe(&plans, shard_window)?)
        } else {
            self.heading(&promise, shard_window) + &elastic_heading(&plans) + &table::text(&plans)
        })
    }

    /// A filter without a capacity takes what its traffic needs, in any number of shards.
    fn check_elastic(&self) -> Result<(), Failure> {
        let promise = Promise::from(&self.promise);
        let flag = match (self.shards, &self.plot) {
            (Some(_), _) => "--shards",
            (_, Some(_)) => "--plot",
            _ => return Ok(()),
        };
        if promise.span.is_some() && promise.capacity.is_none() {
            return Err(Failure::Usage(format!(
                "{flag}: the memory of a filter without a capacity follows the traffic; to plan fixed memory, give the most \
                 different records of one span with --capacity, or leave out {flag}"
            )));
        }
        Ok(())
    }

    /// Returns the promise of one shard, and its window if `--shards` is given.
    fn of_one_shard(&self) -> (Promise, Option<u64>) {
        let mut promise = Promise::from(&self.promise);
        let items = if promise.span.is_some() { &mut promise.capacity } else { &mut promise.window };
        let Some((shards, items)) = self.shards.zip(items.as_mut()) else { return (promise, None) };
        *items = shard_window(*items, shards);
        let window = *items;
        (promise, Some(window))
    }

    fn heading(&self, promise: &Promise, shard_window: Option<u64>) -> String {
        let Some((shards, window)) = self.shards.zip(shard_window) else { return String::new() };
        let flag = if promise.span.is_some() { "--capacity" } else { "--window" };
        format!(
            "each of {shards} shards: {flag} {window}; with probability 1 - 1e-12, none receives more distinct records of the whole window\n\n"
        )
    }

    fn describe(&self, plans: &[Plan], shard_window: Option<u64>) -> Result<Value, Failure> {
        let plans: Result<Vec<Value>, _> = plans.iter().map(with_layout).collect();
        let plans =
            plans.map_err(|error| Failure::other(format!("cannot write the plans as JSON: {error}")))?;
        Ok(match self.shards.zip(shard_window) {
            Some((shards, window)) => json!({ "shards": shards, "shard_window": window, "plans": plans }),
            None => json!({ "plans": plans }),
        })
    }
}

/// Says what the figures of an elastic window are about.
fn elastic_heading(plans: &[Plan]) -> String {
    let Some(Plan { window: Window::Elastic { span, capacity, .. }, .. }) = plans.first() else {
        return String::new();
    };
    format!(
        "memory follows the traffic; the figures are those of the largest size, with room for {capacity} different records in {}\n\n",
        exactly(*span)
    )
}

fn with_layout(plan: &Plan) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(plan)?;
    if let Value::Object(members) = &mut value {
        members.insert("layout".into(), plan.layout().to_string().into());
        members.insert("guaranteed_items".into(), plan.guaranteed_items().into());
    }
    Ok(value)
}
