//! The plans of the latest promises: planning is the slowest step of all commands.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lately::{Plan, Promise};

use crate::server::Failure;

/// Number of plans that are kept.
const MAX_PLANS: usize = 16;

/// The latest promises, the latest first.
static PLANS: Mutex<Vec<Planned>> = Mutex::new(Vec::new());

/// Ignores poisoning: a panic does not leave the list half changed.
fn plans() -> MutexGuard<'static, Vec<Planned>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The plan that the running command has waited for.
    static AWAITED: RefCell<Option<Planned>> = const { RefCell::new(None) };
}

/// A promise, and its plan or the reason why there is none.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) promise: Promise,
    pub(super) plan: Result<Plan, Failure>,
}

impl Planned {
    /// Runs `command`, for which this plan is cached even if newer plans have replaced it. So a command that
    /// has waited for the plan does not plan again.
    pub(super) fn keep_during<T>(&self, command: impl FnOnce() -> T) -> T {
        AWAITED.set(Some(self.clone()));
        let result = command();
        AWAITED.set(None);
        result
    }
}

/// Returns the plan that keeps the promise, from the cache if it is there.
pub(crate) fn plan(promise: &Promise) -> Result<Plan, Failure> {
    cached(promise).unwrap_or_else(|| {
        // Planned without the lock, so that other threads can look up their plans.
        let plan = promise.plan().map_err(Failure::from);
        let mut plans = plans();
        plans.truncate(MAX_PLANS - 1);
        plans.insert(0, Planned { promise: *promise, plan: plan.clone() });
        plan
    })
}

pub(super) fn cached(promise: &Promise) -> Option<Result<Plan, Failure>> {
    let awaited = AWAITED.with_borrow(|planned| {
        planned.as_ref().filter(|planned| planned.promise == *promise).map(|planned| planned.plan.clone())
    });
    if awaited.is_some() {
        return awaited;
    }
    let mut plans = plans();
    let place = plans.iter().position(|planned| planned.promise == *promise)?;
    plans[..=place].rotate_right(1);
    Some(plans[0].plan.clone())
}
