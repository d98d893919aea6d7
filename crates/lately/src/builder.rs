//! What a user asks for.

use alloc::vec::Vec;
use core::time::Duration;

use crate::error::ConfigError;
use crate::filter::Filter;
use crate::hash::HashFunction;
use crate::plan::{Plan, Prefer, Request};
use crate::shape::{Layout, Segment};
use crate::window::{Overload, Window};

/// Describes a filter; made by [`Filter::builder`].
///
/// A window and a false positive rate are all it needs. Leave out one of them and give
/// [`max_memory`](Self::max_memory) instead, and you get the best that fits:
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
    window: Option<AskedWindow>,
    overload: Option<Overload>,
    rate: Option<f64>,
    max_slack: Option<f64>,
    layout: Option<Layout>,
    shape: Option<(u32, u32)>,
    segment: Option<Segment>,
    max_memory: Option<u64>,
    prefer: Prefer,
    hash_function: HashFunction,
}

#[derive(Clone, Copy, Debug)]
enum AskedWindow {
    Count(u64),
    Time(Duration, u64),
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Never forget the last `inserts` inserts.
    pub fn window(mut self, inserts: u64) -> Self {
        self.window = Some(AskedWindow::Count(inserts));
        self
    }

    /// Never forget what was inserted in the last `span` (to the millisecond, rounded up) of the caller's clock; room
    /// for `capacity` inserts in a span, spread so that none of its l generations brings more than its share. Give a
    /// bursty stream room for its bursts. See [`Filter::advance_to`] and [`overload`](Self::overload).
    pub fn time_window(mut self, span: Duration, capacity: u64) -> Self {
        self.window = Some(AskedWindow::Time(span, capacity));
        self
    }

    /// What a time window keeps when more items arrive than its capacity.
    pub fn overload(mut self, overload: Overload) -> Self {
        self.overload = Some(overload);
        self
    }

    /// How often an item never inserted may be reported, at the worst moment, by the exact model.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// How many items that have left the window may still be reported at the worst moment, on average, as a share of
    /// the window (peak NPWS). 0.1 and a window of a million: a hundred thousand. Small slack costs memory. Without
    /// it the planner aims at [`DEFAULT_SLACK`](crate::DEFAULT_SLACK).
    pub fn max_slack(mut self, slack: f64) -> Self {
        self.max_slack = Some(slack);
        self
    }

    /// What the planner minimises: memory accesses within twice the least memory (the default), or memory.
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
        self.prefer = prefer;
        self
    }

    /// Only this layout; without it the planner chooses.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Only this k and l: "the paper's own choice". Without a rate, parts are half full by design, and a segment is one
    /// slice, or what [`segment`](Self::segment) or [`layout`](Self::layout) say; with a rate, as large as it takes.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let paper = Filter::builder().window(100_000).shape(12, 14).build()?;
    /// assert!((paper.plan().false_positive_rate - 0.00105).abs() < 0.00001);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn shape(mut self, required_matches: u32, window_generations: u32) -> Self {
        self.shape = Some((required_matches, window_generations));
        self
    }

    /// Only segments of this kind.
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
        self.segment = Some(segment);
        self
    }

    /// At most this much memory on the heap, for the life of the filter.
    ///
    /// With a window and a rate, building fails if they do not fit, and the error says what would. With only one of the
    /// two, the other is the best that fits; with [`Prefer::Speed`], the best that a plan can give which takes at most
    /// twice the least memory.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// Seeds the default hash, XXH3. Filters that exchange hashes or snapshots must agree on it.
    pub fn seed(self, seed: u64) -> Self {
        self.hash_function(HashFunction::Xxh3 { seed })
    }

    /// Another hash of items.
    pub fn hash_function(mut self, hash_function: HashFunction) -> Self {
        self.hash_function = hash_function;
        self
    }

    /// What [`build`](Self::build) would build, without allocating it.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        self.request()?.dimensions().map(|dimensions| Plan::of(&dimensions))
    }

    /// Ranked plans for the promise. The first is what [`build`](Self::build) takes; see [`Prefer`]. Then, by memory, the
    /// best of each other layout and k (of rows: of each row size); by rate, where `max_memory` decides it.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn plans(&self) -> Result<Vec<Plan>, ConfigError> {
        self.request()?.plans()
    }

    /// Plans the filter and allocates all the memory it will ever use.
    ///
    /// Planning takes a twentieth of a second or more. Who needs many filters of one kind builds one and clones it.
    ///
    /// # Errors
    /// If no filter can be built as asked; the error names the value, the limit and the remedy.
    pub fn build(&self) -> Result<Filter, ConfigError> {
        Filter::with_dimensions(self.request()?.dimensions()?, self.hash_function)
    }

    /// The same filter for threads to share.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[cfg(feature = "std")]
    pub fn build_shared(&self) -> Result<crate::SharedFilter, ConfigError> {
        crate::SharedFilter::try_from(self.build()?)
    }

    fn request(&self) -> Result<Request, ConfigError> {
        let window = match (self.window, self.overload) {
            (Some(AskedWindow::Time(span, capacity)), overload) => {
                let millis = span.as_nanos().div_ceil(1_000_000);
                let span_ms =
                    u64::try_from(millis).ok().filter(|&ms| ms > 0).ok_or(ConfigError::Span { millis })?;
                Some(Window::Time { span_ms, capacity, overload: overload.unwrap_or_default() })
            }
            (_, Some(_)) => return Err(ConfigError::OverloadWithoutTime),
            (Some(AskedWindow::Count(inserts)), None) => Some(Window::Count { inserts }),
            (None, None) => None,
        };
        Ok(Request {
            window,
            rate: self.rate,
            max_slack: self.max_slack,
            layout: self.layout,
            shape: self.shape,
            segment: self.segment,
            max_memory: self.max_memory,
            prefer: self.prefer,
        })
    }
}
