//! Ways to spread a row's items over generations.
//!
//! A row holds S ~ Binomial((k + l) * g, 1/rows) items. Given S, they are drawn evenly from all generations,
//! which depends on neither k nor the number of rows. So spreads are computed for a grid of S, and weighted
//! by the load. They are fixed and evenly distributed; there is no random seed.

use alloc::vec::Vec;
use core::iter::successors;

use libm::floor;

use super::cell_load::Drawn;
use crate::shape::MOST_PARTS_IN_ROW;

/// Beyond this many items, every generation simply gets an equal share.
const MANY: u32 = 600;

/// The resolution of the spreads.
#[derive(Clone, Copy)]
pub(super) struct Precision {
    /// Values of S in the range where rows are useful.
    pub(super) totals: u32,
    /// Ways to spread each S.
    pub(super) spreads: u32,
}

/// Some ways to spread S items.
pub(crate) struct Spreads {
    pub(super) total: u32,
    /// The items of each generation, newest first, one spread after the other.
    pub(super) loads: Vec<u32>,
}

/// The generations of a row.
#[derive(Clone, Copy)]
pub(super) struct Generations {
    pub(super) count: u32,
    /// The completed share of the newest generation.
    pub(super) phase: f64,
    /// The size of one item, in generations; 0 in the limit of many items per generation.
    pub(super) item: f64,
}

impl Generations {
    /// Values of S are spaced evenly over the useful range, then in growing steps up to all items.
    pub(super) fn spread(self, useful: u32, all: u32, precision: Precision) -> impl Iterator<Item = Spreads> {
        let step = (useful / precision.totals).max(1);
        let totals = successors(Some(0), move |&total: &u32| {
            let next = total + if total < useful { step } else { total / 4 };
            (total < all).then(|| next.min(all))
        });
        totals.zip(0..).map(move |(total, node)| {
            let points = node * precision.spreads..(node + 1) * precision.spreads;
            let mut loads = Vec::with_capacity((precision.spreads * self.count) as usize);
            points.for_each(|point| self.spread_one(total, point, &mut loads));
            Spreads { total, loads }
        })
    }

    /// Goes generation by generation: the remaining items are drawn from this generation and from those after
    /// it. The points are multiples of irrational numbers, which fill the unit cube evenly.
    fn spread_one(&self, total: u32, point: u32, loads: &mut Vec<u32>) {
        if total > MANY {
            loads.extend((0..self.count).map(|_| total / self.count));
            return;
        }
        let mut left = total;
        let mut others = f64::from(self.count) - 1.0 + self.phase;
        for generation in 0..self.count {
            let own = if generation == 0 { self.phase } else { 1.0 };
            others -= own;
            let uniform = (f64::from(point) + 0.5) * IRRATIONALS[generation as usize];
            let items = if generation + 1 == self.count {
                left
            } else {
                Drawn { own, others, item: self.item }.quantile(left, uniform - floor(uniform))
            };
            left -= items;
            loads.push(items);
        }
    }
}

/// Square roots of the first 63 primes.
static IRRATIONALS: [f64; MOST_PARTS_IN_ROW] = {
    const PRIMES: [u32; MOST_PARTS_IN_ROW] = [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101,
        103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199,
        211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307,
    ];
    let mut roots = [0.0; MOST_PARTS_IN_ROW];
    let mut i = 0;
    while i < MOST_PARTS_IN_ROW {
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

    #[test]
    fn generations_share_the_items_evenly() {
        let generations = Generations { count: 10, phase: 1.0, item: 0.0 };
        let mut sums = [0; 10];
        for point in 0..1_000 {
            let mut loads = Vec::new();
            generations.spread_one(50, point, &mut loads);
            assert_eq!(loads.iter().sum::<u32>(), 50);
            sums.iter_mut().zip(&loads).for_each(|(sum, load)| *sum += load);
        }
        assert!(sums.iter().all(|&sum| (4_900..5_100).contains(&sum)), "{sums:?}");
    }
}
