//! Turns a promise into a plan.
//!
//! Planning may take a tenth of a second, and the server runs one command at a time. So plans are cached, and
//! a client whose plan is not cached is blocked while another thread plans.
//!
//! ```text
//! command -> plan_or_block -> cached? -------------------------------------------------> Outcome::Done(plan)
//!                          -> client is blocked: Outcome::Blocked
//!                             queue -> thread plans -> client is unblocked -> command runs again -^
//! ```

mod cache;
mod queue;
mod thread;

use lately::{Plan, Promise};

use crate::server::{Call, Failure, Outcome};

pub(crate) use cache::plan;

/// Returns the plan that keeps the promise. If it is not cached and the client may be blocked, blocks the
/// client until another thread has planned it.
pub(crate) fn plan_or_block(promise: &Promise, call: &Call<'_>) -> Result<Outcome<Plan>, Failure> {
    match cache::cached(promise) {
        None if call.may_block() => {
            thread::block_until_planned(promise, call)?;
            Ok(Outcome::Blocked)
        }
        cached => cached.unwrap_or_else(|| plan(promise)).map(Outcome::Done),
    }
}
