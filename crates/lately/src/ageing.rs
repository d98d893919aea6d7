//! When the ring advances: after g inserts, or when the caller's clock enters a new generation.
//!
//! The generations of a time window are fixed intervals of absolute time: the millisecond t belongs to
//! generation q(t) = floor(t * l / span), computed exactly in integers. So l generations last exactly one
//! span, for any span and l, and filters that see the same times shift together. An item inserted at t is in
//! generation q(t). At t + span the generation is q(t) + l, the last one in which all of the item's segments
//! still exist. So the span is kept to the millisecond.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::{Range, RangeInclusive};
use core::time::Duration;

use crate::error::JumpError;
use crate::ring::{Age, Ring};
use crate::shape::Shape;
use crate::window::{Clock, Overload, Window};

/// How long ago an item was last inserted. The ranges include both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct AgeRange {
    /// The number of later inserts; 0 for the last item inserted.
    pub inserts: RangeInclusive<u64>,
    /// The time since the insert, for time windows whose clock has been set.
    #[cfg_attr(feature = "serde", serde(rename = "millis", with = "crate::milliseconds::range"))]
    pub time: Option<RangeInclusive<Duration>>,
}

/// The start of a generation. It is stored at the ring position of the segment with the generation's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GenerationStart {
    /// The number of inserts before it.
    pub(crate) inserts: u64,
    /// The caller's clock; 0 for count windows and while the clock is unset.
    pub(crate) millis: u64,
}

/// The result of [`Ageing::on_full`]: what to do when the newest generation has its full number of items.
pub(crate) enum Full {
    /// The next insert belongs to a new generation.
    StartGeneration,
    /// The generation goes on: only the clock ends it.
    Continue,
    /// An elastic window may need more room, or less.
    Fit,
}

/// The result of [`Ageing::on_no_room`].
pub(crate) enum NoRoom {
    /// The next insert belongs to a new generation.
    StartGeneration,
    /// The window has lost its oldest generation.
    Drop,
    /// The window stays: the rate rises.
    Continue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ageing {
    pub(crate) window: Window,
    /// l.
    generations: u32,
    pub(crate) items_per_generation: u64,
    /// How many generations, the newest and those before it, share their room.
    sharing: u32,
    pub(crate) inserts: u64,
    /// The number of inserts at which the newest generation is full; `u64::MAX` once it is overloaded. In an
    /// elastic window, the number of inserts at which the filter has to look how much room it needs.
    full_at: u64,
    /// By ring position.
    pub(crate) starts: Box<[GenerationStart]>,
    /// `None` until the caller first sets the clock.
    pub(crate) latest_ms: Option<u64>,
    pub(crate) clock: Clock,
    pub(crate) backward_steps: u64,
    pub(crate) overloaded_generations: u64,
}

impl Ageing {
    pub(crate) fn new(window: Window, items_per_generation: u64, ring: &Ring, shape: &Shape) -> Self {
        // To keep its rate, an overloaded window drops the oldest generation. So no generation may be so
        // large that nothing is left without it.
        let keeps_span = matches!(window, Window::Time { overload: Overload::KeepWindow, .. });
        let sharing = if keeps_span && shape.pools_generations() { ring.segments() } else { 1 };
        Self {
            window,
            generations: shape.window_generations,
            items_per_generation,
            sharing,
            inserts: 0,
            full_at: match window {
                Window::Elastic { .. } => 0,
                _ => items_per_generation.saturating_mul(sharing.into()),
            },
            starts: vec![GenerationStart::default(); ring.segments() as usize].into_boxed_slice(),
            latest_ms: None,
            clock: Clock::Unset,
            backward_steps: 0,
            overloaded_generations: 0,
        }
    }

    /// Resets to the state of a new filter, without allocating.
    pub(crate) fn clear(&mut self) {
        self.inserts = 0;
        self.full_at = if self.is_elastic() { 0 } else { self.shared_room() };
        self.starts.fill(GenerationStart::default());
        self.latest_ms = None;
        self.clock = Clock::Unset;
        self.backward_steps = 0;
        self.overloaded_generations = 0;
    }

    /// Returns true if [`on_full`](Self::on_full) must be called before the next insert.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.inserts >= self.full_at
    }

    /// The number of inserts before which [`on_full`](Self::on_full) is not called.
    pub(crate) fn inserts_before_full(&self) -> u64 {
        self.full_at.saturating_sub(self.inserts)
    }

    #[cfg(feature = "std")]
    pub(crate) fn is_overfull(&self) -> bool {
        self.inserts > self.full_at
    }

    /// The number of inserts at which [`on_full`](Self::on_full) must be called.
    pub(crate) fn full_at(&self) -> u64 {
        self.full_at
    }

    #[inline]
    pub(crate) fn count_insert(&mut self) {
        self.inserts += 1;
    }

    /// Counts inserts up to the end of the generation, at most `most`; returns how many.
    #[inline]
    pub(crate) fn count_inserts(&mut self, most: u64) -> u64 {
        let inserts = self.full_at.saturating_sub(self.inserts).min(most);
        self.inserts += inserts;
        inserts
    }

    /// The paper shifts lazily (section 4.1): at the first insert of a new generation, not at the last of the
    /// old one.
    pub(crate) fn on_full(&mut self) -> Full {
        match self.window {
            Window::Count { .. } => Full::StartGeneration,
            Window::Time { overload, .. } => {
                self.overloaded_generations += 1;
                match overload {
                    Overload::KeepRate => Full::StartGeneration,
                    Overload::KeepWindow => {
                        self.full_at = u64::MAX;
                        Full::Continue
                    }
                }
            }
            Window::Elastic { .. } => Full::Fit,
        }
    }

    /// Sets whose times these are. A count window has none.
    pub(crate) fn set_clock(&mut self, clock: Clock) {
        if self.window.span().is_some() {
            self.clock = clock;
        }
    }

    fn is_elastic(&self) -> bool {
        matches!(self.window, Window::Elastic { .. })
    }

    /// Sets the number of inserts at which an elastic window has to look how much room it needs, from a snapshot.
    pub(crate) fn look_at(&mut self, inserts: u64) {
        self.full_at = inserts;
    }

    /// The same, after so many more inserts.
    pub(crate) fn look_after(&mut self, inserts: u64) {
        self.full_at = self.inserts.saturating_add(inserts);
    }

    /// The same, before the next insert.
    pub(crate) fn look_now(&mut self) {
        self.full_at = self.inserts;
    }

    /// What to do if an elastic window is full and cannot grow. Under [`Overload::KeepRate`] the window loses its oldest
    /// generation, and generations begin early, so that it never loses much at once.
    pub(crate) fn on_no_room(&mut self, ring: &mut Ring) -> NoRoom {
        self.overloaded_generations += 1;
        let Age(oldest) = ring.oldest_in_window();
        if self.window.overload() != Some(Overload::KeepRate) {
            // Until the next generation, which looks again.
            self.full_at = u64::MAX;
            NoRoom::Continue
        } else if oldest > 0 {
            *ring = ring.with_window(Age(oldest - 1));
            NoRoom::Drop
        } else {
            NoRoom::StartGeneration
        }
    }

    /// How many generations of an elastic window may begin before the clock starts them: the ring has room for those
    /// that the clock will start in a span, and for some more.
    pub(crate) fn early_left(&self, ring: &Ring) -> u32 {
        let Some(clock) = self.generation_clock() else { return 0 };
        let Age(oldest) = ring.oldest_in_window();
        let started = |age: u32| clock.generation_at(self.start_of(ring, Age(age)).millis);
        let early = (0..oldest).filter(|&age| started(age) == started(age + 1)).count() as u32;
        (ring.segments() - 1 - self.generations).saturating_sub(early)
    }

    /// Records the start of the generation that the ring has just advanced to.
    pub(crate) fn start_generation(&mut self, ring: &mut Ring, millis: u64) {
        self.starts[ring.position_of(Age(0)).index()] = GenerationStart { inserts: self.inserts, millis };
        if self.is_elastic() {
            *ring = ring.with_window(self.oldest_in_window(ring, ring.oldest_in_window().0 + 1, millis));
            self.look_now();
        } else {
            self.derive_full_at(ring);
            self.overloaded_generations += u64::from(self.full_at == u64::MAX);
        }
    }

    /// The age of the oldest generation in an elastic window at `now_ms`, at most `limit`. Only the starts of the
    /// generations tell: some of them began early.
    fn oldest_in_window(&self, ring: &Ring, limit: u32, now_ms: u64) -> Age {
        let (limit, first_ms) = (limit.min(ring.segments() - 1), self.first_ms_of_window(now_ms));
        let is_in_window = |age: &u32| self.start_of(ring, Age(*age)).millis >= first_ms;
        Age((1..=limit).take_while(is_in_window).last().unwrap_or(0))
    }

    /// The first millisecond of the oldest generation in the window at `now_ms`.
    fn first_ms_of_window(&self, now_ms: u64) -> u64 {
        let oldest =
            |clock: GenerationClock| clock.generation_at(now_ms).saturating_sub(self.generations.into());
        self.generation_clock().map_or(0, |clock| clock.start_of(oldest(clock)))
    }

    /// The number of inserts for which the generations that share their room are made.
    fn shared_room(&self) -> u64 {
        self.items_per_generation.saturating_mul(self.sharing.into())
    }

    /// Fails if `now_ms` is more than `max_jump` ahead of the latest time of a time window.
    pub(crate) fn check_jump(&self, now_ms: u64, max_jump: Duration) -> Result<(), JumpError> {
        // A count window never has a latest time.
        let Some(latest_ms) = self.latest_ms else { return Ok(()) };
        let ahead = Duration::from_millis(now_ms.saturating_sub(latest_ms));
        if ahead > max_jump { Err(JumpError { now_ms, latest_ms, ahead, max_jump }) } else { Ok(()) }
    }

    /// Moves the clock and returns the starts of the generations to enter, oldest first. Never returns more
    /// than the ring has segments: after this number of shifts, nothing older is left.
    pub(crate) fn advance_clock(&mut self, now_ms: u64, ring: &Ring) -> impl Iterator<Item = u64> + use<> {
        let left = self.generations_left(now_ms, ring);
        let clock = self.generation_clock();
        if clock.is_some() {
            self.set_time(now_ms);
        }
        // Each generation left means one entered. Counting the generations left avoids an overflow at the
        // last one.
        left.filter_map(move |generation| clock?.end_of(generation))
    }

    /// The ring after the shifts that `advance_clock` would make.
    pub(crate) fn ring_at(&self, now_ms: u64, ring: &Ring) -> Ring {
        let left = self.generations_left(now_ms, ring);
        // Fits into `u32`: never more than the ring has segments.
        let shifts = (left.end - left.start) as u32;
        let later = ring.after(shifts);
        if shifts == 0 || !self.is_elastic() {
            return later;
        }
        // The generations that are due are younger than all present ones, and at most l + 1 of them are in the window.
        let Age(present) = self.oldest_in_window(ring, ring.oldest_in_window().0, now_ms);
        let newest_is_in_window = self.start_of(ring, Age(0)).millis >= self.first_ms_of_window(now_ms);
        let oldest =
            if newest_is_in_window { present + shifts } else { shifts.min(self.generations + 1) - 1 };
        later.with_window(Age(oldest.min(ring.segments() - 1)))
    }

    fn generations_left(&self, now_ms: u64, ring: &Ring) -> Range<u64> {
        match (self.generation_clock(), self.latest_ms) {
            (Some(clock), Some(latest)) if now_ms > latest => {
                let (from, to) = (clock.generation_at(latest), clock.generation_at(now_ms));
                from.max(to.saturating_sub(u64::from(ring.segments())))..to
            }
            _ => 0..0,
        }
    }

    fn set_time(&mut self, now_ms: u64) {
        match self.latest_ms {
            None => {
                // Items inserted before the clock was set count as inserted now.
                self.starts.iter_mut().for_each(|start| start.millis = now_ms);
                self.latest_ms = Some(now_ms);
            }
            Some(latest) if now_ms < latest => self.backward_steps += 1,
            Some(_) => self.latest_ms = Some(now_ms),
        }
    }

    fn generation_clock(&self) -> Option<GenerationClock> {
        match self.window {
            Window::Count { .. } => None,
            Window::Time { .. } | Window::Elastic { .. } => {
                Some(GenerationClock { span_ms: self.window.span_ms(), generations: self.generations })
            }
        }
    }

    /// The first millisecond of the next generation; `None` for count windows, while the clock is unset, and
    /// in the last generation.
    pub(crate) fn next_generation_ms(&self) -> Option<u64> {
        let clock = self.generation_clock()?;
        clock.end_of(clock.generation_at(self.latest_ms?))
    }

    /// The start time, by the caller's clock, of a generation that begins now.
    pub(crate) fn now_or_zero(&self) -> u64 {
        self.latest_ms.unwrap_or(0)
    }

    pub(crate) fn start_of(&self, ring: &Ring, age: Age) -> GenerationStart {
        self.starts[ring.position_of(age).index()]
    }

    /// How long ago an item was inserted whose generation now has one of the ages `newest..=oldest`.
    pub(crate) fn age_range(&self, ring: &Ring, newest: Age, oldest: Age) -> AgeRange {
        let end = match newest.0.checked_sub(1) {
            Some(younger) => self.start_of(ring, Age(younger)),
            None => GenerationStart { inserts: self.inserts, millis: self.now_or_zero() },
        };
        let start = self.start_of(ring, oldest);
        let least_inserts = self.inserts - end.inserts;
        let most_inserts = (self.inserts - start.inserts).saturating_sub(1).max(least_inserts);
        AgeRange {
            inserts: least_inserts..=most_inserts,
            time: self.latest_ms.map(|now| {
                Duration::from_millis(now - end.millis)..=Duration::from_millis(now - start.millis)
            }),
        }
    }

    /// See [`Filter::guaranteed_window`](crate::Filter::guaranteed_window).
    pub(crate) fn guaranteed_window(&self, ring: &Ring) -> u64 {
        match self.window {
            Window::Count { .. } => u64::from(ring.window_generations()) * self.items_per_generation,
            Window::Time { .. } | Window::Elastic { .. } => {
                self.inserts - self.oldest_certain_generation(ring).inserts
            }
        }
    }

    /// See [`Filter::guaranteed_span`](crate::Filter::guaranteed_span).
    pub(crate) fn guaranteed_span(&self, ring: &Ring) -> Option<Duration> {
        let span = self.window.span()?;
        let nothing_expired = ring.generation() <= u64::from(ring.oldest_in_window().0);
        let certain_ms = self.now_or_zero() - self.oldest_certain_generation(ring).millis;
        let certain = Duration::from_millis(certain_ms);
        // The oldest generation of an elastic window begins later than a span ago if the older ones had no inserts.
        let keeps_all = nothing_expired || self.is_elastic() && !self.has_dropped(ring);
        Some(if keeps_all { span } else { span.min(certain) })
    }

    /// Returns true if an elastic window has dropped a generation before its time.
    fn has_dropped(&self, ring: &Ring) -> bool {
        let Age(oldest) = ring.oldest_in_window();
        let now_ms = self.now_or_zero();
        u64::from(oldest) < ring.generation() && self.oldest_in_window(ring, oldest + 1, now_ms).0 > oldest
    }

    /// The start of the oldest generation in the window: that of age l, except in elastic windows. All its segments
    /// still exist.
    fn oldest_certain_generation(&self, ring: &Ring) -> GenerationStart {
        self.start_of(ring, ring.oldest_in_window())
    }

    /// Computes `full_at` from where the generations started: after a shift, or after a snapshot was loaded. That of
    /// an elastic window is part of the snapshot.
    pub(crate) fn derive_full_at(&mut self, ring: &Ring) {
        let full_at = self.start_of(ring, Age(self.sharing - 1)).inserts.saturating_add(self.shared_room());
        self.full_at = if self.inserts > full_at { u64::MAX } else { full_at };
    }
}

/// Computes which generation a millisecond belongs to.
#[derive(Clone, Copy)]
struct GenerationClock {
    span_ms: u64,
    generations: u32,
}

impl GenerationClock {
    /// floor(t * l / span). Fits into `u64`, because a span has at least l milliseconds.
    fn generation_at(self, millis: u64) -> u64 {
        (u128::from(millis) * u128::from(self.generations) / u128::from(self.span_ms)) as u64
    }

    fn start_of(self, generation: u64) -> u64 {
        generation.checked_sub(1).and_then(|before| self.end_of(before)).unwrap_or(0)
    }

    /// The first millisecond of the generation after this one, or `None` if it does not fit into `u64`.
    fn end_of(self, generation: u64) -> Option<u64> {
        let end =
            ((u128::from(generation) + 1) * u128::from(self.span_ms)).div_ceil(u128::from(self.generations));
        end.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_starts_at_its_first_millisecond() {
        for (span_ms, generations) in [(600_000, 7), (7, 7), (1_000, 3), (u64::MAX, 900), (10, 9)] {
            let clock = GenerationClock { span_ms, generations };
            for millis in [0, 1, 2, 6, 7, 999, 1_700_000_000_000, u64::MAX - 1, u64::MAX] {
                let generation = clock.generation_at(millis);
                let start = generation.checked_sub(1).map_or(0, |before| clock.end_of(before).unwrap());
                assert!(start <= millis);
                assert_eq!(clock.generation_at(start), generation);
                assert!(start == 0 || clock.generation_at(start - 1) < generation);
                let next = clock.end_of(generation);
                assert!(next.is_none_or(|next| clock.generation_at(next) == generation + 1));
                assert!(
                    next.is_some() || clock.generation_at(u64::MAX) == generation,
                    "only the last generation has no next one"
                );
            }
        }
    }

    #[test]
    fn l_generations_last_exactly_one_span() {
        let clock = GenerationClock { span_ms: 1_009, generations: 13 };
        for millis in 0..5_000 {
            assert_eq!(clock.generation_at(millis + 1_009), clock.generation_at(millis) + 13);
        }
    }
}
