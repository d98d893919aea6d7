//! How large a shape must be for a rate, and what rate a size gives: the exact model, in whole cells.

use libm::log;

use crate::model::{Cells, half_full_load, match_probability, run_probability};
use crate::shape::{Segment, Shape};

/// Items per cell that a segment has taken when it is no longer written: k generations.
pub(super) fn load(shape: &Shape, items_per_generation: u64, cells: u64) -> f64 {
    f64::from(shape.required_matches) * items_per_generation as f64 / cells as f64
}

/// What a 64-bit hash alone confuses: the chance that a stranger has the hash of one of the items held.
pub(super) fn hash_collisions(shape: &Shape, items_per_generation: u64) -> f64 {
    const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
    f64::from(shape.segments()) * items_per_generation as f64 / TWO_POW_64
}

/// A rate by chance, and what hashes confuse besides.
pub(super) fn with_hash_collisions(by_chance: f64, shape: &Shape, items_per_generation: u64) -> f64 {
    (by_chance + hash_collisions(shape, items_per_generation)).min(1.0)
}

/// Slices and blocks: the false positive rate just before a shift. `Profile::exact(..).false_positive_rate()` and hash collisions,
/// without making the profile, because the search asks for it thousands of times.
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

/// The least number of cells at which the shape keeps the rate, to one part in 10^4, or `None` if `most` are not
/// enough. Whatever it returns keeps the rate.
pub(super) fn least_cells(shape: &Shape, items_per_generation: u64, rate: f64, most: u64) -> Option<u64> {
    let excess = |cells: u64| log(worst_rate(shape, items_per_generation, cells).max(1e-300)) - log(rate);
    // Most shapes of a search are not worth more than this.
    if worst_rate(shape, items_per_generation, most.max(1)) > rate {
        return None;
    }
    // Enclose the root, from the half-full design outwards: `low` breaks the rate, `high` keeps it.
    let half_full = load(shape, items_per_generation, 1) / half_full_load(&shape.segment);
    let mut high = (half_full as u64).clamp(1, most.max(1));
    let mut high_excess = excess(high);
    let (mut low, mut low_excess) = (high, high_excess);
    while high_excess > 0.0 {
        if high >= most {
            return None;
        }
        (low, low_excess) = (high, high_excess);
        high = (high.saturating_add(high / 3 + 1)).min(most);
        high_excess = excess(high);
    }
    while low_excess <= 0.0 {
        if low == 1 {
            return Some(1);
        }
        (high, high_excess) = (low, low_excess);
        low -= low / 4 + u64::from(low < 4);
        low_excess = excess(low);
    }
    // The logarithm of the rate falls almost linearly. Interpolate, and halve the weight of an end that stays (the
    // Illinois rule), so that both ends close in.
    let (mut low_weight, mut high_weight) = (1.0, 1.0);
    while high - low > 1 && (high - low) as f64 > high as f64 * 1e-4 {
        let (low_pull, high_pull) = (low_excess * low_weight, high_excess * high_weight);
        // Exactly the rate, on a plateau: what hashes confuse is all there is. Weights of nothing change nothing.
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

/// As many cells as fit into the whole words that so many cells take: they cost nothing and lower the rate. `None` if
/// they cannot be counted.
pub(super) fn fill_words(segment: &Segment, cells: u64) -> Option<u64> {
    match *segment {
        Segment::Slices { parts } => {
            let bits = cells.checked_mul(parts.into())?.checked_next_multiple_of(64)?;
            Some(bits / u64::from(parts))
        }
        Segment::Blocks { .. } | Segment::Rows { .. } => Some(cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More cells do not help there: the search must not look at all of them.
    #[test]
    fn a_rate_that_is_exactly_what_hashes_confuse_is_found() {
        let shape = Shape::slices(7, 1);
        let items = 1 << 40;
        let rate = hash_collisions(&shape, items);
        let cells = least_cells(&shape, items, rate, 1 << 60).unwrap();
        let excess = |cells| worst_rate(&shape, items, cells) / rate - 1.0;
        assert!(excess(cells) < 1e-12 && excess(cells / 16) > 1e-12, "{cells} cells");
    }
}
