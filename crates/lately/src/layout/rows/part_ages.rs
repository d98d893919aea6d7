//! The state that all rows share in one generation: the age of each part, and the stamp.

use crate::ring::{Age, Ring};
use crate::shape::{MOST_PARTS_IN_ROW, RowShape};

/// Doublings that reach a run of 63 parts.
const STEPS: usize = 6;
/// Doublings that reach a run of 16 parts, enough for most shapes.
const COMMON_STEPS: usize = 4;

/// Parts in a row of one cache line, including the part with the stamp.
const MOST_PARTS_IN_LINE: usize = 32;

/// The generation in which a row was last written, modulo 2^15. It lies in the upper bits of the row's last
/// word, below the topmost bit, which is the claim of a thread that is writing to the row (`shared`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u16);

impl Stamp {
    const MASK: u16 = 0x7fff;

    pub(crate) fn of_generation(generation: u64) -> Self {
        Self(generation as u16 & Self::MASK)
    }

    /// Reads the stamp from a row's last word.
    #[inline]
    pub(crate) fn of_word(word: u64) -> Self {
        Self((word >> 48) as u16 & Self::MASK)
    }

    /// The upper 16 bits of a row's last word.
    #[inline]
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// Returns how many generations older `older` is.
    #[inline]
    pub(crate) fn since(self, older: Self) -> u32 {
        u32::from(self.0.wrapping_sub(older.0) & Self::MASK)
    }
}

/// The ages of a row's parts, for one position of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct PartAges<const WORDS: usize> {
    /// The age of each part's segment as an `i16`; -1 if the part belongs to no segment.
    pub(super) by_part: [u64; WORDS],
    /// All ones where the segment's age is below k: the bits that an insert may write.
    pub(super) active: [u64; WORDS],
    /// Indexed by how many generations a row is behind: the live parts, by place. These belong to segments
    /// that have not been recycled since the row was written. The other parts belong to recycled segments, or
    /// are the stamp or unused bits, which may look like a match.
    live: [u64; MOST_PARTS_IN_ROW + 1],
    /// Only for rows of at most 32 parts: the parts, by place, of each run that is reported, two runs per
    /// word. Unused entries are all ones; no row matches them, because the last part holds the stamp.
    pub(super) runs: [u64; MOST_PARTS_IN_LINE / 2],
    segments: u32,
    parts: u32,
    /// The first part of the newest segment, and the number of parts from there on.
    newest_part: u32,
    parts_from_newest: u32,
    /// The first parts of the segments at which a run of k may begin: ages 0 to l.
    starts: u64,
    /// Shifts that reduce a run of k * b ones to its first; see [`PartAges::reports`].
    steps: [u8; STEPS],
}

impl<const WORDS: usize> PartAges<WORDS> {
    pub(super) fn new(shape: RowShape, ring: &Ring) -> Self {
        let (parts, segments) = (shape.parts, ring.segments());
        let newest_part = ring.position_of(Age(0)).index() as u32 * parts;
        let mut ages = Self {
            by_part: [u64::MAX; WORDS],
            active: [0; WORDS],
            live: [0; MOST_PARTS_IN_ROW + 1],
            runs: [u64::MAX; MOST_PARTS_IN_LINE / 2],
            segments,
            parts,
            newest_part,
            parts_from_newest: segments * parts - newest_part,
            starts: (0..=ring.window_generations()).fold(0, |starts, age| starts | 1 << (age * parts)),
            steps: steps_to(ring.required_matches() * parts),
        };
        for age in ring.ages() {
            let first = ring.position_of(age).index() as u32 * parts;
            let all_parts = low_bits(parts) << first;
            ages.live[..=age.0 as usize].iter_mut().for_each(|live| *live |= all_parts);
            for part in first..first + parts {
                ages.set_part(part, age, age.0 < ring.required_matches());
            }
        }
        if has_few_parts::<WORDS>() {
            for start in 0..=ring.window_generations() {
                let by_age = low_bits(ring.required_matches() * parts) << (start * parts);
                let (word, shift) = (start as usize / 2, start % 2 * 32);
                ages.runs[word] = ages.runs[word] & !(0xffff_ffff << shift) | ages.by_place(by_age) << shift;
            }
        }
        ages
    }

    fn set_part(&mut self, part: u32, age: Age, is_active: bool) {
        let (word, shift) = ((part / 4) as usize, part % 4 * 16);
        self.by_part[word] = self.by_part[word] & !(0xffff << shift) | u64::from(age.0) << shift;
        if is_active {
            self.active[word] |= 0xffff << shift;
        }
    }

    /// The live parts, by place, of a row that is `staleness` generations behind.
    #[inline]
    fn live(&self, staleness: u32) -> u64 {
        self.live[staleness.min(self.segments) as usize % self.live.len()]
    }

    /// Converts matching live parts from place in the row to age. Bits from (k + l) * b on have no meaning.
    #[inline]
    fn by_age(&self, matching: u64) -> u64 {
        matching >> self.newest_part | matching << self.parts_from_newest
    }

    /// The inverse of [`by_age`](Self::by_age), for bits below (k + l) * b.
    fn by_place(&self, by_age: u64) -> u64 {
        (by_age << self.newest_part | by_age >> self.parts_from_newest) & low_bits(self.segments * self.parts)
    }

    /// Returns true if k consecutive segments match, given the matching live parts: k * b consecutive ones,
    /// the first of which is the first part of a segment.
    ///
    /// After `x &= x >> s`, a one marks the start of a run of s + 1; doubling s reaches any length in a few
    /// steps. A run that begins at age l ends with the last part.
    #[inline]
    pub(super) fn reports(&self, matching: u64) -> bool {
        let mut runs = self.by_age(matching);
        let (common, more) = self.steps.split_at(COMMON_STEPS);
        for step in common {
            runs &= runs >> step;
        }
        if more[0] != 0 {
            for step in more {
                runs &= runs >> step;
            }
        }
        runs & self.starts != 0
    }

    /// Returns true if all parts of the segment of this age match.
    pub(super) fn segment_matches(&self, matching: u64, age: Age) -> bool {
        let segment = low_bits(self.parts) << (age.0 * self.parts);
        self.by_age(matching) & segment == segment
    }
}

/// A generation, as rows see it: the ages that their parts have in it, and its stamp.
#[derive(Clone, Copy)]
pub(crate) struct Generation<'a, const WORDS: usize> {
    pub(crate) ages: &'a PartAges<WORDS>,
    pub(crate) stamp: Stamp,
}

impl<const WORDS: usize> Generation<'_, WORDS> {
    /// Returns how many generations a row is behind, from its last word.
    #[inline]
    pub(super) fn staleness(self, last: u64) -> u32 {
        self.stamp.since(Stamp::of_word(last))
    }

    /// Returns the live parts of a row, by place, from its last word.
    #[inline]
    pub(super) fn live(self, last: u64) -> u64 {
        self.ages.live(self.staleness(last))
    }
}

/// The current generation of a filter; a shift replaces it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct CurrentGeneration<const WORDS: usize> {
    ages: PartAges<WORDS>,
    stamp: Stamp,
}

impl<const WORDS: usize> CurrentGeneration<WORDS> {
    pub(super) fn new(shape: RowShape, ring: &Ring) -> Self {
        Self { ages: PartAges::new(shape, ring), stamp: Stamp::of_generation(ring.generation()) }
    }

    #[inline]
    pub(super) fn get(&self) -> Generation<'_, WORDS> {
        Generation { ages: &self.ages, stamp: self.stamp }
    }
}

/// Returns true if a bit for each part of a row fits into 32 bits.
pub(super) const fn has_few_parts<const WORDS: usize>() -> bool {
    WORDS == 8
}

/// Returns a word with the lowest `ones` bits set; `ones` is less than 64.
fn low_bits(ones: u32) -> u64 {
    (1 << ones) - 1
}

/// Returns shifts whose sum is `run - 1`, each at most one more than the sum of those before it. Zeros at the
/// end have no effect.
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
