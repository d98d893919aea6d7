//! The cost of sharing a filter for one thread, and its gain for two: batched check-and-insert of new keys,
//! in alternating rounds.

use std::time::Instant;

use lately::{Builder, Filter, Segment, SharedFilter};
use serde_json::{Value, json};

use super::{KEYS, warm_ups};

/// The number of batches for two threads: they take some ten milliseconds, so that it matters little if the
/// system starts both threads on one core.
const BATCHES_OF_TWO: u64 = 64;

/// Measures the nanoseconds per key of a `Filter`, and of a `SharedFilter` with one and two threads: medians
/// of the rounds.
pub(crate) fn measure(window: u64, rounds: usize) -> Value {
    let rows = Filter::builder().window(window).false_positive_rate(1e-3).shape(5, 10);
    let rows: Builder = rows.segment(Segment::Rows { row_bytes: 64, parts: 2 });
    let mut own = rows.build().expect("a valid promise");
    let shared = rows.build_shared().expect("a valid promise");
    let mut next = 0;
    let mut take = |batches: u64| {
        next += batches * KEYS;
        (0..batches).map(|batch| keys(next - (batch + 1) * KEYS)).collect::<Vec<_>>()
    };
    for _ in 0..3 * window / KEYS {
        for batch in take(1) {
            own.insert_batch(&batch);
            shared.insert_batch(&batch);
        }
    }
    check_two_threads(&shared, &take(8));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        let batches = take(warm_ups(window) + 1);
        times[0].extend(timed(&batches, |batch, seen| own.check_and_insert_batch(batch, seen)).last());
        times[1].extend(timed(&batches, |batch, seen| shared.check_and_insert_batch(batch, seen)).last());

        let batches = take(BATCHES_OF_TWO);
        let start = Instant::now();
        on_two_threads(&shared, &batches);
        times[2].push(start.elapsed().as_nanos() as f64 / (BATCHES_OF_TWO * KEYS) as f64);
        batches.iter().for_each(|batch| own.insert_batch(batch));
    }
    let [own, one, two] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    json!({
        "window": window,
        "filter_ns": own,
        "shared_one_thread_ns": one,
        "shared_two_threads_ns": two,
        "one_thread_over_filter": one / own,
        "two_threads_speedup": one / two,
    })
}

/// Checks and inserts the batches; each thread takes half of them.
fn on_two_threads(shared: &SharedFilter, batches: &[Vec<[u8; 8]>]) {
    let (one, other) = batches.split_at(batches.len() / 2);
    let check_and_insert = |batches| timed(batches, |batch, seen| shared.check_and_insert_batch(batch, seen));
    std::thread::scope(|scope| {
        scope.spawn(|| check_and_insert(one));
        check_and_insert(other);
    });
}

/// Asserts that two threads lose no key: the batches have fewer keys than the window, so all must be
/// reported.
fn check_two_threads(shared: &SharedFilter, batches: &[Vec<[u8; 8]>]) {
    on_two_threads(shared, batches);
    let mut seen = vec![false; KEYS as usize];
    for batch in batches {
        shared.contains_batch(batch, &mut seen);
        assert!(seen.iter().all(|&seen| seen), "a false negative");
    }
}

/// Returns the nanoseconds per key for each batch of new keys.
fn timed(batches: &[Vec<[u8; 8]>], mut check_and_insert: impl FnMut(&[[u8; 8]], &mut [bool])) -> Vec<f64> {
    let mut seen = vec![false; KEYS as usize];
    let time_of = |batch: &Vec<[u8; 8]>| {
        let start = Instant::now();
        check_and_insert(batch, &mut seen);
        let ns = start.elapsed().as_nanos() as f64 / KEYS as f64;
        assert!(
            seen.iter().filter(|&&seen| seen).count() < 200,
            "more new keys are reported than the 50 that are promised"
        );
        ns
    };
    batches.iter().map(time_of).collect()
}

/// Returns the numbers from `first` on, as items.
fn keys(first: u64) -> Vec<[u8; 8]> {
    (first..first + KEYS).map(u64::to_le_bytes).collect()
}
