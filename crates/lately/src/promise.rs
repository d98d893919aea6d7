//! The promise that a user asks of a filter, before any planning.

use core::time::Duration;

use crate::error::ConfigError;
use crate::limits::{MAX_WINDOW, MIN_RATE};
use crate::names::names;
use crate::shape::{FINGERPRINT_BITS, Layout, Segment, Shape};
use crate::window::{Overload, Window};

/// What a filter must keep: a window, a rate, and limits. Every setting is optional.
///
/// This is the one description of a promise: the [`Builder`](crate::Builder) fills it, and so do the flags of
/// the command, the arguments of the Redis commands, and the keywords of the Python package. The rules for
/// what belongs together are checked here, once, by [`check`](Self::check).
///
/// ```
/// use lately::{Filter, Promise};
///
/// let mut promise = Promise::default();
/// promise.window = Some(1_000_000);
/// promise.false_positive_rate = Some(1e-4);
/// let plan = promise.plan()?;
/// let filter = Filter::builder().promise(promise).build()?;
/// assert_eq!(filter.memory_bytes(), plan.memory_bytes);
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Promise {
    /// A count window: the last this many inserts.
    pub window: Option<u64>,
    /// A time window: the inserts of the last span of the caller's clock, rounded up to whole milliseconds.
    #[cfg_attr(feature = "serde", serde(rename = "span_ms", with = "crate::milliseconds::option"))]
    pub span: Option<Duration>,
    /// The most different items expected in the span of a time window. Without it the window is elastic: its memory
    /// follows the traffic, up to `max_memory`.
    pub capacity: Option<u64>,
    /// What a time window keeps when it receives more than its capacity.
    pub overload: Option<Overload>,
    /// The largest acceptable false positive rate. Without it, the best rate that fits into `max_memory`, or
    /// the half-full design of an explicit `shape`.
    pub false_positive_rate: Option<f64>,
    /// The largest acceptable slack.
    pub max_slack: Option<f64>,
    /// The only layout to consider.
    pub layout: Option<Layout>,
    /// The quantity that the planner minimises.
    pub prefer: Prefer,
    /// The most memory, in bytes. An elastic window has [`DEFAULT_ELASTIC_MEMORY`](crate::DEFAULT_ELASTIC_MEMORY)
    /// if this is `None`.
    pub max_memory: Option<u64>,
    /// The only k and l to consider.
    pub shape: Option<(u32, u32)>,
    /// The only kind of segment to consider.
    pub segment: Option<Segment>,
}

/// The quantity that the planner minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Prefer {
    /// Memory, among the layouts that touch at most two cache lines per operation: bins and rows. If neither can
    /// keep the promise (for example a slack of 0.01), the least memory of all.
    #[default]
    Balanced,
    /// Memory accesses, among the plans that take at most three times the least memory: most often rows of 64
    /// bytes down to a rate of 1e-4, of 128 bytes down to 1e-7, and bins below.
    Speed,
    /// Memory. Accesses decide only between plans within 2% of the least memory.
    Memory,
}

/// The value that the planner must find.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The size that a rate needs.
    Size { window: Window, rate: f64 },
    /// The best rate that fits.
    Rate { window: Window, max_memory: u64 },
    /// The fingerprints that an elastic window needs.
    Elastic { window: Window, rate: f64 },
    /// The size at which parts are half full: the paper's design.
    HalfFull { window: Window },
    /// The largest window that fits.
    Window { rate: f64, max_memory: u64 },
}

names!(Prefer, "preference": Balanced = "balanced", Speed = "speed", Memory = "memory");

impl Promise {
    /// Returns the window, or `None` if it is to be found from `max_memory`.
    pub(crate) fn asked_window(&self) -> Result<Option<Window>, ConfigError> {
        match (self.window, self.span, self.capacity) {
            (Some(window), Some(_), _) => Err(ConfigError::TwoWindows { window }),
            (_, None, Some(capacity)) => Err(ConfigError::CapacityWithoutSpan { capacity }),
            (_, None, None) if self.overload.is_some() => Err(ConfigError::OverloadWithoutTime),
            (inserts, None, None) => Ok(inserts.map(|inserts| Window::Count { inserts })),
            (None, Some(span), capacity) => {
                let millis = span.as_nanos().div_ceil(1_000_000);
                let span_ms = u64::try_from(millis).ok().filter(|&span_ms| span_ms > 0);
                let span = Duration::from_millis(span_ms.ok_or(ConfigError::Span { millis })?);
                let overload = self.overload.unwrap_or_default();
                Ok(Some(match capacity {
                    Some(capacity) => Window::Time { span, capacity, overload },
                    // The planner finds how many items fit into the memory.
                    None => Window::Elastic { span, capacity: MAX_WINDOW, overload },
                }))
            }
        }
    }

    /// Checks every setting, which settings go together, and that none is missing. Planning checks more: not
    /// every valid promise can be kept.
    ///
    /// # Errors
    /// Names the setting, its value, and what is possible.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.goal().map(|_| ())
    }

    /// Returns the value that the planner must find, after all checks.
    pub(crate) fn goal(&self) -> Result<Goal, ConfigError> {
        self.check_given()?;
        match (self.asked_window()?, self.false_positive_rate, self.max_memory) {
            (Some(window @ Window::Elastic { .. }), Some(rate), _) => Ok(Goal::Elastic { window, rate }),
            (Some(Window::Elastic { .. }), None, _) => Err(ConfigError::MissingRate),
            (Some(window), Some(rate), _) => Ok(Goal::Size { window, rate }),
            (Some(window), None, Some(max_memory)) => Ok(Goal::Rate { window, max_memory }),
            (Some(window), None, None) if self.shape.is_some() => Ok(Goal::HalfFull { window }),
            (None, Some(rate), Some(max_memory)) => Ok(Goal::Window { rate, max_memory }),
            (Some(_), None, None) => Err(ConfigError::MissingRate),
            (None, ..) => Err(ConfigError::MissingWindow),
        }
    }

    /// The same as [`check`](Self::check), but settings may still be missing.
    ///
    /// # Errors
    /// The same as [`check`](Self::check).
    pub fn check_given(&self) -> Result<(), ConfigError> {
        if let Some(window) = self.asked_window()? {
            let items = window.items();
            if items == 0 || items > MAX_WINDOW {
                return Err(ConfigError::Window { window: items });
            }
            if let (Window::Time { .. }, Some((_, window_generations))) = (window, self.shape)
                && window.span_ms() < u64::from(window_generations)
            {
                return Err(ConfigError::SpanTooShort { span_ms: window.span_ms(), window_generations });
            }
        }
        if let Some(rate) = self.false_positive_rate
            && !(MIN_RATE..1.0).contains(&rate)
        {
            return Err(ConfigError::Rate { rate });
        }
        if let Some(slack) = self.max_slack
            && !(slack > 0.0 && slack.is_finite())
        {
            return Err(ConfigError::Slack { slack });
        }
        if let Some(segment) = self.segment {
            check_segment(&segment)?;
            if let Some(layout) = self.layout
                && layout != segment.layout()
            {
                return Err(ConfigError::LayoutConflict { layout, segment: segment.layout() });
            }
        }
        if let Some((required_matches, window_generations)) = self.shape {
            let smallest = match self.layout {
                Some(Layout::Rows) => Segment::Rows { row_bytes: 128, parts: 1 },
                Some(Layout::Bins) => Segment::Bins { fingerprint_bits: *FINGERPRINT_BITS.start() },
                _ => Segment::Slices { parts: 1 },
            };
            let segment = self.segment.unwrap_or(smallest);
            check_shape(&Shape { required_matches, window_generations, segment })?;
        }
        Ok(())
    }
}

fn check_segment(segment: &Segment) -> Result<(), ConfigError> {
    if segment.is_possible() {
        return Ok(());
    }
    Err(match *segment {
        Segment::Slices { parts } => ConfigError::Parts { parts },
        Segment::Blocks { block_bits, bits_per_block } => ConfigError::Block { block_bits, bits_per_block },
        Segment::Rows { row_bytes, parts } => ConfigError::Row { row_bytes, parts, segments: 1 },
        Segment::Bins { fingerprint_bits } => ConfigError::FingerprintBits { fingerprint_bits },
        Segment::ElasticBins { .. } => ConfigError::ElasticShape,
    })
}

pub(crate) fn check_shape(shape: &Shape) -> Result<(), ConfigError> {
    let Shape { required_matches, window_generations, segment } = *shape;
    if !shape.has_possible_ages() {
        return Err(ConfigError::Shape { required_matches, window_generations });
    }
    match segment {
        Segment::Rows { row_bytes, parts } if !shape.is_possible() => {
            Err(ConfigError::Row { row_bytes, parts, segments: shape.segments() })
        }
        Segment::Bins { .. } if !shape.is_possible() => {
            Err(ConfigError::Bin { required_matches, window_generations })
        }
        _ => Ok(()),
    }
}
