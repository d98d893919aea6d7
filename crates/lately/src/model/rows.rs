//! Rows: segments that share their load.
//!
//! A row takes Binomial(g, 1/rows) of a generation's items, and the segment of age i holds those of the
//! generations i - k + 1 to i. Neighbouring segments, and in a crowded row all of them, are full together. So
//! the probability that a never-inserted item finds a run does not follow from the average fills.
//!
//! The expected *number* of maximal runs E is exact (`row_runs`). The probability of at least one run is a
//! little less, because some rows have two. Two runs do not overlap, nor touch: of the (l + 1)^2 / 2 pairs of
//! ages at which runs can begin, (l - k)(l - k + 1) / 2 are far enough apart. So
//!
//! ```text
//! P = E exp(-c E),    c = (l - k)(l - k + 1) / (2 (l + 1)^2),    or 0 if l < k
//! ```
//! which agrees with samples of loads to 0.1% at rates up to 1%, and to 2% up to 60%.

use alloc::vec::Vec;

use libm::{exp, pow};

use super::cell_load::{CellLoad, NEGLIGIBLE};
use super::row_runs::RowRuns;
use super::runs::run_probability;
use super::segment::block_mixture;
use crate::shape::{PART_BITS, Segment, Shape};

/// Above this rate, rows are too crowded to be useful: they count as independent segments, and the exact
/// expectation, which would take long, is not computed.
const USELESS_RATE: f64 = 0.7;

/// Loads of a row that are less likely than this share of the rate do not change its digits.
const NEGLIGIBLE_PER_RATE: f64 = 1e-6;

/// A shape of rows at one phase of its newest generation, for any number of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowModel {
    runs: RowRuns,
}

impl RowModel {
    /// `items_per_generation` counts the items in all rows; it is infinite in the limit of many rows.
    ///
    /// # Panics
    /// If the segments of the shape are not rows.
    pub(crate) fn new(shape: &Shape, phase: f64, items_per_generation: f64) -> Self {
        Self { runs: RowRuns::new(shape, phase, items_per_generation) }
    }

    fn shape(&self) -> &Shape {
        self.runs.shape()
    }

    fn parts(&self) -> u32 {
        let Segment::Rows { parts, .. } = self.shape().segment else { return 0 };
        parts
    }

    /// The false positive rate if a generation brings `load` items per row.
    pub(crate) fn rate(&self, load: f64) -> f64 {
        let independent = self.rate_of_independent_segments(load);
        if independent > USELESS_RATE {
            return independent;
        }
        let negligible = (NEGLIGIBLE_PER_RATE * self.rough_rate(load)).max(NEGLIGIBLE);
        let runs = self.runs.expected_maximal_runs(load, negligible);
        self.rate_with(runs).max(independent).min(1.0)
    }

    /// The probability of at least one run, from the expected number of maximal runs.
    fn rate_with(&self, runs: f64) -> f64 {
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        let apart = f64::from(l.saturating_sub(k));
        let pairs = apart * (apart + 1.0) / (2.0 * (f64::from(l) + 1.0) * (f64::from(l) + 1.0));
        runs * exp(-pairs * runs)
    }

    /// The rate if the segments of a row did not share their load.
    fn rate_of_independent_segments(&self, load: f64) -> f64 {
        let k = self.shape().required_matches;
        let until_full: Vec<f64> = (0..=k).map(|age| self.match_probability(load, age)).collect();
        let at_age = |age: u32| until_full[age.min(k) as usize];
        run_probability(k, (0..self.shape().segments()).map(at_age))
    }

    /// The probability of matching the segment of an age.
    fn match_probability(&self, load: f64, age: u32) -> f64 {
        let generations = (f64::from(age) + self.runs.phase()).min(f64::from(self.shape().required_matches));
        let all = self.runs.items_per_generation();
        let law = CellLoad::new(load.min(all) * generations, all * generations);
        block_mixture(law, MISSED, self.parts())
    }

    /// The probability that an item inserted `generations` ago, and not since, is reported. `rate` is that of
    /// this load.
    ///
    /// Either the segments between age l and the item's own segments match, or there is a run among the younger
    /// ones. Both become more likely with the load, so they occur together at least as often as if they were
    /// independent, and this is an upper bound.
    pub(super) fn reporting_probability(&self, load: f64, rate: f64, generations: u32) -> f64 {
        /// Below this, the rough estimate is exact enough.
        const SMALL: f64 = 1e-3;
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        if generations <= l {
            return 1.0;
        }
        if generations >= k + l {
            return rate;
        }
        let missing = match self.rough_run(load, l, generations - l) {
            rough if rough < SMALL || rate > USELESS_RATE => rough,
            _ => self.runs.expected_run(load, l, generations - l, NEGLIGIBLE_PER_RATE * SMALL),
        };
        self.reported_if(missing, rate, generations)
    }

    /// The same, from the probability that the missing segments match.
    fn reported_if(&self, missing: f64, rate: f64, generations: u32) -> f64 {
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        let younger = rate * f64::from(generations.saturating_sub(k)) / f64::from(l + 1);
        missing + younger - missing * younger
    }

    /// The generations that are reported beyond the window; see [`Profile::weighted_slack`](super::Profile).
    pub(crate) fn weighted_slack(&self, load: f64, rate: f64) -> f64 {
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        let between = (l + 1..l + k).map(|generations| self.reporting_probability(load, rate, generations));
        self.runs.phase() + between.sum::<f64>() + (1.0 - self.runs.phase()) * rate
    }

    /// A rough false positive rate, good enough to separate good shapes from bad ones, and fast: the load
    /// that it allows is up to 3% too low.
    pub(crate) fn rough_rate(&self, load: f64) -> f64 {
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        let begins_at = |age: u32| match age {
            0 => self.rough_run(load, 0, k),
            _ => (self.rough_run(load, age, k) - self.rough_run(load, age, k + 1)).max(0.0),
        };
        // Runs that begin at age k or later are alike. Younger ones are ever less likely.
        let mut runs = f64::from((l + 1).saturating_sub(k)) * begins_at(l);
        for age in (0..k.min(l + 1)).rev() {
            let younger = begins_at(age);
            runs += younger;
            if younger < 0.02 * runs {
                break;
            }
        }
        self.rate_with(runs).min(1.0)
    }

    /// A rough value of the generations that are reported beyond the window, just before a shift.
    pub(crate) fn rough_slack(&self, load: f64, rate: f64) -> f64 {
        let (k, l) = (self.shape().required_matches, self.shape().window_generations);
        let mut missing = 1.0;
        let between = (1..k).map(|generations| {
            // The rest is negligible.
            if missing > 1e-4 {
                missing = self.rough_run(load, l, generations);
            }
            self.reported_if(missing, rate, l + generations)
        });
        1.0 + between.sum::<f64>()
    }

    /// The probability that all segments of some ages match, roughly: as if all of them had the average number
    /// of their items.
    ///
    /// An item counts for the average as often as there are segments that hold it. The average's variance is
    /// `variance` times its mean, so it is about that many times a Poisson variable.
    fn rough_run(&self, load: f64, first: u32, length: u32) -> f64 {
        let k = self.shape().required_matches;
        let (mut sum, mut squares) = (0.0, 0.0);
        for generation in (first + 1).saturating_sub(k)..first + length {
            let holding = (first + length).min(generation + k) - first.max(generation);
            let share = f64::from(holding) / f64::from(length);
            let items = if generation == 0 { self.runs.phase() } else { 1.0 };
            sum += items * share;
            squares += items * share * share;
        }
        let variance = squares / sum;
        let law = CellLoad::new(load * sum / variance, f64::INFINITY);
        block_mixture(law, pow(MISSED, variance), self.parts() * length)
    }
}

/// The probability that one item of a row leaves a given bit of a part unset.
const MISSED: f64 = 1.0 - 1.0 / PART_BITS as f64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cells, match_probability};
    use libm::sqrt;

    fn shape(k: u32, l: u32, row_bytes: u32, parts: u32) -> Shape {
        Shape { required_matches: k, window_generations: l, segment: Segment::Rows { row_bytes, parts } }
    }

    #[test]
    fn rates_grow_with_the_load_up_to_certainty() {
        for (k, l, row_bytes, parts) in
            [(5, 10, 64, 2), (56, 7, 128, 1), (1, 30, 64, 1), (1, 1, 64, 15), (2, 8, 128, 6)]
        {
            let model = RowModel::new(&shape(k, l, row_bytes, parts), 1.0, f64::INFINITY);
            let loads = core::iter::successors(Some(0.05), |load| Some(load * 1.5)).take(100);
            let mut before = 0.0;
            for load in loads {
                let rate = model.rate(load);
                assert!(
                    rate >= before - 1e-12 && rate <= 1.0,
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
            let model = RowModel::new(&shape, phase, f64::INFINITY);
            for (age, load) in [(0, 3.0 * phase), (1, 3.0), (6, 3.0)] {
                let expected = match_probability(&shape.segment, load, Cells::Many);
                let got = model.runs.expected_run(3.0, age, 1, NEGLIGIBLE);
                assert!((got / expected - 1.0).abs() < 1e-9, "age {age} phase {phase}: {got} {expected}");
                let rough = model.rough_run(3.0, age, 1);
                assert!((rough / expected - 1.0).abs() < 1e-9, "age {age} phase {phase}: {rough} {expected}");
            }
        }
    }

    /// The planner skips shapes by their rough rate.
    #[test]
    fn rough_rates_allow_nearly_the_same_load() {
        for (k, l, row_bytes, parts, load) in [
            (5, 10, 64, 2, 1.3),
            (3, 7, 64, 3, 1.9),
            (2, 8, 128, 6, 4.0),
            (11, 20, 64, 1, 0.7),
            (20, 11, 64, 1, 0.3),
            (17, 46, 128, 1, 0.2),
        ] {
            let model = RowModel::new(&shape(k, l, row_bytes, parts), 1.0, f64::INFINITY);
            let exact = model.rate(load);
            let rough = |load: f64| model.rough_rate(load);
            assert!(rough(load * 1.03) > exact && rough(load * 0.95) < exact, "k={k} l={l}");
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
        let k = model.shape().required_matches as usize;
        let segments = model.shape().segments() as usize;
        for _ in 0..rounds {
            // All rows are equivalent: simulate only the first.
            let mut throw = |items: f64| {
                let hits = (0..items as u32).filter(|_| random(&mut state).is_multiple_of(rows));
                hits.count()
            };
            let items = |generation| if generation == 0 { model.runs.phase() } else { 1.0 };
            let generations: Vec<usize> = (0..segments)
                .map(|generation| throw(model.runs.items_per_generation() * items(generation)))
                .collect();
            let items_of = |age: usize| generations[(age + 1).saturating_sub(k)..=age].iter().sum();
            let mut matches: Vec<f64> =
                (0..segments).map(|age| model.runs.match_probability(items_of(age))).collect();
            if let Some(own) = own {
                matches[own..].fill(1.0);
            }
            let chance = run_probability(k as u32, matches);
            sum += chance;
            squares += chance * chance;
        }
        let rounds = f64::from(rounds);
        let (mean, ln) = (sum / rounds, libm::log(2e6));
        let variance = (squares - sum * mean) / (rounds - 1.0);
        (mean, sqrt(2.0 * variance * ln / rounds) + 7.0 * ln / (3.0 * (rounds - 1.0)))
    }

    /// Agrees within the bound of the simulation and the stated accuracy. The slack is an upper bound.
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
                let model = RowModel::new(&shape, phase, items_per_generation);
                let (measured, bound) = simulated(&model, rows, None, 300_000);
                let rate = model.rate(load);
                assert!(
                    (rate - measured).abs() < bound + 0.02 * rate,
                    "{shape} {rows} rows phase {phase}: {rate}, not {measured} +- {bound}"
                );
                for generation in l + 1..k + l {
                    let (measured, bound) = simulated(&model, rows, Some(generation as usize), 100_000);
                    let reported = model.reporting_probability(load, rate, generation);
                    assert!(
                        reported > measured - bound && reported < measured * 1.1 + bound,
                        "{shape} {rows} rows phase {phase} generation {generation}: {reported}, not {measured}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_single_row_has_every_item() {
        let model = RowModel::new(&shape(3, 5, 64, 2), 1.0, 4.0);
        let items = [4, 8, 12, 12, 12, 12, 12, 12];
        let expected = run_probability(3, items.map(|items| model.runs.match_probability(items)));
        for load in [4.0, 4.5] {
            let rate = model.rate(load);
            assert!((rate / expected - 1.0).abs() < 0.02, "{rate} {expected}");
        }
    }

    #[test]
    fn many_rows_are_the_limit_of_a_finite_number() {
        for (k, l, row_bytes, parts, load) in [(5, 10, 64, 2, 1.3), (2, 8, 128, 6, 4.0), (1, 9, 128, 6, 3.0)]
        {
            let shape = shape(k, l, row_bytes, parts);
            let rate = |items| RowModel::new(&shape, 1.0, items).rate(load);
            let limit = rate(f64::INFINITY);
            // Loads of few rows vary less, by 1/rows, and the limit is approached at the same speed.
            let [few, more] = [1e3, 1e4].map(|items| 1.0 - rate(items) / limit);
            assert!(few > 0.0 && (5.0..15.0).contains(&(few / more)), "{shape}: {few} {more}");
            assert!((rate(1e10) / limit - 1.0).abs() < 1e-7, "{shape}");
        }
    }
}
