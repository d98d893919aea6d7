//! `APBF.PLAN`: the plan of the filter that `APBF.RESERVE` would create.

use super::fields::{self, CONSTANTS, Constants, Field};
use super::options::{Options, PLANNING_TIME, RATE_WINDOW_AND_OPTIONS};
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
        let plan = options.plan()?;
        let constants = Constants::of_plan(&plan, options.is_keyed());
        Ok(Reply::Map(fields::all(CONSTANTS, &constants).chain(fields::all(PREDICTIONS, &plan)).collect()))
    }
}

const PREDICTIONS: &[Field<lately::Plan>] = &[
    ("error_rate", |plan| Reply::Real(plan.false_positive_rate)),
    ("slack", |plan| Reply::Real(plan.npws)),
    ("memory_bytes", |plan| Reply::count(plan.memory_bytes)),
];
