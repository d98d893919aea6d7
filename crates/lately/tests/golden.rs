//! Promise 5: the same input gives the same filter, bit for bit, on every platform and version that shares
//! the format version. A failure here means that the format or the planner has changed, and users must be
//! told.

mod common;

use std::fmt::Write;
use std::time::Duration;

use common::{Random, item, shapes, with_shape};
use lately::{Builder, Filter, HashFunction, Instructions, Layout, Overload, Plan, Prefer};

/// Feeds a stream with repeats, pauses and backward steps; returns the digest of all answers and of the
/// snapshot.
fn digest(builder: &Builder, instructions: Instructions) -> u64 {
    let mut filter = builder.build().unwrap();
    assert!(filter.set_instructions(instructions));
    let mut random = Random(42);
    let mut answers = Vec::new();
    let mut now = 1_700_000_000_000;
    for number in 0..5_000_u64 {
        now += random.below(4);
        filter.advance_to(now - random.below(2));
        answers.push(u8::from(filter.check_and_insert(item(random.below(number + 1)))));
        answers.push(u8::from(filter.check_or_insert(format!("order-{}", random.below(3_000)))));
    }
    answers.extend_from_slice(&filter.to_bytes());
    xxhash_rust::xxh3::xxh3_64(&answers)
}

/// Feeds traffic that changes by a factor of a hundred, so that an elastic window grows and shrinks.
fn digest_of_changing_traffic(builder: &Builder, instructions: Instructions) -> u64 {
    let mut filter = builder.build().unwrap();
    assert!(filter.set_instructions(instructions));
    let mut random = Random(43);
    let (mut now, mut number) = (1_700_000_000_000, 0_u64);
    let mut snapshots = Vec::new();
    for phase in 0..40 {
        for _ in 0..[40, 4_000, 400, 10][phase % 4] {
            now += random.below(2) * random.below([40, 1, 4, 300][phase % 4]);
            filter.advance_to(now);
            number += 1;
            snapshots.push(u8::from(filter.check_and_insert(item(number - random.below(number.min(50))))));
        }
        snapshots.extend_from_slice(&filter.to_bytes());
    }
    xxhash_rust::xxh3::xxh3_64(&snapshots)
}

#[track_caller]
fn assert_golden(actual: &str, expected: &str) {
    assert!(actual.trim() == expected.trim(), "the format or the planner has changed; now it is:\n{actual}");
}

#[test]
fn filters_of_a_given_shape_have_their_golden_digests() {
    for &instructions in Instructions::ALL {
        if instructions.are_available() {
            println!("with {instructions}:"); // shown if the next line fails
            assert_golden(&digests(instructions), include_str!("golden/filters.txt"));
        } else {
            println!("skipped: this machine lacks {instructions}");
        }
    }
}

fn digests(instructions: Instructions) -> String {
    let digest = |builder: &Builder| digest(builder, instructions);
    let digest_of_changing_traffic = |builder: &Builder| digest_of_changing_traffic(builder, instructions);
    let mut actual = String::new();
    for shape in shapes() {
        let count = digest(&with_shape(&shape).window(700));
        let time = digest(&with_shape(&shape).time_window(Duration::from_secs(2)).capacity(700));
        writeln!(actual, "{shape}: {count:016x} {time:016x}").unwrap();
    }
    let base = Filter::builder().shape(3, 5).window(700);
    writeln!(actual, "seed 1: {:016x}", digest(&base.clone().seed(1))).unwrap();
    let sip = HashFunction::SipHash13 { key: *b"golden test key!" };
    writeln!(actual, "siphash: {:016x}", digest(&base.hash_function(sip))).unwrap();
    let keep_rate = Filter::builder().shape(3, 5).time_window(Duration::from_secs(2)).capacity(700);
    writeln!(actual, "keep rate: {:016x}", digest(&keep_rate.overload(Overload::KeepRate))).unwrap();
    let elastic = Filter::builder().time_window(Duration::from_secs(2)).false_positive_rate(1e-3);
    writeln!(actual, "elastic: {:016x} {:016x}", digest(&elastic), digest_of_changing_traffic(&elastic))
        .unwrap();
    let limited = elastic.max_memory(30_000);
    for &overload in Overload::ALL {
        let limited = limited.clone().overload(overload);
        writeln!(actual, "elastic, limited, {overload}: {:016x}", digest_of_changing_traffic(&limited))
            .unwrap();
    }
    actual
}

#[test]
fn slower_instructions_give_the_same_filter() {
    for shape in shapes() {
        let mut fast = with_shape(&shape).window(700).build().unwrap();
        let mut slower = fast.clone();
        let mut random = Random(3);
        let items: Vec<_> = (0..5_000).map(|number| item(random.below(number + 1))).collect();
        let (mut seen, mut seen_known) = (vec![false; items.len()], vec![false; items.len()]);
        fast.check_and_insert_batch(&items, &mut seen);
        fast.contains_batch(&items, &mut seen_known);
        for &instructions in Instructions::ALL {
            if !slower.set_instructions(instructions) {
                continue; // this machine does not have them
            }
            let mut slow = slower.clone();
            let mut answers = vec![false; items.len()];
            slow.check_and_insert_batch(&items, &mut answers);
            assert!(answers == seen && slow == fast, "{shape}");
            slow.contains_batch(&items, &mut answers);
            assert_eq!(answers, seen_known, "{shape}");
            // A single operation does not run the same code as a batch.
            let mut single = slower.clone();
            assert!(items.iter().map(|item| single.check_and_insert(item)).eq(seen.clone()), "{shape}");
            assert!(single == fast, "{shape}");
            assert!(items.iter().map(|item| single.contains(item)).eq(seen_known.clone()), "{shape}");
        }
    }
}

#[test]
fn plans_have_their_golden_sizes() {
    let mut actual = String::new();
    let layouts = [Layout::Slices, Layout::Blocks, Layout::Rows, Layout::Bins];
    for layout in [None].into_iter().chain(layouts.map(Some)) {
        for (window, rate, slack) in [
            (100, 1e-2, None),
            (10_000, 1e-3, Some(0.1)),
            (1_000_000, 1e-4, None),
            (1 << 33, 1e-6, Some(0.15)),
        ] {
            let builder = Filter::builder().window(window).false_positive_rate(rate);
            let builder = slack.into_iter().fold(builder, Builder::max_slack);
            let plan = layout.into_iter().fold(builder, Builder::layout).plan().unwrap();
            writeln!(
                actual,
                "{window} {rate:e} {slack:?}: {} g={} cells={} bytes={}",
                plan.shape, plan.items_per_generation, plan.cells, plan.memory_bytes
            )
            .unwrap();
        }
    }
    for &prefer in Prefer::ALL {
        let asked = Filter::builder().false_positive_rate(1e-3).prefer(prefer);
        let count = asked.clone().window(1_000_000);
        let plans = [
            ("count", count.clone()),
            ("count, slack 0.01", count.max_slack(0.01)),
            ("time", asked.clone().time_window(Duration::from_secs(60)).capacity(1_000_000)),
            ("largest window", asked.max_memory(1 << 20)),
            ("best rate", Filter::builder().window(1_000_000).max_memory(6 << 20).prefer(prefer)),
        ];
        for (what, asked) in plans {
            let plan = asked.plan().unwrap();
            let Plan { window, shape, cells, .. } = plan;
            writeln!(actual, "{prefer} {what}: {} items, {shape} cells={cells}", window.items()).unwrap();
        }
    }
    assert_golden(&actual, include_str!("golden/plans.txt"));
}

/// The planner's searches leave out what cannot win. One that leaves out too much, or decides otherwise, gives some other
/// plan among these. Each line has the digest of plans, or of the errors instead.
#[test]
fn plans_of_many_promises_have_their_golden_digests() {
    const WINDOWS: [u64; 6] = [1, 90, 1_000, 12_345, 77_777_777, 1 << 36];
    const RATES: [f64; 5] = [0.6, 1e-2, 1e-3, 1e-5, 1e-12];
    const SLACKS: [Option<f64>; 4] = [None, Some(0.011), Some(0.08), Some(1.0)];
    const BITS_PER_ITEM: [u64; 5] = [3, 9, 14, 35, 200];
    let some_layouts = [None].into_iter().chain(Layout::ALL.iter().copied().map(Some));
    let mut actual = String::new();
    for (layout, prefer) in
        some_layouts.flat_map(|layout| Prefer::ALL.iter().map(move |prefer| (layout, *prefer)))
    {
        let asked = layout.into_iter().fold(Filter::builder().prefer(prefer), Builder::layout);
        let asked = SLACKS.map(|slack| slack.into_iter().fold(asked.clone(), Builder::max_slack));
        let span = Duration::from_secs(60);
        let (mut by_rate, mut best_rate, mut largest, mut timed) = Default::default();
        for asked in &asked {
            for window in WINDOWS {
                RATES.iter().for_each(|&rate| {
                    note(&mut by_rate, &asked.clone().window(window).false_positive_rate(rate));
                });
                for bits in BITS_PER_ITEM {
                    note(
                        &mut best_rate,
                        &asked.clone().window(window).max_memory((window * bits / 8).max(300)),
                    );
                }
                let capacity = asked.clone().time_window(span).capacity(window);
                note(&mut timed, &capacity.false_positive_rate(1e-3));
            }
            for memory in [500, 1 << 20, 1 << 34] {
                RATES.iter().for_each(|&rate| {
                    note(&mut largest, &asked.clone().false_positive_rate(rate).max_memory(memory));
                });
            }
        }
        let layout = layout.map_or("any layout".to_string(), |layout| layout.to_string());
        for (what, plans) in
            [("by rate", by_rate), ("best rate", best_rate), ("largest window", largest), ("time", timed)]
        {
            let plans: String = plans;
            let digest = xxhash_rust::xxh3::xxh3_64(plans.as_bytes());
            writeln!(actual, "{layout}, {prefer}, {what}: {} plans {digest:016x}", plans.lines().count())
                .unwrap();
        }
    }
    assert_golden(&actual, include_str!("golden/many_plans.txt"));
}

fn note(plans: &mut String, asked: &Builder) {
    match asked.plan() {
        Ok(Plan { window, shape, items_per_generation, cells, memory_bytes, .. }) => {
            writeln!(plans, "{window:?} {shape} {items_per_generation} {cells} {memory_bytes}").unwrap();
        }
        Err(error) => writeln!(plans, "{error}").unwrap(),
    }
}
