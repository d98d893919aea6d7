//! The longest single inserts over four full turns of the ring: does a shift stall an insert?
//!
//! On a shared machine, most of the longest pauses come from the machine: one insert in ten thousand is
//! interrupted, whatever it does. A filter does the same work whenever the same keys are inserted into the
//! same state. So the four turns are repeated several times, from copies of one filter, and each insert
//! counts with its shortest time: a shift falls on the same insert every time, but an interruption is
//! unlikely to. The times of one run are reported too. Shifts are far rarer than one insert in ten thousand,
//! so their cost shows in the longest time.

use std::time::Instant;

use lately::{Builder, Filter, Layout, Segment};
use serde_json::{Value, json};

use super::contenders::limit::places_on_huge_pages;

/// How often the turns are repeated.
const REPLAYS: usize = 4;

/// Measures median, p99.99 and longest time of single inserts over four turns, for rows, bins and slices. To
/// show the machine's own share, it also measures an empty operation, and reading and writing one random line
/// in as much memory as the rows have.
pub(crate) fn measure(window: u64) -> Value {
    let rows = Filter::builder().window(window).false_positive_rate(1e-3).shape(5, 10);
    let rows = rows.segment(Segment::Rows { row_bytes: 64, parts: 2 });
    let bins = Filter::builder().window(window).false_positive_rate(1e-3).layout(Layout::Bins);
    let slices = Filter::builder().window(window).shape(12, 14);
    let inserts_of = |builder: Builder| inserts(builder.build().expect("a valid promise"));
    let lines = rows.plan().expect("a valid promise").memory_bytes / 64;
    json!({
        "window": window,
        "replays": REPLAYS,
        "nothing but the clock": summary(6 * window, || |_| ()),
        "one random line": random_lines(lines, 6 * window),
        "rows of 64 bytes": inserts_of(rows),
        "bins": inserts_of(bins),
        "slices (12, 14)": inserts_of(slices),
    })
}

fn inserts(mut filter: Filter) -> Value {
    let plan = filter.plan();
    let turn = u64::from(plan.shape.segments()) * plan.items_per_generation;
    (0..turn).for_each(|key| filter.insert(key.to_le_bytes()));
    summary(4 * turn, || {
        let mut filter = filter.clone();
        move |number| filter.insert((turn + number).to_le_bytes())
    })
}

fn random_lines(lines: u64, touches: u64) -> Value {
    summary(touches, || {
        let mut memory = places_on_huge_pages::<1>(lines as usize);
        move |number| {
            let hash = xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes());
            let line = ((u128::from(hash) * u128::from(lines)) >> 64) as usize;
            memory[line][0].0.iter_mut().for_each(|word| *word = word.wrapping_add(hash));
        }
    })
}

/// `start()` recreates the same state and returns the operation, which is timed with each number below
/// `count`.
fn summary<W: FnMut(u64)>(count: u64, start: impl Fn() -> W) -> Value {
    let mut shortest = vec![u32::MAX; count as usize];
    let mut once = Value::Null;
    for replay in 0..REPLAYS {
        let mut work = start();
        let times: Vec<u32> = (0..count).map(|number| timed(|| work(number))).collect();
        shortest.iter_mut().zip(&times).for_each(|(shortest, time)| *shortest = (*shortest).min(*time));
        if replay == REPLAYS - 1 {
            once = percentiles(times);
        }
    }
    json!({ "once": once, "shortest of replays": percentiles(shortest) })
}

/// Returns the time of `work` in nanoseconds.
fn timed(work: impl FnOnce()) -> u32 {
    let start = Instant::now();
    work();
    u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

fn percentiles(mut times: Vec<u32>) -> Value {
    times.sort_unstable();
    let at = |share: f64| f64::from(times[((times.len() - 1) as f64 * share) as usize]);
    json!({
        "median_ns": at(0.5),
        "p99.99_ns": at(0.9999),
        "longest_ns": at(1.0),
        "p99.99_over_median": at(0.9999) / at(0.5),
    })
}
