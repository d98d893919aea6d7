//! The expected fill of one segment, and the probability that a never-inserted item matches it.

use core::f64::consts::LN_2;

use libm::{exp, expm1, floor, log, log1p, pow, sqrt};

use super::cell_load::{CellLoad, NEGLIGIBLE};
use crate::shape::{PART_BITS, Segment};

/// The number of cells in a segment: an exact number, or the limit of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The limit for large segments; loads per cell are Poisson.
    Many,
    /// Exactly this many; loads per cell are binomial.
    Exactly(u64),
}

impl Cells {
    /// ln of the probability that a cell is missed by one item per cell: (1 - 1/m)^m, or e^-1 in the limit.
    fn ln_missed_per_load(self) -> f64 {
        match self {
            Self::Many => -1.0,
            Self::Exactly(cells) => cells as f64 * log1p(-1.0 / cells as f64),
        }
    }

    /// The number of items that gives this load per cell.
    pub(super) fn items(self, load: f64) -> f64 {
        match self {
            Self::Many => f64::INFINITY,
            Self::Exactly(cells) => load * cells as f64,
        }
    }
}

/// Returns the expected share of set bits in a part that has taken `load` items per cell: 1 - (1 - 1/m)^(load
/// * m) for slices, and the same with a block's load for blocks.
pub fn part_fill(segment: &Segment, load: f64, cells: Cells) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    match *segment {
        Segment::Slices { .. } => -expm1(load * cells.ln_missed_per_load()),
        Segment::Blocks { .. } | Segment::Rows { .. } => {
            block_mixture(law(load, cells), missed_by_one_item(segment), 1)
        }
        Segment::Bins { .. } | Segment::ElasticBins { .. } => match_probability(segment, load, cells),
    }
}

/// Returns the probability that an item which was never inserted matches a segment that has taken `load`
/// items per cell.
///
/// This is exact as an expectation over hash functions. Parts are hashed independently, so the expected
/// product of their fills is the product of the expected fills. In a block this holds only for a given load
/// of the block, hence the mixture.
pub fn match_probability(segment: &Segment, load: f64, cells: Cells) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    match *segment {
        Segment::Slices { parts } => power(part_fill(segment, load, cells), parts),
        Segment::Blocks { bits_per_block: bits, .. } | Segment::Rows { parts: bits, .. } => {
            block_mixture(law(load, cells), missed_by_one_item(segment), bits)
        }
        // The items of two lines.
        Segment::Bins { fingerprint_bits } | Segment::ElasticBins { fingerprint_bits } => {
            -expm1(2.0 * load * log1p(-pow(0.5, f64::from(fingerprint_bits))))
        }
    }
}

/// Returns the load per cell at which the paper retires a segment: its parts are half full.
///
/// For blocks, the load at which a block is half full *exactly*: ln 2 / -ln(1 - b/B) items.
pub fn half_full_load(segment: &Segment) -> f64 {
    match segment {
        Segment::Slices { .. } => LN_2,
        Segment::Blocks { .. } | Segment::Rows { .. } => LN_2 / -log(missed_by_one_item(segment)),
        // Half as many items as fingerprints fit into a line.
        Segment::Bins { fingerprint_bits } | Segment::ElasticBins { fingerprint_bits } => {
            256.0 / f64::from(fingerprint_bits + 2)
        }
    }
}

/// Blocks only: returns the capacity at half fill relative to slices of the same memory (paper, table 3,
/// "cap.").
pub fn relative_capacity(segment: &Segment) -> Option<f64> {
    match *segment {
        Segment::Slices { .. }
        | Segment::Rows { .. }
        | Segment::Bins { .. }
        | Segment::ElasticBins { .. } => None,
        Segment::Blocks { block_bits, bits_per_block } => {
            Some(half_full_load(segment) * f64::from(bits_per_block) / (f64::from(block_bits) * LN_2))
        }
    }
}

/// The probability that one item of a cell leaves a given bit of it unset: 1 - b/B, or 1 - 1/(bits of a
/// part).
fn missed_by_one_item(segment: &Segment) -> f64 {
    match *segment {
        Segment::Slices { .. } | Segment::Bins { .. } | Segment::ElasticBins { .. } => 0.0,
        Segment::Blocks { block_bits, bits_per_block } => {
            1.0 - f64::from(bits_per_block) / f64::from(block_bits)
        }
        Segment::Rows { .. } => 1.0 - 1.0 / f64::from(PART_BITS),
    }
}

/// The distribution of a cell's load: Poisson(load), or Binomial(items, 1/cells), where `items` is the load times
/// the number of cells.
fn law(load: f64, cells: Cells) -> CellLoad {
    CellLoad::new(load, cells.items(load))
}

/// E[(1 - missed^J)^bits] over a block's load J.
///
/// Sums outwards from the mode until the terms are negligible, and divides by the sum of the weights.
pub(super) fn block_mixture(law: CellLoad, missed: f64, bits: u32) -> f64 {
    /// e to this power is negligible compared with one.
    const NOTHING: f64 = -50.0;
    let load = law.mean();
    if law.is_certain() {
        return power(-expm1(load * log(missed)), bits);
    }
    // If even the emptiest blocks have every bit set, there would be very many terms, all equal.
    let least_load = load - 12.0 * sqrt(load);
    if least_load * log(missed) < NOTHING {
        return 1.0;
    }
    let mode = floor(load);
    let unset_at_mode = exp(mode * log(missed));

    let mut weights = 1.0;
    let mut total = power(1.0 - unset_at_mode, bits);
    let (mut weight, mut unset, mut j) = (1.0, unset_at_mode, mode);
    while weight > NEGLIGIBLE {
        weight *= law.step(j);
        unset *= missed;
        j += 1.0;
        weights += weight;
        total += weight * power(1.0 - unset, bits);
    }
    (weight, unset, j) = (1.0, unset_at_mode, mode);
    while j > 0.0 && weight > NEGLIGIBLE {
        weight *= law.step_back(j);
        unset /= missed;
        j -= 1.0;
        weights += weight;
        total += weight * power((1.0 - unset).max(0.0), bits);
    }
    total / weights
}

/// x^n by squaring; `libm` has no integer power, and `pow` is slower and less exact here.
pub(crate) fn power(x: f64, n: u32) -> f64 {
    let (mut result, mut square, mut n) = (1.0, x, n);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cells_are_the_limit_of_a_finite_number() {
        for segment in [
            Segment::Slices { parts: 3 },
            Segment::Blocks { block_bits: 64, bits_per_block: 4 },
            Segment::Blocks { block_bits: 512, bits_per_block: 8 },
        ] {
            for load in [0.01, 0.5, 3.0, 40.0] {
                let limit = match_probability(&segment, load, Cells::Many);
                let large = match_probability(&segment, load, Cells::Exactly(1 << 40));
                assert!((limit / large - 1.0).abs() < 1e-6, "{segment} load {load}: {limit} {large}");
            }
        }
    }

    #[test]
    fn small_segments_have_their_own_fill_and_not_that_of_the_limit() {
        for (cells, items, parts) in [(5_u64, 4_u32, 3), (2, 1, 1), (100, 70, 2), (1, 3, 2)] {
            let expected = power(1.0 - power(1.0 - 1.0 / cells as f64, items), parts);
            let load = f64::from(items) / cells as f64;
            let got = match_probability(&Segment::Slices { parts }, load, Cells::Exactly(cells));
            assert!((got - expected).abs() < 1e-12, "{items} items in {cells} cells: {got} {expected}");
        }
        // Three items over two blocks, by hand: loads 0 to 3 with weights 1, 3, 3, 1 of 8.
        let segment = Segment::Blocks { block_bits: 64, bits_per_block: 2 };
        let with_load = |items| power(1.0 - power(31.0 / 32.0, items), 2);
        let expected = (3.0 * with_load(1) + 3.0 * with_load(2) + with_load(3)) / 8.0;
        let got = match_probability(&segment, 1.5, Cells::Exactly(2));
        assert!((got / expected - 1.0).abs() < 1e-12, "{got} {expected}");
    }

    #[test]
    fn the_mixture_counts_empty_blocks() {
        // If one item sets a bit almost certainly, the mixture is P(J > 0).
        for load in [0.2, 1.0, 17.3, 300.0] {
            for (cells, expected) in
                [(Cells::Many, -expm1(-load)), (Cells::Exactly(50), -expm1(50.0 * load * log1p(-1.0 / 50.0)))]
            {
                let hit = block_mixture(law(load, cells), 1e-18, 1);
                assert!((hit / expected - 1.0).abs() < 1e-12, "load {load} {cells:?}: {hit} {expected}");
            }
        }
    }

    /// If the answer is certain, it is returned at once, and equals the sum.
    #[test]
    fn very_crowded_blocks_always_match() {
        let segment = Segment::Blocks { block_bits: 512, bits_per_block: 4 };
        let mut before = 0.0;
        for load in core::iter::successors(Some(4_000.0), |load| Some(load * 1.01)).take(100) {
            let got = match_probability(&segment, load, Cells::Many);
            assert!(got >= before - 1e-13 && got <= 1.0 && got > 0.999_999, "load {load}: {got}");
            before = got;
        }
        assert!(before >= 1.0);
        assert!(match_probability(&segment, 1e300, Cells::Many) >= 1.0);
        assert!(match_probability(&segment, 1e15, Cells::Exactly(1 << 20)) >= 1.0);
    }

    #[test]
    fn a_single_block_holds_every_item() {
        let segment = Segment::Blocks { block_bits: 64, bits_per_block: 2 };
        let expected = power(1.0 - power(1.0 - 2.0 / 64.0, 20), 2);
        let got = match_probability(&segment, 20.0, Cells::Exactly(1));
        assert!((got - expected).abs() < 1e-14);
    }
}
