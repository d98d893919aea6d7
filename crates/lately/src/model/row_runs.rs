//! The exact expectation of a run of matches in a row of segments that share their load.
//!
//! Segments of the ages j to j + m - 1, m <= k, overlap in generations: the next older segment lacks the newest generation
//! of the one before, on the left, and has one more on the right,
//!
//! ```text
//! generations   j-k+1 ...    ... j ...    ... j+m-1
//! age j         |  left  | common |
//! age j+1          | left| common | right |
//! age j+m-1              | common |   right  |
//! ```
//! so the items of a segment are L + R: L, what is still there of the left part, and R, the common part and what has come
//! on the right. Both change by one generation at a time: of L's items each belongs to the generation that is dropped with
//! equal chance, and R gains a Poisson number. The expected product of match probabilities is a sum over the paths of
//! (L, R), step by step.

use alloc::vec;
use alloc::vec::Vec;

use libm::{exp, log1p, sqrt};

/// Rows at one moment.
pub(super) struct RowRuns<'a> {
    /// k.
    pub(super) required_matches: u32,
    /// Items per row in a complete generation.
    pub(super) load: f64,
    /// The share of the newest generation that is complete.
    pub(super) phase: f64,
    /// Probability of matching a segment by the number of its items.
    pub(super) match_probability: &'a dyn Fn(u32) -> f64,
}

impl RowRuns<'_> {
    /// Expected number of maximal runs of at least k matching segments, among ages 0 to l + k - 1.
    pub(super) fn expected_maximal_runs(&self, window_generations: u32) -> f64 {
        let k = self.required_matches;
        // From age k + 1 on, no segment of the run or beside it has anything of the incomplete generation 0.
        let steady = (k + 1).min(window_generations);
        let young: f64 = (0..steady).map(|age| self.expected_run(age, k, true)).sum();
        young + f64::from(window_generations + 1 - steady) * self.expected_run(steady, k, true)
    }

    /// The probability that the segments of ages `first` to `first + length - 1` all match, and if `is_maximal` that
    /// the next younger one (which has k generations in common with the run's left part only if `length` is k) does not.
    pub(super) fn expected_run(&self, first: u32, length: u32, is_maximal: bool) -> f64 {
        let k = self.required_matches;
        let (first, length, k) = (i64::from(first), i64::from(length), i64::from(k));
        let common = (first + length - k).max(0)..=first;
        let left = (first - k + 1).max(0)..(first + length - k).max(0);
        let weight_of = |generation: i64| if generation == 0 { self.phase } else { 1.0 };
        let load_of =
            |generations: &mut dyn Iterator<Item = i64>| self.load * generations.map(weight_of).sum::<f64>();

        let left_load = load_of(&mut left.clone());
        let right_load = self.load * (length - 1) as f64;
        let common_load = load_of(&mut common.clone());
        let (left_most, right_most) = (most(left_load), most(common_load + right_load));
        let matches: Vec<f64> = (0..=(left_most + right_most) as u32).map(self.match_probability).collect();

        // paths[l][r]: the probability of having come to L = l and R = r with all segments so far matching.
        let left_weights = poisson(left_load, left_most);
        let right_weights = poisson(common_load, right_most);
        let newer = (is_maximal && first > 0).then(|| {
            let load = if first >= k { self.load * weight_of(first - k) } else { 0.0 };
            let weights = poisson(load, most(load));
            let match_of = |l: usize| (self.match_probability)(l as u32);
            (0..=left_most)
                .map(|l| 1.0 - weights.iter().enumerate().map(|(a, w)| w * match_of(l + a)).sum::<f64>())
                .collect::<Vec<f64>>()
        });
        let mut paths: Vec<Vec<f64>> = (0..=left_most)
            .map(|l| {
                let weight = left_weights[l] * newer.as_ref().map_or(1.0, |newer| newer[l]);
                (0..=right_most).map(|r| weight * right_weights[r] * matches[l + r]).collect()
            })
            .collect();

        let mut weight_left: f64 = left.clone().map(weight_of).sum();
        let gained = poisson(self.load, most(self.load));
        for age in first..first + length - 1 {
            let dropped = age - k + 1;
            if left.contains(&dropped) {
                drop_generation(&mut paths, (weight_of(dropped) / weight_left).min(1.0));
                weight_left -= weight_of(dropped);
            }
            for (l, of_left) in paths.iter_mut().enumerate() {
                gain_generation(of_left, &gained);
                of_left.iter_mut().enumerate().for_each(|(r, path)| *path *= matches[l + r]);
            }
        }
        paths.iter().flatten().sum()
    }
}

/// More items than a Poisson number of this mean ever counts.
fn most(mean: f64) -> usize {
    (mean + 8.0 * sqrt(mean) + 8.0) as usize
}

fn poisson(mean: f64, most: usize) -> Vec<f64> {
    let mut weight = exp(-mean);
    (1..=most + 1)
        .map(|next| {
            let this = weight;
            weight *= mean / next as f64;
            this
        })
        .collect()
}

/// Each item of L stays with the same chance.
fn drop_generation(paths: &mut Vec<Vec<f64>>, share: f64) {
    let width = paths[0].len();
    let mut after = vec![vec![0.0; width]; paths.len()];
    for (l, of_left) in paths.iter().enumerate() {
        // P(d of l are dropped), from d = 0 up.
        let mut weight = if share < 1.0 { exp(l as f64 * log1p(-share)) } else { 0.0 };
        for d in 0..=l {
            if share >= 1.0 {
                weight = if d == l { 1.0 } else { 0.0 };
            }
            after[l - d].iter_mut().zip(of_left).for_each(|(after, path)| *after += weight * path);
            weight *= (l - d) as f64 / (d + 1) as f64 * (share / (1.0 - share));
        }
    }
    *paths = after;
}

/// R gains a Poisson number of items; what would exceed the table is negligible and dropped.
///
/// For each number gained, all of R at once: the sums are those of a loop over R, in the same order, by vectors.
fn gain_generation(of_left: &mut Vec<f64>, gained: &[f64]) {
    let mut after = vec![0.0; of_left.len()];
    for (gain, weight) in gained.iter().enumerate().take(of_left.len()) {
        after[gain..].iter_mut().zip(&*of_left).for_each(|(after, path)| *after += weight * path);
    }
    *of_left = after;
}
