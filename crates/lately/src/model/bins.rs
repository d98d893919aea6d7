//! Bins: the rate follows from the number of fingerprints that a query meets. How they are spread over lines
//! matters only for spills.
//!
//! Spills: an item has two lines to choose from. With memoryless lifetimes, the shares x(i) of lines with at
//! least i items of the window are, in the limit of many lines, the fixed point of
//!
//! ```text
//! load * (x(i-1)^2 - x(i)^2) = i * (x(i) - x(i+1)),    x(0) = 1,    x(E+1) = 0
//! ```
//! and a share x(E)^2 of the items finds both lines full. Real lifetimes are not memoryless: all items of a
//! generation leave together, in order of arrival, and ties go to the even line. Both make loads more even.
//! Simulations of E = 9 to 38 and l = 1 to 36 spill as if the load were lower by the factor
//! [`EVENNESS`] + [`EVENNESS_OF_STEPS`] / l; bursts of any kind spill less. `tests/bins.rs` compares.

use libm::{exp, expm1, log1p, pow, sqrt};

use super::segment::Cells;
use crate::shape::{BinShape, Segment, Shape};

const EVENNESS: f64 = 0.014;
const EVENNESS_OF_STEPS: f64 = 0.16;
/// Simulations with fewer generations spill less than the formula would say.
const FEWEST_STEPS: f64 = 8.0;

/// The model of lines of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BinModel {
    shape: BinShape,
    /// Cells of the spare per line.
    cells_per_line: f64,
}

impl BinModel {
    pub(crate) fn new(shape: BinShape, lines: Cells) -> Self {
        let cells_per_line = match lines {
            Cells::Many => 1.0,
            Cells::Exactly(lines) => BinShape::spare_cells(lines) as f64 / lines as f64,
        };
        Self { shape, cells_per_line }
    }

    /// Returns `None` if bins cannot have this shape.
    pub(crate) fn of(shape: &Shape, lines: Cells) -> Option<Self> {
        let Segment::Bins { fingerprint_bits } = shape.segment else { return None };
        Some(Self::new(BinShape::new(fingerprint_bits, shape.window_generations)?, lines))
    }

    /// The share of the spare's cells that are in the window.
    pub(crate) fn spare_fill(&self, load: f64) -> f64 {
        let probes = f64::from(self.shape.spare_probes());
        -expm1(-load * self.spill_share(load) * probes / self.cells_per_line)
    }

    /// The share of items that find both their lines full, if the window has `load` items per line.
    pub(crate) fn spill_share(&self, load: f64) -> f64 {
        let l = f64::from(self.shape.window_generations).max(FEWEST_STEPS);
        spill_share(self.shape.entries, load * (1.0 - EVENNESS - EVENNESS_OF_STEPS / l))
    }

    /// Probability that an item which was never inserted is reported, if the window and the newest generation
    /// together have `load` items per line.
    pub(crate) fn rate(&self, load: f64) -> f64 {
        if load <= 0.0 {
            return 0.0;
        }
        let spilled = load * self.spill_share(load);
        let chance = pow(0.5, f64::from(self.shape.fingerprint_bits));
        let by_fingerprints = -expm1(2.0 * (load - spilled) * log1p(-chance));
        let by_spare = marked(spilled) * pow(self.spare_fill(load), f64::from(self.shape.spare_probes()));
        (by_fingerprints + by_spare).min(1.0)
    }

    /// Expected number of cache lines that a query reads: two, and those of the spare if the line is marked.
    pub(crate) fn accesses(&self, load: f64) -> f64 {
        2.0 + marked(load * self.spill_share(load))
    }
}

/// The share of even lines with a spill mark, if so many items per line are in the spare. A spill marks one of
/// two lines, and its mark stays for up to two turns of the ring.
fn marked(spilled: f64) -> f64 {
    -expm1(-4.0 * spilled)
}

/// x(E)^2 of the fixed point.
fn spill_share(entries: u32, load: f64) -> f64 {
    // Given x(E), the equations give x(E-1) and so on down to x(0), which grows with x(E).
    let x_0 = |x_e: f64| {
        let (mut above, mut x) = (0.0, x_e);
        for i in (1..=entries).rev() {
            (above, x) = (x, sqrt(x * x + f64::from(i) * (x - above) / load));
            if x > 1.0 {
                break;
            }
        }
        x
    };
    // Bisects the logarithm of x(E): the least shares are far below anything that matters.
    let (mut low, mut high) = (-80.0, 0.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if x_0(exp(middle)) > 1.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    exp(2.0 * high)
}
