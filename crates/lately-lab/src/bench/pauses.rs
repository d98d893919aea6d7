//! The longest single inserts over four full turns of the ring: does a shift stall anybody?

use std::time::Instant;

use lately::{Builder, Filter, Segment};
use serde_json::{Value, json};

/// Median, p99.99 and longest of single inserts over four turns, for rows and for slices; and, for what the machine itself
/// adds, of nothing, and of reading and writing one random line in as much memory as the rows have.
pub(crate) fn measure(window: u64) -> Value {
    let rows = Filter::builder().window(window).false_positive_rate(1e-3).shape(5, 10);
    let rows = rows.segment(Segment::Rows { row_bytes: 64, parts: 2 });
    let slices = Filter::builder().window(window).shape(12, 14);
    let pauses_of = |builder: Builder| pauses(builder.build().expect("a valid promise"));
    json!({
        "window": window,
        "nothing but the clock": summary((0..6 * window).map(|_| timed(|| {})).collect()),
        "one random line": random_lines(rows.plan().expect("a valid promise").memory_bytes, 6 * window),
        "rows of 64 bytes": pauses_of(rows),
        "slices (12, 14)": pauses_of(slices),
    })
}

fn pauses(mut filter: Filter) -> Value {
    let plan = filter.plan();
    let turn = u64::from(plan.shape.segments()) * plan.items_per_generation;
    // Two turns to touch all memory, then four that count.
    (0..2 * turn).for_each(|key| filter.insert(key.to_le_bytes()));
    summary((2 * turn..6 * turn).map(|key| timed(|| filter.insert(key.to_le_bytes()))).collect())
}

fn random_lines(memory_bytes: u64, touches: u64) -> Value {
    let lines = memory_bytes as usize / 64;
    let mut memory = vec![1_u64; lines * 8];
    let times = (0..touches).map(|key| {
        timed(|| {
            let hash = xxhash_rust::xxh3::xxh3_64(&key.to_le_bytes());
            let line = ((u128::from(hash) * lines as u128) >> 64) as usize;
            memory[line * 8..][..8].iter_mut().for_each(|word| *word = word.wrapping_add(hash));
        })
    });
    summary(times.collect())
}

/// Nanoseconds.
fn timed(work: impl FnOnce()) -> u32 {
    let start = Instant::now();
    work();
    u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

fn summary(mut times: Vec<u32>) -> Value {
    times.sort_unstable();
    let at = |share: f64| f64::from(times[((times.len() - 1) as f64 * share) as usize]);
    json!({
        "median_ns": at(0.5),
        "p99.99_ns": at(0.9999),
        "longest_ns": at(1.0),
        "p99.99_over_median": at(0.9999) / at(0.5),
    })
}
