//! Bins: the rate depends only on how many different items are in the window, not on when they came or how often.

mod common;

use std::time::Duration;

use common::{ExactWindow, IMPOSSIBLE, Random, chance_of, item};
use lately::{Filter, Layout, Segment, SharedFilter};

const SPAN_MS: u64 = 600_000;
const FIRST_STRANGER: u64 = 1 << 60;

fn time_window(capacity: u64, rate: f64) -> Filter {
    let builder = Filter::builder().time_window(Duration::from_millis(SPAN_MS)).capacity(capacity);
    builder.false_positive_rate(rate).layout(Layout::Bins).build().unwrap()
}

/// Fails if strangers are reported more often than at `rate`.
#[track_caller]
fn assert_rate_is_at_most(filter: &Filter, rate: f64, what: &str) {
    let trials = (3_000.0 / rate) as u64;
    let reported = (0..trials).filter(|number| filter.contains(item(FIRST_STRANGER + number))).count() as u64;
    let is_below = reported as f64 <= trials as f64 * rate;
    assert!(is_below || chance_of(reported, trials, rate) > IMPOSSIBLE, "{what}: {reported} of {trials}");
}

#[test]
fn a_burst_of_the_whole_capacity_keeps_the_rate() {
    for (capacity, rate) in [(1_000, 1e-2), (50_000, 1e-3), (20_000, 1e-4)] {
        let mut filter = time_window(capacity, rate);
        let mut random = Random(capacity);
        // At any phase of a generation, again and again; a span and the slack of one generation lie between.
        for burst in 0..5 {
            filter.advance_to(burst * 3 * SPAN_MS + random.below(SPAN_MS));
            let items = burst << 32..(burst << 32) + capacity;
            items.clone().for_each(|number| filter.insert(item(number)));
            assert!(items.clone().all(|number| filter.contains(item(number))));
            assert_rate_is_at_most(&filter, rate, &format!("{capacity} at once"));
            let estimated = filter.statistics().estimated_false_positive_rate;
            assert!(estimated <= 1.2 * rate, "{capacity} at once: {estimated:e} is estimated");
        }
        assert_eq!(filter.counters().overloaded_generations, 0);
    }
}

#[test]
fn any_arrivals_within_the_capacity_keep_the_rate() {
    let (capacity, rate) = (30_000, 1e-3);
    for seed in 0..8 {
        let mut filter = time_window(capacity, rate);
        let mut random = Random(seed);
        // Bursts of all sizes at random times, of at most the capacity in a span and one generation.
        let generation_ms = SPAN_MS / u64::from(filter.plan().shape.window_generations);
        let mut bursts: Vec<(u64, u64)> = Vec::new();
        let (mut now, mut number) = (0, 0);
        for _ in 0..60 {
            now += random.below(SPAN_MS) >> random.below(8);
            filter.advance_to(now);
            let recent = bursts.iter().filter(|(time, _)| time + SPAN_MS + generation_ms >= now);
            let room = capacity - recent.map(|(_, size)| size).sum::<u64>();
            let size = random.below(room + 1);
            (number..number + size).for_each(|number| filter.insert(item(number)));
            number += size;
            bursts.push((now, size));
        }
        assert_eq!(filter.counters().overloaded_generations, 0, "seed {seed}");
        let size = capacity
            - bursts.iter().filter(|(time, _)| time + SPAN_MS >= now).map(|burst| burst.1).sum::<u64>();
        (number..number + size).for_each(|number| filter.insert(item(number)));
        assert_rate_is_at_most(&filter, rate, &format!("seed {seed}"));
    }
}

/// Devices that report once per generation would take all places of their lines if each report took one.
#[test]
fn repeats_take_no_room() {
    let (capacity, rate) = (42_000, 1e-3);
    let mut filter = time_window(capacity, rate);
    let l = u64::from(filter.plan().shape.window_generations);
    let devices = capacity / l;
    for generation in 0..5 * l {
        filter.advance_to(generation * SPAN_MS / l + 1);
        (0..devices).for_each(|device| _ = filter.check_and_insert(item(device)));
    }
    let distinct = filter.statistics().estimated_distinct_items;
    assert!((distinct / devices as f64 - 1.0).abs() < 0.02, "{distinct} of {devices} devices");
    assert_rate_is_at_most(&filter, rate / l as f64 * 1.5, "repeats");
    assert!((0..devices).all(|device| filter.contains(item(device))));
}

#[test]
fn a_tenth_above_the_capacity_keeps_twice_the_rate_and_nothing_is_ever_forgotten() {
    for rate in [1e-2, 1e-3, 1e-4] {
        let capacity = 40_000;
        let mut filter = time_window(capacity, rate);
        filter.advance_to(0);
        let room = capacity + capacity / u64::from(filter.plan().shape.window_generations);
        for (number, percent) in
            (0..4 * room).zip(0..).map(|(number, n): (u64, u64)| (number, n * 100 / room))
        {
            filter.insert(item(number));
            if percent == 110 && number * 100 % room < 100 {
                assert_rate_is_at_most(&filter, 2.0 * rate, "a tenth more");
            }
        }
        assert!((0..4 * room).all(|number| filter.contains(item(number))), "{rate:e}");
        assert_eq!(filter.counters().overloaded_generations, 1);
        assert!(filter.statistics().estimated_false_positive_rate > 2.0 * rate, "the statistics tell");
    }
}

/// However often items are inserted, and at every phase of a generation.
#[test]
fn items_that_are_inserted_again_and_again_are_counted_once() {
    let builders = || {
        let promise = || Filter::builder().false_positive_rate(1e-3).layout(Layout::Bins);
        let span = || Filter::builder().time_window(Duration::from_secs(60)).false_positive_rate(1e-3);
        [promise().window(10_000), promise().window(100_000), span().capacity(10_000), span()]
    };
    for items in [1, 7, 1_000] {
        for (number, builder) in builders().into_iter().enumerate() {
            let mut filter = builder.build().unwrap();
            filter.advance_to(1_000_000);
            for round in 0..100 {
                filter.advance_to(1_000_000 + round * 997);
                (0..items).for_each(|i| filter.insert(item(i)));
                let estimated = filter.statistics().estimated_distinct_items;
                assert!(
                    (estimated - items as f64).abs() <= 0.05 * items as f64,
                    "filter {number}, round {round}: {estimated} of {items} items"
                );
            }
        }
    }
}

#[test]
fn distinct_items_are_counted_nearly_exactly() {
    for (window, segment) in [(20_000, 16), (5_000, 9), (100_000, 25)] {
        let segment = Segment::Bins { fingerprint_bits: segment };
        let mut filter = Filter::builder().window(window).shape(1, 12).segment(segment).build().unwrap();
        // Each item comes about three times.
        let mut random = Random(window);
        for round in 0..3 * window {
            let first = round / 3;
            filter.insert(item(first + random.below(window / 10)));
        }
        let estimated = filter.statistics().estimated_distinct_items;
        let mut distinct = std::collections::HashSet::new();
        let mut random = Random(window);
        for round in 0..3 * window {
            let number = round / 3 + random.below(window / 10);
            if round >= 2 * window {
                distinct.insert(number);
            }
        }
        let error = estimated / distinct.len() as f64 - 1.0;
        assert!(error.abs() < 0.05, "{estimated} instead of {}", distinct.len());
    }
}

#[test]
fn ages_are_exact_to_a_generation() {
    let segment = Segment::Bins { fingerprint_bits: 30 };
    let mut filter = Filter::builder().window(10_000).shape(1, 10).segment(segment).build().unwrap();
    (0..35_500_u64).for_each(|number| filter.insert(item(number)));
    let g = filter.plan().items_per_generation;
    for age in (0..10_000_u64).step_by(7) {
        let range = filter.age_of(item(35_499 - age)).unwrap().inserts;
        assert!(range.contains(&age) && range.end() - range.start() < g, "{age}: {range:?}");
    }
}

/// Small filters with far more items than they have room for, and times that jump: nothing is lost, a view for a later
/// time answers as the filter will, and a filter that was shared has the same bits.
#[test]
fn overloaded_filters_tell_the_future_and_can_be_shared() {
    for (fingerprint_bits, l) in [(8, 1), (9, 7), (13, 13), (16, 20), (16, 42), (25, 3), (56, 5)] {
        let segment = Segment::Bins { fingerprint_bits };
        for capacity in [1, 40, 400] {
            let span = 1_000;
            let builder = Filter::builder().time_window(Duration::from_millis(span)).capacity(capacity);
            let mut filter = builder.shape(1, l).segment(segment).build().unwrap();
            let (mut random, mut exact, mut now) = (Random(capacity), ExactWindow::default(), 0);
            for step in 1..1_500 {
                now += match random.below(30) {
                    0 => random.below(3 * span),
                    1..12 => random.below(span / u64::from(l) + 2),
                    _ => 0,
                };
                filter.advance_to(now);
                for number in [random.below(20), random.below(5 * capacity + 80)] {
                    filter.insert(item(number));
                    exact.insert(number, now);
                }
                if step % 50 == 0 {
                    let what = format!("{fingerprint_bits} bits, l = {l}, capacity {capacity}, step {step}");
                    assert!(
                        exact.since(now.saturating_sub(span)).all(|number| filter.contains(item(number))),
                        "{what}"
                    );
                    let later = now + random.below(2 * span);
                    let mut advanced = filter.clone();
                    advanced.advance_to(later);
                    let view = filter.as_of(later);
                    let differ =
                        |number: &u64| view.contains(item(*number)) != advanced.contains(item(*number));
                    assert_eq!((0..5 * capacity + 200).find(differ), None, "{what}");
                    let shared = SharedFilter::try_from(filter.clone()).unwrap();
                    assert!(shared.to_filter() == filter, "{what}");
                    assert!(Filter::from_bytes(&shared.to_bytes()).unwrap() == filter, "{what}");
                }
            }
        }
    }
}
