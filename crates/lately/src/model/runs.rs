//! The probability of k consecutive matches.

use alloc::vec;
use alloc::vec::Vec;

/// Returns the probability that at least `required_matches` consecutive segments match, if segment i matches
/// independently with probability `match_probability[i]`.
///
/// ```
/// // Two of two, and two consecutive ones of three.
/// assert_eq!(lately::model::run_probability(2, [0.5, 0.25]), 0.125);
/// assert_eq!(lately::model::run_probability(2, [0.5, 0.5, 0.5]), 0.375);
/// ```
pub fn run_probability(required_matches: u32, match_probability: impl IntoIterator<Item = f64>) -> f64 {
    let matches: Vec<f64> = match_probability.into_iter().collect();
    Runs::among(required_matches as usize, &matches, &mut vec![0.0; matches.len() + 1]).chance
}

/// Expectations about runs of k consecutive matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    /// The probability of at least one run.
    pub(super) chance: f64,
    /// The expected number of runs that have no match just before them.
    pub(super) maximal: f64,
}

impl Runs {
    /// Computes the runs among segments that match with these probabilities. `until` is scratch space for at
    /// least one element more than there are segments. With R(j) the probability of a run among the first j
    /// segments, which match with r(1) to r(j):
    ///
    /// ```text
    /// R(j) = 0                                                                for j < k
    /// R(k) = r(1) ... r(k)
    /// R(j) = R(j-1) + (1 - R(j-k-1)) (1 - r(j-k)) r(j-k+1) ... r(j)           otherwise
    /// ```
    ///
    /// The first run ends at a segment if it and the k - 1 before it match, the one before those does not,
    /// and no run ended until then. This equals the paper's recurrence (section 4.3), which has a term for
    /// every length of a run that may go on; a test compares them. All terms are positive, so tiny rates keep
    /// their digits.
    pub(super) fn among(k: usize, matches: &[f64], until: &mut [f64]) -> Self {
        if k == 0 {
            return Self { chance: 1.0, maximal: 1.0 };
        }
        until[..k.min(matches.len())].fill(0.0);
        products_before(k, matches, until);
        let mut runs = Self { chance: 0.0, maximal: 0.0 };
        for end in k..=matches.len() {
            // From here on, until[end] is the probability of a run among the first `end` segments.
            let run = until[end];
            let (begins, before) = match (end - k).checked_sub(1) {
                Some(before) => ((1.0 - matches[before]) * run, until[before]),
                None => (run, 0.0),
            };
            runs.maximal += begins;
            runs.chance += (1.0 - before) * begins;
            until[end] = runs.chance;
        }
        runs
    }
}

/// Computes the product of every k neighbours and stores it at the index after the last of them. Each takes
/// two multiplications, for any k: a range that does not begin at the start of a block of k is the end of one
/// block and the beginning of the next.
fn products_before(k: usize, factors: &[f64], products: &mut [f64]) {
    for (block, first) in factors.chunks_exact(k).zip((0..).step_by(k)) {
        let mut end_of_block = 1.0;
        for (factor, place) in block.iter().zip(first..first + k).rev() {
            end_of_block *= factor;
            if let Some(product) = products.get_mut(place + k) {
                *product = end_of_block;
            }
        }
    }
    for (block, first) in factors.chunks(k).zip((0..).step_by(k)).skip(1) {
        let mut beginning_of_block = 1.0;
        for (factor, place) in block.iter().zip(first + 1..).take(k - 1) {
            beginning_of_block *= factor;
            products[place] *= beginning_of_block;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(k: usize, matches: &[f64]) -> Runs {
        Runs::among(k, matches, &mut vec![f64::NAN; matches.len() + 1])
    }

    /// Sums over all possible outcomes.
    #[test]
    fn runs_agree_with_a_sum_over_all_outcomes() {
        let matches = [0.5, 0.125, 0.9, 0.3, 1.0, 0.75, 0.2];
        for k in 1..=matches.len() {
            let (mut chance, mut maximal) = (0.0, 0.0);
            for outcome in 0..1_u32 << matches.len() {
                let is_match = |age: usize| outcome >> age & 1 == 1;
                let probability = |age: usize| if is_match(age) { matches[age] } else { 1.0 - matches[age] };
                let begins = |age: &usize| (*age == 0 || !is_match(age - 1)) && (*age..age + k).all(is_match);
                let runs = (0..=matches.len() - k).filter(begins).count() as f64;
                let likely: f64 = (0..matches.len()).map(probability).product();
                chance += likely * runs.min(1.0);
                maximal += likely * runs;
            }
            let got = among(k, &matches);
            assert!((got.chance - chance).abs() < 1e-12, "k={k}: {got:?}, not {chance}");
            assert!((got.maximal - maximal).abs() < 1e-12, "k={k}: {got:?}, not {maximal}");
        }
    }

    // For a matches in a row just before segment i:
    //   F(k, i) = 1
    //   F(a, n) = 0                                            for a < k, past the last segment
    //   F(a, i) = r_i * F(a+1, i+1) + (1 - r_i) * F(0, i+1)    otherwise
    fn papers_recurrence(k: usize, matches: &[f64]) -> f64 {
        // F(a, i+1), turned into F(a, i) in place, from the last segment back to the first.
        let mut after = vec![0.0; k + 1];
        after[k] = 1.0;
        for r in matches.iter().rev() {
            let on_miss = (1.0 - r) * after[0];
            for a in 0..k {
                after[a] = r * after[a + 1] + on_miss;
            }
        }
        after[0]
    }

    #[test]
    fn run_probabilities_agree_with_the_papers_recurrence_to_the_last_digits() {
        for (k, l) in [(1, 1), (1, 1000), (2, 7), (7, 7), (10, 7), (7, 10), (16, 200), (500, 524), (1000, 24)]
        {
            for full in [1e-9, 0.03, 0.5, 0.97, 1.0] {
                let matches: Vec<f64> =
                    (0..k + l).map(|age| full * ((age + 1) as f64 / k as f64).min(1.0)).collect();
                let (got, expected) = (among(k, &matches).chance, papers_recurrence(k, &matches));
                assert!((got - expected).abs() <= 1e-13 * expected, "k={k} l={l} {full}: {got} {expected}");
            }
        }
    }

    #[test]
    fn fewer_than_k_segments_have_no_run() {
        assert!(run_probability(3, [1.0, 1.0]) == 0.0 && run_probability(1, []) == 0.0);
    }
}
