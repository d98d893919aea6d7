//! The ring of segments: which physical segment has which age.
//!
//! Ages are logical (0 is the newest segment), ring positions are physical. They are different types, and
//! [`Ring::position_of`] is the only place that converts one into the other. An item's hash functions depend
//! on the physical position (paper, section 4.1), so an item's bits stay valid however often the ring has
//! turned.

#[cfg(feature = "std")]
use crate::limits::MAX_SEGMENTS;
use crate::shape::Shape;

/// How many generations ago a segment was the newest one; 0 is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Age(pub(crate) u32);

/// Where a segment lies in memory; fixed for the life of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingPosition(u32);

impl RingPosition {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The bits of a [`Ring::code`] for the generations since the last full turn.
#[cfg(feature = "std")]
const CODE_BITS: u32 = MAX_SEGMENTS.ilog2();

/// k + l segments in a circle, and the position of the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    required_matches: u32,
    window_generations: u32,
    /// The age of the oldest generation in the window: l, except in elastic windows.
    oldest_in_window: Age,
    generation: u64,
    /// `-generation mod (k + l)`, stored because computing a remainder on every probe would cost more than
    /// the probe.
    newest: u32,
    /// `generation / (k + l)`, stored for the same reason.
    turns: u64,
}

impl Ring {
    #[cfg(test)]
    pub(crate) fn new(required_matches: u32, window_generations: u32) -> Self {
        Self::at_generation(required_matches, window_generations, 0)
    }

    /// The ring of a new filter of this shape.
    pub(crate) fn of(shape: &Shape) -> Self {
        Self::of_shape_at(shape, 0)
    }

    /// The same after so many shifts. The window of elastic bins is still to be set.
    pub(crate) fn of_shape_at(shape: &Shape, generation: u64) -> Self {
        let Shape { required_matches, .. } = *shape;
        let ring = Self::at_generation(required_matches, shape.segments() - required_matches, generation);
        if shape.is_elastic() { ring.with_window(Age(0)) } else { ring }
    }

    pub(crate) fn at_generation(required_matches: u32, window_generations: u32, generation: u64) -> Self {
        let segments = required_matches + window_generations;
        let turned = (generation % u64::from(segments)) as u32;
        let newest = if turned == 0 { 0 } else { segments - turned };
        let turns = generation / u64::from(segments);
        let oldest_in_window = Age(window_generations);
        Self { required_matches, window_generations, oldest_in_window, generation, newest, turns }
    }

    /// The ring after so many more shifts.
    pub(crate) fn after(&self, shifts: u32) -> Self {
        let generation = self.generation + u64::from(shifts);
        let after = Self::at_generation(self.required_matches, self.window_generations, generation);
        Self { oldest_in_window: self.oldest_in_window, ..after }
    }

    /// The same ring with a shorter or longer window; only elastic windows change it.
    pub(crate) fn with_window(self, oldest_in_window: Age) -> Self {
        debug_assert!(oldest_in_window.0 < self.segments());
        Self { oldest_in_window, ..self }
    }

    /// The age of the oldest generation in the window.
    #[inline]
    pub(crate) fn oldest_in_window(&self) -> Age {
        self.oldest_in_window
    }

    /// The generation in a form that needs no division to be read: the number of full turns, and how many
    /// generations have begun since the last one.
    #[cfg(feature = "std")]
    pub(crate) fn code(&self) -> u64 {
        self.turns << CODE_BITS | u64::from(self.since_turn())
    }

    /// The ring that has this [`code`](Self::code), with k and l of this one.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn at_code(&self, code: u64) -> Self {
        let (segments, turns) = (self.segments(), code >> CODE_BITS);
        let since_turn = (code % (1 << CODE_BITS)) as u32;
        let generation = turns * u64::from(segments) + u64::from(since_turn);
        let newest = if since_turn == 0 { 0 } else { segments - since_turn };
        Self { generation, newest, turns, ..*self }
    }

    /// k: the number of newest segments an insert writes, and the number of consecutive matches a query
    /// needs.
    pub(crate) fn required_matches(&self) -> u32 {
        self.required_matches
    }

    /// l: the number of guaranteed generations.
    pub(crate) fn window_generations(&self) -> u32 {
        self.window_generations
    }

    /// k + l.
    pub(crate) fn segments(&self) -> u32 {
        self.required_matches + self.window_generations
    }

    /// How often the ring has advanced.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// How often the ring has turned all the way round.
    #[inline]
    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    /// How many generations have begun since the last full turn.
    #[inline]
    pub(crate) fn since_turn(&self) -> u32 {
        if self.newest == 0 { 0 } else { self.segments() - self.newest }
    }

    /// The position of the newest segment.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn newest(&self) -> RingPosition {
        RingPosition(self.newest)
    }

    /// The paper's `pos(i) = (i - generation) mod (k + l)`.
    #[inline]
    pub(crate) fn position_of(&self, age: Age) -> RingPosition {
        let unwrapped = self.newest + age.0;
        let segments = self.segments();
        debug_assert!(age.0 < segments, "age {} of {segments} segments", age.0);
        RingPosition(if unwrapped >= segments { unwrapped - segments } else { unwrapped })
    }

    /// Makes every segment one generation older; the oldest position becomes the newest. The caller must
    /// empty it.
    pub(crate) fn advance_generation(&mut self) {
        self.generation += 1;
        self.newest = if self.newest == 0 { self.segments() - 1 } else { self.newest - 1 };
        self.turns += u64::from(self.newest == 0);
    }

    /// All ages, newest first.
    pub(crate) fn ages(&self) -> impl DoubleEndedIterator<Item = Age> + use<> {
        (0..self.segments()).map(Age)
    }

    /// Returns the present age of the segment that will have `age` in the `later` ring; `None` if it will have
    /// been recycled.
    pub(crate) fn age_before(&self, age: Age, later: &Self) -> Option<Age> {
        let shifts = u32::try_from(later.generation - self.generation).ok()?;
        age.0.checked_sub(shifts).map(Age)
    }

    /// The ages that an insert writes, newest first.
    #[inline]
    pub(crate) fn written_ages(&self) -> impl Iterator<Item = Age> + use<> {
        (0..self.required_matches).map(Age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_keeps_its_position_while_it_ages() {
        let mut ring = Ring::new(3, 4);
        let first = ring.position_of(Age(0));
        for age in 1..7 {
            ring.advance_generation();
            assert_eq!(ring.position_of(Age(age)), first);
        }
        ring.advance_generation();
        assert_eq!(ring.position_of(Age(0)), first, "after k + l generations it is recycled as the newest");
    }

    #[test]
    fn a_ring_restored_at_a_generation_equals_one_that_was_turned_there() {
        let mut turned = Ring::new(2, 3);
        for generation in 0..23 {
            assert_eq!(Ring::at_generation(2, 3, generation), turned);
            #[cfg(feature = "std")]
            assert_eq!(Ring::new(2, 3).at_code(turned.code()), turned);
            turned.advance_generation();
        }
    }
}
