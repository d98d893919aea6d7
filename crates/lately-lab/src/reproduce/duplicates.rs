//! What repeats in the stream do to the rate: the paper's two figures "Decay of false positives under uniform duplication", and
//! the Zipf law of which it only says what is to be expected.
//!
//! The duplicate rate of a window is 1 - different items / items. Rates are those that the bits of a filter give just before a
//! shift, averaged over fillings, since the lowest are far below what can be probed; where probing is possible it is done too.

use std::collections::HashSet;

use super::figure::{Figure, Numbers};
use super::reference::Reference;
use super::{LOWEST_PAIRS, PAIRS_NEAR_A_TENTH};
use crate::parallel::in_parallel;
use crate::race::Zipf;
use crate::report::{Axis, Chart, MEASURED, Mark, Series, hue};
use crate::rivals::{Random, hash_of};

const WINDOW: u64 = 1_000;
const FILLINGS: u64 = 40;
const PROBES: u64 = 50_000;
const DUPLICATE_RATES: [f64; 10] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Fewer reported strangers than this say little.
const LEAST_REPORTED: u64 = 20;

/// A filter fed with one kind of stream, over many fillings.
struct Outcome {
    duplicate_rate: f64,
    from_bits: f64,
    /// `None` if too few strangers were reported.
    probed: Option<f64>,
}

/// Items of one filling; fillings share none.
fn measure(pair: (u32, u32), mut stream: impl FnMut(u64, u64) -> Vec<u64>) -> Outcome {
    let mut filter = Reference::for_window(pair, WINDOW);
    // Twice, so that what lies before the window is there too.
    let inserts = 2 * filter.inserts_to_worst_moment();
    let (mut duplicate_rate, mut from_bits, mut reported) = (0.0, 0.0, 0);
    for filling in 0..FILLINGS {
        filter.clear();
        let items = stream(filling, inserts);
        items.iter().for_each(|&item| filter.insert(hash_of(filling << 40 | item)));
        let last_window = &items[items.len() - WINDOW as usize..];
        let different = last_window.iter().collect::<HashSet<_>>().len();
        duplicate_rate += 1.0 - different as f64 / WINDOW as f64;
        from_bits += filter.rate_of_the_bits();
        reported += filter.strangers_reported(filling * PROBES, PROBES);
    }
    let fillings = FILLINGS as f64;
    Outcome {
        duplicate_rate: duplicate_rate / fillings,
        from_bits: from_bits / fillings,
        probed: (reported >= LEAST_REPORTED).then(|| reported as f64 / (FILLINGS * PROBES) as f64),
    }
}

/// Windows of items of their own, each with the same share of repeats: every item once, the rest evenly, in random order.
fn uniform(duplicate_rate: f64) -> impl FnMut(u64, u64) -> Vec<u64> {
    move |filling, inserts| {
        let mut random = Random::new(filling << 8 | (duplicate_rate * 100.0) as u64);
        let different = (((1.0 - duplicate_rate) * WINDOW as f64).round() as usize).max(1);
        let mut items = Vec::new();
        for window in 0..inserts.div_ceil(WINDOW) {
            let repeats = WINDOW as usize - different;
            let of_window: Vec<usize> =
                (0..different).chain((0..repeats).map(|_| random.below(different))).collect();
            items.extend(shuffled(of_window, &mut random).iter().map(|&item| window << 20 | item as u64));
        }
        // The last window is a whole one.
        items.split_off(items.len() - inserts as usize)
    }
}

fn shuffled(mut items: Vec<usize>, random: &mut Random) -> Vec<usize> {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i + 1));
    }
    items
}

pub(super) fn five_rates() -> Figure {
    let caption = "Paper, figure 7, \"Decay of false positives under uniform duplication\": the lowest pair of each of the five rates, w = 1e3. Repeats set no \
                   new bits where the slices are the same, so the rate falls exponentially, and the faster the lower it is. Lines: rates of the bits of \
                   40 filters each; dots: probed, where at least 20 of 2e6 strangers were reported.";
    of_pairs(
        "duplication_five_rates",
        "False positive rate by duplicates, w = 1e3",
        caption,
        &LOWEST_PAIRS,
        (1e-17, 1.0),
    )
}

pub(super) fn five_pairs() -> Figure {
    let caption = "Paper, figure 8, \"Decay of false positives under uniform duplication. Different (k, l) configurations for 0.1\", w = 1e3: the more slices, the less they \
                   overlap between repeats, and the less repeats help.";
    of_pairs(
        "duplication_five_pairs",
        "False positive rate by duplicates, pairs near 0.1, w = 1e3",
        caption,
        &PAIRS_NEAR_A_TENTH,
        (1e-4, 1.0),
    )
}

fn of_pairs(
    name: &'static str,
    title: &str,
    caption: &str,
    pairs: &[(u32, u32)],
    (low, high): (f64, f64),
) -> Figure {
    let outcomes = in_parallel(pairs, |&pair| DUPLICATE_RATES.map(|rate| measure(pair, uniform(rate))));
    let mut numbers = Numbers::new(&["pair", "duplicate_rate", "rate_of_the_bits", "probed_rate"]);
    let y = Axis::log("false positive rate").range(low, high);
    let mut chart = Chart::new(title, duplicates_axis(), y);
    for (i, ((k, l), outcomes)) in pairs.iter().zip(&outcomes).enumerate() {
        chart = add(chart, &mut numbers, &format!("k = {k}, l = {l}"), &format!("k={k} l={l}"), i, outcomes);
    }
    Figure { name, caption: caption.into(), charts: vec![with_key(chart).wide().tall()], numbers }
}

fn duplicates_axis() -> Axis {
    Axis::linear("duplicate rate of a window").range(0.0, 1.0)
}

fn with_key(chart: Chart) -> Chart {
    chart.with(Series::new("dots: probed", MEASURED, Mark::Dots, Vec::new()))
}

/// A line for the bits, dots for what was probed.
fn add(
    chart: Chart,
    numbers: &mut Numbers,
    name: &str,
    label: &str,
    colour: usize,
    outcomes: &[Outcome],
) -> Chart {
    for outcome in outcomes {
        let probed = outcome.probed.unwrap_or(f64::NAN);
        numbers.row(label, &[outcome.duplicate_rate, outcome.from_bits, probed]);
    }
    let line = outcomes.iter().map(|outcome| (outcome.duplicate_rate, outcome.from_bits)).collect();
    let points =
        outcomes.iter().filter_map(|outcome| Some((outcome.duplicate_rate, outcome.probed?))).collect();
    chart.with(Series::new(name, hue(colour), Mark::Line, line)).with(Series::new(
        "",
        hue(colour),
        Mark::Dots,
        points,
    ))
}

/// Exponents of the law, from little repetition to much.
const EXPONENTS: [f64; 7] = [0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0];
const RANKS: usize = 100_000;

pub(super) fn zipf() -> Figure {
    const PAIRS: [(u32, u32); 2] = [(4, 3), (10, 7)];
    let mut numbers = Numbers::new(&["stream", "duplicate_rate", "rate_of_the_bits", "probed_rate"]);
    let y = Axis::log("false positive rate").range(1e-16, 1.0);
    let mut chart = Chart::new("Zipf and uniform duplication, w = 1e3", duplicates_axis(), y);
    let laws: Vec<Zipf> = EXPONENTS.iter().map(|&exponent| Zipf::new(RANKS, exponent)).collect();
    for (i, (k, l)) in PAIRS.into_iter().enumerate() {
        let evenly: Vec<Outcome> = in_parallel(&DUPLICATE_RATES, |&rate| measure((k, l), uniform(rate)));
        let by_law: Vec<Outcome> = in_parallel(&laws, |law| {
            measure((k, l), |filling, inserts| {
                let mut random = Random::new(filling);
                (0..inserts).map(|_| law.draw(&mut random)).collect()
            })
        });
        for (j, (kind, outcomes)) in [("uniform", &evenly), ("Zipf", &by_law)].into_iter().enumerate() {
            let label = format!("{kind} k={k} l={l}");
            chart =
                add(chart, &mut numbers, &format!("k = {k}, l = {l}: {kind}"), &label, 2 * i + j, outcomes);
        }
    }
    Figure {
        name: "duplication_zipf",
        caption: format!(
            "What the paper only predicts (section on duplicates): items drawn from {RANKS} by a Zipf law of exponents 0.4 to 2.0, from left to right, against uniform \
             duplication at the same duplicate rate. The paper expects the fall to be even more abrupt, and it is: frequent items return in every \
             generation, and set no new bit in any slice they share. Lines: rates of the bits; dots: probed."
        ),
        charts: vec![with_key(chart).wide().tall()],
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_streams_have_the_duplicates_they_are_asked_for() {
        for rate in DUPLICATE_RATES {
            let outcome = measure((4, 3), uniform(rate));
            assert!((outcome.duplicate_rate - rate).abs() < 0.0005, "{rate}: {}", outcome.duplicate_rate);
            let probed = outcome.probed.expect("a rate near 0.1 can be probed");
            // Four standard deviations of what was counted.
            let tolerance = 4.0 / (probed * (FILLINGS * PROBES) as f64).sqrt();
            assert!((probed / outcome.from_bits - 1.0).abs() < tolerance, "{rate}: {probed}");
        }
    }

    #[test]
    fn a_zipf_law_lowers_the_rate_more_than_uniform_duplication() {
        for pair in [(4, 3), (10, 7)] {
            let law = Zipf::new(RANKS, 1.0);
            let by_law = measure(pair, |filling, inserts| {
                let mut random = Random::new(filling);
                (0..inserts).map(|_| law.draw(&mut random)).collect()
            });
            let evenly = measure(pair, uniform(by_law.duplicate_rate));
            assert!(by_law.from_bits < 0.85 * evenly.from_bits, "{} {}", by_law.from_bits, evenly.from_bits);
        }
    }

    #[test]
    fn duplicates_lower_the_rate_the_less_the_more_slices_there_are() {
        let fall = |pair| measure(pair, uniform(0.6)).from_bits / measure(pair, uniform(0.0)).from_bits;
        let falls = [(4, 3), (6, 14), (8, 56)].map(fall);
        assert!(falls.is_sorted(), "{falls:?}");
        assert!(falls[2] < 0.9, "{falls:?}");
    }
}
