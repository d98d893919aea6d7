//! The planner: every plan keeps the promise after all rounding, and no other shape needs much less memory.

mod common;

use std::time::Duration;

use common::LAYOUTS;
use lately::model::{Cells, Profile, bits_per_item};
use lately::{Filter, Layout, MAX_SEGMENTS, Plan, Prefer, Segment, Shape};

#[test]
fn the_rate_of_a_plan_is_at_most_the_rate_asked_for() {
    for layout in LAYOUTS {
        for window in [1, 2, 3, 7, 10, 63, 100, 999, 1_000, 54_321, 1_000_000, 123_456_789, 1 << 40] {
            for rate in [0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6] {
                let builder = Filter::builder().window(window).false_positive_rate(rate).layout(layout);
                let plan = builder.plan().unwrap();
                assert!(plan.false_positive_rate <= rate, "{window} {rate}: {plan:?}");
                assert!(plan.guaranteed_items() >= window);
                // Predicted again by the model alone, from the sizes in the plan.
                let k = f64::from(plan.shape.required_matches);
                let load = k * plan.items_per_generation as f64 / plan.cells as f64;
                let profile = Profile::exact(&plan.shape, load, Cells::Exactly(plan.cells), 1.0);
                assert!(profile.false_positive_rate() <= rate);
                // Where sizes are large, rounding matters little, so nothing may be wasted.
                // Fingerprints have whole bits, and spills must be rare; one bit less doubles the rate.
                let least = if layout == Layout::Bins { 0.4 } else { 0.98 };
                if window >= 1_000_000 && (layout != Layout::Bins || rate < 0.1) {
                    assert!(plan.false_positive_rate > least * rate, "{window} {rate}: {plan:?}");
                }
            }
        }
    }
}

#[test]
fn the_slack_of_a_plan_is_at_most_the_slack_asked_for() {
    for layout in LAYOUTS {
        for window in [20, 99, 1_000, 1_000_000] {
            for slack in [0.07, 0.1, 0.3, 1.0, 2.0] {
                let promise = Filter::builder().false_positive_rate(1e-3).max_slack(slack).layout(layout);
                let counted = promise.clone().window(window).plan().unwrap();
                assert!(counted.npws <= slack, "{window} {slack}: {counted:?}");
                let timed = promise.time_window(Duration::from_secs(60)).capacity(window).plan().unwrap();
                assert!(timed.npws <= slack, "{window} {slack}: {timed:?}");
            }
        }
    }
}

#[test]
fn a_plan_needs_far_fewer_bits_than_the_papers_own_shapes() {
    let best = Filter::builder().window(10_000_000).false_positive_rate(1e-3).max_slack(0.1);
    let ours = best.layout(Layout::Slices).prefer(Prefer::Memory).plan().unwrap();
    assert!(ours.bits_per_item <= 23.0 && ours.npws <= 0.1, "{ours:?}");
    // The paper's shapes for 0.001, made large enough to really have that rate.
    for (k, l) in [(10, 7), (11, 9), (12, 14), (13, 23), (14, 40)] {
        let builder = Filter::builder().window(10_000_000).false_positive_rate(1e-3).shape(k, l);
        let papers = builder.segment(Segment::Slices { parts: 1 }).plan().unwrap();
        assert!((26.5..37.5).contains(&papers.bits_per_item), "({k}, {l}): {}", papers.bits_per_item);
    }
}

/// Returns the fewest bits per item of a layout over a plain grid, in the limit of many cells, without
/// heuristics.
fn least_bits_by_grid(layout: Layout, rate: f64, slack: f64) -> f64 {
    let segments: Vec<Segment> = match layout {
        Layout::Slices => (1..=40).map(|parts| Segment::Slices { parts }).collect(),
        _ => [(64, 1), (64, 2), (64, 4), (64, 8), (64, 16), (512, 1), (512, 2), (512, 4), (512, 8)]
            .map(|(block_bits, bits_per_block)| Segment::Blocks { block_bits, bits_per_block })
            .to_vec(),
    };
    let mut least = f64::INFINITY;
    for k in 1..=6 {
        for l in 1..=60 {
            for &segment in &segments {
                let shape = Shape { required_matches: k, window_generations: l, segment };
                let at = |load: f64| Profile::exact(&shape, load, Cells::Many, 1.0);
                let cheap_enough = |load: f64| bits_per_item(&shape, load) < least;
                // Bisect for the largest load that keeps the rate, unless even a load above it needs too many
                // bits.
                let (mut low, mut high) = (1e-4_f64, 1_000.0);
                while high / low > 1.0005 && cheap_enough(high) {
                    let middle: f64 = (low * high).sqrt();
                    if at(middle).false_positive_rate() <= rate { low = middle } else { high = middle }
                }
                if cheap_enough(low) && at(low).npws() <= slack {
                    least = bits_per_item(&shape, low);
                }
            }
        }
    }
    least
}

#[test]
fn a_plan_needs_at_most_two_percent_more_memory_than_the_best_shape() {
    for layout in [Layout::Slices, Layout::Blocks] {
        for (rate, slack) in [(0.1, 0.2), (1e-2, 0.1), (1e-3, 0.1), (1e-3, 1.0), (1e-5, 0.05)] {
            // A large window that every small l divides, so that rounding plays no part.
            let builder = Filter::builder().window(72_072_000_000).false_positive_rate(rate).max_slack(slack);
            let plan = builder.layout(layout).prefer(Prefer::Memory).plan().unwrap();
            let least = least_bits_by_grid(layout, rate, slack);
            let ratio = plan.bits_per_item / least;
            assert!(
                ratio < 1.0205,
                "{layout} {rate} {slack}: {} against {least} ({ratio})",
                plan.bits_per_item
            );
            assert!(ratio > 0.995, "the grid must contain the planner's shape: {ratio}");
        }
    }
}

/// Returns every shape that leaves no room for another generation in a row; if `all`, every shape that fits
/// into a row.
fn shapes_of_rows(row_bytes: u32, all: bool) -> impl Iterator<Item = Shape> {
    let room = if row_bytes == 64 { 31 } else { 63 };
    let with = move |parts: u32, k: u32| {
        let most = room / parts - k;
        let segment = Segment::Rows { row_bytes, parts };
        let generations = if all { 1..=most } else { most..=most };
        generations.map(move |l| Shape { required_matches: k, window_generations: l, segment })
    };
    (1..=room / 2).flat_map(move |parts| (1..room / parts).flat_map(move |k| with(parts, k)))
}

/// Returns true if the shape keeps rate and slack for a window of `window` inserts in `bytes` bytes.
fn keeps_the_promise(shape: &Shape, window: u64, rate: f64, slack: f64, bytes: f64) -> bool {
    let Segment::Rows { row_bytes, .. } = shape.segment else { return false };
    let (k, l) = (f64::from(shape.required_matches), f64::from(shape.window_generations));
    let items_per_generation = window.div_ceil(u64::from(shape.window_generations));
    let rows = ((bytes - overhead_bytes(shape)) / f64::from(row_bytes)) as u64;
    if rows == 0
        || 1.0 / l > slack
        || items_per_generation * u64::from(shape.window_generations) >= 2 * window
    {
        return false;
    }
    let load = k * items_per_generation as f64 / rows as f64;
    let profile = Profile::exact(shape, load, Cells::Exactly(rows), 1.0);
    let reported = |slack: f64| (l + slack) * items_per_generation as f64;
    let keeps_slack = || reported(profile.weighted_slack()) <= (1.0 + slack) * window as f64;
    reported(1.0) <= (1.0 + slack) * window as f64 && profile.false_positive_rate() <= rate && keeps_slack()
}

/// Returns the bytes that a filter needs besides its rows: for alignment, for the start of each generation, and for
/// what all rows share.
fn overhead_bytes(shape: &Shape) -> f64 {
    let table = if matches!(shape.segment, Segment::Rows { row_bytes: 64, .. }) { 896.0 } else { 1024.0 };
    56.0 + 16.0 * f64::from(shape.segments()) + table
}

/// Asserts for each row size that no shape keeps the promise in 2% less memory than the plan.
fn check_rows(window: u64, rate: f64, slack: f64, all: bool) {
    let asked = Filter::builder().window(window).false_positive_rate(rate).max_slack(slack);
    for plan in asked.layout(Layout::Rows).plans().unwrap() {
        let Segment::Rows { row_bytes, .. } = plan.shape.segment else { panic!("{plan:?} has no rows") };
        let bytes = plan.memory_bytes as f64;
        assert!(plan.false_positive_rate <= rate && plan.npws <= slack, "{plan:?}");
        assert!(
            keeps_the_promise(&plan.shape, window, rate, slack, bytes),
            "the search must accept {plan:?}"
        );
        for shape in shapes_of_rows(row_bytes, all) {
            let is_better = keeps_the_promise(&shape, window, rate, slack, bytes / 1.02);
            assert!(!is_better, "{window} {rate} {slack}: {} needs more than {shape}", plan.shape);
        }
    }
}

#[test]
fn a_plan_of_rows_needs_at_most_two_percent_more_memory_than_the_best_shape() {
    for (window, rate, slack) in [(1_000_000_000, 1e-2, 0.1), (10_000, 1e-3, 0.2), (3_000, 1e-1, 0.07)] {
        check_rows(window, rate, slack, false);
    }
}

#[test]
#[ignore = "slow: ./test --full"]
fn a_plan_of_rows_needs_at_most_two_percent_more_memory_than_the_best_shape_for_many_promises() {
    for window in [1_000, 10_000, 1_000_000_000] {
        for rate in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            for slack in [0.07, 0.1, 0.2, 1.0] {
                check_rows(window, rate, slack, false);
            }
        }
    }
    // Shapes that leave room for another generation in a row need no less memory.
    check_rows(10_000, 1e-3, 0.2, true);
}

#[test]
fn plans_are_ranked_and_the_first_is_the_one_built() {
    // Memory accesses to check and insert a new item. The lines of a row count less, because they are adjacent.
    let cost = |plan: &Plan| match plan.shape.segment {
        Segment::Rows { row_bytes, .. } => 0.5 + f64::from(row_bytes) / 128.0,
        Segment::Bins { .. } => 2.0,
        _ => f64::from(plan.accesses_per_insert) + plan.accesses.absent,
    };
    for &prefer in Prefer::ALL {
        for slack in [0.1, 0.01] {
            let builder =
                Filter::builder().window(100_000).false_positive_rate(1e-3).max_slack(slack).prefer(prefer);
            let plans = builder.plans().unwrap();
            assert_eq!(builder.plan().unwrap(), plans[0]);
            assert_eq!(builder.build().unwrap().plan(), plans[0]);
            assert!(plans[1..].windows(2).all(|pair| pair[0].memory_bytes <= pair[1].memory_bytes));
            let least = |plans: &mut dyn Iterator<Item = &Plan>| plans.map(|plan| plan.memory_bytes).min();
            let bytes = |factor: f64| (least(&mut plans.iter()).unwrap() as f64 * factor) as u64;
            let two_lines = least(&mut plans.iter().filter(|plan| cost(plan) <= 2.0));
            let affordable = match prefer {
                Prefer::Balanced => two_lines.unwrap_or(bytes(1.015)),
                Prefer::Speed => bytes(3.0),
                _ => bytes(1.015),
            };
            // The first plan has the fewest accesses of the affordable ones.
            let cheapest = plans.iter().filter(|plan| plan.memory_bytes <= affordable).map(cost);
            assert!(plans[0].memory_bytes <= affordable);
            assert!(
                (cost(&plans[0]) - cheapest.min_by(f64::total_cmp).unwrap()).abs() < 1e-9,
                "{prefer} {slack}"
            );
            for (layout, at_least) in [(Layout::Slices, 3), (Layout::Blocks, 3)] {
                let count = plans.iter().filter(|plan| plan.layout() == layout).count();
                assert!(count >= at_least, "{count} plans of {layout}");
            }
        }
    }
}

#[test]
fn each_preference_takes_the_layouts_that_it_promises() {
    let asked = |prefer, rate| Filter::builder().window(1_000_000).false_positive_rate(rate).prefer(prefer);
    for rate in [1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12] {
        let plan = asked(Prefer::Balanced, rate).plan().unwrap();
        assert_eq!(plan, Filter::builder().window(1_000_000).false_positive_rate(rate).plan().unwrap());
        assert_eq!(plan.layout(), Layout::Bins, "{rate:e}");
        // A time window takes bins whatever is preferred: the rate of other layouts depends on when items arrive.
        for &prefer in Prefer::ALL {
            let timed =
                asked(prefer, rate).time_window(Duration::from_secs(60)).capacity(1_000_000).plan().unwrap();
            assert_eq!(timed.layout(), Layout::Bins, "{prefer} {rate:e}");
        }
    }
    for (rate, row_bytes) in [(1e-2, 64), (1e-3, 64), (1e-4, 64), (1e-6, 128)] {
        let segment = asked(Prefer::Speed, rate).plan().unwrap().shape.segment;
        assert!(
            matches!(segment, Segment::Rows { row_bytes: found, .. } if found == row_bytes),
            "{rate:e}: {segment}"
        );
    }
    // Lines have no room for so many generations; then the least memory of all layouts.
    let fine = asked(Prefer::Balanced, 1e-3).max_slack(0.01);
    assert_eq!(fine.plan().unwrap(), fine.clone().prefer(Prefer::Memory).plan().unwrap());
    let fine = fine.time_window(Duration::from_secs(60)).capacity(1_000_000).plan().unwrap();
    assert!(fine.npws <= 0.01 && fine.layout() != Layout::Bins, "{fine:?}");
    // A layout that is asked for is taken, also for a time window.
    let timed = asked(Prefer::Balanced, 1e-3).time_window(Duration::from_secs(60)).capacity(1_000_000);
    assert_eq!(timed.layout(Layout::Rows).plan().unwrap().layout(), Layout::Rows);
}

#[test]
fn memory_buys_the_best_rate_that_fits() {
    for layout in LAYOUTS {
        let asked = Filter::builder().window(100_000).layout(layout).prefer(Prefer::Memory);
        let least = asked.clone().false_positive_rate(1e-3).plans().unwrap();
        let least = least.iter().map(|plan| plan.memory_bytes).min().unwrap();
        let bought = asked.max_memory(least).plan().unwrap();
        assert!(bought.memory_bytes <= least);
        assert!(bought.false_positive_rate <= 1.02e-3, "{bought:?}");
    }
    for prefer in [Prefer::Speed, Prefer::Memory] {
        for layout in LAYOUTS {
            for slack in [0.08, 0.3] {
                let asked = Filter::builder().window(50_000).max_memory(300_000).max_slack(slack);
                let plans = asked.layout(layout).prefer(prefer).plans().unwrap();
                assert!(
                    plans.iter().all(|plan| plan.npws <= slack && plan.memory_bytes <= 300_000),
                    "{plans:?}"
                );
            }
        }
    }
    // Memory that even the lowest possible rate does not need is left unused.
    let plan = Filter::builder().window(1_000).max_memory(1 << 40).plan().unwrap();
    assert!(plan.memory_bytes < 1 << 20 && plan.false_positive_rate < 1e-14, "{plan:?}");
    let plan = Filter::builder().window(100).max_memory(1 << 14).layout(Layout::Rows).plan().unwrap();
    assert!(plan.memory_bytes <= 1 << 14 && plan.false_positive_rate < 1e-9, "{plan:?}");
}

#[test]
fn a_rate_much_below_the_best_that_fits_needs_more_memory() {
    for layout in LAYOUTS {
        for (window, bits_per_item) in [(1_000, 60), (30_000, 12), (1_000_000, 26), (50_000_000, 40)] {
            let asked = Filter::builder().window(window).layout(layout).prefer(Prefer::Memory);
            let memory = window * bits_per_item / 8;
            let Ok(bought) = asked.clone().max_memory(memory).plan() else { continue };
            assert!(bought.memory_bytes <= memory, "{layout} {window}: {bought:?}");
            let better = asked.false_positive_rate(bought.false_positive_rate * 0.7).plan().unwrap();
            assert!(
                better.memory_bytes > memory,
                "{layout} {window}: {better:?} fits too, not only {bought:?}"
            );
        }
    }
}

#[test]
fn memory_buys_the_largest_window_that_fits() {
    for memory in [2_000, 1 << 20, 1 << 33] {
        let promise = Filter::builder().false_positive_rate(1e-3).prefer(Prefer::Memory);
        let plan = promise.max_memory(memory).plan().unwrap();
        assert!(plan.memory_bytes <= memory && plan.false_positive_rate <= 1e-3);
        let more = plan.window.items() + plan.window.items().div_ceil(20);
        let refused = Filter::builder().window(more).false_positive_rate(1e-3).prefer(Prefer::Memory);
        let refused = refused.max_memory(memory).plan();
        assert!(refused.is_err(), "a window larger by 5% fits too: {refused:?}");
        let all = Filter::builder().false_positive_rate(1e-3).max_memory(memory).plans().unwrap();
        assert!(all.iter().all(|plan| plan.memory_bytes <= memory));
    }
    let few_bits = Filter::builder().false_positive_rate(2e-10).max_memory(1 << 30).plan().unwrap();
    assert!(few_bits.window.items() > 50_000_000, "{few_bits:?}");
}

#[test]
fn a_shape_without_a_rate_gives_the_papers_half_full_design() {
    for (k, l) in [(4, 3), (10, 7), (12, 14), (21, 54)] {
        let plan = Filter::builder().window(10_000_000).shape(k, l).plan().unwrap();
        let exact = lately::model::metrics(lately::model::Model::Exact, &Shape::slices(k, l));
        assert!((plan.false_positive_rate / exact.false_positive_rate - 1.0).abs() < 1e-3);
        assert!((plan.bits_per_item / exact.bits_per_item - 1.0).abs() < 1e-3);
        assert!((plan.npws / exact.npws - 1.0).abs() < 1e-3);
        assert!((plan.accesses.absent / exact.accesses.absent - 1.0).abs() < 1e-3);
    }
}

#[test]
fn the_lowest_rate_can_be_built() {
    let mut filter = Filter::builder().window(1_000).false_positive_rate(lately::MIN_RATE).build().unwrap();
    let plan = filter.plan();
    assert!(plan.layout() == Layout::Bins && plan.false_positive_rate <= lately::MIN_RATE, "{plan:?}");
    (0..5_000_u64).for_each(|number| filter.insert(common::item(number)));
    assert!((4_000..5_000).all(|number| filter.contains(common::item(number))));
    assert!(!(5_000..100_000).any(|number| filter.contains(common::item(number))));
}

#[test]
fn the_largest_shapes_can_be_built() {
    for (k, l) in [(1, MAX_SEGMENTS - 1), (MAX_SEGMENTS - 1, 1), (100, 924)] {
        let mut filter = Filter::builder().window(10_000).shape(k, l).build().unwrap();
        (0..20_000_u64).for_each(|number| filter.insert(common::item(number)));
        assert!((10_000..20_000).all(|number| filter.contains(common::item(number))));
        assert!(Filter::from_bytes(&filter.to_bytes()).unwrap() == filter);
    }
}
