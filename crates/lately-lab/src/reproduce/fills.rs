//! How full segments are: the paper's figures "Fill ratio of each slice" and "Fill ratios for three designs".

use lately::model::{Cells, part_fill};
use lately::{Filter, Segment};

use super::figure::{Figure, Numbers};
use super::{inserts_to_worst_moment, papers_filter};
use crate::report::{Axis, Chart, Mark, Series, hue};
use crate::rivals::hash_of;

const WINDOW: u64 = 150_000;

/// k = 10, l = 15, just before a shift.
pub(super) fn per_slice() -> Figure {
    let mut filter = papers_filter(WINDOW, (10, 15));
    fill(&mut filter);
    let measured = filter.statistics().fill_by_age;
    let exact = exact_fills(&filter);
    let paper = |age: usize| ((age + 1) as f64 / 20.0).min(0.5);
    let mut numbers = Numbers::new(&["slice", "measured", "exact_model", "paper_model"]);
    for (age, &fill) in measured.iter().enumerate() {
        numbers.row(&age.to_string(), &[fill, exact[age], paper(age)]);
    }
    let points = |of: &dyn Fn(usize) -> f64| (0..measured.len()).map(|age| (age as f64, of(age))).collect();
    let x =
        Axis::linear("slice, newest first").range(-1.0, 25.0).ticks((0..5).map(|i| f64::from(i) * 5.0 + 4.0));
    let chart = Chart::new(
        "Fill of each slice, k = 10, l = 15",
        x,
        Axis::linear("share of bits set").range(0.0, 0.6),
    )
    .with(Series::new("measured", "#9db8e3", Mark::Bars, points(&|age| measured[age])))
    .with(Series::new("exact model", hue(0), Mark::Line, points(&|age| exact[age])))
    .with(Series::new("paper: linear", hue(1), Mark::Dashed, points(&paper)));
    Figure {
        name: "fill_per_slice",
        caption: format!(
            "Paper, figure 2, \"Fill ratio of each slice\": slices 0 to 9 are being filled, the others no \
             longer change. Measured in a filter for {WINDOW} items just before a shift. The fill grows as \
             1 - 2^(-(i+1)/k), not linearly as in the paper's model, whose rates are therefore too low."
        ),
        charts: vec![chart.wide()],
        numbers,
    }
}

fn fill(filter: &mut Filter) {
    (0..inserts_to_worst_moment(filter)).for_each(|key| filter.insert_hash(hash_of(key)));
}

fn exact_fills(filter: &Filter) -> Vec<f64> {
    let plan = filter.plan();
    let k = plan.shape.required_matches;
    let load = |age: u32| f64::from((age + 1).min(k)) * plan.items_per_generation as f64 / plan.cells as f64;
    let fill = |age| part_fill(&plan.shape.segment, load(age), Cells::Exactly(plan.cells));
    (0..plan.shape.segments()).map(fill).collect()
}

/// k = 10 with one slice per segment, k = 5 with two, k = 2 with five: the same memory and window.
pub(super) fn designs() -> Figure {
    let designs = [(10, 20, 1_u32), (5, 10, 2), (2, 4, 5)];
    let mut numbers = Numbers::new(&["design", "segment", "measured", "exact_model"]);
    let mut chart = Chart::new(
        "Fill of the segments of three designs",
        Axis::linear("slices, newest first (a segment of b slices is b wide)")
            .range(0.0, 30.0)
            .ticks((0..=6).map(|i| f64::from(i) * 5.0)),
        Axis::linear("share of bits set").range(0.0, 0.6),
    );
    for (i, (k, l, parts)) in designs.into_iter().enumerate() {
        let builder = Filter::builder().window(WINDOW).shape(k, l).segment(Segment::Slices { parts });
        let mut filter = builder.build().expect("the paper's shapes are valid");
        fill(&mut filter);
        let measured = filter.statistics().fill_by_age;
        let exact = exact_fills(&filter);
        let mut steps = Vec::new();
        for (age, &fill) in measured.iter().enumerate() {
            numbers.row(&format!("k={k} b={parts}"), &[age as f64, fill, exact[age]]);
            let start = f64::from(parts) * age as f64;
            steps.extend([(start, fill), (start + f64::from(parts), fill)]);
        }
        chart = chart.with(Series::new(format!("k = {k}, l = {l}, b = {parts}"), hue(i), Mark::Line, steps));
    }
    Figure {
        name: "segment_designs",
        caption: "Paper, figure 9, \"Fill ratios for three designs\": k = 10 with one slice per segment, \
                  k = 5 with two, k = 2 with five, measured just before a shift. All have the same memory and \
                  window (l = 2k). With fewer and larger segments, the fill jumps further at a shift."
            .into(),
        charts: vec![chart.wide()],
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_fills_are_those_of_the_exact_model_and_not_the_papers() {
        let mut filter = papers_filter(WINDOW, (10, 15));
        fill(&mut filter);
        let fills = filter.statistics().fill_by_age;
        for (age, (measured, exact)) in fills.iter().zip(exact_fills(&filter)).enumerate() {
            assert!((measured - exact).abs() < 0.01, "slice {age}: {measured} {exact}");
        }
        assert!(fills[4] > 0.25 + 0.03, "linear would be 0.25");
    }
}
