//! What sharing a filter costs one thread, and what it gives two: batched check-and-insert of new keys, rounds in turn.

use std::time::Instant;

use lately::{Builder, Filter, Segment, SharedFilter};
use serde_json::{Value, json};

const BATCH: u64 = 50_000;

/// Nanoseconds per key of a filter of one's own and of a shared one with one and two threads, medians of rounds.
pub(crate) fn measure(window: u64, rounds: usize) -> Value {
    let rows = Filter::builder().window(window).false_positive_rate(1e-3).shape(5, 10);
    let rows: Builder = rows.segment(Segment::Rows { row_bytes: 64, parts: 2 });
    let mut own = rows.build().expect("a valid promise");
    let shared = rows.build_shared().expect("a valid promise");
    let mut next = 0;
    let mut take = |batches: u64| {
        next += batches * BATCH;
        (0..batches).map(|batch| keys(next - (batch + 1) * BATCH)).collect::<Vec<_>>()
    };
    let mut seen = vec![false; BATCH as usize];
    for batch in take(3 * window / BATCH) {
        own.insert_hash_batch(&batch);
        shared.insert_hash_batch(&batch);
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        let batch = &take(1)[0];
        let start = Instant::now();
        own.check_and_insert_hash_batch(batch, &mut seen);
        times[0].push(ns_per_key(start, 1));
        assert!(mistaken(&seen) < 200, "of new keys, 50 are promised");

        let start = Instant::now();
        shared.check_and_insert_hash_batch(batch, &mut seen);
        times[1].push(ns_per_key(start, 1));
        assert!(mistaken(&seen) < 200, "of new keys, 50 are promised");

        let batches = take(8);
        let (one, other) = batches.split_at(4);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| check_and_insert(&shared, one));
            check_and_insert(&shared, other);
        });
        times[2].push(ns_per_key(start, 8));
        batches.iter().for_each(|batch| own.insert_hash_batch(batch));
        for batch in &batches {
            shared.contains_hash_batch(batch, &mut seen);
            assert!(seen.iter().all(|&seen| seen), "a false negative");
        }
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

fn check_and_insert(shared: &SharedFilter, batches: &[Vec<u64>]) {
    let mut seen = vec![false; BATCH as usize];
    batches.iter().for_each(|batch| shared.check_and_insert_hash_batch(batch, &mut seen));
}

fn mistaken(seen: &[bool]) -> usize {
    seen.iter().filter(|&&seen| seen).count()
}

fn ns_per_key(start: Instant, batches: u64) -> f64 {
    start.elapsed().as_nanos() as f64 / (batches * BATCH) as f64
}

/// Hashes of the numbers from `first` on.
fn keys(first: u64) -> Vec<u64> {
    (first..first + BATCH).map(|key| xxhash_rust::xxh3::xxh3_64(&key.to_le_bytes())).collect()
}
