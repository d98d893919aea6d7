//! Time windows: the caller's clock, idle time, time that runs backwards, and overload.

mod common;

use std::time::Duration;

use common::{LAYOUTS, Random, fill_to_worst_moment, item, shapes, with_shape};
use lately::{AnyFilter, Filter, Overload, Segment, Shape, SharedFilter};

const START: u64 = 1_700_000_000_000;

#[test]
fn an_item_is_reported_for_the_whole_span_to_the_millisecond_from_every_phase() {
    for shape in shapes() {
        // A span that l does not divide, so that generations differ in length.
        let span = 10 * u64::from(shape.window_generations) + 3;
        let mut filter =
            with_shape(&shape).time_window(Duration::from_millis(span)).capacity(1_000).build().unwrap();
        for phase in 0..2 * span {
            filter.clear();
            filter.advance_to(START + phase);
            filter.insert("one");
            for later in 0..=span {
                filter.advance_to(START + phase + later);
                assert!(
                    filter.contains("one"),
                    "{shape}: lost {later} ms after phase {phase} of a {span} ms span"
                );
            }
            let slack =
                span.div_ceil(u64::from(shape.window_generations)) * u64::from(shape.required_matches + 1);
            filter.advance_to(START + phase + span + slack);
            assert!(!filter.contains("one"), "{shape}: still reported after window and slack");
        }
    }
}

#[test]
fn an_idle_filter_expires_everything_in_a_bounded_number_of_shifts() {
    for shape in shapes() {
        let five_hundred_years = 500 * 365 * 86_400_000;
        for gap in [100_000, five_hundred_years, u64::MAX - START] {
            let mut filter =
                with_shape(&shape).time_window(Duration::from_secs(1)).capacity(1_000).build().unwrap();
            filter.advance_to(START);
            (0..500).for_each(|number| filter.insert(item(number)));
            let before = filter.statistics().generation;
            filter.advance_to(START + gap);
            let statistics = filter.statistics();
            assert!(statistics.generation - before <= u64::from(shape.segments()));
            assert!(statistics.fill_by_age.iter().all(|&fill| fill == 0.0), "{shape} after {gap} ms");
            assert!((0..500).all(|number| !filter.contains(item(number))));
            filter.insert("after");
            assert!(filter.contains("after"));
        }
    }
}

#[test]
fn an_earlier_time_is_counted_and_treated_as_the_latest_time() {
    let build = || {
        Filter::builder().time_window(Duration::from_millis(100)).capacity(50).shape(2, 5).build().unwrap()
    };
    let mut filter = build();
    filter.advance_to(START);
    filter.insert("a");
    let mut steady = filter.clone();
    filter.advance_to(START - 1);
    filter.advance_to(0);
    assert_eq!(filter.statistics().backward_steps, 2);
    assert_eq!((filter.statistics().latest_ms, filter.latest_ms()), (Some(START), Some(START)));
    filter.insert("b");
    steady.insert("b");
    filter.advance_to(START + 60);
    steady.advance_to(START + 60);
    assert_eq!(filter.statistics().fill_by_age, steady.statistics().fill_by_age);
    assert_eq!(steady.statistics().backward_steps, 0);
}

/// The answers of one kind of filter to a clock with a limit.
fn refuse_jumps<F: AnyFilter>(filter: &mut F, copy: impl Fn(&F) -> Filter) {
    let hour = Duration::from_secs(3_600);
    assert_eq!(filter.advance_at_most(START, Duration::ZERO), Ok(()), "an unset clock accepts every time");
    filter.insert("a");
    let before = copy(filter);
    for ahead in [3_600_001, 4_000_000_000_000, u64::MAX - START] {
        let refused = filter.advance_at_most(START + ahead, hour).unwrap_err();
        assert_eq!((refused.now_ms, refused.latest_ms), (START + ahead, START));
        assert_eq!((refused.ahead, refused.max_jump), (Duration::from_millis(ahead), hour));
        let told = refused.to_string();
        assert!(told.contains(&format!(" {ahead} ms ahead")) && told.contains("3600000 ms are"), "{told}");
        assert!(copy(filter) == before, "a refused time changes nothing");
    }
    assert_eq!(filter.advance_at_most(START - 5, Duration::ZERO), Ok(()), "an earlier time is no jump");
    assert_eq!(filter.counters().backward_steps, 1);
    assert_eq!(filter.advance_at_most(START + 3_600_000, hour), Ok(()), "the limit is included");
    assert_eq!(filter.latest_ms(), Some(START + 3_600_000));
    assert!(filter.advance_at_most(u64::MAX, Duration::MAX).is_ok());
}

#[test]
fn a_time_too_far_ahead_is_refused_and_changes_nothing() {
    let build = |layout| {
        let builder = Filter::builder().time_window(Duration::from_secs(60)).capacity(1_000).layout(layout);
        builder.false_positive_rate(1e-3)
    };
    for layout in LAYOUTS {
        refuse_jumps(&mut build(layout).build().unwrap(), Filter::clone);
        refuse_jumps(&mut build(layout).build_shared().unwrap(), SharedFilter::to_filter);
    }
    // Count windows have no clock.
    let mut count = Filter::new(100, 1e-3).unwrap();
    assert_eq!(count.advance_at_most(u64::MAX, Duration::ZERO), Ok(()));
    assert_eq!(count.advance_at_most(0, Duration::ZERO), Ok(()));
}

#[test]
fn as_of_an_earlier_time_answers_for_the_latest_time_and_counts_nothing() {
    let span = Duration::from_millis(100);
    let mut filter = Filter::builder().time_window(span).capacity(50).shape(2, 5).build().unwrap();
    assert!(!filter.as_of(START).contains("a"));
    filter.insert("before the clock was set");
    assert_eq!(
        filter.as_of(START).age_of("before the clock was set").unwrap().time,
        Some(Duration::ZERO..=Duration::ZERO)
    );
    assert_eq!(filter.counters(), {
        let mut counters = lately::Counters::default();
        counters.inserts = 1;
        counters.peak_memory_bytes = filter.memory_bytes();
        counters
    });
    filter.advance_to(START);
    filter.insert("a");
    let before = filter.clone();
    assert!(filter.as_of(START - 1_000_000).contains("a"));
    assert_eq!(filter.as_of(0).age_of("a").unwrap().time, filter.age_of("a").unwrap().time);
    assert_eq!(filter.as_of(0).statistics(), filter.statistics());
    assert!(filter == before && filter.counters().backward_steps == 0);
}

#[test]
fn many_small_steps_of_time_equal_one_large_step() {
    let build = || {
        let builder = Filter::builder().time_window(Duration::from_millis(997)).capacity(1_000);
        builder.false_positive_rate(1e-3).build().unwrap()
    };
    let (mut small, mut large) = (build(), build());
    for filter in [&mut small, &mut large] {
        filter.advance_to(START);
        (0..300).for_each(|number| filter.insert(item(number)));
    }
    (START..=START + 700).for_each(|now| small.advance_to(now));
    large.advance_to(START + 700);
    assert!(small == large, "no time may be lost to rounding");
}

#[test]
fn a_filter_shifts_at_next_shift_ms_and_not_before() {
    for shape in shapes() {
        let span = 10 * u64::from(shape.window_generations) + 3;
        let mut filter =
            with_shape(&shape).time_window(Duration::from_millis(span)).capacity(1_000).build().unwrap();
        assert_eq!(filter.next_shift_ms(), None, "no clock yet");
        filter.advance_to(START);
        for now in START..START + 3 * span {
            let (next, before) = (filter.next_shift_ms().unwrap(), filter.statistics().generation);
            filter.advance_to(now);
            assert_eq!(filter.statistics().generation > before, now >= next, "{shape} at {now}");
        }
    }
    let count = Filter::builder().window(100).shape(2, 3).build().unwrap();
    assert_eq!(count.next_shift_ms(), None);
}

#[test]
fn statistics_give_the_age_range_of_each_segment() {
    let mut filter = Filter::builder().window(30).shape(2, 3).build().unwrap();
    (0..45).for_each(|number| filter.insert(item(number)));
    // Generations of 10 items: the newest has 5 so far. A segment holds the items of two generations.
    let ages: Vec<_> = filter.statistics().items_by_age.into_iter().map(|age| age.inserts).collect();
    assert_eq!(ages, [0..=4, 0..=14, 5..=24, 15..=34, 25..=44]);
}

#[test]
fn items_inserted_before_the_clock_is_set_get_the_first_time() {
    let mut filter =
        Filter::builder().time_window(Duration::from_millis(100)).capacity(50).shape(2, 5).build().unwrap();
    filter.insert("early");
    filter.advance_to(START);
    filter.advance_to(START + 100);
    assert!(filter.contains("early"));
    assert!(filter.age_of("early").unwrap().time.unwrap().contains(&Duration::from_millis(100)));
}

#[test]
fn the_latest_possible_time_works_like_any_other() {
    for shape in shapes() {
        // A millisecond per generation, and more.
        for span in [u64::from(shape.window_generations), 64] {
            let mut filter =
                with_shape(&shape).time_window(Duration::from_millis(span)).capacity(100).build().unwrap();
            filter.advance_to(1);
            filter.insert("early");
            filter.advance_to(u64::MAX - span);
            assert!(!filter.contains("early"));
            filter.insert("late");
            for now in u64::MAX - span..=u64::MAX {
                filter.advance_to(now);
                assert!(filter.contains("late"));
            }
            filter.advance_to(u64::MAX);
            filter.insert("last");
            assert!(filter.contains("last") && Filter::from_bytes(&filter.to_bytes()).unwrap() == filter);
        }
    }
}

#[test]
fn spans_of_any_length_are_accepted() {
    let shortest = Filter::builder()
        .time_window(Duration::from_nanos(1))
        .capacity(5)
        .false_positive_rate(0.01)
        .build()
        .unwrap();
    assert_eq!(shortest.guaranteed_span(), Some(Duration::from_millis(1)), "rounded up to a millisecond");
    let longest = Duration::from_millis(u64::MAX);
    let mut filter =
        Filter::builder().time_window(longest).capacity(5).false_positive_rate(0.01).build().unwrap();
    filter.advance_to(0);
    filter.insert("kept");
    filter.advance_to(u64::MAX);
    assert!(filter.contains("kept"));
}

#[test]
fn an_overloaded_window_that_keeps_its_span_forgets_nothing_and_lets_the_rate_rise() {
    for layout in LAYOUTS {
        let builder = Filter::builder().time_window(Duration::from_secs(1)).capacity(2_000);
        let mut filter = builder.false_positive_rate(1e-3).layout(layout).build().unwrap();
        filter.advance_to(START);
        (0..10_000).for_each(|number| filter.insert(item(number)));
        let statistics = filter.statistics();
        assert_eq!(statistics.overloaded_generations, 1, "one generation, counted once");
        assert!(statistics.estimated_false_positive_rate > 1e-2, "the statistics show the higher rate");
        filter.advance_to(START + 1_000);
        assert!((0..10_000).all(|number| filter.contains(item(number))));
        assert_eq!(filter.guaranteed_span(), Some(Duration::from_secs(1)));
    }
}

#[test]
fn an_overloaded_window_that_keeps_its_rate_shortens_the_span_and_says_so() {
    for layout in LAYOUTS {
        let builder = Filter::builder()
            .time_window(Duration::from_secs(1))
            .capacity(2_000)
            .overload(Overload::KeepRate);
        let mut filter = builder.false_positive_rate(1e-2).layout(layout).build().unwrap();
        let g = filter.plan().items_per_generation;
        filter.advance_to(START);
        let mut inserted_at = Vec::new();
        let mut random = Random(1);
        // Twice the capacity, spread evenly: the window must shrink to about half.
        for number in 0..12_000_u64 {
            let now = START + number / 4;
            filter.advance_to(now);
            filter.insert(item(number));
            inserted_at.push(now);
            if random.below(50) == 0 {
                let span = filter.guaranteed_span().unwrap().as_millis() as u64;
                let oldest = inserted_at.partition_point(|&at| at + span <= now);
                assert!(
                    (oldest as u64..=number).all(|old| filter.contains(item(old))),
                    "{layout} at {number}"
                );
            }
        }
        let statistics = filter.statistics();
        assert!(statistics.overloaded_generations >= 12_000 / g / 3);
        assert!(statistics.estimated_false_positive_rate < 1.2e-2, "{statistics:?}");
        let span = filter.guaranteed_span().unwrap();
        assert!(span < Duration::from_millis(700) && span > Duration::from_millis(250), "{span:?}");
        // After the burst, the whole span is guaranteed again.
        filter.advance_to(START + 10_000);
        filter.advance_to(START + 11_000);
        assert_eq!(filter.guaranteed_span(), Some(Duration::from_secs(1)));
    }
}

#[test]
fn a_time_window_at_capacity_keeps_its_rate() {
    for layout in LAYOUTS {
        let builder = Filter::builder().time_window(Duration::from_secs(60)).capacity(60_000);
        let mut filter = builder.false_positive_rate(1e-3).layout(layout).build().unwrap();
        for number in 0..200_000 {
            filter.advance_to(START + number);
            filter.insert(item(number));
        }
        let statistics = filter.statistics();
        assert_eq!(statistics.overloaded_generations, 0, "one item per millisecond is exactly the capacity");
        let trials = 2_000_000;
        let strangers = (1 << 60)..(1 << 60) + trials;
        let reported = strangers.filter(|&number| filter.contains(item(number))).count() as u64;
        assert!(reported < trials / 1_000 + 5 * 45, "{layout}: {reported} of {trials}");
    }
}

#[test]
fn age_ranges_in_inserts_and_milliseconds_contain_the_true_age() {
    let mut filter = Filter::builder()
        .time_window(Duration::from_secs(1))
        .capacity(1_000)
        .false_positive_rate(1e-9)
        .build()
        .unwrap();
    for number in 0..3_000_u64 {
        filter.advance_to(START + number);
        filter.insert(item(number));
        let old = number.saturating_sub(number % 900);
        let age = filter.age_of(item(old)).unwrap();
        assert!(age.inserts.contains(&(number - old)), "{age:?} but {}", number - old);
        assert!(
            age.time.clone().unwrap().contains(&Duration::from_millis(number - old)),
            "{age:?} but {}",
            number - old
        );
        let width = age.inserts.end() - age.inserts.start();
        assert!(width <= 2 * filter.plan().items_per_generation, "{age:?} is too wide");
    }
    assert_eq!(filter.age_of("never"), None);
}

#[test]
fn age_ranges_are_exactly_the_inserts_of_a_generation() {
    // With 40 parts no segment matches by chance, so no range is wider than a generation.
    let mut filter =
        Filter::builder().window(10).shape(1, 5).segment(Segment::Slices { parts: 40 }).build().unwrap();
    assert_eq!(filter.plan().items_per_generation, 2);
    (0..100).for_each(|number| filter.insert(item(number)));
    for since in 0..10_u64 {
        let age = filter.age_of(item(99 - since)).unwrap().inserts;
        assert_eq!(age, since / 2 * 2..=since / 2 * 2 + 1, "{since} inserts ago");
    }
    // In the middle of a generation.
    filter.insert(item(100));
    let ranges: Vec<_> = (0..5).map(|since| filter.age_of(item(100 - since)).unwrap().inserts).collect();
    assert_eq!(ranges, [0..=0, 1..=2, 1..=2, 3..=4, 3..=4]);
}

#[test]
fn the_guarantees_of_a_time_window_follow_its_inserts() {
    for overload in [Overload::KeepWindow, Overload::KeepRate] {
        let builder = Filter::builder()
            .time_window(Duration::from_millis(50))
            .capacity(50)
            .shape(2, 5)
            .overload(overload);
        let mut filter = builder.build().unwrap();
        assert_eq!(
            (filter.guaranteed_window(), filter.guaranteed_span()),
            (0, Some(Duration::from_millis(50)))
        );
        // A generation is 10 ms long and gets five items.
        for generation in 0..20_u64 {
            filter.advance_to(START + 10 * generation);
            (0..5).for_each(|number| filter.insert(item(generation * 5 + number)));
            assert_eq!(
                filter.guaranteed_window(),
                5 * (generation + 1).min(6),
                "l generations, and the newest"
            );
            assert_eq!(filter.guaranteed_span(), Some(Duration::from_millis(50)), "generation {generation}");
        }
        filter.advance_to(START + 10_000);
        assert_eq!(filter.guaranteed_window(), 0, "nothing is left after a pause");
        assert_eq!(filter.guaranteed_span(), Some(Duration::from_millis(50)));
    }
}

#[test]
fn distinct_items_of_a_time_window_are_estimated() {
    for layout in LAYOUTS {
        let builder =
            Filter::builder().time_window(Duration::from_secs(10)).capacity(20_000).false_positive_rate(1e-3);
        let mut filter = builder.layout(layout).build().unwrap();
        for number in 0..60_000 {
            filter.advance_to(START + number / 2);
            filter.insert(item(number));
        }
        let estimate = filter.statistics().estimated_distinct_items;
        assert!((estimate / 20_000.0 - 1.0).abs() < 0.05, "{layout}: {estimate}");
    }
}

#[test]
fn a_count_window_has_no_clock() {
    let mut filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    filter.insert("a");
    let before = filter.clone();
    filter.advance_to(u64::MAX);
    filter.advance_to(0);
    assert!(filter == before);
    assert_eq!(filter.guaranteed_span(), None);
    assert_eq!(filter.age_of("a").unwrap().time, None);
}

/// Compares an estimate from a twentieth of the memory with one from all of it. About n = 200 000 / 20 items
/// of the window fall into the sample, so counts scatter by about 1 / sqrt(n) = 1%, and the counts of one
/// generation by about 3%. A difference of six times 1%, or of 0.05 in a fill, is practically impossible.
#[test]
fn an_estimate_from_a_sample_is_close_to_one_from_all_memory() {
    for layout in LAYOUTS {
        let builder = Filter::builder().layout(layout).false_positive_rate(1e-2);
        let mut filter = builder.time_window(Duration::from_secs(10)).capacity(200_000).build().unwrap();
        for number in 0..300_000 {
            filter.advance_to(START + number / 20);
            filter.insert(item(number));
        }
        // Idle time lets some items expire.
        for now_ms in [START + 15_000, START + 19_000, START + 23_000] {
            let as_of = filter.as_of(now_ms);
            let (all, sample) = (as_of.statistics(), as_of.estimate(filter.memory_bytes() / 20));
            let close = |a: f64, b: f64| (a - b).abs() <= 0.06 * a.max(b) + 1e-12;
            assert!(
                close(all.estimated_distinct_items, sample.estimated_distinct_items),
                "{layout} {now_ms}"
            );
            let alone = as_of.estimate_distinct_items(filter.memory_bytes() / 20);
            assert_eq!(alone.to_bits(), sample.estimated_distinct_items.to_bits());
            for (a, b) in all.fill_by_age.iter().zip(&sample.fill_by_age) {
                assert!((a - b).abs() < 0.05, "{layout} {now_ms}: {a} {b}");
            }
            let whole = as_of.estimate(u64::MAX);
            assert_eq!(whole, all, "an estimate from all memory equals the statistics");
            assert!((all.inserts, all.generation) == (sample.inserts, sample.generation));
        }
    }
}

#[test]
fn after_very_few_inserts_their_number_is_the_estimate() {
    let mut filter = Filter::builder().window(1_000_000).false_positive_rate(1e-3).build().unwrap();
    for inserts in 1..=100 {
        filter.insert(item(inserts));
        let estimate = filter.as_of(0).estimate_distinct_items(4096);
        assert!((estimate - inserts as f64).abs() < 1e-9, "{inserts}: {estimate}");
    }
}

#[test]
fn distinct_items_are_estimated() {
    for shape in
        [Shape::slices(10, 7), Shape::slices(1, 9), Shape::blocks(3, 5, 512, 4), Shape::blocks(2, 5, 64, 4)]
    {
        let mut filter = with_shape(&shape).window(50_000).build().unwrap();
        assert!(filter.statistics().estimated_distinct_items.abs() < 1e-9);
        let half = filter.plan().items_per_generation / 2;
        // Every item twice in a row: half as many distinct ones as inserts.
        (0..40_000).for_each(|number| filter.insert(item(number / 2)));
        let estimate = filter.statistics().estimated_distinct_items;
        assert!((estimate / 20_000.0 - 1.0).abs() < 0.03, "{shape}: {estimate}");
        filter.clear();
        fill_to_worst_moment(&mut filter, 0);
        (0..half).for_each(|number| filter.insert(item(1 << 50 | number)));
        let estimate = filter.statistics().estimated_distinct_items;
        assert!((estimate / 50_000.0 - 1.0).abs() < 0.03, "{shape}: {estimate}");
    }
}
