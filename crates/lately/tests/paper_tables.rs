//! The paper's four tables, recomputed digit by digit, and the model behind them checked by brute force.

mod paper;

use lately::model::{Model, Profile, SegmentProbe, metrics, run_probability};
use lately::{Segment, Shape};
use paper::{Instead, MISPRINTS, RoundedUp, Truncated, Value, neighbours, rounded, values};
use proptest::prelude::*;

#[test]
fn printed_values_follow_from_the_formulas_except_the_listed_ones() {
    let values = values();
    let differing: Vec<_> = values
        .iter()
        .filter_map(|v| {
            let gives = rounded(v.paper_model?, v.printed);
            Some((v.table, v.row.as_str(), v.column, v.printed, gives))
        })
        .filter(|(.., printed, gives)| gives != printed)
        .collect();
    let listed: Vec<_> = MISPRINTS
        .iter()
        .map(|&(table, row, column, printed, gives, _)| (table, row, column, printed, gives.to_owned()))
        .collect();
    assert_eq!(differing, listed);
}

#[test]
fn no_printed_value_is_left_out() {
    let values = values();
    let of_table = |table| values.iter().filter(move |v: &&Value| v.table == table);
    assert_eq!([1, 2, 3, 4].map(|table| of_table(table).count()), [5 * 5, 25 * 6, 16 * 7, 4 * 5]);
    // All values are compared, except SWAMP's two columns.
    let compared = [1, 2, 3, 4].map(|table| of_table(table).filter(|v| v.paper_model.is_some()).count());
    assert_eq!(compared, [5 * 5, 25 * 6, 16 * 7, 4 * 3]);
}

#[test]
fn every_misprint_has_the_stated_reason() {
    let values = values();
    for (table, row, column, printed, _, reason) in MISPRINTS {
        let of_this = |v: &&Value| (v.table, v.row.as_str(), v.column) == (*table, *row, *column);
        let computed = values.iter().find(of_this).and_then(|v| v.paper_model).expect("listed");
        let (below, above, _) = neighbours(computed, printed);
        let (why, explained) = match reason {
            Truncated => ("truncated", below),
            RoundedUp => ("rounded up", above),
            Instead(why, compute) => (*why, rounded(compute(), printed)),
        };
        assert_eq!(explained, *printed, "table {table}, {row}, {column}: {why}");
    }
}

#[test]
fn the_paper_never_overstates_the_rate_of_slices() {
    for parts in [1, 2, 5] {
        for (k, l) in (1..=20).flat_map(|k| (1..=40).map(move |l| (k, l))) {
            let shape =
                Shape { required_matches: k, window_generations: l, segment: Segment::Slices { parts } };
            let [paper, exact] =
                [Model::Paper, Model::Exact].map(|model| metrics(model, &shape).false_positive_rate);
            // Equal for k = 1, which has no gradient.
            assert!(paper <= exact * (1.0 + 1e-12), "{shape}: {paper} {exact}");
        }
    }
}

#[test]
fn the_linear_gradient_makes_the_rate_of_10_7_a_fifth_too_small() {
    let rate = |model| format!("{:.5}", metrics(model, &Shape::slices(10, 7)).false_positive_rate);
    assert_eq!((rate(Model::Paper), rate(Model::Exact)), ("0.00121".into(), "0.00147".into()));
}

/// Runs the paper's algorithm 1 on one pattern of matches; returns the answer and the accesses that it took.
fn query(k: usize, probes: &[SegmentProbe], pattern: usize) -> (bool, f64) {
    let (mut start, mut previous, mut matched, mut accesses) = (probes.len() - k, 0, 0, 0.0);
    loop {
        let age = start + matched;
        if pattern >> age & 1 == 1 {
            accesses += probes[age].accesses_if_match;
            matched += 1;
            if previous + matched == k {
                return (true, accesses);
            }
        } else {
            accesses += probes[age].accesses_if_miss;
            match age.checked_sub(k) {
                Some(next) => (start, previous, matched) = (next, matched, 0),
                None => return (false, accesses),
            }
        }
    }
}

/// Returns all patterns of matches, one bit per age, with their probabilities.
fn patterns(probes: &[SegmentProbe]) -> impl Iterator<Item = (usize, f64)> {
    (0..1 << probes.len()).map(|pattern: usize| {
        let at_age = |(age, probe): (usize, &SegmentProbe)| {
            let r = probe.match_probability;
            if pattern >> age & 1 == 1 { r } else { 1.0 - r }
        };
        (pattern, probes.iter().enumerate().map(at_age).product())
    })
}

fn has_run(k: usize, segments: usize, pattern: usize) -> bool {
    let run = (1 << k) - 1;
    (0..=segments - k).any(|first| pattern >> first & run == run)
}

fn reported_by_brute_force(k: usize, probes: &[SegmentProbe]) -> f64 {
    patterns(probes).filter(|&(pattern, _)| has_run(k, probes.len(), pattern)).map(|(_, p)| p).sum()
}

/// Returns the expected accesses of queries with this answer; 0 if the answer is impossible.
fn accesses_by_brute_force(k: usize, probes: &[SegmentProbe], answer: bool) -> f64 {
    let (mut probability, mut accesses) = (0.0, 0.0);
    for (pattern, p) in patterns(probes) {
        let (reported, cost) = query(k, probes, pattern);
        if reported == answer {
            probability += p;
            accesses += p * cost;
        }
    }
    if probability > 0.0 { accesses / probability } else { 0.0 }
}

/// Returns the probes of a query for an item of this generation: those of its own segments that still exist
/// match with certainty.
fn with_item(k: usize, probes: &[SegmentProbe], generation: usize) -> Vec<SegmentProbe> {
    let mut probes = probes.to_vec();
    probes.iter_mut().skip(generation).take(k).for_each(|probe| probe.match_probability = 1.0);
    probes
}

/// Returns the expected number of items past the window that are reported, in units of a generation of ten
/// items, when the newest generation has `tenths` items.
fn slack_by_brute_force(k: usize, probes: &[SegmentProbe], tenths: usize) -> f64 {
    let l = probes.len() - k;
    // `items_ago` counts from 0 and is past the newest generation, because l >= 1.
    let generation = |items_ago: usize| 1 + (items_ago - tenths) / 10;
    let reported = |items_ago| reported_by_brute_force(k, &with_item(k, probes, generation(items_ago)));
    (10 * l..10 * (l + k)).map(reported).sum::<f64>() / 10.0
}

/// Generates k, and more than k segments with arbitrary match probabilities and costs.
fn small_filters() -> impl Strategy<Value = (usize, Vec<SegmentProbe>)> {
    let probability = prop_oneof![8 => 0.01..0.99, 1 => Just(0.0), 1 => Just(1.0)];
    let probe = (probability, 1.0..5.0, 1.0..5.0).prop_map(|(r, on_match, on_miss)| SegmentProbe {
        match_probability: r,
        accesses_if_match: on_match,
        accesses_if_miss: on_miss,
    });
    prop::collection::vec(probe, 2..=10).prop_flat_map(|probes| (1..probes.len(), Just(probes)))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn the_query_reports_exactly_the_patterns_with_a_run((k, probes) in small_filters()) {
        for (pattern, _) in patterns(&probes) {
            prop_assert_eq!(query(k, &probes, pattern).0, has_run(k, probes.len(), pattern));
        }
    }

    #[test]
    fn run_probability_sums_the_patterns_with_a_run((k, probes) in small_filters()) {
        let model = run_probability(k as u32, probes.iter().map(|probe| probe.match_probability));
        let sum = reported_by_brute_force(k, &probes);
        prop_assert!(close(model, sum), "{} {}", model, sum);
    }

    #[test]
    fn accesses_are_the_means_over_all_patterns((k, probes) in small_filters()) {
        let l = probes.len() - k;
        let window = |age| accesses_by_brute_force(k, &with_item(k, &probes, age), true);
        let model = Profile::new(k as u32, 1.0, probes.clone()).accesses();
        for (model, mean) in [
            (model.window, (0..l).map(window).sum::<f64>() / l as f64),
            (model.false_positive, accesses_by_brute_force(k, &probes, true)),
            (model.absent, accesses_by_brute_force(k, &probes, false)),
        ] {
            prop_assert!(close(model, mean), "{} {}", model, mean);
        }
    }

    #[test]
    fn slack_counts_the_reported_items_past_the_window((k, probes) in small_filters()) {
        let l = probes.len() - k;
        for (phase, tenths) in [(1.0, 10), (0.4, 4)] {
            let model = Profile::new(k as u32, phase, probes.clone());
            let slack = slack_by_brute_force(k, &probes, tenths);
            prop_assert!(close(model.weighted_slack(), slack), "{} {}", model.weighted_slack(), slack);
            prop_assert!(close(model.npws(), slack / l as f64));
        }
    }
}

#[test]
fn metrics_of_128_segments_are_finite_and_consistent() {
    for (k, l) in [(1, 127), (2, 126), (10, 118), (30, 98), (64, 64), (80, 48), (96, 32)] {
        let shape = Shape::slices(k, l);
        let (k, l) = (f64::from(k), f64::from(l));
        let [paper, exact] = [Model::Paper, Model::Exact].map(|model| {
            let m = metrics(model, &shape);
            let rate = m.false_positive_rate;
            // A run of k matches can start at l + 1 places, each with a probability of at most 2^-k.
            assert!(rate > 0.0 && rate <= ((l + 1.0) * (-k).exp2()).min(1.0), "{shape}: rate {rate}");
            assert!(close(m.efficiency, -rate.log2() / k * l / (k + l)), "{shape}: {}", m.efficiency);
            assert!(close(m.bits_per_item, (k + l) * k / (l * 2_f64.ln())), "{shape}: {}", m.bits_per_item);
            // No segment is probed twice.
            for accesses in [m.accesses.window, m.accesses.false_positive] {
                assert!(
                    (k * (1.0 - 1e-12)..=k + l).contains(&accesses),
                    "{shape}: {accesses} accesses if reported"
                );
            }
            assert!((1.0..=k + l).contains(&m.accesses.absent), "{shape}: {} if absent", m.accesses.absent);
            assert!((1.0 / l..=k / l).contains(&m.npws), "{shape}: npws {}", m.npws);
            m
        });
        assert!(paper.false_positive_rate <= exact.false_positive_rate, "{shape}");
        // The paper ignores runs among younger segments, and assumes that segments of age l and older are
        // full.
        assert!(k > l || paper.npws <= exact.npws, "{shape}");
    }
}
