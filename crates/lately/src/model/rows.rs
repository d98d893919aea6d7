//! Rows: segments that share their load.
//!
//! Of a generation's items a row takes Binomial(g, 1/rows), and the segment of age i holds those of the generations i - k + 1
//! to i. Neighbouring segments, and in a crowded row all of them, are full together; so a stranger's chance of a run is
//! not that of the average fills, but its average over the loads of the k + l generations.
//!
//! That average has as many dimensions as generations. The expected *number* of maximal runs has not: it is computed
//! exactly in `row_runs`. The chance of at least one run is a little less, and what it is less by is estimated from a fixed
//! set of evenly spread loads (no random seed) as the ratio of the two, which hardly scatters.
//!
//! The spreads: a row holds S ~ Binomial((k + l) * g, 1/rows) items, and given S they are drawn evenly from all generations,
//! which does not depend on the number of rows. So spreads are made once per shape and g, for a grid of S, and weighted by the load.
//! Where g is infinite, rows are many, and loads Poisson.

use alloc::vec;
use alloc::vec::Vec;

use libm::{ceil, floor, log1p, sqrt};

use super::cell_load::{CellLoad, Drawn};
use super::profile::{Component, SegmentProbe};
use super::row_runs::RowRuns;
use super::runs::run_probability;
use super::segment::power;
use crate::shape::{RowShape, Segment, Shape};

/// The most items in a segment that probabilities are kept for, if it does not match for certain with fewer.
const MOST_ITEMS: usize = 4_096;
/// Beyond this, rows are too crowded to be of use: the spreads alone are good enough, and the exact expectation would take
/// long.
const USELESS_RATE: f64 = 0.7;

/// How finely loads are spread.
#[derive(Clone, Copy)]
pub(crate) struct Precision {
    /// Values of S in the range where rows are of use.
    totals: u32,
    /// Ways to spread each S.
    spreads: u32,
}

impl Precision {
    /// For promises: within half a percent.
    pub(crate) const FINE: Self = Self { totals: 48, spreads: 16 };
    /// For telling good shapes from bad ones.
    pub(crate) const COARSE: Self = Self { totals: 24, spreads: 4 };
}

/// A shape of rows at a phase of its newest generation, for any load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowModel {
    shape: Shape,
    /// Probability of matching a segment by the number of its items; with more items than are here, the last.
    match_probability: Vec<f64>,
    phase: f64,
    /// g; infinite where rows are many.
    items_per_generation: f64,
    /// The grid: values of S, ascending from 0. In the most crowded of them a run is certain, or they are all items.
    totals: Vec<u32>,
    /// For each S: the loads of the segments, newest first, in each spread.
    spreads: Vec<Vec<Vec<u32>>>,
    /// For each S, over its spreads: the chance of a run, and the expected number of maximal runs.
    chance_of_run: Vec<f64>,
    maximal_runs: Vec<f64>,
}

impl RowModel {
    /// # Panics
    /// If the shape is not one of rows.
    pub(crate) fn new(shape: &Shape, phase: f64, items_per_generation: f64, precision: Precision) -> Self {
        let Segment::Rows { row_bytes, parts } = shape.segment else { panic!("{shape} is not of rows") };
        let part_bits = f64::from(RowShape { row_bytes, parts, segments: shape.segments() }.part_bits());
        let half_full = core::f64::consts::LN_2 / -log1p(-1.0 / part_bits);
        let design = half_full * f64::from(shape.segments()) / f64::from(shape.required_matches);
        let match_probability = |items: u32| power(1.0 - power(1.0 - 1.0 / part_bits, items), parts);
        // Planning makes many models, and from some hundred items on the rest of a full table would be ones.
        let mut by_items: Vec<f64> = Vec::new();
        while by_items.len() < MOST_ITEMS && by_items.last().is_none_or(|last| *last < 1.0) {
            by_items.push(match_probability(by_items.len() as u32));
        }
        let mut model = Self {
            shape: *shape,
            match_probability: by_items,
            phase,
            items_per_generation,
            totals: Vec::new(),
            spreads: Vec::new(),
            chance_of_run: Vec::new(),
            maximal_runs: Vec::new(),
        };
        // Evenly over the range of use, well beyond half full; from there in growing steps until a run is certain.
        let all = ceil(items_per_generation * model.generations() - 1e-6) as u32;
        let useful = ((3.0 * design) as u32 + 40).min(all);
        let step = (useful / precision.totals).max(1);
        let mut total = 0;
        loop {
            let first_point = model.totals.len() as u32 * precision.spreads;
            let points = first_point..first_point + precision.spreads;
            let spreads = points.map(|point| model.segment_loads(&model.generation_loads(total, point)));
            let spreads: Vec<Vec<u32>> = spreads.collect();
            let chance_of_run = model.mean_of(&spreads, |matches| model.any_run(matches));
            model.totals.push(total);
            model.chance_of_run.push(chance_of_run);
            model.maximal_runs.push(model.mean_of(&spreads, |matches| model.maximal_runs_in(matches)));
            model.spreads.push(spreads);
            if chance_of_run > 1.0 - 1e-9 || total == all {
                return model;
            }
            total = (total + if total < useful { step } else { total / 4 }).min(all);
        }
    }

    pub(crate) fn items_per_generation(&self) -> f64 {
        self.items_per_generation
    }

    /// How many there are, the newest counted as far as it is complete.
    fn generations(&self) -> f64 {
        f64::from(self.shape.segments()) - 1.0 + self.phase
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn phase(&self) -> f64 {
        self.phase
    }

    /// The items of each generation, newest first, in one spread of `total` items.
    ///
    /// Generation by generation: the items left are drawn from it and from those to come. The points are multiples of
    /// irrational numbers, which fill the unit cube evenly.
    fn generation_loads(&self, total: u32, point: u32) -> Vec<u32> {
        /// With so many, every generation has its share.
        const MANY: u32 = 600;
        let generations = self.shape.segments();
        if total > MANY {
            return vec![total / generations; generations as usize];
        }
        let mut left = total;
        let mut others = self.generations();
        (0..generations)
            .map(|generation| {
                let own = if generation == 0 { self.phase } else { 1.0 };
                others -= own;
                let uniform = (f64::from(point) + 0.5) * IRRATIONALS[generation as usize];
                let items = if generation + 1 == generations {
                    left
                } else {
                    let drawn = Drawn { own, others, item: 1.0 / self.items_per_generation };
                    drawn.quantile(left, uniform - floor(uniform))
                };
                left -= items;
                items
            })
            .collect()
    }

    /// The items in each segment, newest first: those of the up to k generations that have written it.
    fn segment_loads(&self, generations: &[u32]) -> Vec<u32> {
        let k = self.shape.required_matches as usize;
        (0..generations.len())
            .map(|age| generations[(age + 1).saturating_sub(k)..=age].iter().sum())
            .collect()
    }

    fn match_probability(&self, items: u32) -> f64 {
        self.match_probability[(items as usize).min(self.match_probability.len() - 1)]
    }

    /// The weight of each S on the grid when a generation brings `load` items per row; values between two of the grid are
    /// shared by both. What is still more crowded counts as the most crowded.
    fn weights(&self, load: f64) -> Vec<f64> {
        let load = load.min(self.items_per_generation);
        let (mean, items) = (load * self.generations(), self.items_per_generation * self.generations());
        let mut weights = vec![0.0; self.totals.len()];
        let (last_node, last) = (self.totals.len() - 1, self.totals[self.totals.len() - 1]);
        // No need to look at how much more crowded.
        if mean - 12.0 * sqrt(mean) > f64::from(last) {
            weights[last_node] = 1.0;
            return weights;
        }
        let (first, probabilities) = CellLoad { mean, items }.probabilities();
        let mut node = self.totals.partition_point(|&total| total as usize <= first) - 1;
        for (total, probability) in (first as u32..).zip(probabilities) {
            if node < last_node && total == self.totals[node + 1] {
                node += 1;
            }
            if node == last_node {
                weights[last_node] += probability;
                continue;
            }
            let (low, high) = (self.totals[node], self.totals[node + 1]);
            let beyond = f64::from(total - low) / f64::from(high - low);
            weights[node] += probability * (1.0 - beyond);
            weights[node + 1] += probability * beyond;
        }
        weights
    }

    /// The average of something over spreads.
    fn mean_of(&self, spreads: &[Vec<u32>], of_matches: impl Fn(&[f64]) -> f64) -> f64 {
        let of_loads = |loads: &Vec<u32>| {
            let matches: Vec<f64> = loads.iter().map(|&items| self.match_probability(items)).collect();
            of_matches(&matches)
        };
        spreads.iter().map(of_loads).sum::<f64>() / spreads.len() as f64
    }

    /// The average of something over all spreads of a load.
    fn mean(&self, load: f64, of_matches: impl Fn(&[f64]) -> f64) -> f64 {
        let weights = self.weights(load);
        let spreads = weights.iter().zip(&self.spreads).filter(|(weight, _)| **weight > 1e-15);
        spreads.map(|(weight, spreads)| weight * self.mean_of(spreads, &of_matches)).sum()
    }

    fn maximal_runs_in(&self, matches: &[f64]) -> f64 {
        let k = self.shape.required_matches as usize;
        let begins = |age: usize| if age == 0 { 1.0 } else { 1.0 - matches[age - 1] };
        (0..=matches.len() - k).map(|age| begins(age) * matches[age..age + k].iter().product::<f64>()).sum()
    }

    /// The false positive rate when a generation brings `load` items per row, from the spreads alone.
    pub(crate) fn rough_rate(&self, load: f64) -> f64 {
        dot(&self.weights(load), &self.chance_of_run)
    }

    /// The false positive rate when a generation brings `load` items per row.
    pub(crate) fn rate(&self, load: f64) -> f64 {
        let rough = self.rough_rate(load);
        if rough > USELESS_RATE {
            return rough;
        }
        let exact = self.runs(load, |runs| runs.expected_maximal_runs(self.shape.window_generations));
        let weights = self.weights(load);
        scaled(exact, rough, dot(&weights, &self.maximal_runs)).min(1.0)
    }

    /// The probability that an item inserted `generations` ago, and not since, is reported.
    pub(super) fn reporting_probability(&self, load: f64, generations: u32) -> f64 {
        let (k, l) = (self.shape.required_matches, self.shape.window_generations);
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
        // Most often because the segments between age l and its own match.
        let missing = l as usize..generations as usize;
        let exact = self.runs(load, |runs| runs.expected_run(l, generations - l, false));
        let by_missing = |probabilities: &[f64]| probabilities[missing.clone()].iter().product();
        scaled(exact, rough, self.mean(load, by_missing)).min(1.0)
    }

    fn any_run(&self, probabilities: &[f64]) -> f64 {
        run_probability(self.shape.required_matches, probabilities.iter().copied())
    }

    fn runs(&self, load: f64, expectation: impl Fn(&RowRuns<'_>) -> f64) -> f64 {
        let match_probability = |items| self.match_probability(items);
        expectation(&RowRuns {
            required_matches: self.shape.required_matches,
            load: load.min(self.items_per_generation),
            items_per_generation: self.items_per_generation,
            phase: self.phase,
            match_probability: &match_probability,
        })
    }

    /// The spreads of a load as a mixture of profiles.
    pub(super) fn components(&self, load: f64) -> Vec<Component> {
        let weights = self.weights(load);
        let spreads = weights.iter().zip(&self.spreads).filter(|(weight, _)| **weight > 1e-15);
        let with_weight = spreads.flat_map(|(weight, spreads)| {
            let weight = weight / spreads.len() as f64;
            spreads.iter().map(move |loads| (weight, loads))
        });
        let probe = |&items: &u32| SegmentProbe::single(self.match_probability(items));
        with_weight
            .map(|(weight, loads)| Component { weight, probes: loads.iter().map(probe).collect() })
            .collect()
    }
}

fn dot(weights: &[f64], values: &[f64]) -> f64 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// An exact expectation of something close, times how much larger the wanted one is by a rough estimate of both.
fn scaled(exact: f64, rough_wanted: f64, rough_close: f64) -> f64 {
    if rough_close > 0.0 { exact * rough_wanted / rough_close } else { exact }
}

/// Square roots of the first 63 primes.
static IRRATIONALS: [f64; 63] = {
    const PRIMES: [u32; 63] = [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101,
        103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199,
        211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307,
    ];
    let mut roots = [0.0; 63];
    let mut i = 0;
    while i < 63 {
        // Newton's iteration; `sqrt` is not available in constants.
        let square = PRIMES[i] as f64;
        let mut root = square;
        let mut round = 0;
        while round < 60 {
            root = f64::midpoint(root, square / root);
            round += 1;
        }
        roots[i] = root;
        i += 1;
    }
    roots
};

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(k: u32, l: u32, row_bytes: u32, parts: u32) -> Shape {
        Shape { required_matches: k, window_generations: l, segment: Segment::Rows { row_bytes, parts } }
    }

    #[test]
    fn weights_are_a_distribution_with_the_right_mean() {
        let model = RowModel::new(&shape(5, 10, 64, 2), 1.0, f64::INFINITY, Precision::FINE);
        for load in [0.1, 1.0, 1.3, 2.0] {
            let weights = model.weights(load);
            let weighted =
                weights.iter().zip(&model.totals).map(|(weight, total)| weight * f64::from(*total));
            let mean: f64 = weighted.sum();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((mean / (15.0 * load) - 1.0).abs() < 1e-6, "{mean}");
        }
    }

    #[test]
    fn generations_share_the_items_evenly() {
        let model = RowModel::new(&shape(3, 7, 64, 3), 1.0, f64::INFINITY, Precision::COARSE);
        let mut sums = [0; 10];
        for point in 0..1_000 {
            let loads = model.generation_loads(50, point);
            assert_eq!(loads.iter().sum::<u32>(), 50);
            sums.iter_mut().zip(&loads).for_each(|(sum, load)| *sum += load);
        }
        assert!(sums.iter().all(|&sum| (4_900..5_100).contains(&sum)), "{sums:?}");
    }

    #[test]
    fn rates_grow_with_the_load_up_to_certainty_and_however_large_it_is() {
        for (k, l, row_bytes, parts) in
            [(5, 10, 64, 2), (56, 7, 128, 1), (1, 30, 64, 1), (1, 1, 64, 15), (2, 8, 256, 6)]
        {
            let model = RowModel::new(&shape(k, l, row_bytes, parts), 1.0, f64::INFINITY, Precision::FINE);
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

    /// With one segment in a run there is nothing shared: the mixture of a block's load.
    #[test]
    fn a_run_of_one_segment_is_a_block() {
        for phase in [1.0, 0.3] {
            let shape = shape(1, 6, 64, 4);
            let model = RowModel::new(&shape, phase, f64::INFINITY, Precision::FINE);
            for (age, load) in [(0, 3.0 * phase), (1, 3.0), (6, 3.0)] {
                let expected =
                    super::super::match_probability(&shape.segment, load, super::super::Cells::Many);
                let got = model.runs(3.0, |runs| runs.expected_run(age, 1, false));
                assert!((got / expected - 1.0).abs() < 1e-9, "age {age} phase {phase}: {got} {expected}");
            }
        }
    }

    #[test]
    fn exact_expectations_agree_with_many_spreads() {
        let many = Precision { totals: 400, spreads: 1_024 };
        for (k, l, row_bytes, parts, load) in [(5, 10, 64, 2, 1.3), (3, 7, 64, 3, 1.9), (2, 8, 256, 6, 8.0)] {
            for phase in [1.0, 0.5] {
                let shape = shape(k, l, row_bytes, parts);
                let rate = RowModel::new(&shape, phase, f64::INFINITY, Precision::FINE).rate(load);
                let by_spreads = RowModel::new(&shape, phase, f64::INFINITY, many).rough_rate(load);
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

    /// Throws the items of all generations into the rows, again and again, and returns the mean chance that a stranger finds a run
    /// (if `own` is some generation: an item of that one), and how far, with less than one chance in a million, the
    /// expectation may be from it: the empirical Bernstein bound of Maurer and Pontil.
    fn simulated(model: &RowModel, rows: u64, own: Option<usize>, rounds: u32) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut state = rows;
        for _ in 0..rounds {
            // Rows are alike: the first stands for all.
            let mut throw = |items: f64| {
                let hits = (0..items as u32).filter(|_| random(&mut state).is_multiple_of(rows));
                hits.count() as u32
            };
            let generations: Vec<u32> = (0..model.shape.segments())
                .map(|generation| {
                    throw(model.items_per_generation * if generation == 0 { model.phase } else { 1.0 })
                })
                .collect();
            let loads = model.segment_loads(&generations);
            let mut matches: Vec<f64> = loads.iter().map(|&items| model.match_probability(items)).collect();
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

    /// Within the bound and what the spreads leave of doubt. Rows that are taken to be many have another rate.
    #[test]
    fn few_rows_have_the_rate_and_the_slack_of_thrown_items() {
        for (k, l, row_bytes, parts, rows, items_per_generation) in [
            (2, 3, 64, 2, 2, 8.0),
            (3, 7, 64, 1, 5, 10.0),
            (5, 10, 64, 1, 3, 6.0),
            (2, 8, 256, 2, 4, 24.0),
            (1, 4, 64, 2, 2, 2.0),
        ] {
            for phase in [1.0, 0.5] {
                let shape = shape(k, l, row_bytes, parts);
                let load = items_per_generation / rows as f64;
                let model = RowModel::new(&shape, phase, items_per_generation, Precision::FINE);
                let (measured, bound) = simulated(&model, rows, None, 300_000);
                let is_near = |rate: f64| (rate - measured).abs() < bound + 0.002 * rate;
                let rate = model.rate(load);
                assert!(
                    is_near(rate),
                    "{shape} {rows} rows phase {phase}: {rate}, not {measured} +- {bound}"
                );
                let of_many = RowModel::new(&shape, phase, f64::INFINITY, Precision::FINE).rate(load);
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
        let model = RowModel::new(&shape, 1.0, 4.0, Precision::FINE);
        let matches: Vec<f64> =
            [4, 8, 12, 12, 12, 12, 12, 12].iter().map(|&items| model.match_probability(items)).collect();
        for load in [4.0, 4.5] {
            assert!((model.rate(load) / model.any_run(&matches) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn many_rows_are_the_limit_of_a_finite_number() {
        for (k, l, row_bytes, parts, load) in [(5, 10, 64, 2, 1.3), (2, 8, 256, 6, 8.0), (1, 9, 128, 6, 3.0)]
        {
            let shape = shape(k, l, row_bytes, parts);
            let rate = |items| RowModel::new(&shape, 1.0, items, Precision::FINE).rate(load);
            let limit = rate(f64::INFINITY);
            // Few rows scatter less, by 1/rows; and the limit is met as fast.
            let [few, more] = [1e3, 1e4].map(|items| 1.0 - rate(items) / limit);
            assert!(few > 0.0 && (5.0..15.0).contains(&(few / more)), "{shape}: {few} {more}");
            assert!((rate(1e10) / limit - 1.0).abs() < 1e-7, "{shape}");
        }
    }
}
