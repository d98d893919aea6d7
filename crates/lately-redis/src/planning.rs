//! Turns a promise into a plan.

use std::cell::Cell;

use lately::{ConfigError, Plan, Promise};

thread_local! {
    /// The latest promise that could be planned, and its plan.
    static LATEST: Cell<Option<(Promise, Plan)>> = const { Cell::new(None) };
}

/// Returns the plan that keeps the promise.
///
/// Remembers the latest plan. Planning takes milliseconds, and an application often creates thousands of keys
/// with the same promise.
pub(crate) fn plan(promise: &Promise) -> Result<Plan, ConfigError> {
    match LATEST.get() {
        Some((planned, plan)) if planned == *promise => Ok(plan),
        _ => {
            let plan = promise.plan()?;
            LATEST.set(Some((*promise, plan)));
            Ok(plan)
        }
    }
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
