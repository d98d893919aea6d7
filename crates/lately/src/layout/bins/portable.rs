//! The reference implementation: compares the lanes of a word at once, on any platform.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::kernel::{BinKernel, HEADER, LINE_WORDS, Line};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::simd128::equal_lanes;
use crate::layout::instructions::Portable;

impl BinKernel for Portable {
    #[inline(always)]
    fn equal_lanes<const LANE: u32>(self, line: &Line, fingerprint: u64) -> u64 {
        equal_lanes::<LANE>(line, fingerprint)
    }

    #[inline(always)]
    fn nth_one(self, bits: u64, n: u32) -> u32 {
        nth_one(bits, n)
    }

    #[inline(always)]
    fn move_lanes<const LANE: u32>(self, line: &mut Line, places: u64, last: u32) {
        move_lanes::<LANE>(line, places, last);
    }
}

/// Does not branch: the places are anywhere.
#[inline(always)]
pub(super) fn move_lanes<const LANE: u32>(line: &mut Line, places: u64, last: u32) {
    let lanes = 64 / LANE;
    let lowest_bits = u64::MAX / ((1 << LANE) - 1);
    let one_bit_each = (0..lanes).fold(0, |bits, lane| bits | 1_u64 << (lane * (LANE + 1)));
    let first = line[0] & ((1 << LANE) - 1);
    let mut moved: Line = core::array::from_fn(|word| {
        let above = if word == HEADER { 0 } else { line[word + 1] << (64 - LANE) };
        line[word] >> LANE | above
    });
    let (last_word, shift) = ((last / lanes) as usize % LINE_WORDS, last % lanes * LANE);
    moved[last_word] = moved[last_word] & !(((1 << LANE) - 1) << shift) | first << shift;
    for word in 0..HEADER {
        let wanted = places >> (word as u32 * lanes) & ((1 << lanes) - 1);
        // A bit for each lane that is wanted, at a different place in each; then its highest bit; then all bits.
        let bit = wanted.wrapping_mul(lowest_bits) & one_bit_each;
        let highest = (bit + ((lowest_bits << (LANE - 1)) - lowest_bits)) >> (LANE - 1) & lowest_bits;
        let mask = highest * ((1 << LANE) - 1);
        line[word] = line[word] & !mask | moved[word] & mask;
    }
}

/// Places are never in the last word.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn equal_lanes<const LANE: u32>(line: &Line, fingerprint: u64) -> u64 {
    let lanes = 64 / LANE;
    let lowest_bits = u64::MAX / ((1 << LANE) - 1);
    let highest_bits = lowest_bits << (LANE - 1);
    let wanted = (fingerprint & ((1 << LANE) - 1)) * lowest_bits;
    // Moves the lowest bit of each lane next to each other, at the top.
    let gather = (0..lanes).fold(0, |gather, lane| gather | 1_u64 << (lane * (LANE - 1)));
    let mut equal = 0;
    for (word, bits) in line[..HEADER].iter().enumerate() {
        let different = bits ^ wanted;
        // The highest bit of a lane stays zero only if all its bits are.
        let is_different = (different & !highest_bits).wrapping_add(!highest_bits) | different;
        let is_equal = !is_different & highest_bits;
        let gathered = (is_equal >> (LANE - 1)).wrapping_mul(gather) >> (64 - LANE - lanes + 1);
        equal |= (gathered & ((1 << lanes) - 1)) << (word as u32 * lanes);
    }
    equal
}

/// Finds first the byte of the one, by adding up the ones of all bytes at once, then its bit. Does not branch on
/// where it is: marks are anywhere.
#[inline(always)]
pub(super) fn nth_one(bits: u64, n: u32) -> u32 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    let pairs = bits - ((bits >> 1) & (0x55 * BYTES));
    let nibbles = (pairs & (0x33 * BYTES)) + ((pairs >> 2) & (0x33 * BYTES));
    let counts = (nibbles + (nibbles >> 4)) & (0x0f * BYTES);
    let up_to = counts.wrapping_mul(BYTES);
    if u64::from(n) >= up_to >> 56 {
        return u64::BITS;
    }
    // The top bit of a byte is set if the ones up to it are too few.
    let too_few = ((u64::from(n) | 0x80) * BYTES).wrapping_sub(up_to) & (0x80 * BYTES);
    let shift = (too_few >> 7).wrapping_mul(BYTES) >> 56 << 3;
    let before = (up_to << 8 >> shift & 0xff) as u32;
    let byte = (bits >> shift & 0xff) as usize;
    shift as u32 + u32::from(ONES_OF_BYTE[byte][((n - before) % 8) as usize])
}

/// The positions of the ones in each byte.
static ONES_OF_BYTE: [[u8; 8]; 256] = {
    let mut positions = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut n) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                positions[byte][n] = bit as u8;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    positions
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_is_found_in_every_word() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..200 {
            bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(round);
            let sparse = bits & bits.rotate_left(7);
            for word in [bits, sparse, !sparse, u64::MAX, 1, 1 << 63] {
                let positions = (0..64).filter(|position| word >> position & 1 == 1);
                for (n, position) in positions.chain([64]).enumerate().take(64) {
                    assert_eq!(nth_one(word, n as u32), position, "{word:x} {n}");
                }
            }
        }
    }
}
