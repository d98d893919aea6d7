//! The builder: what a user requests.

use alloc::vec::Vec;
use core::time::Duration;

use super::Filter;
use crate::error::ConfigError;
use crate::hash::HashFunction;
use crate::plan::Plan;
use crate::promise::{Prefer, Promise};
use crate::shape::{Layout, Segment};
use crate::window::Overload;

/// Describes the filter to build; created by [`Filter::builder`].
///
/// A window and a false positive rate are enough. If you give [`max_memory`](Self::max_memory) instead of one
/// of them, the planner finds the best value that fits:
///
/// ```
/// use lately::Filter;
///
/// let by_rate = Filter::builder().window(1_000_000).false_positive_rate(1e-4).build()?;
/// let by_memory = Filter::builder().window(1_000_000).max_memory(4 << 20).build()?;
/// let largest = Filter::builder().false_positive_rate(1e-4).max_memory(4 << 20).build()?;
///
/// assert!(by_rate.plan().false_positive_rate <= 1e-4);
/// assert!(by_memory.plan().memory_bytes <= 4 << 20);
/// assert!(largest.guaranteed_window() > 700_000);
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() or plan() is called"]
pub struct Builder {
    promise: Promise,
    hash_function: HashFunction,
}

impl Filter {
    /// Returns a filter that never forgets the last `window` inserts, and mistakes new items at most at this
    /// rate. [`builder`](Self::builder) has everything else.
    ///
    /// ```
    /// let mut seen = lately::Filter::new(1_000_000, 1e-4)?;
    /// assert!(!seen.check_and_insert("order-17") && seen.check_and_insert("order-17"));
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`Builder::build`].
    pub fn new(window: u64, false_positive_rate: f64) -> Result<Self, ConfigError> {
        Self::builder().window(window).false_positive_rate(false_positive_rate).build()
    }

    /// Returns a builder that describes a filter.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Sets the whole promise at once, and replaces every setting but the hash function.
    pub fn promise(mut self, promise: Promise) -> Self {
        self.promise = promise;
        self
    }

    /// Guarantees the last `inserts` inserts.
    pub fn window(mut self, inserts: u64) -> Self {
        self.promise.window = Some(inserts);
        (self.promise.span, self.promise.capacity) = (None, None);
        self
    }

    /// Guarantees the inserts of the last `span` of the caller's clock (in milliseconds, rounded up). See
    /// [`Filter::advance_to`] for the clock.
    ///
    /// Without a [`capacity`](Self::capacity) the window is *elastic*: its memory follows the traffic, from 10 KiB to
    /// [`max_memory`](Self::max_memory) (by default [`DEFAULT_ELASTIC_MEMORY`](crate::DEFAULT_ELASTIC_MEMORY)), and the
    /// rate holds meanwhile. [`overload`](Self::overload) says what happens if that is not enough.
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let ten_minutes = Duration::from_secs(600);
    /// let mut seen = Filter::builder().time_window(ten_minutes).false_positive_rate(1e-3).build()?;
    /// assert!(seen.memory_bytes() < 11_000);
    /// seen.advance_to(1_700_000_000_000);
    /// seen.extend(0..100_000); // a burst
    /// assert!(seen.contains(0) && seen.memory_bytes() < 600_000);
    /// seen.advance_to(1_700_000_900_000); // a quarter of an hour later
    /// assert!(!seen.contains(0) && seen.memory_bytes() < 20_000);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn time_window(mut self, span: Duration) -> Self {
        self.promise.window = None;
        self.promise.span = Some(span);
        self
    }

    /// Fixes the memory of a time window: it has room for `capacity` different items.
    ///
    /// `capacity` is the largest number of different items expected in one span plus one generation (the span
    /// divided by l). Within it, the rate holds for any arrivals: all at once, evenly, or again and
    /// again. With a tenth more, the rate is at most twice the promise; [`overload`](Self::overload) says what
    /// happens beyond.
    ///
    /// That is true for [`Layout::Bins`](crate::Layout), which time windows are planned with. In the other
    /// layouts, none of the l generations of a span may receive more than capacity / l inserts.
    pub fn capacity(mut self, capacity: u64) -> Self {
        self.promise.capacity = Some(capacity);
        self
    }

    /// Sets what a time window keeps when it receives more items than its capacity: the span (the default) or
    /// the rate.
    pub fn overload(mut self, overload: Overload) -> Self {
        self.promise.overload = Some(overload);
        self
    }

    /// Sets the largest acceptable probability that an item which was never inserted is reported, at the
    /// worst moment, by the exact model.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.promise.false_positive_rate = Some(rate);
        self
    }

    /// Sets how many items that have left the window may still be reported at the worst moment, on average,
    /// as a share of the window (peak NPWS). For example, 0.1 allows a hundred thousand items for a window of
    /// a million. Small slack costs memory. By default the planner aims at
    /// [`DEFAULT_SLACK`](crate::DEFAULT_SLACK).
    pub fn max_slack(mut self, slack: f64) -> Self {
        self.promise.max_slack = Some(slack);
        self
    }

    /// Sets what the planner minimises: memory among the layouts that touch at most two cache lines (the
    /// default), memory accesses, or memory.
    ///
    /// ```
    /// use lately::{Filter, Layout, Prefer};
    ///
    /// let promise = Filter::builder().window(1_000_000).false_positive_rate(1e-3);
    /// let fast = promise.clone().prefer(Prefer::Speed).plan()?;
    /// let small = promise.prefer(Prefer::Memory).plan()?;
    /// assert_eq!(fast.layout(), Layout::Rows);
    /// assert!(fast.accesses.absent < small.accesses.absent && small.memory_bytes < fast.memory_bytes);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.promise.prefer = prefer;
        self
    }

    /// Restricts the planner to this layout. By default the planner chooses the layout.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.promise.layout = Some(layout);
        self
    }

    /// Restricts the planner to this k and l.
    ///
    /// Without a rate this is the paper's own design: parts are half full, and a segment is one slice unless
    /// [`segment`](Self::segment) or [`layout`](Self::layout) says otherwise. With a rate, the segments are
    /// as large as the rate needs.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let paper = Filter::builder().window(100_000).shape(12, 14).build()?;
    /// assert!((paper.plan().false_positive_rate - 0.00105).abs() < 0.00001);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn shape(mut self, required_matches: u32, window_generations: u32) -> Self {
        self.promise.shape = Some((required_matches, window_generations));
        self
    }

    /// Restricts the planner to segments of this kind.
    ///
    /// ```
    /// use lately::{Filter, Segment};
    ///
    /// let blocks = Segment::Blocks { block_bits: 512, bits_per_block: 4 };
    /// let paper = Filter::builder().window(100_000).shape(3, 5).segment(blocks).build()?;
    /// assert!((paper.plan().false_positive_rate - 0.00107).abs() < 0.00001);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn segment(mut self, segment: Segment) -> Self {
        self.promise.segment = Some(segment);
        self
    }

    /// Limits the heap memory of the filter, for its whole life.
    ///
    /// An elastic window grows up to this limit. With any other window and a rate, building fails if they do not fit;
    /// the error names a window or a rate that would. With only one of the two, the planner finds the best value of the other that fits.
    /// [`Prefer::Speed`] may spend up to two thirds of this memory on fewer accesses: the plan may take three
    /// times the least memory for its window and rate.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.promise.max_memory = Some(bytes);
        self
    }

    /// Sets the seed of the default hash, XXH3. Filters that exchange hashes or snapshots must use the same
    /// seed.
    pub fn seed(self, seed: u64) -> Self {
        self.hash_function(HashFunction::Xxh3 { seed })
    }

    /// Selects the hash function for items; the default is XXH3 with seed 0.
    pub fn hash_function(mut self, hash_function: HashFunction) -> Self {
        self.hash_function = hash_function;
        self
    }

    /// Returns the plan that [`build`](Self::build) would use, without allocating the filter.
    ///
    /// # Errors
    /// The same as [`build`](Self::build).
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        self.promise.plan()
    }

    /// Returns ranked plans for the request. The first is the one that [`build`](Self::build) uses; see
    /// [`Prefer`]. Then follows the best plan of each other layout and k (for rows, of each row size), sorted
    /// by memory, or by rate if `max_memory` determines the rate.
    ///
    /// # Errors
    /// The same as [`build`](Self::build).
    pub fn plans(&self) -> Result<Vec<Plan>, ConfigError> {
        self.promise.plans()
    }

    /// Plans the filter and allocates its memory: all that it will ever use, except for an elastic window, which grows.
    ///
    /// Planning takes about a millisecond. To create many filters of one kind, build one and clone it.
    ///
    /// # Errors
    /// If the requested filter cannot be built. The error names the value, the limit and the remedy.
    pub fn build(&self) -> Result<Filter, ConfigError> {
        Filter::with_dimensions(self.promise.dimensions()?, self.hash_function)
    }

    /// Builds the same filter for use by many threads.
    ///
    /// # Errors
    /// The same as [`build`](Self::build).
    #[cfg(feature = "std")]
    pub fn build_shared(&self) -> Result<super::SharedFilter, ConfigError> {
        super::SharedFilter::try_from(self.build()?)
    }
}
