//! Throughput of the layouts, side by side: `cargo bench -p lately`.
//!
//! Every filter promises 1e-3 and is in its steady state. The benchmark checks answers before it times
//! anything: all items of the window are reported, and never-inserted items no more often than promised.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lately::{Filter, Layout, Segment};

fn main() {
    for contender in CONTENDERS {
        for &window in WINDOWS {
            check_answers(&steady(contender, window));
        }
    }
    divan::main();
}

const WINDOWS: &[u64] = &[100_000, 1_000_000, 10_000_000];
const CONTENDERS: &[&str] = &["rows", "slices", "slices (12, 14)", "blocks", "blocks (3, 5, 512, 4)"];
/// Items per timed round.
const ROUND: u64 = 10_000;

/// Returns a filter in steady state: the planner's choice for a layout, or one of the paper's shapes for this
/// rate.
fn steady(contender: &str, window: u64) -> Filter {
    let builder = Filter::builder().window(window);
    let promised = builder.clone().false_positive_rate(1e-3).max_slack(0.2);
    let filter = match contender {
        "rows" => promised.layout(Layout::Rows).build(),
        "slices" => promised.layout(Layout::Slices).build(),
        "blocks" => promised.layout(Layout::Blocks).build(),
        "slices (12, 14)" => builder.shape(12, 14).build(),
        _ => builder.shape(3, 5).segment(Segment::Blocks { block_bits: 512, bits_per_block: 4 }).build(),
    };
    let mut filter = filter.expect("a valid promise");
    (0..3 * window).for_each(|number| filter.insert(number.to_le_bytes()));
    filter
}

fn check_answers(filter: &Filter) {
    let inserts = filter.statistics().inserts;
    let window = filter.guaranteed_window();
    assert!(
        (inserts - window..inserts).all(|number| filter.contains(number.to_le_bytes())),
        "a false negative"
    );
    let strangers = (1 << 50)..(1 << 50) + 100_000_u64;
    let reported = strangers.filter(|number| filter.contains(number.to_le_bytes())).count();
    assert!(reported < 150, "{reported} of 100000 never-inserted items reported, at most 100 are expected");
}

/// The arguments of the benchmarks.
fn combinations() -> impl Iterator<Item = (&'static str, u64)> {
    WINDOWS.iter().flat_map(|&window| CONTENDERS.iter().map(move |&contender| (contender, window)))
}

#[divan::bench(args = combinations(), sample_count = 30)]
fn insert(bencher: Bencher<'_, '_>, (contender, window): (&str, u64)) {
    let mut filter = steady(contender, window);
    let mut next = 3 * window;
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        (next..next + ROUND).for_each(|number| filter.insert(number.to_le_bytes()));
        next += ROUND;
    });
}

#[divan::bench(args = combinations(), sample_count = 30)]
fn check_and_insert_new(bencher: Bencher<'_, '_>, (contender, window): (&str, u64)) {
    let mut filter = steady(contender, window);
    let mut next = 3 * window;
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        let seen =
            (next..next + ROUND).filter(|number| filter.check_and_insert(number.to_le_bytes())).count();
        next += ROUND;
        seen
    });
}

#[divan::bench(args = combinations(), sample_count = 30)]
fn contains_hit(bencher: Bencher<'_, '_>, (contender, window): (&str, u64)) {
    let filter = steady(contender, window);
    let mut round = 0;
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        // Items of all ages in turn.
        round += 1;
        let items = (0..ROUND).map(|i| 3 * window - 1 - (i * 7_919 + round) % window);
        items.filter(|number| filter.contains(number.to_le_bytes())).count()
    });
}

#[divan::bench(args = combinations(), sample_count = 30)]
fn contains_miss(bencher: Bencher<'_, '_>, (contender, window): (&str, u64)) {
    let filter = steady(contender, window);
    let mut next = 1_u64 << 50;
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        next += ROUND;
        (next - ROUND..next).filter(|number| filter.contains(number.to_le_bytes())).count()
    });
}

#[divan::bench(args = CONTENDERS, sample_count = 30)]
fn check_and_insert_new_string(bencher: Bencher<'_, '_>, contender: &str) {
    let mut filter = steady(contender, 1_000_000);
    let strings: Vec<String> = (0..ROUND).map(|number| format!("order-{number:018}")).collect();
    assert!(strings.iter().all(|string| string.len() == 24));
    bencher
        .counter(ItemsCount::new(ROUND))
        .bench_local(|| strings.iter().filter(|string| filter.check_and_insert(black_box(string))).count());
}
