//! The filter: hash, age, layout, answer.

use core::fmt;
use core::time::Duration;

use crate::ageing::{AgeRange, Ageing};
use crate::batch::State;
use crate::error::ConfigError;
use crate::hash::HashFunction;
use crate::item::Item;
use crate::layout::kernel::Instructions;
use crate::layout::{Memory, whichever};
use crate::plan::{Dimensions, Plan};
use crate::query;
use crate::ring::Ring;
use crate::statistics::Counters;
use crate::window::Window;

/// A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory.
///
/// Any of the last [`guaranteed_window`](Self::guaranteed_window) inserts is reported, always. Items that
/// were never inserted are reported at most at the requested rate. Items that have left the window are soon
/// forgotten; [`max_slack`](crate::Builder::max_slack) bounds how soon.
///
/// An item is any `Item`. Every operation also has a form for callers with their own 64-bit hash
/// (`*_hash`; the hash must be well mixed) and for many items at once (`*_batch`, `*_hash_batch`).
///
/// ```
/// use lately::Filter;
///
/// let mut seen = Filter::builder().window(100_000).false_positive_rate(1e-3).build()?;
/// for (delivery, expected) in [("a", false), ("b", false), ("a", true)] {
///     assert_eq!(seen.check_and_insert(delivery), expected);
/// }
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Filter {
    pub(crate) dimensions: Dimensions,
    pub(crate) hash_function: HashFunction,
    pub(crate) ring: Ring,
    pub(crate) ageing: Ageing,
    pub(crate) memory: Memory,
    /// Selects how the filter computes; not part of its state.
    pub(crate) instructions: Instructions,
}

/// Equal filters have the same state, bit for bit.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        let state = |filter: &Self| (filter.dimensions, filter.hash_function);
        state(self) == state(other)
            && self.ring == other.ring
            && self.ageing == other.ageing
            && self.memory == other.memory
    }
}

impl Filter {
    pub(crate) fn with_dimensions(
        dimensions: Dimensions,
        hash_function: HashFunction,
    ) -> Result<Self, ConfigError> {
        let Dimensions { window, shape, items_per_generation, cells, memory_bytes } = dimensions;
        let refused = ConfigError::Allocation { bytes: memory_bytes };
        let ring = Ring::new(shape.required_matches, shape.window_generations);
        let memory = Memory::allocate(&shape, cells, &ring).ok_or(refused)?;
        let ageing = Ageing::new(window, items_per_generation, &ring);
        Ok(Self { dimensions, hash_function, ring, ageing, memory, instructions: Instructions::detect() })
    }

    /// Returns how long ago the item was last inserted, or `None` if the filter does not report it.
    ///
    /// Ages are accurate to one generation. A chance match next to the item's own segments can widen the
    /// range by one generation or more. For an item in the window the range contains the true age, except
    /// with at most the probability of a false positive; then the range is too young.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let mut seen = Filter::builder().window(1000).false_positive_rate(1e-6).build()?;
    /// seen.insert("first");
    /// (0..100_u32).for_each(|i| seen.insert(i.to_le_bytes()));
    /// assert!(seen.age_of("first").unwrap().inserts.contains(&100));
    /// assert_eq!(seen.age_of("never"), None);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }

    /// The same as [`age_of`](Self::age_of), for a hash computed by the caller.
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let segments = self.memory.segments();
        let (newest, oldest) = query::newest_run(&self.ring, |age| segments.matches(hash, &self.ring, age))?;
        Some(self.ageing.age_range(&self.ring, newest, oldest))
    }

    /// Advances the clock of a time window to `now_ms`: milliseconds of a clock that the caller owns (event
    /// time or wall time). The filter never reads a clock itself.
    ///
    /// Time does not run backwards: an earlier `now_ms` has no effect except that
    /// [`Counters::backward_steps`] counts it. The clock is unset until the first call; items inserted before
    /// that call count as inserted at its time. The call makes at most k + l shifts, however long the gap.
    /// Count windows have no clock and ignore the call.
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let mut recent = Filter::builder()
    ///     .time_window(Duration::from_secs(60), 10_000)
    ///     .false_positive_rate(1e-4)
    ///     .build()?;
    /// recent.advance_to(1_700_000_000_000);
    /// recent.insert("click");
    /// recent.advance_to(1_700_000_060_000);
    /// assert!(recent.contains("click"), "60 s later it is still there");
    /// recent.advance_to(1_700_000_180_000);
    /// assert!(!recent.contains("click"), "well past window and slack it is gone");
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn advance_to(&mut self, now_ms: u64) {
        for start_ms in self.ageing.advance_clock(now_ms, &self.ring) {
            let Self { memory, ring, ageing, .. } = self;
            whichever!(Memory: memory, segments => {
                State { segments: segments.update(), ring, ageing }.start_generation(start_ms);
            });
        }
    }

    /// Starts the next generation, as the next insert would, if the current one has more items than its
    /// share. That can happen while threads share the filter.
    #[cfg(feature = "std")]
    pub(crate) fn start_generation_if_overfull(&mut self) {
        let Self { memory, ring, ageing, .. } = self;
        if ageing.is_overfull() {
            whichever!(Memory: memory, segments => {
                State { segments: segments.update(), ring, ageing }.start_generation_if_due();
            });
        }
    }

    /// Returns the first time at which [`advance_to`](Self::advance_to) will shift a time window. Calls with
    /// earlier times do not change any answer, so a batch of items that all have earlier times needs only one
    /// call, before the first item. Returns `None` for count windows, while the clock is unset, and if the
    /// clock cannot reach another shift.
    pub fn next_shift_ms(&self) -> Option<u64> {
        self.ageing.next_generation_ms(&self.ring)
    }

    /// Returns the latest time passed to a time window. `None` for count windows and while the clock is
    /// unset.
    pub fn latest_ms(&self) -> Option<u64> {
        self.ageing.latest_ms
    }

    /// Forgets everything. The filter is like a new one, with its clock unset.
    pub fn clear(&mut self) {
        self.ring = Ring::new(self.ring.required_matches(), self.ring.window_generations());
        let segments = self.memory.segments_mut();
        segments.words_mut().fill(0);
        segments.ring_was_set(&self.ring);
        self.ageing.clear();
    }

    /// Returns how many of the newest inserts are certain to be reported.
    ///
    /// For a count window this is l * g: the requested window, rounded up to whole generations. For a time
    /// window it is the number of inserts that the generations now in the window received; see
    /// [`guaranteed_span`](Self::guaranteed_span).
    pub fn guaranteed_window(&self) -> u64 {
        self.ageing.guaranteed_window(&self.ring)
    }

    /// For a time window, returns the age below which every insert is certain to be reported. `None` for a
    /// count window.
    ///
    /// This is the requested span, unless [`Overload::KeepRate`](crate::Overload::KeepRate) has recently
    /// shortened it.
    pub fn guaranteed_span(&self) -> Option<Duration> {
        self.ageing.guaranteed_span(&self.ring)
    }

    /// Returns the filter's shape and the predictions of the exact model. Computes them at each call.
    pub fn plan(&self) -> Plan {
        Plan::of(&self.dimensions)
    }

    /// Returns the hash function of this filter.
    pub fn hash_function(&self) -> HashFunction {
        self.hash_function
    }

    /// Switches to the next slower instruction set, finally to code without SIMD; returns false if there is
    /// none. The bits stay the same. For tests.
    #[doc(hidden)]
    pub fn use_slower_instructions(&mut self) -> bool {
        let slower = self.instructions.slower();
        self.instructions = slower.unwrap_or(self.instructions);
        slower.is_some()
    }

    /// Returns a copy, or an error if the memory for it cannot be allocated; `clone` would abort the program.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn try_clone(&self) -> Result<Self, ConfigError> {
        let mut copy = Self::with_dimensions(self.dimensions, self.hash_function)?;
        copy.ring = self.ring.clone();
        copy.ageing = self.ageing.clone();
        copy.instructions = self.instructions;
        let segments = copy.memory.segments_mut();
        segments.words_mut().copy_from_slice(self.memory.segments().words());
        segments.ring_was_set(&copy.ring);
        Ok(copy)
    }

    /// Returns the requested window.
    pub fn window(&self) -> Window {
        self.dimensions.window
    }

    /// Returns the number of bytes on the heap; fixed since construction.
    pub fn memory_bytes(&self) -> u64 {
        self.dimensions.memory_bytes
    }

    /// Returns the filter's counters. Unlike [`statistics`](Self::statistics), this does not read the
    /// segments.
    pub fn counters(&self) -> Counters {
        let Ageing { inserts, backward_steps, overloaded_generations, .. } = self.ageing;
        let generation = self.ring.generation();
        Counters { inserts, generation, backward_steps, overloaded_generations }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("dimensions", &self.dimensions)
            .field("hash_function", &self.hash_function)
            .field("inserts", &self.ageing.inserts)
            .field("generation", &self.ring.generation())
            .finish_non_exhaustive()
    }
}
