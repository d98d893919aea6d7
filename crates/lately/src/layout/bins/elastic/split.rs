//! Linear hashing: `n` places, for any n, of which one more can be added or taken away at a time.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::shape::ELASTIC_BLOCK_LINES as BLOCK;

/// How the lowest bits of a hash select one of `n` places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// 2^L - 1, with 2^L <= n < 2^(L+1).
    mask: u64,
    /// n - 2^L: the places below it are divided.
    divided: u64,
}

impl Split {
    pub(super) fn of(n: u64) -> Self {
        let power = 1 << n.ilog2();
        Self { mask: power - 1, divided: n - power }
    }

    #[inline(always)]
    pub(super) fn is_divided(self, hash: u64) -> bool {
        hash & self.mask < self.divided
    }

    #[inline(always)]
    pub(super) fn place(self, hash: u64) -> u64 {
        let low = hash & self.mask;
        if low < self.divided { hash & (2 * self.mask + 1) } else { low }
    }

    /// How many of the lowest bits select the place.
    #[inline(always)]
    pub(super) fn base(self, hash: u64) -> u32 {
        self.bits() + u32::from(self.is_divided(hash))
    }

    /// L.
    fn bits(self) -> u32 {
        self.mask.trailing_ones()
    }

    /// The places below this one are divided.
    pub(super) fn divided(self) -> u64 {
        self.divided
    }

    /// 2^L: the first place that was split off from another.
    pub(super) fn first_of_divided(self) -> u64 {
        self.mask + 1
    }

    /// n.
    pub(super) fn places(self) -> u64 {
        self.mask + 1 + self.divided
    }

    /// The place that place `n` was divided from, and the bit of a hash that decides between the two.
    pub(super) fn origin(n: u64) -> (u64, u32) {
        let bit = n.ilog2();
        (n - (1 << bit), bit)
    }
}

/// How the lines are divided among the sides, and how each side selects one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) splits: [Split; 2],
}

impl Sides {
    /// Blocks of lines are added to the first side until it has twice as many as the other; then to the other, until
    /// it has as many.
    pub(super) fn of(lines: u64) -> Self {
        let blocks = lines / BLOCK;
        let half = 1 << (blocks / 2).max(1).ilog2();
        let more = blocks.saturating_sub(2 * half);
        let of_side = [half + more.min(half), half + more.saturating_sub(half)];
        Self { splits: of_side.map(|blocks| Split::of(blocks * BLOCK)) }
    }

    pub(super) fn lines(&self) -> u64 {
        self.splits.iter().map(|split| split.places()).sum()
    }

    /// The place of a side's block among all blocks, in the order in which they are added.
    #[inline(always)]
    pub(super) fn block_of(block: u64, side: u64) -> u64 {
        // The highest power of two in the number; of block 0 as well.
        let power = (1 << 63) >> (block | 1).leading_zeros();
        let begun = power & block;
        block + begun + side * power
    }

    /// The side of the block that was added last, and its number there.
    pub(super) fn last_block(&self) -> (usize, u64) {
        let blocks = self.splits.map(|split| split.places() / BLOCK);
        let side = usize::from(blocks[0] == blocks[1] || !blocks[1].is_power_of_two());
        (side, blocks[side] - 1)
    }

    /// The number of lines once every line of the side that is being divided has been divided.
    pub(super) fn lines_if_divided(&self) -> u64 {
        let [first, second] = self.splits;
        let power = second.mask + 1;
        if first.places() < 2 * power { 3 * power } else { 4 * power }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_added_at_the_end() {
        for blocks in 2..500 {
            let sides = Sides::of(blocks * BLOCK);
            assert_eq!(sides.lines(), blocks * BLOCK);
            let mut places: alloc::vec::Vec<u64> = (0..2)
                .flat_map(|side| {
                    let of_side = sides.splits[side].places() / BLOCK;
                    (0..of_side).map(move |block| Sides::block_of(block, side as u64))
                })
                .collect();
            let (side, block) = sides.last_block();
            assert_eq!(Sides::block_of(block, side as u64), blocks - 1);
            assert_eq!(sides.splits[side].places() / BLOCK, block + 1);
            places.sort_unstable();
            assert!(places.into_iter().eq(0..blocks));
        }
    }

    #[test]
    fn a_place_takes_its_hashes_from_its_origin_and_no_other_place_changes() {
        for n in 64..600 {
            let (before, after) = (Split::of(n), Split::of(n + 1));
            let (origin, bit) = Split::origin(n);
            for hash in (0..5_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) {
                let (old, new) = (before.place(hash), after.place(hash));
                assert!(old < n && before.base(hash) <= after.base(hash));
                assert_eq!(
                    hash & ((1 << before.base(hash)) - 1),
                    old,
                    "the bits below the base are the place"
                );
                if new != old {
                    assert_eq!((old, new), (origin, n));
                }
                if old == origin {
                    assert_eq!(new == n, hash >> bit & 1 == 1);
                }
            }
        }
    }
}
