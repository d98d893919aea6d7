//! How cells fade that are raised by inserts and lowered at random: what the parameters of all bit-decaying filters, and of
//! the stable Bloom filter, are chosen by.
//!
//! These filters trade false negatives against false positives, and their sources leave the balance to the user. Our rule for
//! all of them: the least sum of the rate of strangers reported and of the mean share of the window that is forgotten, both
//! as expected in the steady state.

/// A cell with values from 0 to `top`. Each insert raises it to `top` with probability `raise`, and lowers it by one with
/// probability `lower`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) top: u32,
    pub(super) raise: f64,
    pub(super) lower: f64,
}

impl Cell {
    /// The share of cells above zero after a long time: those not lowered `top` times since they were last raised.
    pub(super) fn fill(self) -> f64 {
        1.0 - (self.lower / (self.lower + self.raise)).powf(f64::from(self.top))
    }

    /// The probability that a cell is above zero `age` inserts after it was at `top`: the chain's states, step by step.
    pub(super) fn survival(self, age: f64) -> f64 {
        // Short enough for the order of raising and lowering within a step not to matter.
        let steps = 32 + (age * (self.raise + self.lower) * 16.0) as u32;
        let step = age / f64::from(steps);
        // Shares moved within one step; exponentials keep them below one.
        let (raised, lowered) = (1.0 - (-self.raise * step).exp(), 1.0 - (-self.lower * step).exp());
        let top = self.top as usize;
        let mut shares = vec![0.0; top + 1];
        shares[top] = 1.0;
        for _ in 0..steps {
            for value in 1..=top {
                let moved = shares[value] * lowered;
                shares[value] -= moved;
                shares[value - 1] += moved;
            }
            for value in 0..top {
                let moved = shares[value] * raised;
                shares[value] -= moved;
                shares[top] += moved;
            }
        }
        1.0 - shares[0]
    }
}

/// What a choice of parameters would give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    false_positive_rate: f64,
    false_negative_rate: f64,
}

impl Outlook {
    /// `reported` is the probability that an item of that age is reported.
    pub(super) fn new(false_positive_rate: f64, window: u64, reported: impl Fn(f64) -> f64) -> Self {
        const AGES: u32 = 8;
        let age = |i: u32| (f64::from(i) + 0.5) / f64::from(AGES) * window as f64;
        let kept: f64 = (0..AGES).map(|i| reported(age(i))).sum();
        Self { false_positive_rate, false_negative_rate: 1.0 - kept / f64::from(AGES) }
    }

    fn cost(self) -> f64 {
        self.false_positive_rate + self.false_negative_rate
    }
}

/// The choice with the least cost.
pub(super) fn best<P>(choices: impl Iterator<Item = P>, outlook: impl Fn(&P) -> Outlook) -> P {
    let costs = choices.map(|choice| (outlook(&choice).cost(), choice));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("at least one choice").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_fades_as_its_equation_says() {
        // dp/da = raise (1 - p) - lower p, from p = 1.
        let bit = Cell { top: 1, raise: 2e-4, lower: 3e-4 };
        assert!((bit.fill() - 0.4).abs() < 1e-12);
        for age in [0.0, 100.0, 3000.0, 50_000.0_f64] {
            let expected = 0.4 + 0.6 * (-5e-4 * age).exp();
            assert!(
                (bit.survival(age) - expected).abs() < 0.02,
                "age {age}: {} {expected}",
                bit.survival(age)
            );
        }
    }

    #[test]
    fn a_cell_that_is_never_lowered_stays() {
        let cell = Cell { top: 7, raise: 1e-3, lower: 0.0 };
        assert!((cell.survival(1e5) - 1.0).abs() < 1e-12 && (cell.fill() - 1.0).abs() < 1e-12);
    }
}
