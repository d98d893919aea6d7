//! How many items fall into one cell, and to which generation they belong.
//!
//! Each of N items falls into a given cell with the same probability: Binomial(N, mean / N), or Poisson(mean)
//! in the limit. Both have the same ratio of successive probabilities,
//!
//! ```text
//! P(j + 1) / P(j) = mean (1 - j / N) / ((j + 1) (1 - mean / N))
//! ```
//! so N may be infinite, and the limit of many items needs no separate code. In the same way, the items of a
//! cell are drawn from all items of some generations. How many of them belong to one generation follows the
//! hypergeometric distribution, or the binomial one in the limit. Here the unit is a generation, and an item
//! is 1/g of one, or 0.

use alloc::vec;
use alloc::vec::Vec;

use libm::{floor, round};

/// Relative to the most likely value, probabilities below this are negligible.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// The distribution of a cell's load.
#[derive(Clone, Copy)]
pub(super) struct CellLoad {
    mean: f64,
    items: f64,
    /// mean / (1 - mean / items).
    odds: f64,
    /// 1 / items.
    per_item: f64,
}

impl CellLoad {
    /// `mean` items are expected in the cell, of `items` in all cells; `items` is infinite in the limit of
    /// many cells.
    pub(super) fn new(mean: f64, items: f64) -> Self {
        let per_item = 1.0 / items;
        Self { mean, items, odds: mean / (1.0 - mean * per_item), per_item }
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns true if every item is in this cell, because it is the only one.
    pub(super) fn is_certain(&self) -> bool {
        self.mean >= self.items
    }

    /// P(j + 1) / P(j), for a distribution that is not certain.
    pub(super) fn step(&self, j: f64) -> f64 {
        self.odds * (1.0 - j * self.per_item).max(0.0) / (j + 1.0)
    }

    /// P(j - 1) / P(j), for a distribution that is not certain and a possible j.
    pub(super) fn step_back(&self, j: f64) -> f64 {
        j / (self.odds * (1.0 - (j - 1.0) * self.per_item))
    }

    /// The probabilities of all loads from 0 to the largest that is not negligible, where probabilities below
    /// `negligible` times that of the most likely load are.
    pub(super) fn probabilities(&self, negligible: f64) -> Vec<f64> {
        if self.mean <= 0.0 {
            return vec![1.0];
        }
        if self.is_certain() {
            let mut all = vec![0.0; round(self.items) as usize];
            all.push(1.0);
            return all;
        }
        // Outwards from the mode until negligible, then divided by the sum.
        let mode = floor(self.mean);
        let (mut weight, mut j) = (1.0, mode);
        let mut probabilities = Vec::new();
        while j > 0.0 && weight > negligible {
            weight *= self.step_back(j);
            j -= 1.0;
            probabilities.push(weight);
        }
        probabilities.resize(mode as usize, 0.0);
        probabilities.reverse();
        (weight, j) = (1.0, mode);
        while weight > negligible {
            probabilities.push(weight);
            weight *= self.step(j);
            j += 1.0;
        }
        let sum: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|probability| *probability /= sum);
        probabilities
    }
}

/// Items drawn from one generation and from others, all equally likely.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    /// The size of the generation, in generations.
    pub(super) own: f64,
    /// The size of the others together, in generations.
    pub(super) others: f64,
    /// The size of one item, in generations; 0 in the limit of many items per generation.
    pub(super) item: f64,
}

impl Drawn {
    /// The distributions for 0 to `count` - 1 items.
    pub(super) fn laws(&self, count: usize) -> Vec<Vec<f64>> {
        let next = |law: &Vec<f64>| {
            let mut law = law.clone();
            self.draw_one_more(&mut law);
            Some(law)
        };
        core::iter::successors(Some(vec![1.0]), next).take(count).collect()
    }

    /// Turns the distribution for some number of items, P(X = 0), P(X = 1), ..., into that for one more item,
    /// which belongs to the generation or does not.
    pub(super) fn draw_one_more(&self, law: &mut Vec<f64>) {
        let drawn = law.len() - 1;
        let left = self.own + self.others - drawn as f64 * self.item;
        if left <= self.item * 0.5 {
            // All items have been drawn: the result is not used.
            law.push(0.0);
            return;
        }
        law.push(0.0);
        for own in (0..=drawn).rev() {
            let of_others = (self.others - (drawn - own) as f64 * self.item).max(0.0);
            law[own + 1] += law[own] * (1.0 - of_others / left).max(0.0);
            law[own] *= of_others / left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum, mean and variance of a distribution that begins with P(X = 0).
    fn moments(law: &[f64]) -> (f64, f64, f64) {
        let sum_of =
            |of: &dyn Fn(f64) -> f64| law.iter().enumerate().map(|(x, p)| p * of(x as f64)).sum::<f64>();
        let mean = sum_of(&|x| x);
        (sum_of(&|_| 1.0), mean, sum_of(&|x| (x - mean) * (x - mean)))
    }

    #[track_caller]
    fn assert_close(got: f64, expected: f64, what: &str) {
        assert!(
            (got - expected).abs() <= 1e-11 * expected.abs().max(1.0),
            "{what}: {got}, expected {expected}"
        );
    }

    #[test]
    fn loads_have_the_mean_and_the_variance_of_their_distribution() {
        for mean in [0.001, 0.7, 3.0, 41.5] {
            for cells in [1.0, 2.0, 7.0, 1_000.0, f64::INFINITY] {
                let items: f64 = if cells < 1e9 { (mean * cells).ceil() } else { f64::INFINITY };
                let mean = if cells < 1e9 { items / cells } else { mean };
                let (sum, got_mean, got_variance) =
                    moments(&CellLoad::new(mean, items).probabilities(NEGLIGIBLE));
                let what = alloc::format!("{items} items in {cells} cells");
                assert_close(sum, 1.0, &what);
                assert_close(got_mean, mean, &what);
                assert_close(got_variance, mean * (1.0 - 1.0 / cells), &what);
            }
        }
    }

    #[test]
    fn many_cells_are_the_limit_of_loads() {
        let law = |items| CellLoad::new(5.0, items).probabilities(NEGLIGIBLE);
        let poisson = law(f64::INFINITY);
        let mut before = f64::INFINITY;
        for items in [1e2, 1e4, 1e6, 1e8] {
            let distance: f64 = poisson.iter().zip(law(items)).map(|(a, b)| (a - b).abs()).sum();
            // Proportional to the probability that an item is in the cell (Le Cam).
            assert!(distance < 2.0 * 5.0 / items * 5.0 && distance < before / 50.0, "{items}: {distance}");
            before = distance;
        }
    }

    /// Generations of 1 to 20 items and of very many: drawing one by one gives the moments of the
    /// hypergeometric distribution.
    #[test]
    fn drawn_items_have_the_mean_and_the_variance_of_their_distribution() {
        for (items_per_generation, others) in
            [(1.0, 5.0), (4.0, 1.0), (20.0, 2.0), (20.0, 9.0), (f64::INFINITY, 3.0)]
        {
            let drawn = Drawn { own: 1.0, others, item: 1.0 / items_per_generation };
            let all = items_per_generation * (1.0 + others);
            let share = 1.0 / (1.0 + others);
            let mut law = vec![1.0];
            for items in 1..=all.min(40.0) as usize {
                drawn.draw_one_more(&mut law);
                let draws = items as f64;
                let scatter = if all.is_finite() { (all - draws) / (all - 1.0) } else { 1.0 };
                let (sum, mean, variance) = moments(&law);
                let what = alloc::format!("{items} of {all}");
                assert_close(sum, 1.0, &what);
                assert_close(mean, draws * share, &what);
                assert_close(variance, draws * share * (1.0 - share) * scatter, &what);
            }
        }
    }
}
