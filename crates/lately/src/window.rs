//! The window: what "lately" means. Either the last W inserts, or the last span of time.

use core::time::Duration;

use crate::milliseconds;
use crate::names::names;

/// The requested window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Window {
    /// The last `inserts` inserts.
    Count {
        /// W.
        inserts: u64,
    },
    /// All inserts of the last `span` of the caller's clock.
    Time {
        /// The span, in whole milliseconds.
        #[cfg_attr(feature = "serde", serde(rename = "span_ms", with = "crate::milliseconds::serialized"))]
        span: Duration,
        /// The most different items expected in one span and one generation more.
        capacity: u64,
        /// Selects what the filter keeps if more arrive: the span or the rate.
        overload: Overload,
    },
    /// All inserts of the last `span` of the caller's clock, in memory that follows the traffic.
    Elastic {
        /// The span, in whole milliseconds.
        #[cfg_attr(feature = "serde", serde(rename = "span_ms", with = "crate::milliseconds::serialized"))]
        span: Duration,
        /// The number of different items that the filter has room for once it has grown to its limit.
        capacity: u64,
        /// Selects what the filter keeps if more arrive: the span or the rate.
        overload: Overload,
    },
}

impl Window {
    /// Returns the number of items to make room for: the window itself, or the capacity of a span. An elastic window
    /// makes room when they come.
    #[must_use]
    pub fn items(&self) -> u64 {
        match *self {
            Self::Count { inserts } => inserts,
            Self::Time { capacity, .. } | Self::Elastic { capacity, .. } => capacity,
        }
    }

    /// Returns the span of a time window, elastic or not; `None` for a count window.
    #[must_use]
    pub fn span(&self) -> Option<Duration> {
        match *self {
            Self::Count { .. } => None,
            Self::Time { span, .. } | Self::Elastic { span, .. } => Some(span),
        }
    }

    /// Returns the overload policy of a time window, elastic or not; `None` for a count window.
    #[must_use]
    pub fn overload(&self) -> Option<Overload> {
        match *self {
            Self::Count { .. } => None,
            Self::Time { overload, .. } | Self::Elastic { overload, .. } => Some(overload),
        }
    }

    /// The span of a time window in milliseconds; 0 for a count window.
    pub(crate) fn span_ms(&self) -> u64 {
        self.span().map_or(0, milliseconds::of)
    }

    /// The most generations that the window can have: each has at least one item and one millisecond.
    pub(crate) fn most_generations(&self) -> u64 {
        match *self {
            Self::Count { inserts } => inserts,
            Self::Time { capacity, .. } | Self::Elastic { capacity, .. } => self.span_ms().min(capacity),
        }
    }

    /// g: the number of items per generation if the window has l generations, rounded up.
    pub(crate) fn items_per_generation(&self, window_generations: u32) -> u64 {
        self.items().div_ceil(u64::from(window_generations))
    }

    /// Returns the same window with room for another number of items.
    pub(crate) fn with_items(self, items: u64) -> Self {
        match self {
            Self::Count { .. } => Self::Count { inserts: items },
            Self::Time { span, overload, .. } => Self::Time { span, capacity: items, overload },
            Self::Elastic { span, overload, .. } => Self::Elastic { span, capacity: items, overload },
        }
    }
}

/// Whose times a time window gets. The filter only remembers it, also in its snapshots: so a program that reads the
/// system's clock by itself never mixes it with event times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Clock {
    /// Nobody has said.
    #[default]
    Unset,
    /// The system's clock.
    System,
    /// The times of the events.
    Events,
}

names!(Clock, "clock": Unset = "unset", System = "system", Events = "events");

/// Selects what a time window keeps when it receives more items than its capacity.
/// [`Statistics::overloaded_generations`](crate::Statistics) counts the generations in which that happened. It
/// counts inserts, so it may count repeats that need no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Overload {
    /// Keep the whole time span; the false positive rate rises until the burst has left the window. In
    /// [`Layout::Bins`](crate::Layout) it is at most twice the promise up to a tenth more than the capacity of a
    /// fixed window, and about the promise up to the capacity of an elastic one; with half as much again nearly every
    /// item is reported. All generations of the window share their room.
    #[default]
    KeepWindow,
    /// Keep the false positive rate: a generation that has received its share, capacity / l, is closed early,
    /// so the span gets shorter until the burst has left the window.
    KeepRate,
}

names!(Overload, "overload policy": KeepWindow = "keep_window", KeepRate = "keep_rate");
