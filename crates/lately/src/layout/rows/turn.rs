//! What all rows share in one generation: which part has which age, rebuilt at every shift.

use crate::ring::{Age, Ring};
use crate::shape::RowShape;

/// The longest row, in words.
pub(super) const MAX_WORDS: usize = 32;
/// Doublings that reach a run of 63 parts.
const STEPS: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Turn {
    /// For every 16 bits of a row the age of their segment, as an `i16`; -1 where there is none.
    pub(super) ages: [u64; MAX_WORDS],
    /// All ones where the segment's age is below k: what an insert may write.
    pub(super) active: [u64; MAX_WORDS],
    /// The generation, modulo 2^16.
    pub(super) stamp: u16,
    segments: u32,
    parts: u32,
    /// The newest segment's first part.
    newest_part: u32,
    /// All k + l segments' parts, from bit 0.
    all_parts: u64,
    /// The first parts of the segments at which a run of k may begin: ages 0 to l.
    starts: u64,
    /// Shifts that reduce a run of k * b ones to its first; see [`Turn::reports`].
    steps: [u8; STEPS],
}

impl Turn {
    pub(super) fn new(shape: RowShape, ring: &Ring) -> Self {
        let (parts, segments) = (shape.parts, ring.segments());
        let mut turn = Self {
            ages: [u64::MAX; MAX_WORDS],
            active: [0; MAX_WORDS],
            stamp: ring.generation() as u16,
            segments,
            parts,
            newest_part: ring.position_of(Age(0)).index() as u32 * parts,
            all_parts: (1 << (segments * parts)) - 1,
            starts: (0..=ring.window_generations()).fold(0, |starts, age| starts | 1 << (age * parts)),
            steps: steps_to(ring.required_matches() * parts),
        };
        for age in ring.ages() {
            let first = ring.position_of(age).index() as u32 * parts;
            for part in first..first + parts {
                turn.set_part(shape, part, age, age.0 < ring.required_matches());
            }
        }
        turn
    }

    fn set_part(&mut self, shape: RowShape, part: u32, age: Age, is_active: bool) {
        let quarters_per_part = shape.part_bits() / 16;
        for quarter in part * quarters_per_part..(part + 1) * quarters_per_part {
            let (word, shift) = ((quarter / 4) as usize, quarter % 4 * 16);
            self.ages[word] = self.ages[word] & !(0xffff << shift) | u64::from(age.0) << shift;
            if is_active {
                self.active[word] |= 0xffff << shift;
            }
        }
    }

    /// How many generations a row with this stamp is behind; k + l stands for all that is more.
    #[inline]
    pub(super) fn staleness(&self, stamp: u16) -> u32 {
        u32::from(self.stamp.wrapping_sub(stamp)).min(self.segments)
    }

    /// Matching parts, by place in the row, as matching parts by age; what a row has not yet cleared is left out.
    #[inline]
    pub(super) fn by_age(&self, matching: u64, staleness: u32) -> u64 {
        let total = self.segments * self.parts;
        // The stamp and unused bits may look like a match.
        let matching = matching & self.all_parts;
        let rotated = matching >> self.newest_part | matching << (total - self.newest_part);
        rotated & self.all_parts & (u64::MAX << (staleness * self.parts))
    }

    /// Whether k consecutive segments match: k * b ones in a row, the first of them the first part of a segment.
    ///
    /// After `x &= x >> s` a one stands where a run of s + 1 began; doubling s gets to any length in few steps.
    #[inline]
    pub(super) fn reports(&self, matching: u64, staleness: u32) -> bool {
        let mut runs = self.by_age(matching, staleness);
        for step in self.steps {
            runs &= runs >> step;
        }
        runs & self.starts != 0
    }

    /// Whether all parts of the segment of this age match.
    pub(super) fn segment_matches(&self, matching: u64, staleness: u32, age: Age) -> bool {
        let segment = ((1 << self.parts) - 1) << (age.0 * self.parts);
        self.by_age(matching, staleness) & segment == segment
    }
}

/// Shifts whose sum is `run - 1`, each at most one more than the sum of those before it; zeros at the end do nothing.
fn steps_to(run: u32) -> [u8; STEPS] {
    let mut reached = 1;
    core::array::from_fn(|_| {
        let step = reached.min(run - reached);
        reached += step;
        step as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_find_runs_of_exactly_the_length() {
        for run in 1..=63 {
            for length in 0..=63 {
                let mut runs: u64 = ((1_u128 << length) - 1) as u64;
                steps_to(run).iter().for_each(|step| runs &= runs >> step);
                assert_eq!(runs != 0, length >= run, "run {run} length {length}");
            }
        }
    }
}
