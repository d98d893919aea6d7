//! `APBF.PLAN`: the plan of the filter that `APBF.RESERVE` would create.

use super::options::{Options, PLANNING_TIME, RATE_WINDOW_AND_OPTIONS, overload_word};
use crate::arguments::Arguments;
use crate::server::{Call, Command, Description, Failure, Reply};

pub(super) struct Plan;

impl Command for Plan {
    const DESCRIPTION: Description = Description::new(
        c"apbf.plan",
        c"Returns the plan of the filter that APBF.RESERVE would create. Creates nothing.",
        None,
        &RATE_WINDOW_AND_OPTIONS,
    )
    .takes(PLANNING_TIME);

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let options = Options::read(&mut Arguments::new(call.arguments()))?;
        Ok(Reply::Map(describe(&options.plan()?)))
    }
}

/// Describes the promise and the shape, in the terms that the commands use.
pub(super) fn describe(plan: &lately::Plan) -> Vec<(&'static str, Reply)> {
    let span_ms = plan.window.span().map_or(Reply::Null, |span| Reply::count(span.as_millis() as u64));
    let overload =
        plan.window.overload().map_or(Reply::Null, |overload| Reply::Text(overload_word(overload).into()));
    vec![
        ("window", Reply::count(plan.window.items())),
        ("span_ms", span_ms),
        ("overload", overload),
        ("error_rate", Reply::Real(plan.false_positive_rate)),
        ("slack", Reply::Real(plan.npws)),
        ("layout", Reply::Text(plan.layout().to_string())),
        ("shape", Reply::Text(plan.shape.to_string())),
        ("items_per_generation", Reply::count(plan.items_per_generation)),
        ("guaranteed_window", Reply::count(plan.guaranteed_items())),
        ("memory_bytes", Reply::count(plan.memory_bytes)),
        ("bits_per_item", Reply::Real(plan.bits_per_item)),
    ]
}
