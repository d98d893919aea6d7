//! From a requested promise to a shape and a size.
//!
//! [`sizing`] finds the least size at which a given shape keeps a rate. [`search`] tries the shapes.
//! [`Request`] decides which value to find: the size, the rate or the window.

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

/// The largest window, in items; counts up to this limit are exact in floating point.
pub const MAX_WINDOW: u64 = 1 << 48;
/// The smallest rate that can be requested.
pub const MIN_RATE: f64 = 1e-15;
/// The slack that the planner aims at if none is requested. If the window is too small for it, the planner
/// allows more.
pub const DEFAULT_SLACK: f64 = 0.2;

/// A filter that could be built: its shape, its size, and the predictions of the exact model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Plan {
    /// The requested window.
    pub window: Window,
    /// k, l and the kind of segment.
    pub shape: Shape,
    /// g: inserts between two shifts. For a time window, the share of the capacity that one generation gets.
    pub items_per_generation: u64,
    /// Cells in each segment: the bits of a part for slices (the paper's m), the blocks for blocks. For rows,
    /// the number of rows, which all segments share.
    pub cells: u64,
    /// All heap memory of the filter, for its whole life.
    pub memory_bytes: u64,
    /// Memory per item of the requested window, in bits.
    pub bits_per_item: f64,
    /// Predicted false positive rate at the worst moment, just before a shift.
    pub false_positive_rate: f64,
    /// Predicted slack at its peak: the number of items beyond the requested window that are still reported,
    /// divided by that window. It includes the surplus from rounding the window up to whole generations.
    pub npws: f64,
    /// Memory accesses of an insert.
    pub accesses_per_insert: u32,
    /// Predicted memory accesses of a query.
    pub accesses: QueryAccesses,
    /// Memory of a plain Bloom filter of the same rate and capacity, divided by the memory of this filter.
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

    /// Returns the layout of the segments.
    pub fn layout(&self) -> Layout {
        self.shape.segment.layout()
    }

    /// Returns w = l * g: the items of the window, rounded up to whole generations.
    pub fn guaranteed_items(&self) -> u64 {
        self.items_per_generation * u64::from(self.shape.window_generations)
    }
}

/// The quantity that the planner minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Prefer {
    /// Memory accesses, among the plans that take at most twice the least memory.
    #[default]
    Speed,
    /// Memory. Accesses decide only between plans within 2% of the least memory.
    Memory,
}

/// The values that the user requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// `None`: find the largest count window that fits into `max_memory`.
    pub(crate) window: Option<Window>,
    /// `None`: find the best rate that fits into `max_memory`, or use the half-full design of an explicit
    /// shape.
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
    /// The dimensions to build.
    pub(crate) fn dimensions(&self) -> Result<Dimensions, ConfigError> {
        // A successful search returns at least one candidate.
        self.search().map(|found| found[0])
    }

    /// The plan to build first, then other good plans: the best of each other layout and k.
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

    /// Finds a rate near `best` for which a request succeeds. The two searches try slightly different shapes,
    /// so `best` itself may not.
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
