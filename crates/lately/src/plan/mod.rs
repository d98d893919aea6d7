//! From an asked-for promise to a shape and a size.
//!
//! [`sizing`] finds the least size at which a given shape keeps a rate, [`search`] goes through the shapes, and
//! [`Request`] decides which is to be found: the size, the rate or the window.

mod dimensions;
mod rows;
mod search;
mod shards;
mod sizing;

use alloc::vec::Vec;

pub(crate) use dimensions::Dimensions;
pub use shards::shard_window;

use crate::error::ConfigError;
use crate::model::{self, QueryAccesses};
use crate::shape::{Layout, Segment, Shape};
use crate::window::Window;

/// The most items a window may hold; counts up to here are exact in floating point.
pub const MAX_WINDOW: u64 = 1 << 48;
/// The least rate that may be asked for.
pub const MIN_RATE: f64 = 1e-15;
/// The slack that is aimed at when none is asked for. Where the window is too small for it, the planner takes more.
pub const DEFAULT_SLACK: f64 = 0.2;

/// A filter that could be built: its shape, its size, and what the exact model predicts of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Plan {
    /// The window asked for.
    pub window: Window,
    /// k, l and the kind of segment.
    pub shape: Shape,
    /// g: inserts between two shifts (for a time window, the share of its capacity that one generation has).
    pub items_per_generation: u64,
    /// Cells in each segment: bits of a part for slices (the paper's m), blocks for blocks. For rows, the rows, which
    /// all segments share.
    pub cells: u64,
    /// All the memory the filter will ever have on the heap.
    pub memory_bytes: u64,
    /// Memory for each item of the window asked for, in bits.
    pub bits_per_item: f64,
    /// Predicted false positive rate at the worst moment, just before a shift.
    pub false_positive_rate: f64,
    /// Predicted slack at its peak: items beyond the window asked for that are still reported, over that window. What
    /// rounding the window up to whole generations adds is part of it.
    pub npws: f64,
    /// Memory accesses of an insert.
    pub accesses_per_insert: u32,
    /// Predicted memory accesses of a query.
    pub accesses: QueryAccesses,
    /// Memory of a plain Bloom filter of the same rate and capacity, over this.
    pub efficiency: f64,
}

impl Plan {
    pub(crate) fn of(dimensions: &Dimensions) -> Self {
        let Dimensions { window, shape, items_per_generation, cells, memory_bytes } = *dimensions;
        let profile = dimensions.profile();
        let false_positive_rate = dimensions.worst_rate_of(&profile);
        let bits_per_item = memory_bytes as f64 * 8.0 / window.items() as f64;
        Self {
            window,
            shape,
            items_per_generation,
            cells,
            memory_bytes,
            bits_per_item,
            false_positive_rate,
            npws: dimensions.npws_of(&profile),
            accesses_per_insert: shape.accesses_per_insert(),
            accesses: profile.accesses(),
            efficiency: model::bloom_bits_per_item(false_positive_rate) / bits_per_item,
        }
    }

    /// The layout of the segments.
    pub fn layout(&self) -> Layout {
        self.shape.segment.layout()
    }

    /// w = l * g: the items of the window, rounded up to whole generations.
    pub fn guaranteed_items(&self) -> u64 {
        self.items_per_generation * u64::from(self.shape.window_generations)
    }
}

/// What the planner minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Prefer {
    /// Memory accesses, among the plans that take at most twice the least memory.
    #[default]
    Speed,
    /// Memory; accesses only among plans within 2% of the least.
    Memory,
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// `None`: the largest count window that fits into `max_memory`.
    pub(crate) window: Option<Window>,
    /// `None`: the best rate that fits into `max_memory`, or the half-full design of an explicit shape.
    pub(crate) rate: Option<f64>,
    pub(crate) max_slack: Option<f64>,
    pub(crate) layout: Option<Layout>,
    /// k and l.
    pub(crate) shape: Option<(u32, u32)>,
    pub(crate) segment: Option<Segment>,
    pub(crate) max_memory: Option<u64>,
    pub(crate) prefer: Prefer,
}

impl Request {
    /// What to build.
    pub(crate) fn dimensions(&self) -> Result<Dimensions, ConfigError> {
        // A search finds at least one, or fails.
        self.search().map(|found| found[0])
    }

    /// The plan to build, first, and other good ones after it: the best of their layout and k.
    pub(crate) fn plans(&self) -> Result<Vec<Plan>, ConfigError> {
        self.search().map(|found| found.iter().map(Plan::of).collect())
    }

    fn search(&self) -> Result<Vec<Dimensions>, ConfigError> {
        self.check()?;
        match (self.window, self.rate, self.max_memory) {
            (Some(window), Some(rate), None) => search::least_memory(self, window, rate),
            (Some(window), Some(rate), Some(max_memory)) => {
                let found = search::least_memory(self, window, rate)?;
                self.within_memory(found, window, rate, max_memory)
            }
            (Some(window), None, Some(max_memory)) => search::best_rate(self, window, max_memory),
            (Some(window), None, None) if self.shape.is_some() => search::half_full(self, window),
            (None, Some(rate), Some(max_memory)) => search::largest_window(self, rate, max_memory),
            (Some(_), None, None) => Err(ConfigError::MissingRate),
            (None, ..) => Err(ConfigError::MissingWindow),
        }
    }

    fn within_memory(
        &self,
        mut found: Vec<Dimensions>,
        window: Window,
        rate: f64,
        max_memory: u64,
    ) -> Result<Vec<Dimensions>, ConfigError> {
        let needed_bytes = found.iter().map(|candidate| candidate.memory_bytes).min().unwrap_or(u64::MAX);
        found.retain(|candidate| candidate.memory_bytes <= max_memory);
        if !found.is_empty() {
            return Ok(found);
        }
        let best = |found: Result<Vec<Dimensions>, ConfigError>| found.ok().map(|found| found[0]);
        Err(ConfigError::MemoryTooSmall {
            needed_bytes,
            max_memory,
            fitting_window: best(search::largest_window(self, rate, max_memory))
                .map(|best| best.window.items()),
            fitting_rate: best(search::best_rate(self, window, max_memory))
                .and_then(|best| self.rate_that_fits(window, best.worst_rate(), max_memory)),
        })
    }

    /// The two searches differ a little in the shapes they try: a rate is suggested only if asking for it works.
    fn rate_that_fits(&self, window: Window, best: f64, max_memory: u64) -> Option<f64> {
        let looser = core::iter::successors(Some(best * 1.001), |rate| Some(rate * 1.1)).take(6);
        looser.take_while(|&rate| rate < 1.0).find(|&rate| {
            let found = search::least_memory(self, window, rate);
            found.is_ok_and(|found| found.iter().any(|candidate| candidate.memory_bytes <= max_memory))
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        if let Some(window) = self.window {
            let items = window.items();
            if items == 0 || items > MAX_WINDOW {
                return Err(ConfigError::Window { window: items });
            }
            if let (Window::Time { span_ms, .. }, Some((_, window_generations))) = (window, self.shape)
                && span_ms < u64::from(window_generations)
            {
                return Err(ConfigError::SpanTooShort { span_ms, window_generations });
            }
        }
        if let Some(rate) = self.rate
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
            segment.check()?;
            if let Some(layout) = self.layout
                && layout != segment.layout()
            {
                return Err(ConfigError::LayoutConflict { layout, segment: segment.layout() });
            }
        }
        if let Some((required_matches, window_generations)) = self.shape {
            let smallest = match self.layout {
                Some(Layout::Rows) => Segment::Rows { row_bytes: 256, parts: 1 },
                _ => Segment::Slices { parts: 1 },
            };
            let segment = self.segment.unwrap_or(smallest);
            Shape { required_matches, window_generations, segment }.check()?;
        }
        Ok(())
    }
}
