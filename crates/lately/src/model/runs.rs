//! The probability of k consecutive matches.

use alloc::vec;

/// The probability that at least `required_matches` consecutive segments match, when segment i matches
/// independently with probability `match_probability[i]`.
///
/// ```
/// // Two of two, and two consecutive ones of three.
/// assert_eq!(lately::model::run_probability(2, [0.5, 0.25]), 0.125);
/// assert_eq!(lately::model::run_probability(2, [0.5, 0.5, 0.5]), 0.375);
/// ```
// The paper's recurrence (section 4.3), for a matches in a row just before segment i:
//
//   F(k, i) = 1
//   F(a, n) = 0                                            for a < k, past the last segment
//   F(a, i) = r_i * F(a+1, i+1) + (1 - r_i) * F(0, i+1)    otherwise
//
// `after[a]` holds F(a, i+1), and is turned into F(a, i) in place, from the last segment back to the first.
// All terms are positive, so tiny rates keep their digits.
pub fn run_probability<I>(required_matches: u32, match_probability: I) -> f64
where
    I: IntoIterator<Item = f64, IntoIter: DoubleEndedIterator>,
{
    let k = required_matches as usize;
    let mut after = vec![0.0; k + 1];
    after[k] = 1.0;
    for r in match_probability.into_iter().rev() {
        let on_miss = (1.0 - r) * after[0];
        for a in 0..k {
            after[a] = r * after[a + 1] + on_miss;
        }
    }
    after[0]
}
