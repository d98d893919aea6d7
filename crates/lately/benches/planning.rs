//! Time to plan: `cargo bench -p lately --bench planning`.
//!
//! A usual plan takes less than a millisecond, and the worst about 20, whether the promise can be kept or not.

use std::time::Duration;

use divan::{Bencher, black_box};
use lately::{Builder, Filter, Layout, Prefer};

fn main() {
    divan::main();
}

/// Promises by name: what users ask for most often, and what takes longest.
fn promises() -> Vec<(&'static str, Builder)> {
    let million = Filter::builder().window(1_000_000);
    let usual = million.clone().false_positive_rate(1e-3);
    vec![
        ("usual", usual.clone()),
        ("time window", usual.clone().time_window(Duration::from_secs(3600)).capacity(1_000_000)),
        ("prefer speed", usual.clone().prefer(Prefer::Speed)),
        ("prefer memory", usual.clone().prefer(Prefer::Memory)),
        ("slices", usual.clone().layout(Layout::Slices).prefer(Prefer::Speed)),
        ("blocks", usual.clone().layout(Layout::Blocks)),
        ("rows", usual.clone().layout(Layout::Rows)),
        ("slack 0.001", usual.clone().max_slack(0.001)),
        ("refused slack", usual.clone().max_slack(1e-4)),
        ("refused memory", usual.clone().max_memory(1_000_000)),
        ("best rate", million.clone().max_memory(3_000_000)),
        ("best rate of rows", million.clone().max_memory(3_000_000).layout(Layout::Rows)),
        ("worst best rate", {
            let rows = million.clone().max_memory(25_000_000).layout(Layout::Rows);
            rows.max_slack(0.05).prefer(Prefer::Speed)
        }),
        ("worst refused memory", {
            let refused = Filter::builder().window(10_000).false_positive_rate(1e-12).max_memory(80_000);
            refused.max_slack(0.05).prefer(Prefer::Speed)
        }),
        ("largest window", Filter::builder().false_positive_rate(1e-3).max_memory(1 << 20)),
    ]
}

#[divan::bench(args = promises().into_iter().map(|(name, _)| name))]
fn plan(bencher: Bencher<'_, '_>, name: &str) {
    let promise = promise(name);
    bencher.bench_local(|| black_box(&promise).plan());
}

#[divan::bench(args = ["usual", "slack 0.001", "best rate"])]
fn plans(bencher: Bencher<'_, '_>, name: &str) {
    let promise = promise(name);
    bencher.bench_local(|| black_box(&promise).plans());
}

fn promise(name: &str) -> Builder {
    let found = promises().into_iter().find(|(other, _)| *other == name);
    found.expect("the name of a promise").1
}

#[divan::bench]
fn shard_window() -> u64 {
    lately::shard_window(black_box(1 << 48), 2)
}
