//! The exact expectation of runs of matches in a row, whose segments share their load.
//!
//! Segments of the ages j to j + m - 1, m <= k, overlap in generations. Each next older segment loses the
//! newest generation of the one before, on the left, and gains one on the right,
//!
//! ```text
//! generations   j-k+1 ...    ... j ...    ... j+m-1
//! age j         |  left  | common |
//! age j+1          | left| common | right |
//! age j+m-1              | common |   right  |
//! ```
//! so the number of items of a segment is L + R: L are the remaining items of the left part, R those of the
//! common part and of the generations gained on the right. Both change by one generation at a time. Each of
//! L's items belongs to the dropped generation with equal probability, and R gains the items that fall into
//! the row in one generation. The expected product of match probabilities is a sum over the paths of (L, R),
//! step by step.

use alloc::vec;
use alloc::vec::Vec;
use core::array;

use super::cell_load::{CellLoad, Drawn};
use super::segment::power;
use crate::shape::{PART_BITS, Segment, Shape};

/// The longest table of probabilities, in items per segment, unless a segment matches for certain with fewer.
const MOST_ITEMS: usize = 4_096;

/// Rows of a shape at one moment, for any number of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowRuns {
    shape: Shape,
    /// The completed share of the newest generation.
    phase: f64,
    /// Items in all rows per complete generation; infinite in the limit of many rows.
    items_per_generation: f64,
    /// Probability of matching a segment, by the number of its items; the last value also holds for more
    /// items.
    match_probability: Vec<f64>,
}

impl RowRuns {
    /// # Panics
    /// If the segments of the shape are not rows.
    pub(crate) fn new(shape: &Shape, phase: f64, items_per_generation: f64) -> Self {
        let Segment::Rows { parts, .. } = shape.segment else { panic!("{shape} is not of rows") };
        // Planning creates many of these, and beyond some hundred items the rest of a full table would be
        // ones.
        let (mut match_probability, mut unset) = (vec![0.0], 1.0);
        while match_probability.len() < MOST_ITEMS && unset > 1e-17 {
            unset *= 1.0 - 1.0 / f64::from(PART_BITS);
            match_probability.push(power(1.0 - unset, parts));
        }
        Self { shape: *shape, phase, items_per_generation, match_probability }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn phase(&self) -> f64 {
        self.phase
    }

    pub(crate) fn items_per_generation(&self) -> f64 {
        self.items_per_generation
    }

    pub(super) fn match_probability(&self, items: usize) -> f64 {
        self.match_probability[items.min(self.match_probability.len() - 1)]
    }

    /// Expected number of maximal runs of at least k matching segments, if a generation brings `load` items
    /// per row. The probability of a run is a little less.
    ///
    /// From some step on, every run drops the same generation in the same step as the runs that begin later.
    /// So their paths join:
    ///
    /// ```text
    /// begins at age 0      R gains in every step; there is no L
    /// at age 0 < j < k     R gains for k - 1 - j steps, the same for all j; generation 0 is dropped; then
    /// at age k or more     R gains and L loses a complete generation in every step
    /// ```
    ///
    /// Loads whose probability is below `negligible` are ignored.
    pub(super) fn expected_maximal_runs(&self, load: f64, negligible: f64) -> f64 {
        let (k, l) = (self.shape.required_matches, self.shape.window_generations);
        let law = |generations: f64| self.law(load, generations, negligible);
        let generations = |generations: u32| law(f64::from(generations));
        let (one, incomplete) = (generations(1), law(self.phase));
        let width = generations(k).len();
        let (left_of_steady, item) = (generations(k - 1), 1.0 / self.items_per_generation);

        // L of a run whose next younger segment, which has `more` additional items, does not match.
        let beside = |left: &[f64], more: &[f64]| -> Vec<f64> {
            let matches =
                |items| more.iter().enumerate().map(move |(a, p)| p * self.match_probability(items + a));
            left.iter().enumerate().map(|(items, p)| p * (1.0 - matches(items).sum::<f64>())).collect()
        };
        let mut begun = vec![0.0; left_of_steady.len()];
        if l >= k {
            let later = f64::from(l - k);
            let [at_k, beyond] = [&incomplete, &one].map(|more| beside(&left_of_steady, more));
            begun
                .iter_mut()
                .zip(at_k.iter().zip(beyond))
                .for_each(|(begun, (at_k, beyond))| *begun = at_k + later * beyond);
        }
        let mut steady = self.paths(&begun, &one, width);
        let mut young = self.paths(&vec![1.0; left_of_steady.len()], &one, width);
        let mut youngest = self.paths(&[1.0], &incomplete, width);
        for step in 1..k {
            // Complete generations that remain after this step.
            let others = f64::from(k - 1 - step);
            let left = law(others + self.phase);
            let left_after = law(others).len();
            let laws = Drawn { own: 1.0, others, item }.laws(steady.lefts().max(left.len()));
            steady.drop_generation(&laws, left_after);
            if k - step <= l {
                let mut joining = young.with_left(&beside(&left, &[1.0]));
                if self.phase >= 1.0 {
                    joining.drop_generation(&laws, left_after);
                } else {
                    let laws = Drawn { own: self.phase, others, item }.laws(joining.lefts());
                    joining.drop_generation(&laws, left_after);
                }
                steady.add(&joining);
            }
            // Later runs join with smaller L.
            young.keep_lefts(if step + 1 < k { law(others - 1.0 + self.phase).len() } else { 0 });
            let reach = generations(step + 1).len();
            for paths in [&mut steady, &mut young, &mut youngest] {
                self.gain_generation(paths, &one, reach);
            }
        }
        steady.sum() + youngest.sum()
    }

    /// The probability that the segments of ages `first` to `first + length - 1`, at most k + 1 of them, all
    /// match.
    pub(super) fn expected_run(&self, load: f64, first: u32, length: u32, negligible: f64) -> f64 {
        let law = |generations: f64| self.law(load, generations, negligible);
        let (first, length, k) =
            (i64::from(first), i64::from(length), i64::from(self.shape.required_matches));
        let weight_of = |generation: i64| if generation == 0 { self.phase } else { 1.0 };
        let left = (first - k + 1).max(0)..(first + length - k).max(0);
        let mut others: f64 = left.clone().map(weight_of).sum();
        let mut right: f64 = (left.end..=first).map(weight_of).sum();
        let width = law(right + (length - 1) as f64).len();
        let one = law(1.0);
        let mut paths = self.paths(&law(others), &law(right), width);
        for age in first + 1..first + length {
            let dropped = age - k;
            if left.contains(&dropped) {
                let own = weight_of(dropped);
                others = (others - own).max(0.0);
                let dropped = Drawn { own, others, item: 1.0 / self.items_per_generation };
                paths.drop_generation(&dropped.laws(paths.lefts()), law(others).len());
            }
            right += 1.0;
            self.gain_generation(&mut paths, &one, law(right).len());
        }
        paths.sum()
    }

    /// The distribution of the items that `generations` generations bring to a row.
    fn law(&self, load: f64, generations: f64, negligible: f64) -> Vec<f64> {
        let load = load.min(self.items_per_generation);
        CellLoad::new(load * generations, self.items_per_generation * generations).probabilities(negligible)
    }

    /// The paths after a first segment that matches.
    fn paths(&self, left: &[f64], right: &[f64], width: usize) -> Paths {
        let mut table = vec![0.0; left.len() * width];
        for (l, (of_left, weight)) in table.chunks_exact_mut(width).zip(left).enumerate() {
            for (r, (path, probability)) in of_left.iter_mut().zip(right).enumerate() {
                *path = weight * probability * self.match_probability(l + r);
            }
        }
        Paths { table, width, reach: right.len() }
    }

    /// R gains the items of one generation, and the next segment matches. Values of R from `reach` on are
    /// negligible.
    fn gain_generation(&self, paths: &mut Paths, gained: &[f64], reach: usize) {
        let lefts = paths.lefts();
        let matches: Vec<f64> = (0..lefts + reach).map(|items| self.match_probability(items)).collect();
        let reached = paths.reach.min(reach);
        // Zeros on both sides, so that all sums of a block have equally many terms.
        let mut before = vec![0.0; reached + 2 * (BLOCK - 1)];
        for (l, of_left) in paths.table.chunks_exact_mut(paths.width).enumerate() {
            let of_left = &mut of_left[..reach];
            before[BLOCK - 1..][..reached].copy_from_slice(&of_left[..reached]);
            of_left.fill(0.0);
            for (block, gained) in gained[..gained.len().min(reach)].chunks(BLOCK).enumerate() {
                let after = &mut of_left[block * BLOCK..];
                let len = after.len().min(reached + BLOCK - 1);
                let mut weights = [0.0; BLOCK];
                weights[..gained.len()].copy_from_slice(gained);
                let shifted = array::from_fn(|gain| &before[BLOCK - 1 - gain..][..len]);
                add_weighted(&mut after[..len], shifted, weights);
            }
            of_left.iter_mut().zip(&matches[l..]).for_each(|(path, matches)| *path *= matches);
        }
        paths.reach = reach;
    }
}

/// The number of weighted rows that are added in one pass. The sums are those of one row after the other.
const BLOCK: usize = 4;

/// Adds rows, each multiplied by its weight, to another row.
fn add_weighted(row: &mut [f64], others: [&[f64]; BLOCK], weights: [f64; BLOCK]) {
    let [a, b, c, d] = others.map(|other| &other[..row.len()]);
    let [of_a, of_b, of_c, of_d] = weights;
    for (i, sum) in row.iter_mut().enumerate() {
        *sum = *sum + of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i];
    }
}

/// The probability of having reached L = l and R = r with all segments so far matching, at index l * width +
/// r. R has not reached values from `reach` on.
struct Paths {
    table: Vec<f64>,
    width: usize,
    reach: usize,
}

impl Paths {
    fn sum(&self) -> f64 {
        self.table.iter().sum()
    }

    /// The same paths, each multiplied by the weight of its L; L beyond the weights is dropped.
    fn with_left(&self, weights: &[f64]) -> Self {
        let of_left = self.table.chunks_exact(self.width).zip(weights);
        let table =
            of_left.flat_map(|(of_left, weight)| of_left.iter().map(move |path| weight * path)).collect();
        Self { table, width: self.width, reach: self.reach }
    }

    fn add(&mut self, others: &Self) {
        self.table.iter_mut().zip(&others.table).for_each(|(path, other)| *path += other);
    }

    /// The number of values of L.
    fn lefts(&self) -> usize {
        self.table.len() / self.width
    }

    /// Forgets the paths with other L than the first ones.
    fn keep_lefts(&mut self, left: usize) {
        self.table.truncate(left * self.width);
    }

    /// L loses the items of the dropped generation, whose number has the law `laws[l]` if L is l. After that, values
    /// of L from `left` on are negligible.
    fn drop_generation(&mut self, laws: &[Vec<f64>], left: usize) {
        let lefts = self.lefts();
        for l in 0..left.min(lefts) {
            // Rows of larger L are still those from before.
            let (of_left, larger) = self.table[l * self.width..].split_at_mut(self.width);
            let of_left = &mut of_left[..self.reach];
            of_left.iter_mut().for_each(|path| *path *= laws[l][0]);
            let row = |dropped: usize| &larger[(dropped - 1) * self.width..][..self.reach];
            let mut dropped = 1;
            while dropped < lefts - l {
                let block = array::from_fn(|i| (dropped + i).min(lefts - l - 1));
                let weight =
                    |i: usize| if dropped + i < lefts - l { laws[l + block[i]][block[i]] } else { 0.0 };
                add_weighted(of_left, block.map(row), array::from_fn(weight));
                dropped += BLOCK;
            }
        }
        self.keep_lefts(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of maximal runs from plain runs: subtract those that the next younger segment extends, one
    /// age at a time.
    #[test]
    fn joined_paths_are_those_of_all_runs() {
        for (k, l, row_bytes, parts) in
            [(1, 6, 64, 4), (2, 1, 64, 3), (5, 10, 64, 2), (6, 3, 64, 2), (2, 8, 128, 6)]
        {
            let segment = Segment::Rows { row_bytes, parts };
            let shape = Shape { required_matches: k, window_generations: l, segment };
            for (phase, items, load) in
                [(1.0, f64::INFINITY, 2.0), (0.5, f64::INFINITY, 1.3), (1.0, 6.0, 2.0), (0.5, 12.0, 4.0)]
            {
                let runs = RowRuns::new(&shape, phase, items);
                let run = |first, length| runs.expected_run(load, first, length, 1e-18);
                let one_by_one: f64 =
                    run(0, k) + (1..=l).map(|age| run(age, k) - run(age - 1, k + 1)).sum::<f64>();
                let joined = runs.expected_maximal_runs(load, 1e-18);
                assert!(
                    (joined / one_by_one - 1.0).abs() < 1e-9,
                    "{shape} phase {phase}: {joined} {one_by_one}"
                );
            }
        }
    }
}
