//! The code of bins that each instruction set has in its own way: `portable` is the reference, the others give
//! the same answers, faster.

use super::line::Line;
use crate::layout::instructions::InstructionSet;

/// The operations on a line and on its header.
pub(crate) trait BinKernel: InstructionSet {
    /// A bit for each lane of `LANE` bits (8 or 16) that equals the lower bits of the fingerprint. Bits of
    /// places that the line does not have mean nothing.
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64;
    /// The position of the zero that has `n` zeros below it; there must be one.
    fn nth_zero(self, bits: u64, n: u32) -> u32;
}
