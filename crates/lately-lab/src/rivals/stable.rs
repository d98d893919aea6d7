//! Stable Bloom filter: Deng, Rafiei, *Approximately Detecting Duplicates for Streaming Data using Stable
//! Bloom Filters*, 2006 (the paper's `DengR06`).
//!
//! Cells have d bits. Each insert lowers P consecutive cells, from a random place on, by one, and sets the
//! item's K cells to the largest value. An item is reported if none of its cells is zero. After a while the
//! share of zeros is stable, and so is the rate. False negatives happen, and the age at which an item is lost
//! is not controlled.
//!
//! Parameters: d, K and P with the lowest cost of [`decay_model`](super::decay_model).

use super::decay_model::{Cell, Outlook, best};
use super::pieces::{Packed, Random, position};
use super::{Budget, Rival};

pub(super) struct Stable {
    cells: Packed,
    hashes: u32,
    lowered: u32,
    random: Random,
}

impl Stable {
    pub(super) fn new(budget: Budget) -> Option<Self> {
        let choices = (1..=4).flat_map(|width| {
            let lowered = [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128];
            (1..=12).flat_map(move |hashes| lowered.map(move |lowered| (width, hashes, lowered)))
        });
        let (width, hashes, lowered) =
            best(choices, |&(width, hashes, lowered)| outlook(budget, width, hashes, lowered));
        let cells = Packed::fitting(budget.memory_bits, width)?;
        Some(Self { cells, hashes, lowered, random: Random::new(4) })
    }

    fn top(&self) -> u64 {
        (1 << self.cells.width()) - 1
    }
}

fn outlook(budget: Budget, width: u32, hashes: u32, lowered: u32) -> Outlook {
    let cells = budget.memory_bits as f64 / f64::from(width);
    let cell =
        Cell { top: (1 << width) - 1, raise: f64::from(hashes) / cells, lower: f64::from(lowered) / cells };
    let all = |share: f64| share.powf(f64::from(hashes));
    Outlook::new(all(cell.fill()), budget.window, |age| all(cell.survival(age)))
}

impl Rival for Stable {
    fn insert(&mut self, hash: u64) {
        let first = self.random.below(self.cells.len());
        let beyond = first + self.lowered as usize;
        self.cells.decrement_all(first..beyond.min(self.cells.len()));
        // The first cell follows the last.
        self.cells.decrement_all(0..beyond.saturating_sub(self.cells.len()));
        for i in 0..self.hashes {
            self.cells.set(position(hash, i, self.cells.len()), self.top());
        }
    }

    fn contains(&self, hash: u64) -> bool {
        (0..self.hashes).all(|i| self.cells.get(position(hash, i, self.cells.len())) > 0)
    }

    fn memory_bits(&self) -> u64 {
        self.cells.memory_bits()
    }

    fn parameters(&self) -> String {
        format!("d={} K={} P={}", self.cells.width(), self.hashes, self.lowered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::hash_of;
    use crate::rivals::testing::{
        BUDGET, assert_behaves_as, assert_forgets_after, forgotten_in_window, strangers_reported,
    };

    #[test]
    fn its_rates_are_those_that_the_choice_of_parameters_assumed() {
        let mut filter = Stable::new(BUDGET).expect("fits");
        let outlook = outlook(BUDGET, filter.cells.width(), filter.hashes, filter.lowered);
        assert_behaves_as(outlook, &mut filter);
    }

    #[test]
    fn recent_items_may_be_lost() {
        let lost = forgotten_in_window(&mut Stable::new(BUDGET).expect("fits"));
        assert!((0.001..0.4).contains(&lost), "{lost}");
    }

    #[test]
    fn the_share_of_zeros_and_the_rate_are_stable_and_follow_their_formulas() {
        let mut filter = Stable::new(BUDGET).expect("fits");
        let mut key = 0;
        for _ in 0..2 {
            (key..key + 60 * BUDGET.window).for_each(|key| filter.insert(hash_of(key)));
            key += 60 * BUDGET.window;
            // 1 / (1 + 1 / (P (1/K - 1/m)))^Max, the stable share of zeros.
            let (p, k, m) = (f64::from(filter.lowered), f64::from(filter.hashes), filter.cells.len() as f64);
            let zeros = (1.0 + 1.0 / (p * (1.0 / k - 1.0 / m))).powf(-(filter.top() as f64));
            let found = (0..filter.cells.len()).filter(|&i| filter.cells.get(i) == 0).count() as f64 / m;
            assert!((found / zeros - 1.0).abs() < 0.05, "{found}, expected {zeros}");
            let rate = strangers_reported(&filter, 100_000) as f64 / 1e5;
            let expected = (1.0 - zeros).powf(f64::from(filter.hashes));
            assert!((rate / expected - 1.0).abs() < 0.25, "{rate}, expected {expected}");
        }
    }

    #[test]
    fn very_old_items_are_forgotten() {
        assert_forgets_after(&mut Stable::new(BUDGET).expect("fits"), 50 * BUDGET.window);
    }
}
