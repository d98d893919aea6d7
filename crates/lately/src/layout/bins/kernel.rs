//! The code of bins that each instruction set has in its own way: `portable` is the reference, the others give
//! the same answers, faster.

use crate::layout::instructions::InstructionSet;

/// A line, in words.
pub(super) const LINE_WORDS: usize = 8;
pub(crate) type Line = [u64; LINE_WORDS];

/// The last word of a line contains its header.
pub(super) const HEADER: usize = LINE_WORDS - 1;

/// The operations on a line and on its header.
pub(crate) trait BinKernel: InstructionSet {
    /// A bit for each lane of `LANE` bits (8 or 16) that equals the lower bits of the fingerprint. Bits of
    /// places that the line does not have mean nothing.
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64;
    /// The position of the one that has `n` ones below it, at most 63; 64 if there is none.
    fn nth_one(self, bits: u64, n: u32) -> u32;
    /// Moves the lane after each of these places into it. After the last place follows the first.
    fn move_lanes<const LANE: u32>(self, line: &mut Line, places: u64, last: u32);
}
