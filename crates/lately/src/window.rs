//! What "lately" means: the last W inserts, or the last T milliseconds.

/// The window a filter was asked to keep.
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
    /// Everything inserted in the last `span_ms` milliseconds of the caller's clock.
    Time {
        /// The span.
        span_ms: u64,
        /// The most inserts expected in one span; beyond it, `overload` decides.
        capacity: u64,
        /// What gives way when more arrive.
        overload: Overload,
    },
}

impl Window {
    /// The items to make room for: the window itself, or the capacity of a span.
    pub fn items(&self) -> u64 {
        match *self {
            Self::Count { inserts } => inserts,
            Self::Time { capacity, .. } => capacity,
        }
    }

    /// g: the items that one of l generations has to take, rounded up.
    pub(crate) fn items_per_generation(&self, window_generations: u32) -> u64 {
        self.items().div_ceil(u64::from(window_generations))
    }

    /// The same window with room for another number of items.
    pub(crate) fn with_items(self, items: u64) -> Self {
        match self {
            Self::Count { .. } => Self::Count { inserts: items },
            Self::Time { span_ms, overload, .. } => Self::Time { span_ms, capacity: items, overload },
        }
    }
}

/// What a time window keeps when more items arrive than its capacity. A generation that brings more than its share,
/// capacity / l, is overloaded; [`Statistics::overloaded_generations`](crate::Statistics) counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Overload {
    /// Keep the whole time span; the false positive rate rises until the burst has left the window.
    #[default]
    KeepWindow,
    /// Keep the false positive rate; the overloaded generation is closed early, so the span gets shorter until the
    /// burst has left the window.
    KeepRate,
}
