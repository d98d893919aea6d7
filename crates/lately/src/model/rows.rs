//! Rows: segments that share their load.
//!
//! A row takes Binomial(g, 1/rows) of a generation's items, and the segment of age i holds those of the
//! generations i - k + 1 to i. Neighbouring segments, and in a crowded row all of them, are full together. So
//! the probability that a never-inserted item finds a run does not follow from the average fills; it must be
//! averaged over the loads of the k + l generations.
//!
//! That average has as many dimensions as there are generations. The expected *number* of maximal runs does
//! not have this problem: `row_runs` computes it exactly. The probability of at least one run is a little
//! less. The ratio of the two is estimated from a fixed set of evenly distributed loads (no random seed);
//! this ratio varies very little.
//!
//! `row_spreads` provides the spreads; this file computes the results for one shape.

use alloc::vec;
use alloc::vec::Vec;
use core::borrow::Borrow;

use libm::{ceil, sqrt};

use super::cell_load::CellLoad;
use super::probe::{Component, SegmentProbe};
use super::row_runs::RowRuns;
use super::row_spreads::{Generations, Precision, Spreads};
use super::runs::{Runs, run_probability};
use super::segment::half_full_load;
use crate::shape::MOST_PARTS_IN_ROW;

/// Above this rate, rows are too crowded to be useful: the spreads alone are accurate enough, and the exact
/// expectation would take long.
const USELESS_RATE: f64 = 0.7;

/// For promises: accurate to half a percent.
const FINE: Precision = Precision { totals: 48, spreads: 16 };
/// For separating good shapes from bad ones.
const COARSE: Precision = Precision { totals: 24, spreads: 4 };

/// Spreads that are accurate enough to separate good shapes with this many segments from bad ones, just
/// before a shift. They cover the range where rows are useful, up to as many items as make a run certain.
pub(crate) fn coarse_spreads(segments: u32) -> Vec<Spreads> {
    /// Items per generation.
    const CERTAIN: u32 = 2_000;
    const USEFUL: u32 = 120;
    Generations { count: segments, phase: 1.0, item: 0.0 }
        .spread(USEFUL, segments * CERTAIN, COARSE)
        .collect()
}

/// A shape of rows at one phase of its newest generation, for any load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowModel {
    runs: RowRuns,
    /// The grid, ascending from S = 0. At its last node a run is certain, or the row has all items.
    grid: Vec<Node>,
}

/// The segments of a row with S items.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    total: u32,
    /// The match probabilities of the segments, newest first, one spread after the other.
    matches: Vec<f64>,
    /// Averages over the spreads: the probability of a run, and the expected number of maximal runs.
    chance_of_run: f64,
    maximal_runs: f64,
}

impl RowModel {
    /// Creates a model with its own spreads, as accurate as promises need.
    pub(crate) fn fine(runs: RowRuns) -> Self {
        Self::with_precision(runs, FINE)
    }

    fn with_precision(runs: RowRuns, precision: Precision) -> Self {
        let shape = runs.shape();
        let all = ceil(runs.items_per_generation() * runs.generations() - 1e-6) as u32;
        // Well beyond half full.
        let half_full =
            half_full_load(&shape.segment) * f64::from(shape.segments()) / f64::from(shape.required_matches);
        let useful = ((3.0 * half_full) as u32 + 40).min(all);
        let item = 1.0 / runs.items_per_generation();
        let generations = Generations { count: shape.segments(), phase: runs.phase(), item };
        Self::new(runs, generations.spread(useful, all, precision))
    }

    /// Creates a model from given spreads, using as many of them as needed.
    pub(crate) fn new(runs: RowRuns, spreads: impl IntoIterator<Item = impl Borrow<Spreads>>) -> Self {
        let mut grid: Vec<Node> = Vec::new();
        for spreads in spreads {
            grid.push(Node::new(&runs, spreads.borrow()));
            if grid.last().is_some_and(|node| node.chance_of_run > 1.0 - 1e-9) {
                break;
            }
        }
        Self { runs, grid }
    }

    pub(crate) fn runs(&self) -> &RowRuns {
        &self.runs
    }

    /// The nodes that are not negligible if a generation brings `load` items per row, with their weights. A
    /// value of S between two nodes of the grid is divided between both. A value beyond the last node counts
    /// as the last node.
    fn weighted(&self, load: f64) -> impl Iterator<Item = (f64, &Node)> {
        self.weights(load).into_iter().zip(&self.grid).filter(|(weight, _)| *weight > 1e-15)
    }

    fn weights(&self, load: f64) -> Vec<f64> {
        let all = self.runs.items_per_generation();
        let (mean, items) = (load.min(all) * self.runs.generations(), all * self.runs.generations());
        let mut weights = vec![0.0; self.grid.len()];
        let last_node = self.grid.len() - 1;
        // All loads are beyond the last node.
        if mean - 12.0 * sqrt(mean) > f64::from(self.grid[last_node].total) {
            weights[last_node] = 1.0;
            return weights;
        }
        let (first, probabilities) = CellLoad::new(mean, items).probabilities();
        let mut node = self.grid.partition_point(|node| node.total as usize <= first) - 1;
        for (total, probability) in (first as u32..).zip(probabilities) {
            if node < last_node && total == self.grid[node + 1].total {
                node += 1;
            }
            if node == last_node {
                weights[last_node] += probability;
                continue;
            }
            let (low, high) = (self.grid[node].total, self.grid[node + 1].total);
            let beyond = f64::from(total - low) / f64::from(high - low);
            weights[node] += probability * (1.0 - beyond);
            weights[node + 1] += probability * beyond;
        }
        weights
    }

    /// The average of a function of the match probabilities over all spreads of a load.
    fn mean(&self, load: f64, of_matches: impl Fn(&[f64]) -> f64) -> f64 {
        let segments = self.runs.shape().segments() as usize;
        let over_spreads = |node: &Node| {
            let spreads = node.matches.chunks_exact(segments);
            let count = spreads.len() as f64;
            spreads.map(&of_matches).sum::<f64>() / count
        };
        self.weighted(load).map(|(weight, node)| weight * over_spreads(node)).sum()
    }

    /// The false positive rate if a generation brings `load` items per row, from the spreads alone.
    pub(crate) fn rough_rate(&self, load: f64) -> f64 {
        self.weighted(load).map(|(weight, node)| weight * node.chance_of_run).sum()
    }

    /// The false positive rate if a generation brings `load` items per row.
    pub(crate) fn rate(&self, load: f64) -> f64 {
        let rough = self.rough_rate(load);
        if rough > USELESS_RATE {
            return rough;
        }
        let rough_runs = self.weighted(load).map(|(weight, node)| weight * node.maximal_runs).sum();
        scaled(self.runs.expected_maximal_runs(load), rough, rough_runs).min(1.0)
    }

    /// The probability that an item inserted `generations` ago, and not since, is reported.
    pub(super) fn reporting_probability(&self, load: f64, generations: u32) -> f64 {
        let shape = self.runs.shape();
        let (k, l) = (shape.required_matches, shape.window_generations);
        if generations <= l {
            return 1.0;
        }
        if generations >= k + l {
            return self.rate(load);
        }
        let with_own = |probabilities: &[f64]| {
            let mut probabilities = probabilities.to_vec();
            probabilities[generations as usize..].fill(1.0);
            self.any_run(&probabilities)
        };
        let rough = self.mean(load, with_own);
        if self.rough_rate(load) > USELESS_RATE {
            return rough;
        }
        // Most often because the segments between age l and the item's own segments match.
        let missing = l as usize..generations as usize;
        let exact = self.runs.expected_run(load, l, generations - l);
        let by_missing = |probabilities: &[f64]| probabilities[missing.clone()].iter().product();
        scaled(exact, rough, self.mean(load, by_missing)).min(1.0)
    }

    fn any_run(&self, probabilities: &[f64]) -> f64 {
        run_probability(self.runs.shape().required_matches, probabilities.iter().copied())
    }

    /// The spreads of a load, as a mixture of profiles.
    pub(super) fn components(&self, load: f64) -> Vec<Component> {
        let segments = self.runs.shape().segments() as usize;
        let of_node = |(weight, node): (f64, &Node)| {
            let each = node.matches.chunks_exact(segments);
            let weight = weight / each.len() as f64;
            let probes =
                |matches: &[f64]| matches.iter().map(|&matches| SegmentProbe::single(matches)).collect();
            each.map(|matches| Component { weight, probes: probes(matches) }).collect::<Vec<_>>()
        };
        self.weighted(load).flat_map(of_node).collect()
    }
}

impl Node {
    fn new(runs: &RowRuns, spreads: &Spreads) -> Self {
        let k = runs.shape().required_matches as usize;
        let segments = runs.shape().segments() as usize;
        let (mut matches, mut chance_of_run, mut maximal_runs) =
            (Vec::with_capacity(spreads.loads.len()), 0.0, 0.0);
        let mut until = [0.0; MOST_PARTS_IN_ROW + 1];
        for generations in spreads.loads.chunks_exact(segments) {
            let first = matches.len();
            let mut items = 0;
            for (age, generation) in generations.iter().enumerate() {
                items += generation;
                if age >= k {
                    items -= generations[age - k];
                }
                matches.push(runs.match_probability(items as usize));
            }
            let runs = Runs::among(k, &matches[first..], &mut until);
            chance_of_run += runs.chance;
            maximal_runs += runs.maximal;
        }
        let count = (spreads.loads.len() / segments) as f64;
        Self {
            total: spreads.total,
            matches,
            chance_of_run: chance_of_run / count,
            maximal_runs: maximal_runs / count,
        }
    }
}

/// An exact expectation of a quantity close to the wanted one, scaled by the ratio of rough estimates of
/// both.
fn scaled(exact: f64, rough_wanted: f64, rough_close: f64) -> f64 {
    if rough_close > 0.0 { exact * rough_wanted / rough_close } else { exact }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Segment, Shape};

    fn shape(k: u32, l: u32, row_bytes: u32, parts: u32) -> Shape {
        Shape { required_matches: k, window_generations: l, segment: Segment::Rows { row_bytes, parts } }
    }

    fn model_of(shape: &Shape, phase: f64, items_per_generation: f64) -> RowModel {
        RowModel::fine(RowRuns::new(shape, phase, items_per_generation))
    }

    #[test]
    fn weights_are_a_distribution_with_the_right_mean() {
        let model = model_of(&shape(5, 10, 64, 2), 1.0, f64::INFINITY);
        for load in [0.1, 1.0, 1.3, 2.0] {
            let weights = model.weights(load);
            let weighted =
                weights.iter().zip(&model.grid).map(|(weight, node)| weight * f64::from(node.total));
            let mean: f64 = weighted.sum();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((mean / (15.0 * load) - 1.0).abs() < 1e-6, "{mean}");
        }
    }

    #[test]
    fn rates_grow_with_the_load_up_to_certainty() {
        for (k, l, row_bytes, parts) in
            [(5, 10, 64, 2), (56, 7, 128, 1), (1, 30, 64, 1), (1, 1, 64, 15), (2, 8, 128, 6)]
        {
            let model = model_of(&shape(k, l, row_bytes, parts), 1.0, f64::INFINITY);
            let loads = core::iter::successors(Some(0.05), |load| Some(load * 1.5)).take(100);
            let mut before = 0.0;
            for load in loads {
                let rate = model.rate(load);
                assert!(
                    rate >= before * 0.97 && rate <= 1.0,
                    "k={k} l={l} load {load}: {before} then {rate}"
                );
                before = rate;
            }
            assert!(before > 0.999_999, "{before}");
        }
    }

    /// With runs of one segment nothing is shared: the result is the mixture over a block's load.
    #[test]
    fn runs_of_one_segment_match_like_blocks() {
        for phase in [1.0, 0.3] {
            let shape = shape(1, 6, 64, 4);
            let model = model_of(&shape, phase, f64::INFINITY);
            for (age, load) in [(0, 3.0 * phase), (1, 3.0), (6, 3.0)] {
                let expected =
                    super::super::match_probability(&shape.segment, load, super::super::Cells::Many);
                let got = model.runs.expected_run(3.0, age, 1);
                assert!((got / expected - 1.0).abs() < 1e-9, "age {age} phase {phase}: {got} {expected}");
            }
        }
    }

    #[test]
    fn exact_expectations_agree_with_many_spreads() {
        let many = Precision { totals: 400, spreads: 1_024 };
        for (k, l, row_bytes, parts, load) in [(5, 10, 64, 2, 1.3), (3, 7, 64, 3, 1.9), (2, 8, 128, 6, 4.0)] {
            for phase in [1.0, 0.5] {
                let shape = shape(k, l, row_bytes, parts);
                let rate = model_of(&shape, phase, f64::INFINITY).rate(load);
                let by_spreads = RowModel::with_precision(RowRuns::new(&shape, phase, f64::INFINITY), many)
                    .rough_rate(load);
                assert!((rate / by_spreads - 1.0).abs() < 0.02, "{shape} phase {phase}: {rate} {by_spreads}");
            }
        }
    }

    /// Splitmix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Throws the items of all generations into the rows many times. Returns the mean probability that a
    /// never-inserted item finds a run (if `own` is given, an item of that generation), and a bound on the
    /// distance of the expectation from it, which fails with less than one chance in a million: the empirical
    /// Bernstein bound of Maurer and Pontil.
    fn simulated(model: &RowModel, rows: u64, own: Option<usize>, rounds: u32) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut state = rows;
        for _ in 0..rounds {
            // All rows are equivalent: simulate only the first.
            let mut throw = |items: f64| {
                let hits = (0..items as u32).filter(|_| random(&mut state).is_multiple_of(rows));
                hits.count() as u32
            };
            let generations: Vec<u32> = (0..model.runs.shape().segments())
                .map(|generation| {
                    throw(
                        model.runs.items_per_generation()
                            * if generation == 0 { model.runs.phase() } else { 1.0 },
                    )
                })
                .collect();
            let mut matches = Node::new(&model.runs, &Spreads { total: 0, loads: generations }).matches;
            if let Some(own) = own {
                matches[own..].fill(1.0);
            }
            let chance = model.any_run(&matches);
            sum += chance;
            squares += chance * chance;
        }
        let rounds = f64::from(rounds);
        let (mean, ln) = (sum / rounds, libm::log(2e6));
        let variance = (squares - sum * mean) / (rounds - 1.0);
        (mean, sqrt(2.0 * variance * ln / rounds) + 7.0 * ln / (3.0 * (rounds - 1.0)))
    }

    /// Agrees within the bound and the inaccuracy of the spreads. The limit of many rows has another rate.
    #[test]
    fn few_rows_have_the_rate_and_the_slack_of_a_simulation() {
        for (k, l, row_bytes, parts, rows, items_per_generation) in [
            (2, 3, 64, 2, 2, 8.0),
            (3, 7, 64, 1, 5, 10.0),
            (5, 10, 64, 1, 3, 6.0),
            (2, 8, 128, 2, 4, 12.0),
            (1, 4, 64, 2, 2, 2.0),
        ] {
            for phase in [1.0, 0.5] {
                let shape = shape(k, l, row_bytes, parts);
                let load = items_per_generation / rows as f64;
                let model = model_of(&shape, phase, items_per_generation);
                let (measured, bound) = simulated(&model, rows, None, 300_000);
                let is_near = |rate: f64| (rate - measured).abs() < bound + 0.002 * rate;
                let rate = model.rate(load);
                assert!(
                    is_near(rate),
                    "{shape} {rows} rows phase {phase}: {rate}, not {measured} +- {bound}"
                );
                let of_many = model_of(&shape, phase, f64::INFINITY).rate(load);
                assert!(!is_near(of_many), "{shape} {rows} rows phase {phase}: {of_many} should be too high");
                for generation in l + 1..k + l {
                    let (measured, bound) = simulated(&model, rows, Some(generation as usize), 100_000);
                    let reported = model.reporting_probability(load, generation);
                    assert!(
                        (reported - measured).abs() < bound + 0.008 * reported,
                        "{shape} {rows} rows phase {phase} generation {generation}: {reported}, not {measured}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_single_row_has_every_item() {
        let shape = shape(3, 5, 64, 2);
        let model = model_of(&shape, 1.0, 4.0);
        let matches: Vec<f64> = [4, 8, 12, 12, 12, 12, 12, 12]
            .iter()
            .map(|&items| model.runs.match_probability(items as usize))
            .collect();
        for load in [4.0, 4.5] {
            assert!((model.rate(load) / model.any_run(&matches) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn many_rows_are_the_limit_of_a_finite_number() {
        for (k, l, row_bytes, parts, load) in [(5, 10, 64, 2, 1.3), (2, 8, 128, 6, 4.0), (1, 9, 128, 6, 3.0)]
        {
            let shape = shape(k, l, row_bytes, parts);
            let rate = |items| model_of(&shape, 1.0, items).rate(load);
            let limit = rate(f64::INFINITY);
            // Loads of few rows vary less, by 1/rows, and the limit is approached at the same speed.
            let [few, more] = [1e3, 1e4].map(|items| 1.0 - rate(items) / limit);
            assert!(few > 0.0 && (5.0..15.0).contains(&(few / more)), "{shape}: {few} {more}");
            assert!((rate(1e10) / limit - 1.0).abs() < 1e-7, "{shape}");
        }
    }
}
