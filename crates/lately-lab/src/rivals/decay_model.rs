//! A model of cells that inserts raise and that are lowered at random. It is used to choose the parameters of
//! all bit-decaying filters and of the stable Bloom filter.
//!
//! These filters trade false negatives against false positives, and their sources leave the balance to the
//! user. Our rule for all of them is the lowest cost: the rate of strangers reported, plus the mean share of
//! the window that is forgotten, both as expected in the steady state.

/// A cell with values from 0 to `top`. Each insert raises it to `top` with probability `raise`, and lowers it
/// by one with probability `lower`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) top: u32,
    pub(super) raise: f64,
    pub(super) lower: f64,
}

impl Cell {
    /// Returns the share of cells above zero after a long time: those not lowered `top` times since they were
    /// last raised.
    pub(super) fn fill(self) -> f64 {
        1.0 - self.settled_at_zero()
    }

    /// Returns the probability that a cell is above zero `age` inserts after it was at `top`.
    ///
    /// A cell is at zero if it was lowered `top` times in a row, without being raised in between or since.
    /// Looking back from now, events come at the rate raise + lower; the first `top` of them must be within
    /// `age`, and each of them must be a lowering.
    pub(super) fn survival(self, age: f64) -> f64 {
        1.0 - self.settled_at_zero() * poisson_at_least(self.top, (self.raise + self.lower) * age)
    }

    fn settled_at_zero(self) -> f64 {
        (self.lower / (self.lower + self.raise)).powf(f64::from(self.top))
    }
}

/// Returns the probability of `count` events or more if `mean` are expected.
fn poisson_at_least(count: u32, mean: f64) -> f64 {
    let exactly = std::iter::successors(Some((1, (-mean).exp())), |&(i, term)| {
        Some((i + 1, term * mean / f64::from(i)))
    });
    let fewer: f64 = exactly.take(count as usize).map(|(_, term)| term).sum();
    (1.0 - fewer).max(0.0)
}

/// The rates that are expected from a choice of parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    pub(super) false_positive_rate: f64,
    pub(super) false_negative_rate: f64,
}

impl Outlook {
    /// `reported` is the probability that an item of that age is reported.
    pub(super) fn new(false_positive_rate: f64, window: u64, reported: impl Fn(f64) -> f64) -> Self {
        const AGES: u32 = 64;
        let age = |i: u32| (f64::from(i) + 0.5) / f64::from(AGES) * window as f64;
        let kept: f64 = (0..AGES).map(|i| reported(age(i))).sum();
        Self { false_positive_rate, false_negative_rate: 1.0 - kept / f64::from(AGES) }
    }

    fn cost(self) -> f64 {
        self.false_positive_rate + self.false_negative_rate
    }
}

/// Returns the choice with the lowest cost.
pub(super) fn best<P>(choices: impl Iterator<Item = P>, outlook: impl Fn(&P) -> Outlook) -> P {
    let costs = choices.map(|choice| (outlook(&choice).cost(), choice));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("at least one choice").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::Random;

    #[test]
    fn a_bit_decays_as_its_equation_predicts() {
        // dp/da = raise (1 - p) - lower p, from p = 1.
        let bit = Cell { top: 1, raise: 2e-4, lower: 3e-4 };
        assert!((bit.fill() - 0.4).abs() < 1e-12);
        for age in [0.0, 100.0, 3000.0, 50_000.0_f64] {
            let expected = 0.4 + 0.6 * (-5e-4 * age).exp();
            assert!((bit.survival(age) - expected).abs() < 1e-12, "age {age}: {}", bit.survival(age));
        }
    }

    #[test]
    fn a_counter_decays_like_a_simulated_one() {
        let cell = Cell { top: 3, raise: 0.01, lower: 0.05 };
        let mut random = Random::new(1);
        let survivors = (0..100_000).filter(|_| {
            let end = (0..60).fold(cell.top, |value, _| match random.unit() {
                chance if chance < cell.raise => cell.top,
                chance if chance < cell.raise + cell.lower => value.saturating_sub(1),
                _ => value,
            });
            end > 0
        });
        // Five deviations of the sample are 0.008; steps instead of continuous time add at most 0.01.
        let share = survivors.count() as f64 / 1e5;
        assert!((share - cell.survival(60.0)).abs() < 0.018, "{share}, {}", cell.survival(60.0));
    }

    #[test]
    fn a_cell_that_is_never_lowered_stays() {
        let cell = Cell { top: 7, raise: 1e-3, lower: 0.0 };
        assert!((cell.survival(1e5) - 1.0).abs() < 1e-12 && (cell.fill() - 1.0).abs() < 1e-12);
    }
}
