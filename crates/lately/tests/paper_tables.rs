//! The paper's four tables, recomputed digit by digit, and the model behind them checked by brute force.

use lately::model::{
    Metrics, Model, Profile, SegmentProbe, bloom_bits_per_item, bloom_metrics, metrics, run_probability,
};
use lately::{Segment, Shape};
use proptest::prelude::*;

/// A table of the paper: in each row first what it is computed from, then the printed columns.
struct Table {
    number: u32,
    columns: &'static [&'static str],
    compute: fn(&[f64]) -> Vec<f64>,
    rows: &'static str,
}

const TABLES: [Table; 4] = [
    Table {
        number: 1,
        columns: &["k", "bits/item", "actual fp", "query true", "query false"],
        compute: |row| {
            let m = bloom_metrics(row[0]);
            let k = f64::from(m.hashes);
            vec![k, m.bits_per_item, m.false_positive_rate, m.accesses_if_reported, m.accesses_if_absent]
        },
        rows: "
            0.1      4  5.77 0.0625        4.00 1.73
            0.01     7 10.09 0.0078125     7.00 1.94
            0.001   10 14.42 0.0009765625 10.00 1.99
            0.0001  14 20.19 0.0000610351 14.00 2.00
            0.00001 17 24.52 0.0000076293 17.00 2.00",
    },
    Table {
        number: 2,
        columns: &["actual fp", "eff", "window", "fp", "false", "NPWS"],
        compute: |row| {
            let m = apbf(row[0], row[1]);
            let a = m.accesses;
            vec![m.false_positive_rate, m.efficiency, a.window, a.false_positive, a.absent, m.npws]
        },
        rows: "
             4  3 0.100586 0.36  4.71  4.38  2.16 0.58
             5  7 0.101603 0.38  6.17  5.76  3.42 0.28
             6 14 0.098623 0.39  8.04  7.58  5.42 0.14
             7 28 0.099033 0.38 10.73 10.25  9.10 0.07
             8 56 0.100234 0.36 14.87 14.39 15.60 0.04
             7  5 0.011232 0.39  7.81  7.40  2.02 0.40
             8  8 0.010244 0.41  8.88  8.62  3.09 0.25
             9 14 0.010212 0.45 10.50  9.89  3.79 0.14
            10 25 0.010076 0.47 12.46 11.80  5.85 0.08
            11 46 0.009948 0.49 15.24 14.56  9.55 0.04
            10  7 0.001211 0.40 10.86 10.42  1.85 0.28
            11  9 0.000918 0.41 11.89 11.52  2.15 0.22
            12 14 0.000981 0.45 13.11 12.75  3.21 0.14
            13 23 0.000928 0.50 14.74 14.06  4.20 0.09
            14 40 0.000988 0.53 16.85 16.16  6.75 0.05
            14 11 0.000099 0.42 14.91 14.51  1.93 0.18
            15 15 0.000100 0.44 15.93 15.69  3.08 0.13
            16 22 0.000097 0.48 17.41 16.84  3.36 0.09
            17 36 0.000099 0.53 19.09 18.46  5.19 0.06
            18 63 0.000099 0.57 21.56 20.79  7.68 0.03
            17 13 0.000011 0.42 17.92 17.51  1.81 0.15
            18 16 0.000009 0.44 18.93 18.62  2.20 0.12
            19 22 0.000010 0.56 20.15 19.80  3.16 0.09
            20 33 0.000010 0.62 21.70 20.94  3.68 0.06
            21 54 0.000010 0.68 23.61 22.83  5.63 0.04",
    },
    Table {
        number: 3,
        columns: &["APBBF", "APBF", "cap.", "win.", "fp", "false", "NPWS"],
        compute: |row| {
            let m = apbbf(row);
            let same_memory = apbf(row[0] * row[3], row[1] * row[3]).false_positive_rate;
            let (capacity, a) = (m.relative_capacity.expect("blocks"), m.accesses);
            vec![m.false_positive_rate, same_memory, capacity, a.window, a.false_positive, a.absent, m.npws]
        },
        rows: "
            2 3  64 4 0.0159865 0.0180539 0.968 3.30 2.72 2.25 0.36
            2 3 512 4 0.0121825 0.0180539 0.996 3.31 2.71 2.23 0.35
            2 5  64 4 0.0257532 0.0335359 0.968 3.80 3.28 3.37 0.21
            2 5 512 4 0.0197654 0.0335359 0.996 3.81 3.26 3.33 0.21
            3 5  64 4 0.0016005 0.0017134 0.968 4.40 3.85 2.29 0.22
            3 5 512 4 0.0010688 0.0017134 0.996 4.40 3.83 2.26 0.21
            3 8  64 4 0.0026767 0.0031769 0.968 4.92 4.41 3.43 0.13
            3 8 512 4 0.0017993 0.0031769 0.996 4.92 4.39 3.38 0.13
            2 3  64 8 0.0005608 0.0001122 0.936 3.33 2.70 2.05 0.34
            2 3 512 8 0.0000738 0.0001122 0.992 3.33 2.68 2.02 0.33
            2 5  64 8 0.0009231 0.0002342 0.936 3.80 3.23 3.08 0.20
            2 5 512 8 0.0001226 0.0002342 0.992 3.80 3.21 3.03 0.20
            3 5  64 8 0.0000104 0.0000007 0.936 4.40 3.82 2.05 0.20
            3 5 512 8 0.0000005 0.0000007 0.992 4.40 3.78 2.02 0.20
            3 8  64 8 0.0000178 0.0000014 0.936 4.88 4.35 3.08 0.13
            3 8 512 8 0.0000009 0.0000014 0.992 4.88 4.32 3.03 0.13",
    },
    // Without the two SWAMP columns (bits, NPWS): the authors read them off a figure of the paper on SWAMP.
    Table {
        number: 4,
        columns: &["fp", "APBBF bits", "APBBF NPWS"],
        compute: |row| {
            let m = apbbf(row);
            vec![m.false_positive_rate, m.bits_per_item, m.npws]
        },
        rows: "
            2 5 512 4 0.0197654 16.2 0.21
            3 8 512 4 0.0017993 23.9 0.13
            2 5 512 8 0.0001226 32.6 0.20
            3 8 512 8 0.0000009 48.0 0.13",
    },
];

/// Where a printed value comes from that does not follow from its formula. Each is checked, too.
enum Reason {
    Truncated,
    RoundedUp,
    /// What would have been computed instead, in words and in numbers.
    Instead(&'static str, fn() -> f64),
}
use Reason::{Instead, RoundedUp, Truncated};

/// Table, row, column; printed, what the formula gives, and why.
type Misprint = (u32, &'static str, &'static str, &'static str, &'static str, Reason);

/// Every printed value that does not follow from the paper's own formulas, in the order of the tables.
const MISPRINTS: &[Misprint] = &[
    (1, "0.01", "bits/item", "10.09", "10.10", Truncated),
    (1, "0.001", "bits/item", "14.42", "14.43", Truncated),
    (1, "0.0001", "bits/item", "20.19", "20.20", Truncated),
    (1, "0.0001", "actual fp", "0.0000610351", "0.0000610352", Truncated),
    (1, "0.00001", "bits/item", "24.52", "24.53", Truncated),
    (1, "0.00001", "actual fp", "0.0000076293", "0.0000076294", Truncated),
    (2, "4 3", "NPWS", "0.58", "0.63", Instead("the sum of k - 1 = 3 terms", || (1.0 + 0.5 + 0.25) / 3.0)),
    (2, "11 46", "window", "15.24", "15.23", RoundedUp),
    (2, "10 7", "NPWS", "0.28", "0.29", Truncated),
    (2, "13 23", "actual fp", "0.000928", "0.000990", Instead("the rate of (13, 22)", rate_of_13_22)),
    (2, "13 23", "eff", "0.50", "0.49", Instead("from the wrong fp", || efficiency(13, 23, rate_of_13_22()))),
    (2, "17 36", "fp", "18.46", "18.45", RoundedUp),
    (2, "18 16", "window", "18.93", "18.94", Truncated),
    (2, "19 22", "eff", "0.56", "0.47", Instead("fp taken as 0.000001", || efficiency(19, 22, 1e-6))),
    (2, "20 33", "eff", "0.62", "0.52", Instead("fp taken as 0.000001", || efficiency(20, 33, 1e-6))),
    (2, "20 33", "false", "3.68", "3.67", RoundedUp),
    (2, "21 54", "eff", "0.68", "0.57", Instead("fp taken as 0.000001", || efficiency(21, 54, 1e-6))),
];

fn apbf(k: f64, l: f64) -> Metrics {
    metrics(Model::Paper, &Shape::slices(k as u32, l as u32))
}

/// A row that begins with k, l, B, b.
fn apbbf(row: &[f64]) -> Metrics {
    metrics(Model::Paper, &Shape::blocks(row[0] as u32, row[1] as u32, row[2] as u32, row[3] as u32))
}

fn rate_of_13_22() -> f64 {
    apbf(13.0, 22.0).false_positive_rate
}

/// The efficiency that (k, l) would have with another rate than its own.
fn efficiency(k: u32, l: u32, rate: f64) -> f64 {
    bloom_bits_per_item(rate) / apbf(f64::from(k), f64::from(l)).bits_per_item
}

struct Value {
    table: u32,
    row: String,
    column: &'static str,
    printed: &'static str,
    computed: f64,
}

fn values() -> Vec<Value> {
    let mut values = Vec::new();
    for table in TABLES {
        for line in table.rows.trim().lines() {
            let cells: Vec<_> = line.split_whitespace().collect();
            let (inputs, printed) = cells.split_at(cells.len() - table.columns.len());
            let numbers: Vec<f64> = inputs.iter().map(|cell| cell.parse().expect("a number")).collect();
            let computed = (table.compute)(&numbers);
            assert_eq!(computed.len(), printed.len(), "table {}: {line}", table.number);
            for ((&column, &printed), computed) in table.columns.iter().zip(printed).zip(computed) {
                values.push(Value { table: table.number, row: inputs.join(" "), column, printed, computed });
            }
        }
    }
    values
}

/// The numbers with as many decimals as `printed` just below and above `computed`, and where it lies between
/// them (from 0 to 1).
fn neighbours(computed: f64, printed: &str) -> (String, String, f64) {
    let decimals = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let scale = 10_u64.pow(decimals as u32) as f64;
    let scaled = computed * scale;
    let digits = |integer: f64| format!("{:.decimals$}", integer / scale);
    (digits(scaled.floor()), digits(scaled.ceil()), scaled - scaled.floor())
}

/// `computed` as it should be printed: half goes up, but at a tie (to `f64` precision) either will do.
fn rounded(computed: f64, printed: &str) -> String {
    const TIE: f64 = 1e-9;
    let (below, above, fraction) = neighbours(computed, printed);
    let to_below = fraction < 0.5 - TIE || (fraction < 0.5 + TIE && below == printed);
    if to_below { below } else { above }
}

#[test]
fn printed_values_follow_from_the_formulas_except_the_listed_ones() {
    let values = values();
    let differing: Vec<_> = values
        .iter()
        .map(|v| (v.table, v.row.as_str(), v.column, v.printed, rounded(v.computed, v.printed)))
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
    let compared = [1, 2, 3, 4].map(|table| values.iter().filter(|v| v.table == table).count());
    assert_eq!(compared, [5 * 5, 25 * 6, 16 * 7, 4 * 3]);
}

#[test]
fn misprints_have_the_reason_that_is_given() {
    let values = values();
    for (table, row, column, printed, _, reason) in MISPRINTS {
        let of_this = |v: &&Value| (v.table, v.row.as_str(), v.column) == (*table, *row, *column);
        let (below, above, _) = neighbours(values.iter().find(of_this).expect("listed").computed, printed);
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

/// The paper's algorithm 1 on one pattern of matches: the answer, and what it cost.
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

/// All patterns of matches, one bit for each age, with their probabilities.
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

/// Expected accesses given the answer; 0 where that answer cannot be.
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

/// What the query for an item of this generation meets: those of its own segments that are there are certain.
fn with_item(k: usize, probes: &[SegmentProbe], generation: usize) -> Vec<SegmentProbe> {
    let mut probes = probes.to_vec();
    probes.iter_mut().skip(generation).take(k).for_each(|probe| probe.match_probability = 1.0);
    probes
}

/// The expected number of items just past the window that are reported, in generations of ten items, when the
/// newest has `tenths` of them.
fn slack_by_brute_force(k: usize, probes: &[SegmentProbe], tenths: usize) -> f64 {
    let l = probes.len() - k;
    // `items_ago` counts from 0 and is past the newest generation, because l >= 1.
    let generation = |items_ago: usize| 1 + (items_ago - tenths) / 10;
    let reported = |items_ago| reported_by_brute_force(k, &with_item(k, probes, generation(items_ago)));
    (10 * l..10 * (l + k)).map(reported).sum::<f64>() / 10.0
}

/// k, and more than k segments of any match probabilities and costs.
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
            // At least k matches in a row among l + 1 places for them, each of at most 2^-k.
            assert!(rate > 0.0 && rate <= ((l + 1.0) * (-k).exp2()).min(1.0), "{shape}: rate {rate}");
            assert!(close(m.efficiency, -rate.log2() / k * l / (k + l)), "{shape}: {}", m.efficiency);
            assert!(close(m.bits_per_item, (k + l) * k / (l * 2_f64.ln())), "{shape}: {}", m.bits_per_item);
            // No segment is probed twice.
            for accesses in [m.accesses.window, m.accesses.false_positive] {
                assert!((k * (1.0 - 1e-12)..=k + l).contains(&accesses), "{shape}: {accesses} of a yes");
            }
            assert!((1.0..=k + l).contains(&m.accesses.absent), "{shape}: {} of a no", m.accesses.absent);
            assert!((1.0 / l..=k / l).contains(&m.npws), "{shape}: npws {}", m.npws);
            m
        });
        assert!(paper.false_positive_rate <= exact.false_positive_rate, "{shape}");
        // The paper leaves out runs among younger segments, and takes those of age l and older to be full.
        assert!(k > l || paper.npws <= exact.npws, "{shape}");
    }
}
