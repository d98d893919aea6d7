//! The filter: hash, age, layout, answer.

use core::fmt;
use core::time::Duration;

use crate::ageing::{AgeRange, Ageing};
use crate::batch::State;
use crate::builder::Builder;
use crate::error::ConfigError;
use crate::hash::HashFunction;
use crate::layout::kernel::Instructions;
use crate::layout::{Memory, whichever};
use crate::plan::{Dimensions, Plan};
use crate::query;
use crate::ring::Ring;
use crate::statistics::Counters;
use crate::window::Window;

/// A sliding-window Bloom filter: answers "have I seen this lately?" in fixed memory.
///
/// Any of the last [`guaranteed_window`](Self::guaranteed_window) inserts is reported, always. Items never inserted
/// are reported at most at the rate asked for. Items that have left the window are soon forgotten; how soon is what
/// [`max_slack`](Builder::max_slack) bounds.
///
/// Items are anything `AsRef<[u8]>`. Every operation also has a form for callers who bring their own 64-bit hash
/// (`*_hash`, which must be well mixed), and for many items at once (`*_batch`, `*_hash_batch`).
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
    /// How it computes, not what: no part of its state.
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
    /// Begins the description of a filter.
    pub fn builder() -> Builder {
        Builder::new()
    }

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

    /// How long ago the item was last inserted, or `None` if the filter does not know it.
    ///
    /// Ages are known to a generation, and a chance match next to the item's own segments can widen the range by one
    /// or more. For an item of the window the range contains the truth, except with at most the probability of a
    /// false positive; then it is too young.
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
    pub fn age_of<T: AsRef<[u8]>>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }

    /// [`age_of`](Self::age_of) for a hash of the caller's.
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let segments = self.memory.segments();
        let (newest, oldest) = query::newest_run(&self.ring, |age| segments.matches(hash, &self.ring, age))?;
        Some(self.ageing.age_range(&self.ring, newest, oldest))
    }

    /// Tells a time window the time: milliseconds of a clock the caller owns (event time, or wall time). The filter
    /// never reads a clock itself.
    ///
    /// Time does not run backwards: an earlier `now_ms` counts as the latest seen, and is counted in
    /// [`Counters::backward_steps`]. Until the first call the clock is unset, and items inserted before it count
    /// as inserted at that first time. However long the gap, at most k + l shifts are made. Count windows have no
    /// clock and ignore the call.
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

    /// After a time in which threads shared it, a generation may have more items than its share; the next one begins
    /// then, as it would with the next insert.
    #[cfg(feature = "std")]
    pub(crate) fn start_generation_if_overfull(&mut self) {
        let Self { memory, ring, ageing, .. } = self;
        if ageing.is_overfull() {
            whichever!(Memory: memory, segments => {
                State { segments: segments.update(), ring, ageing }.start_generation_if_due();
            });
        }
    }

    /// The first time at which [`advance_to`](Self::advance_to) will shift a time window. Until then, telling the time
    /// before each of many items, or before the first of them, is the same to their answers: so items with times of
    /// their own can go through in batches. `None` for count windows, until the clock is first set, and where no
    /// time is left for another shift.
    pub fn next_shift_ms(&self) -> Option<u64> {
        self.ageing.next_generation_ms(&self.ring)
    }

    /// The latest time a time window was told. `None` for count windows, and until the clock is first set.
    pub fn latest_ms(&self) -> Option<u64> {
        self.ageing.latest_ms
    }

    /// Forgets everything; the filter is as new, its clock unset.
    pub fn clear(&mut self) {
        self.ring = Ring::new(self.ring.required_matches(), self.ring.window_generations());
        let segments = self.memory.segments_mut();
        segments.words_mut().fill(0);
        segments.ring_was_set(&self.ring);
        self.ageing.clear();
    }

    /// How many of the newest inserts are certain to be reported.
    ///
    /// For a count window: l * g, which is what was asked for, rounded up to whole generations. For a time window: the
    /// inserts that the generations now in the window really brought; see
    /// [`guaranteed_span`](Self::guaranteed_span).
    pub fn guaranteed_window(&self) -> u64 {
        self.ageing.guaranteed_window(&self.ring)
    }

    /// For a time window: everything inserted less than this long ago is certain to be reported. `None` for a count
    /// window.
    ///
    /// This is the span asked for, unless [`Overload::KeepRate`](crate::Overload::KeepRate) has shortened it lately.
    pub fn guaranteed_span(&self) -> Option<Duration> {
        self.ageing.guaranteed_span(&self.ring)
    }

    /// The shape in force and what the exact model predicts of it. Computed at each call.
    pub fn plan(&self) -> Plan {
        Plan::of(&self.dimensions)
    }

    /// The hash function in force.
    pub fn hash_function(&self) -> HashFunction {
        self.hash_function
    }

    /// Computes with the next slower instructions from now on, at last without SIMD, with the same bits; whether there are any.
    /// For tests.
    #[doc(hidden)]
    pub fn use_slower_instructions(&mut self) -> bool {
        let slower = self.instructions.slower();
        self.instructions = slower.unwrap_or(self.instructions);
        slower.is_some()
    }

    /// A copy, or an error if the memory for it cannot be had; `clone` would end the program then.
    ///
    /// # Errors
    /// If so much cannot be allocated.
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

    /// The window asked for.
    pub fn window(&self) -> Window {
        self.dimensions.window
    }

    /// Bytes on the heap; fixed since construction.
    pub fn memory_bytes(&self) -> u64 {
        self.dimensions.memory_bytes
    }

    /// What the filter has counted. Unlike [`statistics`](Self::statistics), this reads none of its memory.
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
