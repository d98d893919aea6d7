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
//! [`EVENNESS`] + [`EVENNESS_OF_STEPS`] / l; bursts of any kind spill less. A test compares.

use libm::{exp, expm1, log, log1p, pow, sqrt};

use super::cell_load::{CellLoad, NEGLIGIBLE};
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
    /// Infinite in the limit of many.
    lines: f64,
    /// Cells of the spare per line.
    cells_per_line: f64,
}

impl BinModel {
    pub(crate) fn new(shape: BinShape, lines: Cells) -> Self {
        let (lines, cells_per_line) = match lines {
            Cells::Many => (f64::INFINITY, 1.0),
            Cells::Exactly(lines) => (lines as f64, BinShape::spare_cells(lines) as f64 / lines as f64),
        };
        Self { shape, lines, cells_per_line }
    }

    /// Returns `None` if bins cannot have this shape.
    pub(crate) fn of(shape: &Shape, lines: Cells) -> Option<Self> {
        let Segment::Bins { fingerprint_bits } = shape.segment else { return None };
        Some(Self::new(BinShape::new(fingerprint_bits, shape.window_generations)?, lines))
    }

    /// The most fingerprints in a line.
    pub(crate) fn entries(&self) -> u32 {
        self.shape.entries
    }

    /// The share of the spare's cells that are in the window.
    pub(crate) fn spare_fill(&self, load: f64) -> f64 {
        self.spare_fill_with(load * self.spill_share(load))
    }

    /// The same, if this many items per line are in the spare.
    fn spare_fill_with(&self, spilled: f64) -> f64 {
        -expm1(-spilled * f64::from(self.shape.spare_probes()) / self.cells_per_line)
    }

    /// The share of items that find both their lines full, if the window has `load` items per line.
    pub(crate) fn spill_share(&self, load: f64) -> f64 {
        let l = f64::from(self.shape.window_generations).max(FEWEST_STEPS);
        spill_share(self.shape.entries, load * (1.0 - EVENNESS - EVENNESS_OF_STEPS / l))
    }

    /// Probability that an item which was never inserted is reported, if the window and the newest generation
    /// together have `load` items per line.
    pub(crate) fn rate(&self, load: f64) -> f64 {
        if load <= 0.0 { 0.0 } else { self.rate_with(load, load * self.spill_share(load)) }
    }

    /// The same, if `spilled` of the items per line are in the spare.
    fn rate_with(&self, load: f64, spilled: f64) -> f64 {
        let chance = pow(0.5, f64::from(self.shape.fingerprint_bits));
        let by_fingerprints = -expm1(2.0 * (load - spilled) * log1p(-chance));
        (by_fingerprints + self.rate_by_spare(spilled)).min(1.0)
    }

    /// Probability that the spare reports an item which was never inserted, if `spilled` items per line are
    /// expected in it.
    ///
    /// It grows with a high power of their number. In a small filter that number varies, so the average over it,
    /// about a Poisson variable, is far more than the probability at the average.
    fn rate_by_spare(&self, spilled: f64) -> f64 {
        /// With more items than that, their number varies too little to matter.
        const MANY: f64 = 1_000.0;
        let with = |spilled: f64| {
            marked(spilled) * pow(self.spare_fill_with(spilled), f64::from(self.shape.spare_probes()))
        };
        let expected = spilled * self.lines;
        if expected > MANY {
            return with(spilled);
        }
        let law = CellLoad::new(expected, f64::INFINITY).probabilities(NEGLIGIBLE);
        law.iter().zip(0_u32..).map(|(chance, items)| chance * with(f64::from(items) / self.lines)).sum()
    }

    /// Expected number of cache lines that a query reads: two, and those of the spare if the line is marked.
    pub(crate) fn accesses(&self, load: f64) -> f64 {
        2.0 + marked(load * self.spill_share(load))
    }

    /// Returns true if a query reads at most so many lines and the rate is at most this one.
    pub(crate) fn keeps(&self, load: f64, accesses: f64, rate: f64) -> bool {
        let spilled = load * self.spill_share(load);
        2.0 + marked(spilled) <= accesses && self.rate_with(load, spilled) <= rate
    }
}

/// The share of even lines with a spill mark, if so many items per line are in the spare. A spill marks one of
/// two lines, and its mark stays for up to two turns of the ring.
fn marked(spilled: f64) -> f64 {
    -expm1(-4.0 * spilled)
}

/// x(E)^2 of the fixed point.
fn spill_share(entries: u32, load: f64) -> f64 {
    /// ln x(E) of shares far below anything that matters.
    const NEGLIGIBLE: f64 = -80.0;
    const GUESS: f64 = -1.0;
    const CLOSE: f64 = 1e-12;
    const ROUNDS: usize = 40;
    // Given x(E), the equations give x(E-1) and so on down to x(0), which grows with x(E) and should be 1.
    // Returns ln x(0), and its slope in ln x(E).
    let ln_x_0 = |ln_x_e: f64| {
        let (mut above, mut x) = (0.0, exp(ln_x_e));
        let (mut slope_above, mut slope) = (0.0, x);
        for i in (1..=entries).rev() {
            let share = f64::from(i) / load;
            let below = sqrt(x * x + share * (x - above));
            let slope_below = (x * slope + 0.5 * share * (slope - slope_above)) / below;
            (above, x) = (x, below);
            (slope_above, slope) = (slope, slope_below);
        }
        (log(x), slope / x)
    };
    // Newton's method, between ends that close in.
    let (mut low, mut high, mut next) = (f64::NEG_INFINITY, 0.0, GUESS);
    for _ in 0..ROUNDS {
        let (value, slope) = ln_x_0(next);
        if value.abs() < CLOSE {
            break;
        }
        if value > 0.0 {
            if next <= NEGLIGIBLE {
                break;
            }
            high = next;
        } else {
            low = next;
        }
        let newton = (next - value / slope).max(NEGLIGIBLE);
        next = if newton > low && newton < high { newton } else { f64::midpoint(low.max(NEGLIGIBLE), high) };
    }
    exp(2.0 * next)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::hash::{reduce, remix};

    /// The share of items that find both lines full, in lines that forget a whole generation at a time.
    fn simulated(shape: BinShape, load: f64, is_burst: bool) -> f64 {
        let (lines, l) = (4_000_u64, u64::from(shape.window_generations));
        let per_generation = (load * lines as f64 / (l + 1) as f64) as u64;
        // By line: how many items each generation of the window has.
        let mut counts = vec![vec![0_u32; l as usize + 1]; lines as usize];
        let (mut spilled, mut counted, mut number) = (0_u64, 0_u64, 0_u64);
        for generation in 0..6 * (l + 1) {
            let newest = (generation % (l + 1)) as usize;
            counts.iter_mut().for_each(|line| line[newest] = 0);
            // All items of a window at once, or evenly.
            let items = match is_burst {
                true if newest == 0 => per_generation * (l + 1),
                true => 0,
                false => per_generation,
            };
            for _ in 0..items {
                // A linear congruential generator, mixed like the hash of an item.
                number = number.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                let (hash, mixed) = (remix(number, 5), remix(remix(number, 5), 0));
                let pair =
                    [2 * reduce(hash, lines / 2), 2 * reduce(mixed, lines / 2) + 1].map(|line| line as usize);
                let [even, odd] = pair.map(|line| counts[line].iter().sum::<u32>());
                let is_measured = generation > 2 * l;
                counted += u64::from(is_measured);
                if even.min(odd) == shape.entries {
                    spilled += u64::from(is_measured);
                } else {
                    counts[pair[usize::from(odd < even)]][newest] += 1;
                }
            }
        }
        spilled as f64 / counted as f64
    }

    /// Spills change by a factor of ten with a load that is 2% higher, so a factor of two is close.
    #[test]
    fn spills_are_as_frequent_as_simulated() {
        for (bits, l, load) in [(16, 20, 26.2), (25, 28, 16.0), (13, 13, 32.5), (40, 12, 9.2), (19, 16, 22.0)]
        {
            let shape = BinShape::new(bits, l).unwrap();
            let (predicted, even) =
                (BinModel::new(shape, Cells::Many).spill_share(load), simulated(shape, load, false));
            assert!(even > 1e-4, "{bits} bits, {load}: {even:e} is too little to compare");
            assert!((0.5..3.0).contains(&(predicted / even)), "{bits} bits: {predicted:e}, but {even:e}");
            let burst = simulated(shape, load, true);
            assert!(burst < predicted, "{bits} bits: {burst:e} in a burst, but {predicted:e}");
        }
    }
}
