//! Turns a promise into a plan.

use std::cell::Cell;

use lately::{ConfigError, Layout, Plan, Promise};

thread_local! {
    /// The latest promise that could be planned, and its plan.
    static LATEST: Cell<Option<(Promise, Plan)>> = const { Cell::new(None) };
}

/// What rows take on a server besides the memory of their plan: a table of the ages of a row's parts.
const ROWS_TABLE_BYTES: u64 = 1000;

/// Returns the plan that keeps the promise: the library's, or bins for windows so small that the table of rows would take
/// more than their items.
///
/// Remembers the latest plan. Planning takes milliseconds, and an application often creates thousands of keys
/// with the same promise.
pub(crate) fn plan(promise: &Promise) -> Result<Plan, ConfigError> {
    match LATEST.get() {
        Some((planned, plan)) if planned == *promise => Ok(plan),
        _ => {
            let plan = smallest(promise, promise.plan()?);
            LATEST.set(Some((*promise, plan)));
            Ok(plan)
        }
    }
}

fn smallest(promise: &Promise, plan: Plan) -> Plan {
    if promise.layout.is_some() || promise.shape.is_some() || plan.layout() != Layout::Rows {
        return plan;
    }
    let mut as_bins = *promise;
    as_bins.layout = Some(Layout::Bins);
    let bins = as_bins.plan().ok().filter(|bins| bins.memory_bytes < plan.memory_bytes + ROWS_TABLE_BYTES);
    bins.unwrap_or(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_promise_gets_its_own_plan_whatever_was_planned_before() {
        let promises = [10_000, 20_000].map(|window| {
            let mut promise = Promise::default();
            (promise.window, promise.false_positive_rate) = (Some(window), Some(0.01));
            promise
        });
        let mut impossible = promises[0];
        impossible.max_slack = Some(1e-9);
        for promise in [promises[0], promises[1], impossible, promises[1], promises[0], promises[0]] {
            assert_eq!(plan(&promise), promise.plan());
        }
        assert!(plan(&impossible).is_err());
    }
}
