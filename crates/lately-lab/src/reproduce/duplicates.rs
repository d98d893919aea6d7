//! How repeats in the stream change the rate: the paper's two figures "Decay of false positives under uniform
//! duplication", and Zipf laws, for which the paper only states an expectation.
//!
//! The duplicate rate of a window is 1 - different items / items. Rates are computed from the bits of a
//! filter just before a shift and averaged over fillings, because the lowest rates are too low to be probed.
//! Where probing is possible, it is done too.

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
/// With fewer reported strangers than this, a probed rate means little.
const LEAST_REPORTED: u64 = 20;

/// The rates of a filter fed with one kind of stream, over many fillings.
struct Outcome {
    duplicate_rate: f64,
    from_bits: f64,
    /// `None` if too few strangers were reported.
    probed: Option<f64>,
}

/// Measures the rates with the items that `stream` returns for each filling; fillings share no items.
fn measure(pair: (u32, u32), mut stream: impl FnMut(u64, u64) -> Vec<u64>) -> Outcome {
    let mut filter = Reference::for_window(pair, WINDOW);
    // Twice, so that there are items before the window too.
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

/// Returns a stream of windows that share no items, each with the same share of repeats: every item once, the
/// repeats drawn uniformly, in random order.
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
        // The last window is complete.
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
    let caption = "Paper, figure 7, \"Decay of false positives under uniform duplication\": the lowest pair \
                   of each of the five rates, w = 1e3. A repeat sets no new bits in slices that the item has \
                   already written, so the rate falls exponentially, and lower rates fall faster. Lines: \
                   computed from the bits of 40 filters each; dots: probed, where at least 20 of 2e6 \
                   strangers were reported.";
    of_pairs(
        "duplication_five_rates",
        "False positive rate by duplicates, w = 1e3",
        caption,
        &LOWEST_PAIRS,
        (1e-17, 1.0),
    )
}

pub(super) fn five_pairs() -> Figure {
    let caption = "Paper, figure 8, \"Decay of false positives under uniform duplication. Different (k, l) \
                   configurations for 0.1\", w = 1e3: with more slices, two inserts of an item have fewer \
                   slices in common, and repeats help less.";
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

/// Adds a line for the rates computed from the bits, and dots for the probed rates.
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

/// Exponents of the Zipf law, from few repeats to many.
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
            "The paper only predicts this (section on duplicates): items drawn from {RANKS} by a Zipf law \
             with exponents 0.4 to 2.0, from left to right, against uniform duplication at the same \
             duplicate rate. The paper expects an even more abrupt fall, and that is what happens: frequent \
             items return in every generation, and set no new bit in slices that they have already written. \
             Lines: computed from the bits; dots: probed."
        ),
        charts: vec![with_key(chart).wide().tall()],
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_streams_have_the_requested_duplicate_rate() {
        for rate in DUPLICATE_RATES {
            let outcome = measure((4, 3), uniform(rate));
            assert!((outcome.duplicate_rate - rate).abs() < 0.0005, "{rate}: {}", outcome.duplicate_rate);
            let probed = outcome.probed.expect("a rate near 0.1 can be probed");
            // Four standard deviations of the count.
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
    fn duplicates_lower_the_rate_less_if_there_are_more_slices() {
        let fall = |pair| measure(pair, uniform(0.6)).from_bits / measure(pair, uniform(0.0)).from_bits;
        let falls = [(4, 3), (6, 14), (8, 56)].map(fall);
        assert!(falls.is_sorted(), "{falls:?}");
        assert!(falls[2] < 0.9, "{falls:?}");
    }
}
