//! Medians of rounds, and ratios of times that were measured in the same rounds.

use serde_json::{Value, json};

pub(crate) fn median(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The ratio of two times, round by round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// The range of the ratios, without the lowest and the highest tenth: these are mostly interruptions.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratio {
    /// Both have one time per round.
    pub(crate) fn new(times: &[f64], of: &[f64]) -> Self {
        assert_eq!(times.len(), of.len(), "both are measured in every round");
        let ratios: Vec<f64> = times.iter().zip(of).map(|(time, of)| time / of).collect();
        let sorted = sorted(&ratios);
        let tenth = sorted.len() / 10;
        Self { median: median(&ratios), low: sorted[tenth], high: sorted[sorted.len() - 1 - tenth] }
    }

    pub(crate) fn to_json(self) -> Value {
        json!({ "median": self.median, "low": self.low, "high": self.high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_each_round_and_its_range_leaves_out_the_extremes() {
        // The machine is twice as slow in every other round, and one measurement is interrupted.
        let of: Vec<f64> = (0..21).map(|round| f64::from(1 + round % 2)).collect();
        let mut times: Vec<f64> = of.iter().map(|time| 3.0 * time).collect();
        times[7] = 1000.0;
        assert_eq!(Ratio::new(&times, &of), Ratio { median: 3.0, low: 3.0, high: 3.0 });
        assert!((median(&times) - 3.0).abs() < 3.1);
        let times: Vec<f64> = (1..=21).map(f64::from).collect();
        let ratio = Ratio::new(&times, &[1.0; 21]);
        assert_eq!((ratio.low, ratio.median, ratio.high), (3.0, 11.0, 19.0));
    }
}
