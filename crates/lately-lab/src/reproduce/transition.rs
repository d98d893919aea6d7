//! How items fade from the filter after they have left the window: the paper's figure "Exponential decay in
//! the probability of reporting", and the weighted slack, which is the area under the curve.

use super::figure::{Figure, Numbers};
use super::{inserts_to_worst_moment, papers_filter};
use crate::report::{Axis, Chart, MEASURED, Mark, Series, hue};
use crate::rivals::hash_of;
use lately::model::{Model, Profile, metrics};

const WINDOW: u64 = 150_000;
const BINS_PER_GENERATION: u64 = 5;

/// k = 10, l = 15, just before a shift.
pub(super) fn figure() -> Figure {
    let mut filter = papers_filter(WINDOW, (10, 15));
    let plan = filter.plan();
    let (k, l) = (u64::from(plan.shape.required_matches), u64::from(plan.shape.window_generations));
    let generation = plan.items_per_generation;
    // Items older than window and slack are queried too.
    let inserts = inserts_to_worst_moment(&filter) + 4 * generation;
    (0..inserts).for_each(|key| filter.insert_hash(hash_of(key)));
    let share_reported = |from: u64, to: u64| {
        let reported = (from..to).filter(|age| filter.contains_hash(hash_of(inserts - 1 - age))).count();
        reported as f64 / (to - from) as f64
    };
    let bin = generation / BINS_PER_GENERATION;
    let bins = (k + l + 3) * BINS_PER_GENERATION;
    let measured: Vec<(f64, f64)> = (0..bins)
        .map(|i| {
            let middle = (i as f64 + 0.5) / BINS_PER_GENERATION as f64;
            (middle, share_reported(i * bin, (i + 1) * bin))
        })
        .collect();
    let profile = Profile::paper(&plan.shape);
    let exact_profile = Profile::exact(
        &plan.shape,
        k as f64 * generation as f64 / plan.cells as f64,
        lately::model::Cells::Exactly(plan.cells),
        1.0,
    );
    // All items of a generation have the same probability, so the models are step functions.
    let exact = |age: f64| exact_profile.reporting_probability(age as u32);
    let paper = |age: f64| {
        let lost = (age as u64).saturating_sub(l);
        if lost >= k { 0.0 } else { 0.5_f64.powf(lost as f64) }
    };
    let mut numbers = Numbers::new(&["age_in_generations", "measured", "exact_model", "paper_model"]);
    for &(age, share) in &measured {
        numbers.row(&age.to_string(), &[share, exact(age), paper(age)]);
    }
    let of_model =
        |model: &dyn Fn(f64) -> f64| measured.iter().map(|&(age, _)| (age, model(age))).collect::<Vec<_>>();
    let chart = |title: &str, y: Axis| {
        let x = Axis::linear("age of an item, in generations")
            .range(0.0, 28.0)
            .ticks([0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        Chart::new(title, x, y)
            .with(Series::new("paper: 1/2 per slice", hue(1), Mark::Dashed, of_model(&paper)))
            .with(Series::new("exact model", hue(0), Mark::Line, of_model(&exact)))
            .with(Series::new("measured", MEASURED, Mark::Points, measured.clone()))
    };
    let expired = share_reported(WINDOW, (k + l) * generation) * ((k + l) * generation - WINDOW) as f64;
    let npws = expired / WINDOW as f64;
    let [paper_npws, exact_npws] = [profile.paper_npws(), metrics(Model::Exact, &plan.shape).npws];
    Figure {
        name: "transition_zone",
        caption: format!(
            "Paper, figure 4, \"Exponential decay in the probability of reporting in the transition zone\": \
             every item of the window (up to 15 generations) is reported, and just before a shift one \
             generation more. Then each lost slice halves the probability, down to the false positive rate \
             from 25 generations on. The area beyond 15 is the weighted slack: {npws:.3} of the window \
             measured, {exact_npws:.3} by the exact model, {paper_npws:.3} by the paper's sum."
        ),
        charts: vec![
            chart("Items still reported, k = 10, l = 15", Axis::linear("share reported").range(0.0, 1.0)),
            chart("The same, logarithmic", Axis::log("share reported").range(1e-3, 1.0)),
        ],
        numbers,
    }
}
