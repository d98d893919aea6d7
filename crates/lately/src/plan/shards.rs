//! A window spread over shards.

use core::f64::consts::PI;

use libm::{exp, lgamma, log, log1p};

use crate::limits::MAX_WINDOW;

/// The largest acceptable probability that some shard receives more items than its window holds.
const OVERFLOW: f64 = 1e-12;

/// Returns the window that each of `shards` filters needs so that together they keep `window`, if a hash of
/// the item selects the shard. With probability 1 - 10^-12, none of them receives more than this many of any
/// given `window` distinct items.
///
/// A shard's share is binomial, Bin(W, 1/N). By the union bound, the probability that any of the N shards
/// receives more than v items is at most N * P(Bin(W, 1/N) > v); this is the least v for which that is at
/// most 10^-12. It is computed from the distribution itself. (For windows of billions of items, the last terms of
/// that probability are replaced by an upper bound; v grows by less than one part in a million.) Repeats of one
/// item all go to one shard. So if every sighting is inserted again, a stream with very frequent items needs more.
///
/// ```
/// assert_eq!(lately::shard_window(1_000_000, 1), 1_000_000);
/// assert_eq!(lately::shard_window(1_000_000, 8), 127_427);
/// ```
///
/// A `window` above [`MAX_WINDOW`] counts as `MAX_WINDOW`, and 0 `shards` count as 1.
#[must_use]
pub fn shard_window(window: u64, shards: u32) -> u64 {
    let window = window.min(MAX_WINDOW);
    if window == 0 || shards <= 1 {
        return window;
    }
    let share = Share::new(window, shards);
    let is_enough = |items: u64| f64::from(shards) * share.probability_of_more_than(items) <= OVERFLOW;
    // The mean, rounded down, is either too little or the answer; all items are always enough.
    let (mut too_little, mut enough) = (window / u64::from(shards), window);
    if is_enough(too_little) {
        return too_little;
    }
    while enough - too_little > 1 {
        let middle = too_little + (enough - too_little) / 2;
        if is_enough(middle) { enough = middle } else { too_little = middle }
    }
    enough
}

/// The number of `window` items that one of `shards` receives: Bin(W, p), p = 1/N.
struct Share {
    window: f64,
    /// W p.
    mean: f64,
    /// p / (1 - p).
    odds: f64,
}

impl Share {
    fn new(window: u64, shards: u32) -> Self {
        let (window, shards) = (window as f64, f64::from(shards));
        Self { window, mean: window / shards, odds: 1.0 / (shards - 1.0) }
    }

    /// P(X > items), for `items` at or above the mean.
    ///
    /// ```text
    ///             W!                              P(X = i + 1)   W - i     p
    /// P(X = i) = ------------- p^i (1-p)^(W-i)     ------------ = ----- * -----
    ///            i! (W-i)!                          P(X = i)      i + 1   1 - p
    /// ```
    ///
    /// Above the mean the ratio is below 1 and keeps falling. The sum from `items + 1` upwards ends when its
    /// terms no longer change it; after many terms, a geometric series bounds the rest.
    fn probability_of_more_than(&self, items: u64) -> f64 {
        const MOST_TERMS: usize = 2_000;
        let mut taken = items as f64 + 1.0;
        if taken > self.window {
            return 0.0;
        }
        let first = exp(self.ln_probability_of(taken));
        let (mut sum, mut term) = (1.0, 1.0);
        for _ in 0..MOST_TERMS {
            let ratio = (self.window - taken) / (taken + 1.0) * self.odds;
            term *= ratio;
            taken += 1.0;
            let before: f64 = sum;
            sum += term;
            if before >= sum {
                return first * sum;
            }
        }
        let ratio = (self.window - taken) / (taken + 1.0) * self.odds;
        first * (sum + term * ratio / (1.0 - ratio))
    }

    /// ln P(X = i). Differences of large `lgamma`s would lose all digits for large windows. So Stirling's
    /// formula, n! = sqrt(2 pi n) (n/e)^n e^(s(n)), splits the factorials into terms that cancel on paper and
    /// small remainders:
    ///
    /// ```text
    ///                                                                        W
    /// ln P = s(W) - s(i) - s(W-i) - d(i, Wp) - d(W-i, W(1-p)) + 1/2 ln -------------
    ///                                                                  2 pi i (W-i)
    /// where d(x, m) = x ln(x/m) + m - x
    /// ```
    fn ln_probability_of(&self, taken: f64) -> f64 {
        let left = self.window - taken;
        if left == 0.0 {
            return taken * log(self.mean / self.window);
        }
        let remainders =
            stirling_remainder(self.window) - stirling_remainder(taken) - stirling_remainder(left);
        let deviance = deviance(taken, self.mean) + deviance(left, self.window - self.mean);
        remainders - deviance + 0.5 * log(self.window / (2.0 * PI * taken * left))
    }
}

/// d(x, m) = x ln(x/m) + m - x, with an error of about 10^-16 |x - m| where the two are close.
fn deviance(x: f64, mean: f64) -> f64 {
    let relative = (x - mean) / mean;
    mean * ((1.0 + relative) * log1p(relative) - relative)
}

/// s(n) = ln n! - ln(sqrt(2 pi n) (n/e)^n), for n >= 1.
fn stirling_remainder(n: f64) -> f64 {
    if n < 64.0 {
        lgamma(n + 1.0) - (n + 0.5) * log(n) + n - 0.5 * log(2.0 * PI)
    } else {
        // The next term of the series is below 10^-15.
        let square = n * n;
        (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Bin(W, p) by adding one item at a time: without logarithms, and without any code under test.
    fn distribution(window: usize, shards: u32) -> Vec<f64> {
        let p = 1.0 / f64::from(shards);
        let mut chances = vec![0.0; window + 1];
        chances[0] = 1.0;
        for items in 1..=window {
            for taken in (1..=items).rev() {
                chances[taken] = chances[taken] * (1.0 - p) + chances[taken - 1] * p;
            }
            chances[0] *= 1.0 - p;
        }
        chances
    }

    #[test]
    fn agrees_with_the_distribution_summed_directly() {
        for (window, shards) in [(1, 2), (7, 3), (60, 2), (100, 10), (500, 3), (1000, 16), (3000, 1000)] {
            let chances = distribution(window, shards);
            let tail = |v: u64| chances[v as usize + 1..].iter().rev().sum::<f64>() * f64::from(shards);
            let found = shard_window(window as u64, shards);
            // Rounding may decide otherwise only at the very edge.
            assert!(tail(found) <= OVERFLOW * 1.000_001, "{window} over {shards}: {found} is too little");
            assert!(found == 0 || tail(found - 1) > OVERFLOW * 0.999_999, "{window} over {shards}: too much");
        }
    }

    #[test]
    fn probabilities_are_exact_to_many_digits() {
        for (window, shards) in [(60, 2), (1000, 16), (3000, 1000)] {
            let share = Share::new(window, shards);
            for (taken, expected) in distribution(window as usize, shards).into_iter().enumerate().skip(1) {
                let found = exp(share.ln_probability_of(taken as f64));
                assert!((found - expected).abs() <= 1e-11 * expected + 1e-290, "{window} {shards} {taken}");
            }
        }
    }

    /// The upper tail of the normal distribution is between (1 - 1/z^2) phi(z)/z and phi(z)/z, and the bound for the terms
    /// that are not added up is the latter.
    #[test]
    fn what_is_left_after_many_terms_is_bounded_closely() {
        let share = Share::new(1_000_000_000_000, 2);
        let deviation = 500_000.0;
        for z in [4.0_f64, 7.0, 9.0] {
            let density = exp(-0.5 * z * z) / libm::sqrt(2.0 * PI);
            let found = share.probability_of_more_than((share.mean + z * deviation) as u64);
            let (least, most) = ((1.0 - 1.0 / (z * z)) * density / z, density / z);
            assert!(least <= found && found <= 1.001 * most, "{z}: {found:e} is not in {least:e}..{most:e}");
        }
    }

    #[test]
    fn more_than_the_mean_and_never_more_than_all() {
        for window in [1, 10, 1_000, 1_000_000, 10_000_000_000, MAX_WINDOW] {
            for shards in [1, 2, 7, 64, 4096, u32::MAX] {
                let share = shard_window(window, shards);
                assert!(share <= window && share >= window.div_ceil(u64::from(shards)).min(window));
                let mean = window as f64 / f64::from(shards);
                // Bernstein's bound, with a wide margin.
                assert!(share as f64 <= mean + 12.0 * libm::sqrt(mean) + 80.0, "{window}/{shards}: {share}");
            }
        }
        assert_eq!((shard_window(0, 4), shard_window(9, 0)), (0, 9));
    }
}
