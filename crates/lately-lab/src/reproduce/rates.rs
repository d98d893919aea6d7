//! False positive rates as a filter fills and shifts: the paper's figure "Experimental validation of false
//! positive rates".

use lately::Shape;
use lately::model::{Model, metrics};

use super::LOWEST_PAIRS;
use super::figure::{Figure, Numbers};
use super::reference::Reference;
use crate::parallel::in_parallel;
use crate::report::{Axis, Chart, MEASURED, Mark, Series, hue};
use crate::rivals::hash_of;

const WINDOW: u64 = 1_000;
const INSERTIONS: u64 = 10_000;
const SAMPLE_EVERY: u64 = 50;
/// The paper makes 1e4 / rate probes, up to 1e9 per sample; we stop here.
const MOST_PROBES: f64 = 2e6;

struct Sample {
    insertions: u64,
    probed: f64,
    from_bits: f64,
}

/// The lowest pair of each rate, from an empty filter over 1e4 insertions at w = 1e3.
pub(super) fn figure() -> Figure {
    let all = in_parallel(&LOWEST_PAIRS, |&pair| sample(pair));
    let mut numbers = Numbers::new(&["pair", "insertions", "probed_rate", "rate_of_the_bits"]);
    let mut chart = Chart::new(
        "False positive rate over 1e4 insertions, w = 1e3",
        Axis::linear("insertions").range(0.0, INSERTIONS as f64),
        Axis::log("false positive rate").range(1e-6, 1.0),
    );
    for (i, ((k, l), samples)) in LOWEST_PAIRS.iter().zip(&all).enumerate() {
        for sample in samples {
            numbers
                .row(&format!("k={k} l={l}"), &[sample.insertions as f64, sample.probed, sample.from_bits]);
        }
        let points = |of: fn(&Sample) -> f64| samples.iter().map(|s| (s.insertions as f64, of(s))).collect();
        chart = chart.with(Series::new("", hue(i), Mark::Points, points(|s| s.probed))).with(Series::new(
            format!("k = {k}, l = {l}"),
            hue(i),
            Mark::Line,
            points(|s| s.from_bits),
        ));
    }
    chart = chart.with(Series::new("dots: probed", MEASURED, Mark::Points, Vec::new()));
    let zoom = |of: fn(&Sample) -> f64| {
        all[0]
            .iter()
            .filter(|s| s.insertions >= 4000 && s.insertions <= 8000)
            .map(|s| (s.insertions as f64, of(s)))
            .collect()
    };
    let zigzag = Chart::new(
        "The zig-zag of k = 4, l = 3, enlarged",
        Axis::linear("insertions").range(4000.0, 8000.0),
        Axis::linear("false positive rate").range(0.0, 0.2),
    )
    .with(Series::new("probed", MEASURED, Mark::Points, zoom(|s| s.probed)))
    .with(Series::new("from its bits", hue(0), Mark::Line, zoom(|s| s.from_bits)));
    Figure {
        name: "rates_over_insertions",
        caption: "Paper, figure 6, \"Experimental validation of false positive rates for low (k, l)\": one \
                  filter of each of the five lowest pairs, empty at first, measured every 50 insertions. \
                  Dots: rates probed with strangers (at most 2e6 per sample, so the lowest rate scatters). \
                  Lines: rates computed from the filter's bits at that moment. The rate rises between two \
                  shifts and falls at a shift; this zig-zag is clearest at the lowest k and l."
            .into(),
        charts: vec![chart.wide().tall(), zigzag.wide()],
        numbers,
    }
}

fn sample((k, l): (u32, u32)) -> Vec<Sample> {
    let mut filter = Reference::for_window((k, l), WINDOW);
    let rate = metrics(Model::Exact, &Shape::slices(k, l)).false_positive_rate;
    let probes = (1e4 / rate).min(MOST_PROBES) as u64;
    let mut samples = Vec::new();
    for insertions in 1..=INSERTIONS {
        filter.insert(hash_of(insertions));
        if insertions % SAMPLE_EVERY == 0 {
            let reported = filter.strangers_reported(insertions * probes, probes);
            samples.push(Sample {
                insertions,
                probed: reported as f64 / probes as f64,
                from_bits: filter.rate_of_the_bits(),
            });
        }
    }
    samples
}

/// Beyond the paper: compares its rates with exact and measured rates, for all pairs of table 2.
pub(super) fn models() -> Figure {
    const FILLINGS: u64 = 40;
    const MODEL_WINDOW: u64 = 20_000;
    let mut pairs: Vec<(u32, u32)> = super::paper::values()
        .iter()
        .filter(|value| value.table == 2 && value.column == "actual fp")
        .map(|value| {
            let inputs: Vec<u32> = value.row.split(' ').map(|input| input.parse().expect("whole")).collect();
            (inputs[0], inputs[1])
        })
        .collect();
    pairs.dedup();
    let measured = in_parallel(&pairs, |&pair| {
        let mut filter = Reference::for_window(pair, MODEL_WINDOW);
        let inserts = filter.inserts_to_worst_moment();
        let rates = (0..FILLINGS).map(|filling| {
            filter.clear();
            (0..inserts).for_each(|key| filter.insert(hash_of(filling << 32 | key)));
            filter.rate_of_the_bits()
        });
        rates.sum::<f64>() / FILLINGS as f64
    });
    let mut numbers =
        Numbers::new(&["pair", "measured", "exact_model", "paper_model", "measured_over_paper"]);
    let mut points = [Vec::new(), Vec::new()];
    for (i, (&(k, l), measured)) in pairs.iter().zip(measured).enumerate() {
        let [paper, exact] = [Model::Paper, Model::Exact]
            .map(|model| metrics(model, &Shape::slices(k, l)).false_positive_rate);
        numbers.row(&format!("k={k} l={l}"), &[measured, exact, paper, measured / paper]);
        points[0].push((i as f64 + 1.0, measured / paper));
        points[1].push((i as f64 + 1.0, exact / paper));
    }
    let [measured, exact] = points;
    let chart = Chart::new(
        "Rate over the paper's rate, rows of table 2",
        Axis::linear("row of table 2").range(0.0, 26.0).ticks([1.0, 5.0, 10.0, 15.0, 20.0, 25.0]),
        Axis::linear("times the paper's rate").range(0.9, 1.3),
    )
    .with(Series::new("measured", MEASURED, Mark::Dots, measured))
    .with(Series::new("exact model", hue(0), Mark::Line, exact))
    .with(Series::new("paper model", hue(1), Mark::Dashed, vec![(0.0, 1.0), (26.0, 1.0)]));
    Figure {
        name: "models_and_measured_rates",
        caption: format!(
            "Not in the paper: the real rate of a filter, divided by the rate that the paper predicts, for \
             all rows of table 2 in their order. Measured from the bits of {FILLINGS} filters for \
             {MODEL_WINDOW} items, just before a shift."
        ),
        charts: vec![chart.wide()],
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_computed_from_the_bits_is_the_rate_of_strangers() {
        let mut filter = Reference::for_window((4, 3), WINDOW);
        (0..5000).for_each(|key| filter.insert(hash_of(key)));
        let probed = filter.strangers_reported(0, 400_000) as f64 / 4e5;
        let from_bits = filter.rate_of_the_bits();
        // Five standard deviations of the sample are 2.5%.
        assert!((probed / from_bits - 1.0).abs() < 0.025, "{probed} {from_bits}");
    }
}
