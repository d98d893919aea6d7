//! Elastic windows under traffic that is meant to break them.

mod common;

use std::time::Duration;

use lately::{Filter, Overload};

const RATE: f64 = 1e-3;
const START_MS: u64 = 1_700_000_000_000;
const SPAN_MS: u64 = 600_000;

fn builder() -> lately::Builder {
    Filter::builder().time_window(Duration::from_millis(SPAN_MS)).false_positive_rate(RATE)
}

/// What came before, and has left the window, must not matter.
#[test]
fn a_filter_that_has_shrunk_grows_as_a_new_one() {
    for (many, few) in [(200_000_u64, 3_000_u64), (1_000_000, 10_000)] {
        let mut filter = builder().build().unwrap();
        filter.advance_to(START_MS);
        filter.extend(0..many);
        let mut fresh = builder().build().unwrap();
        for filter in [&mut filter, &mut fresh] {
            filter.advance_to(START_MS + 3 * SPAN_MS);
        }
        for filter in [&mut filter, &mut fresh] {
            filter.extend(many..many + few);
        }
        let (bytes, of_fresh) = (filter.memory_bytes(), fresh.memory_bytes());
        assert!(
            bytes <= of_fresh + of_fresh / 4,
            "{bytes} bytes for {few} items, a new filter takes {of_fresh}"
        );
    }
}

/// The same at the limit: the second burst is small beside the capacity.
#[test]
fn a_window_that_was_full_once_is_not_overloaded_by_a_few_items() {
    for overload in [Overload::KeepWindow, Overload::KeepRate] {
        let mut filter = builder().max_memory(100_000).overload(overload).build().unwrap();
        let capacity = filter.window().items();
        filter.advance_to(START_MS);
        filter.extend(0..capacity);
        filter.advance_to(START_MS + 3 * SPAN_MS);
        let before = filter.counters().overloaded_generations;
        filter.extend(capacity..capacity + capacity / 4);
        assert_eq!(filter.counters().overloaded_generations, before, "{overload:?}");
        let rate = filter.statistics().estimated_false_positive_rate;
        assert!(rate <= RATE, "{overload:?}: {rate:e}");
    }
}

/// A burst, few items for a span, and a burst as large as the first, once that has left the window.
#[test]
fn two_bursts_with_few_items_between_them_fit_as_one_does() {
    for (few, overload) in
        [100, 1000, 3000].into_iter().flat_map(|few| [(few, Overload::KeepWindow), (few, Overload::KeepRate)])
    {
        let mut filter = builder().max_memory(100_000).overload(overload).build().unwrap();
        let burst = filter.window().items() * 8 / 10 - few;
        filter.advance_to(START_MS);
        filter.extend(0..burst);
        let mut next = burst;
        for minute in 1..=10 {
            filter.advance_to(START_MS + minute * SPAN_MS / 10);
            filter.extend(next..next + few / 10);
            next += few / 10;
        }
        filter.advance_to(START_MS + SPAN_MS + SPAN_MS / 15);
        filter.extend(next..next + burst);
        let what = format!("{few} items, {overload:?}");
        assert_eq!(filter.counters().overloaded_generations, 0, "{what}");
        let statistics = filter.statistics();
        let rate = statistics.estimated_false_positive_rate;
        assert!(rate <= RATE, "{what}: {rate:e}");
        let distinct = statistics.estimated_distinct_items;
        assert!(distinct <= 1.05 * (burst + few) as f64, "{what}: {distinct} items");
    }
}
