//! Checks that a stored filter keeps the promise that the flags describe.

use std::path::Path;

use lately::{Clock, HashFunction, Plan, Promise, Window};

use crate::commands::human::human_bytes;
use crate::dates::exactly;
use crate::failure::Failure;

/// Tolerates rounding in the digits that people write.
const ROUNDING: f64 = 1.000_001;

/// A setting that the stored filter does not keep.
struct Difference {
    setting: &'static str,
    asked: String,
    stored: String,
}

/// Fails if a stored filter does not keep this promise. A better rate, less slack or less memory than
/// requested is accepted; another window or layout is not.
pub(super) fn check(promise: &Promise, stored: &Plan, path: &Path) -> Result<(), Failure> {
    let differences = [
        window(promise, &stored.window),
        layout(promise, stored),
        rate(promise, stored),
        slack(promise, stored),
        memory(promise, stored),
    ];
    match differences.into_iter().flatten().next() {
        None => Ok(()),
        Some(Difference { setting, asked, stored }) => Err(Failure::Other(format!(
            "{}: {setting} differs: {asked} was requested, but the state was saved with {stored}; \
             request that, or name another --state file to start with an empty filter",
            path.display()
        ))),
    }
}

/// The keys of a stored filter were made with other flags.
pub(super) fn other_keys(path: &Path) -> Failure {
    Failure::other(format!(
        "{}: the state was saved with keys that were made in another way, so repeats would pass; give the same --field, \
         --column, --json, --key-regex, --delimiter, --csv and --ignore-case as then, or name another --state file; if the \
         keys are the same bytes nevertheless, use --other-keys",
        path.display()
    ))
}

/// Fails if the times of a stored filter come from elsewhere.
pub(super) fn check_clock(stored: Clock, asked: Clock, path: &Path) -> Result<(), Failure> {
    let (was, remedy) = match (stored, asked) {
        (Clock::Events, Clock::System) => ("times of records (--time-field)", "give --time-field as then"),
        (Clock::System, Clock::Events) => ("times of arrival", "leave out --time-field"),
        _ => return Ok(()),
    };
    Err(Failure::other(format!(
        "{}: the window of the state is made of {was}, and other times would empty or freeze it; {remedy}, or name another \
         --state file to start with an empty filter",
        path.display()
    )))
}

/// Fails if the hash of a stored filter has no secret key. The filter does not hold its records, so they cannot be hashed
/// again.
pub(super) fn check_key(stored: HashFunction, path: &Path) -> Result<(), Failure> {
    if stored.is_keyed() {
        return Ok(());
    }
    Err(Failure::other(format!(
        "{}: --keyed was requested, but the state was saved without a key, and cannot get one later; leave out --keyed, \
         or name another --state file to start with an empty filter",
        path.display()
    )))
}

fn window(promise: &Promise, stored: &Window) -> Option<Difference> {
    let count = |inserts: u64| format!("--window {inserts}");
    let within = |span| format!("--within {}", exactly(span));
    let asked = promise.span.map_or_else(|| count(promise.window.unwrap_or(0)), within);
    match (*stored, promise.span) {
        (Window::Count { inserts }, _) => (promise.window != Some(inserts)).then(|| Difference {
            setting: "the window",
            asked,
            stored: count(inserts),
        }),
        (Window::Time { span, .. } | Window::Elastic { span, .. }, None) => {
            Some(Difference { setting: "the window", asked, stored: within(span) })
        }
        (Window::Time { span, .. } | Window::Elastic { span, .. }, Some(asked_span))
            if span != asked_span =>
        {
            Some(Difference { setting: "the span", asked, stored: within(span) })
        }
        (Window::Time { capacity, .. }, Some(_)) => capacity_differs(promise.capacity, Some(capacity)),
        (Window::Elastic { .. }, Some(_)) => capacity_differs(promise.capacity, None),
        _ => Some(Difference {
            setting: "the window",
            asked: "a window".into(),
            stored: "a kind that this version does not know".into(),
        }),
    }
}

/// Without a capacity, memory follows the traffic.
fn capacity_differs(asked: Option<u64>, stored: Option<u64>) -> Option<Difference> {
    let flag =
        |items: Option<u64>| items.map_or("no --capacity".into(), |items| format!("--capacity {items}"));
    (asked != stored).then(|| Difference {
        setting: "the capacity",
        asked: flag(asked),
        stored: flag(stored),
    })
}

fn layout(promise: &Promise, stored: &Plan) -> Option<Difference> {
    let asked = promise.layout.filter(|&asked| asked != stored.layout())?;
    let flag = |layout| format!("--layout {layout}");
    Some(Difference { setting: "the layout", asked: flag(asked), stored: flag(stored.layout()) })
}

fn rate(promise: &Promise, stored: &Plan) -> Option<Difference> {
    let found = stored.false_positive_rate;
    let asked = promise.false_positive_rate.filter(|asked| found > asked * ROUNDING)?;
    let (asked, stored) = (format!("--fp {asked:e}"), format!("--fp {:.3e}", round_up(found)));
    Some(Difference { setting: "the rate", asked, stored })
}

fn slack(promise: &Promise, stored: &Plan) -> Option<Difference> {
    let found = stored.slack();
    let asked = promise.max_slack.filter(|asked| found > asked * ROUNDING)?;
    let (asked, stored) = (format!("--slack {asked}"), format!("--slack {}", round_up(found)));
    Some(Difference { setting: "the slack", asked, stored })
}

/// Rounds up to four digits, so that the state is accepted by the number that is printed.
fn round_up(value: f64) -> f64 {
    let step = 10_f64.powi(value.log10().floor() as i32 - 3);
    let digits = (value / step * (1.0 - 1e-9)).ceil();
    // Through decimal digits: the product would have more of them.
    format!("{digits:.0}e{}", step.log10().round()).parse().unwrap_or(value)
}

fn memory(promise: &Promise, stored: &Plan) -> Option<Difference> {
    let found = stored.memory_bytes;
    let asked = promise.max_memory?;
    (found > asked).then(|| Difference {
        setting: "the memory",
        asked: format!("--max-memory {asked} ({})", human_bytes(asked)),
        stored: format!("{found} bytes ({})", human_bytes(found)),
    })
}
