//! The size that a shape needs for a rate, and the rate that a size gives, by the exact model in whole cells.

use libm::log;

use crate::model::{Cells, match_probability, run_probability};
use crate::shape::{Segment, Shape};

/// Items per cell of a segment that is no longer written: k generations.
pub(super) fn load(shape: &Shape, items_per_generation: u64, cells: u64) -> f64 {
    f64::from(shape.required_matches) * items_per_generation as f64 / cells as f64
}

/// Collisions of 64-bit hashes: the probability that a never-inserted item has the same hash as one of the
/// items held.
pub(super) fn hash_collisions(shape: &Shape, items_per_generation: u64) -> f64 {
    const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
    f64::from(shape.segments()) * items_per_generation as f64 / TWO_POW_64
}

/// Adds hash collisions to a rate that results from chance matches.
pub(super) fn with_hash_collisions(by_chance: f64, shape: &Shape, items_per_generation: u64) -> f64 {
    (by_chance + hash_collisions(shape, items_per_generation)).min(1.0)
}

/// The false positive rate of slices and blocks just before a shift. Equals
/// `Profile::exact(..).false_positive_rate()` plus hash collisions, but does not create the profile, because
/// the search calls this thousands of times.
pub(super) fn worst_rate(shape: &Shape, items_per_generation: u64, cells: u64) -> f64 {
    let k = shape.required_matches;
    let load = load(shape, items_per_generation, cells);
    let at_age = |age: u32| {
        let share = f64::from((age + 1).min(k)) / f64::from(k);
        match_probability(&shape.segment, load * share, Cells::Exactly(cells))
    };
    let full = at_age(k);
    // The oldest l segments are all full.
    let ages = (0..shape.segments()).map(|age| if age + 1 < k { at_age(age) } else { full });
    with_hash_collisions(run_probability(k, ages), shape, items_per_generation)
}

/// The least number of cells at which the shape keeps the rate, to one part in 10^4, or `None` if no number does.
/// The result always keeps the rate. The search begins at `guess`.
pub(super) fn least_cells(shape: &Shape, items_per_generation: u64, rate: f64, guess: u64) -> Option<u64> {
    /// More cells than any machine has bits.
    const MOST: u64 = 1 << 62;
    let excess = |cells: u64| log(worst_rate(shape, items_per_generation, cells).max(1e-300)) - log(rate);
    // Enclose the root: `low` breaks the rate, `high` keeps it.
    let (mut low, mut high) = (guess.max(1), guess.max(1));
    let mut low_excess = excess(low);
    let mut high_excess = low_excess;
    let mut step = guess / 1000 + 1;
    while high_excess > 0.0 {
        if high >= MOST {
            return None;
        }
        (low, low_excess) = (high, high_excess);
        high = high.saturating_add(step).min(MOST);
        high_excess = excess(high);
        step = step.saturating_mul(4);
    }
    while low_excess <= 0.0 {
        if low == 1 {
            return Some(1);
        }
        (high, high_excess) = (low, low_excess);
        low = low.saturating_sub(step).max(1);
        low_excess = excess(low);
        step = step.saturating_mul(4).min(low / 2 + 1);
    }
    // The logarithm of the rate falls almost linearly. Interpolate, and halve the weight of an end that does
    // not move (the Illinois rule), so that both ends close in.
    let (mut low_weight, mut high_weight) = (1.0, 1.0);
    while high - low > 1 && (high - low) as f64 > high as f64 * 1e-4 {
        let (low_pull, high_pull) = (low_excess * low_weight, high_excess * high_weight);
        // Exactly the rate, on a plateau where only hash collisions are left. Halving a zero weight would
        // change nothing.
        let share = if high_pull == 0.0 { 0.5 } else { low_pull / (low_pull - high_pull) };
        let middle = low + ((high - low) as f64 * share) as u64;
        let middle = middle.clamp(low + 1, high - 1);
        let middle_excess = excess(middle);
        if middle_excess > 0.0 {
            (low, low_excess, low_weight) = (middle, middle_excess, 1.0);
            high_weight *= 0.5;
        } else {
            (high, high_excess, high_weight) = (middle, middle_excess, 1.0);
            low_weight *= 0.5;
        }
    }
    Some(high)
}

/// Rounds up to the number of cells that fill whole words: the additional cells cost nothing and lower the
/// rate. `None` on overflow.
pub(super) fn fill_words(segment: &Segment, cells: u64) -> Option<u64> {
    match *segment {
        Segment::Slices { parts } => {
            let bits = cells.checked_mul(parts.into())?.checked_next_multiple_of(64)?;
            Some(bits / u64::from(parts))
        }
        _ => Some(cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More cells do not help there: the search must not try all of them.
    #[test]
    fn a_rate_equal_to_the_hash_collisions_is_found() {
        let shape = Shape::slices(7, 1);
        let items = 1 << 40;
        let rate = hash_collisions(&shape, items);
        let cells = least_cells(&shape, items, rate, 8 * items).unwrap();
        let excess = |cells| worst_rate(&shape, items, cells) / rate - 1.0;
        assert!(excess(cells) < 1e-12 && excess(cells / 16) > 1e-12, "{cells} cells");
    }
}
