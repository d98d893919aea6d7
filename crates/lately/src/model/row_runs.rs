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
//! equal chance, and R gains what falls into the row in one generation. The expected product of match probabilities is a
//! sum over the paths of (L, R), step by step.

use alloc::vec;
use alloc::vec::Vec;

use super::cell_load::{CellLoad, Drawn};

/// Rows at one moment.
pub(super) struct RowRuns<'a> {
    /// k.
    pub(super) required_matches: u32,
    /// Items per row in a complete generation.
    pub(super) load: f64,
    /// Items in all rows in a complete generation; infinite where rows are many.
    pub(super) items_per_generation: f64,
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
        let mut weight_left: f64 = left.clone().map(weight_of).sum();
        let weight_of_common: f64 = common.map(weight_of).sum();

        let left_law = self.law(weight_left);
        let common_law = self.law(weight_of_common);
        // As many as R may come to.
        let width = self.law(weight_of_common + (length - 1) as f64).len();
        let matches: Vec<f64> = (0..(left_law.len() + width) as u32).map(self.match_probability).collect();

        // paths[l * width + r]: the probability of having come to L = l and R = r with all segments so far matching.
        let mut paths = vec![0.0; left_law.len() * width];
        let newer = self.law(if is_maximal && first >= k { weight_of(first - k) } else { 0.0 });
        for (l, of_left) in paths.chunks_exact_mut(width).enumerate() {
            let newer_matches: f64 = newer
                .iter()
                .enumerate()
                .map(|(a, weight)| weight * (self.match_probability)((l + a) as u32))
                .sum();
            let weight = left_law[l] * if is_maximal && first > 0 { 1.0 - newer_matches } else { 1.0 };
            for (r, (path, common)) in of_left.iter_mut().zip(&common_law).enumerate() {
                *path = weight * common * matches[l + r];
            }
        }

        let gained = self.law(1.0);
        let mut before = vec![0.0; width];
        for age in first..first + length - 1 {
            let dropped = age - k + 1;
            if left.contains(&dropped) {
                let own = weight_of(dropped);
                weight_left -= own;
                let item = 1.0 / self.items_per_generation;
                drop_generation(&mut paths, width, Drawn { own, others: weight_left.max(0.0), item });
            }
            for (l, of_left) in paths.chunks_exact_mut(width).enumerate() {
                before.copy_from_slice(of_left);
                gain_generation(&before, of_left, &gained);
                of_left.iter_mut().zip(&matches[l..]).for_each(|(path, matches)| *path *= matches);
            }
        }
        paths.iter().sum()
    }

    /// The law of what so many generations bring to the row.
    fn law(&self, generations: f64) -> Vec<f64> {
        let items = self.items_per_generation * generations;
        CellLoad { mean: self.load * generations, items }.probabilities_from_zero()
    }
}

/// L loses the items that are of the dropped generation.
fn drop_generation(paths: &mut [f64], width: usize, dropped: Drawn) {
    let mut law = vec![1.0];
    for l in 0..paths.len() / width {
        // The paths of smaller L have lost theirs already, and gain what these lose.
        let (smaller, of_left) = paths.split_at_mut(l * width);
        let of_left = &mut of_left[..width];
        for (lost, probability) in law.iter().enumerate().skip(1) {
            let after = &mut smaller[(l - lost) * width..][..width];
            after.iter_mut().zip(&*of_left).for_each(|(after, path)| *after += probability * path);
        }
        of_left.iter_mut().for_each(|path| *path *= law[0]);
        dropped.draw_one_more(&mut law);
    }
}

/// R gains a generation's items; what would exceed the table is negligible and dropped.
///
/// For each number gained, all of R at once: the sums are those of a loop over R, in the same order, by vectors.
fn gain_generation(before: &[f64], after: &mut [f64], gained: &[f64]) {
    after.fill(0.0);
    for (gain, probability) in gained.iter().enumerate().take(before.len()) {
        after[gain..].iter_mut().zip(before).for_each(|(after, path)| *after += probability * path);
    }
}
