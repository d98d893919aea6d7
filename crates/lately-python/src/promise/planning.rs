//! From a promise to the plan of the filter to build. Plans are remembered: programs build many filters of one
//! promise, for example one for each customer.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use lately::{ConfigError, Layout, Plan, Promise};

/// How many plans are remembered, the newest of them.
const REMEMBERED: usize = 64;

static PLANS: Mutex<VecDeque<(Promise, Plan)>> = Mutex::new(VecDeque::new());

/// Layouts in which exactly one of several threads is told that an item is new.
const EXACTLY_ONE: [Layout; 2] = [Layout::Bins, Layout::Rows];

/// Returns the best plan.
pub(super) fn best(promise: &Promise) -> Result<Plan, ConfigError> {
    let plans = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, plan)) = plans().iter().find(|(known, _)| known == promise) {
        return Ok(*plan);
    }
    let plan = promise.plan()?;
    let mut plans = plans();
    plans.push_front((*promise, plan));
    plans.truncate(REMEMBERED);
    Ok(plan)
}

/// Returns the best plan for threads, or `None` if only layouts can keep the promise in which several threads
/// may be told that an item is new. A layout that the promise names is the caller's choice.
pub(super) fn best_for_threads(promise: &Promise) -> Result<Option<Plan>, ConfigError> {
    let plan = best(promise)?;
    if promise.layout.is_some() || EXACTLY_ONE.contains(&plan.layout()) {
        return Ok(Some(plan));
    }
    let in_layout = |layout| {
        let mut promise = *promise;
        promise.layout = Some(layout);
        best(&promise).ok()
    };
    Ok(EXACTLY_ONE.into_iter().find_map(in_layout))
}
