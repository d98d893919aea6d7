//! Promise 3: items that have left the window are forgotten as the model predicts, and end up like strangers.

mod common;

use common::{LAYOUTS, assert_rate_is, item, with_shape};
use lately::model::{Cells, Profile};
use lately::{Filter, Segment, Shape};

fn slices(k: u32, l: u32, parts: u32) -> Shape {
    Shape { required_matches: k, window_generations: l, segment: Segment::Slices { parts } }
}

fn rows(k: u32, l: u32, row_bytes: u32, parts: u32) -> Shape {
    Shape { required_matches: k, window_generations: l, segment: Segment::Rows { row_bytes, parts } }
}

/// Fills `filters` filters until the newest generation is complete to `phase`. Returns how many items of each
/// generation, newest first, are reported over all filters; how many items a generation has over all filters;
/// and the model's profile.
fn measure_decay(shape: &Shape, filters: u64, phase: f64) -> (Vec<u64>, u64, Profile) {
    let builder = with_shape(shape).window(500 * u64::from(shape.window_generations));
    let plan = builder.plan().unwrap();
    let g = plan.items_per_generation;
    let generations = u64::from(shape.segments() + 5);
    let mut reported = vec![0; generations as usize];
    for seed in 0..filters {
        let mut filter = builder.clone().seed(seed).build().unwrap();
        let newest = (g as f64 * phase).round() as u64;
        let inserts = (generations - 1) * g + newest;
        (0..inserts).for_each(|number| filter.insert(item(number)));
        for generation in 1..generations {
            let end = inserts - newest - (generation - 1) * g;
            let found = (end - g..end).filter(|&number| filter.contains(item(number))).count();
            reported[generation as usize] += found as u64;
        }
    }
    let load = f64::from(shape.required_matches) * g as f64 / plan.cells as f64;
    let profile = Profile::exact(shape, load, Cells::Exactly(plan.cells), phase);
    (reported, g * filters, profile)
}

fn check_decay(shape: &Shape, filters: u64, phase: f64) {
    let (reported, items, profile) = measure_decay(shape, filters, phase);
    let (k, l) = (shape.required_matches, shape.window_generations);
    for (generation, &found) in (0..).zip(&reported).skip(1) {
        let predicted = profile.reporting_probability(generation);
        if generation <= l {
            assert_eq!(found, items, "{shape}: generation {generation} is in the window");
        } else {
            assert_rate_is(
                found,
                items,
                predicted,
                &format!("{shape} phase {phase} generation {generation}"),
            );
        }
    }
    // From k + l generations on, the prediction is the same as for a stranger, so the loop has checked that
    // too.
    assert!((profile.reporting_probability(k + l) - profile.false_positive_rate()).abs() < 1e-15);
    // The weighted slack is the area under the curve beyond the window: the share `phase` of generation l,
    // the generations after it, and of generation l + k only the share 1 - `phase`.
    let share = |generation: u32| reported[generation as usize] as f64 / items as f64;
    let slack = phase + (l + 1..l + k).map(share).sum::<f64>() + (1.0 - phase) * share(l + k);
    let tolerance = 5.0 * (f64::from(k) / 4.0 / items as f64).sqrt();
    let predicted = profile.weighted_slack();
    assert!((slack - predicted).abs() < tolerance, "{shape}: {slack} {predicted} +- {tolerance}");
}

#[test]
fn expired_generations_decay_as_the_model_predicts() {
    for shape in [
        slices(10, 15, 1),
        slices(4, 3, 1),
        slices(7, 5, 1),
        slices(5, 7, 2),
        slices(2, 14, 6),
        slices(1, 11, 12),
        Shape::blocks(3, 8, 512, 4),
        Shape::blocks(2, 3, 64, 4),
        Shape::blocks(4, 6, 64, 1),
        rows(5, 10, 64, 2),
        rows(10, 21, 64, 1),
        rows(4, 17, 128, 3),
        rows(2, 8, 128, 6),
    ] {
        check_decay(&shape, 60, 1.0);
        check_decay(&shape, 60, 0.4);
    }
}

#[test]
#[ignore = "slow statistics: ./test --full"]
fn expired_generations_decay_as_the_model_predicts_to_half_a_percent() {
    for shape in [slices(10, 15, 1), slices(12, 14, 1), slices(7, 5, 1), Shape::blocks(2, 3, 64, 4)] {
        check_decay(&shape, 2_000, 1.0);
        check_decay(&shape, 2_000, 0.7);
    }
}

#[test]
fn the_requested_slack_is_kept_after_rounding() {
    for layout in LAYOUTS {
        for (window, slack) in [(100, 0.3), (1_000, 0.1), (997, 0.06), (5_000, 0.07), (10_000, 0.25)] {
            let builder =
                Filter::builder().window(window).false_positive_rate(1e-3).max_slack(slack).layout(layout);
            let plan = builder.plan().unwrap();
            assert!(plan.npws <= slack);
            let (mut beyond, filters) = (0, 20);
            for seed in 0..filters {
                let mut filter = builder.clone().seed(seed).build().unwrap();
                let inserts = common::fill_to_worst_moment(&mut filter, 0);
                // Items that are older than the requested window but still reported.
                beyond += (0..inserts - window).filter(|&number| filter.contains(item(number))).count();
            }
            let measured = beyond as f64 / (filters * window) as f64;
            // The background of false positives is not slack.
            let background =
                1e-3 * f64::from(plan.shape.segments()) / f64::from(plan.shape.window_generations);
            let noise = 5.0 * (plan.npws / (filters * window) as f64).sqrt();
            assert!(
                measured <= plan.npws + background + noise && measured >= plan.npws - noise,
                "{layout} {window} {slack}: {measured} planned {}",
                plan.npws
            );
        }
    }
}
