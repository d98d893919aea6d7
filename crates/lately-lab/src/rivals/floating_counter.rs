//! Floating Counter Bloom Filter (FCBF) with a queue of the window: Wang, Shen, *Approximately Detecting
//! Duplicates for Probabilistic Data Streams over Sliding Windows*, 2010 (the paper's `WangS10`, section 3.3
//! of the paper).
//!
//! Items come with an existential probability, and the filter reports the probability that an item is in the
//! window. The paper says only that the counters are floating-point numbers. We chose sums of -ln(1 - p) over
//! the arrivals: independent arrivals multiply their 1 - p, and what was added can be taken back when an item
//! leaves. The probability of an item follows from the least of its sums.
//!
//! The arrivals of a race are all alike, so we give each the probability 1 - 1/e. Its weight is one, and the
//! sums are exact. An item is reported if its probability is at least that of one arrival. Parameters:
//! numbers of 32 bits, the shortest that Rust has, and the rule of [`Queued`].

use super::queued::{Counters, Queued};

pub(super) type FloatingCounter = Queued<Floats>;

/// -ln(1 - p) of an arrival.
const WEIGHT: f32 = 1.0;

/// Sums of the weights of arrivals.
pub(super) struct Floats(Vec<f32>);

impl Counters for Floats {
    const BITS: f64 = 32.0;

    fn fitting(bits: u64) -> Option<Self> {
        let len = bits / 32;
        (len > 0).then(|| Self(vec![0.0; len as usize]))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn raise(&mut self, i: usize) {
        self.0[i] += WEIGHT;
    }

    fn lower(&mut self, i: usize) {
        self.0[i] -= WEIGHT;
    }

    /// Compares sums: a probability is the higher, the higher its sum.
    fn is_raised(&self, i: usize) -> bool {
        self.0[i] >= WEIGHT
    }

    fn memory_bits(&self) -> u64 {
        self.0.len() as u64 * 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::assert_window_is_exact;

    #[test]
    fn the_window_is_exact() {
        assert_window_is_exact::<Floats>();
    }

    #[test]
    fn two_arrivals_are_more_probable_than_one() {
        let mut sums = Floats::fitting(64).expect("fits");
        let probability = |sums: &Floats| -(-sums.0[0]).exp_m1();
        sums.raise(0);
        let one = probability(&sums);
        sums.raise(0);
        // Independent: 1 - (1 - p)^2.
        assert!((probability(&sums) - (1.0 - (1.0 - one).powi(2))).abs() < 1e-6);
        sums.lower(0);
        assert!((probability(&sums) - one).abs() < 1e-6);
    }
}
