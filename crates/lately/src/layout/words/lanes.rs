//! Lanes of 8 or 16 bits in words, the first at the lowest bits.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

/// Replaces a lane by the lower bits of `value`. The lane must be in the words.
///
/// On a little-endian machine the lanes are in memory as they are in the words, so this is one narrow store,
/// which need not wait for the word to be read.
#[cfg(target_endian = "little")]
#[allow(unsafe_code)]
#[inline(always)]
pub(in crate::layout) fn set_lane<const LANE: u32, const WORDS: usize>(
    words: &mut [u64; WORDS],
    lane: usize,
    value: u64,
) {
    const { assert!(LANE == 8 || LANE == 16) };
    // The number of lanes is a power of two. The remainder is the lane itself; it spares a check.
    let lane = lane % (WORDS * 64 / LANE as usize);
    let lanes = words.as_mut_ptr();
    // SAFETY: the lane is less than the number of lanes that the words have room for; every address is aligned
    // for a byte, and every second one for two.
    unsafe {
        if LANE == 16 {
            lanes.cast::<u16>().add(lane).write(value as u16);
        } else {
            lanes.cast::<u8>().add(lane).write(value as u8);
        }
    }
}

/// The same, word by word.
#[cfg(not(target_endian = "little"))]
#[inline(always)]
pub(in crate::layout) fn set_lane<const LANE: u32, const WORDS: usize>(
    words: &mut [u64; WORDS],
    lane: usize,
    value: u64,
) {
    let bit = lane * LANE as usize;
    words[bit / 64] = with_lane::<LANE>(words[bit / 64], lane, value);
}

/// The word with a lane replaced; the lane is counted from the first word.
#[inline(always)]
pub(in crate::layout) fn with_lane<const LANE: u32>(word: u64, lane: usize, value: u64) -> u64 {
    let (shift, mask) = (lane * LANE as usize % 64, (1 << LANE) - 1);
    word & !(mask << shift) | (value & mask) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_equal<const LANE: u32>() {
        for lane in 0..8 * 64 / LANE as usize {
            for before in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
                let mut words = [before; 8];
                set_lane::<LANE, 8>(&mut words, lane, 0xfedc_ba98_7654_3210);
                let mut expected = [before; 8];
                let word = &mut expected[lane * LANE as usize / 64];
                *word = with_lane::<LANE>(*word, lane, 0xfedc_ba98_7654_3210);
                assert_eq!(words, expected, "lane {lane} of {LANE} bits");
            }
        }
    }

    #[test]
    fn a_lane_is_replaced_and_its_neighbours_stay() {
        assert_equal::<8>();
        assert_equal::<16>();
    }
}
