//! Replays what the fuzzer (fuzz/, CONTRIBUTING.md) has kept, and some thousand random inputs, through the same functions.

mod common;
mod fuzzing;

use common::Random;
use fuzzing::{operations, snapshot};

/// The kept inputs of a target, and how many random ones to add.
fn replay(target: &str, rounds: u64, run: fn(&[u8])) {
    let kept = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    // A published crate has no corpus.
    let kept = std::fs::read_dir(kept).into_iter().flatten();
    for entry in kept.take(if cfg!(miri) { 3 } else { usize::MAX }) {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
    }
    let mut random = Random(24);
    // Miri interprets: a thousandth of the rounds.
    let rounds = if cfg!(miri) { rounds / 1_000 } else { rounds };
    for _ in 0..rounds {
        let length = random.below(120) as usize;
        run(&(0..length).map(|_| random.next() as u8).collect::<Vec<_>>());
    }
}

#[test]
fn forged_snapshots_are_refused_or_work() {
    replay("snapshot", 3_000, snapshot);
}

#[test]
fn no_sequence_of_operations_loses_an_item_of_the_window() {
    replay("operations", 3_000, operations);
}
