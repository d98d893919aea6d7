//! From a requested promise to a shape and a size.
//!
//! A [`Goal`] says which value to find: the size ([`search`]), or the rate or the window ([`by_memory`]). The best
//! plan of each of the [`groups`] comes from [`bins`], [`rows`] and [`segments`]; [`ranking`] chooses between them.

mod bins;
mod by_memory;
mod dimensions;
mod elastic;
mod groups;
mod ordered;
mod ranking;
mod rows;
mod search;
mod segments;
mod shards;
mod sizing;
mod wanted;

use alloc::vec;
use alloc::vec::Vec;

pub(crate) use dimensions::Dimensions;
pub use elastic::DEFAULT_ELASTIC_MEMORY;
pub use shards::shard_window;

use self::search::{Breadth, Search};
use crate::error::ConfigError;
use crate::model::{self, QueryAccesses};
#[cfg(doc)]
use crate::promise::Prefer;
use crate::promise::{Goal, Promise};
use crate::shape::{Layout, Shape};
use crate::window::Window;

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
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.shape.segment.layout()
    }

    /// Returns the predicted slack at its peak: the field [`npws`](Self::npws), by the name that
    /// [`max_slack`](crate::Builder::max_slack) uses.
    #[must_use]
    pub fn slack(&self) -> f64 {
        self.npws
    }

    /// Returns w = l * g: the items of the window, rounded up to whole generations.
    #[must_use]
    pub fn guaranteed_items(&self) -> u64 {
        self.items_per_generation * u64::from(self.shape.window_generations)
    }
}

impl Promise {
    /// Returns the plan that [`Builder::build`](crate::Builder::build) would use, without building a filter.
    ///
    /// # Errors
    /// If no filter can keep this promise. The error names the value, the limit and the remedy.
    pub fn plan(&self) -> Result<Plan, ConfigError> {
        self.dimensions().map(|dimensions| Plan::of(&dimensions))
    }

    /// The dimensions to build.
    pub(crate) fn dimensions(&self) -> Result<Dimensions, ConfigError> {
        // A successful search returns at least one candidate.
        self.search(Breadth::Winner).map(|found| found[0])
    }

    /// Returns ranked plans. The first is the one that [`plan`](Self::plan) returns; see [`Prefer`]. Then
    /// follows the best plan of each other layout and k (for rows, of each row size), sorted by memory, or by
    /// rate if `max_memory` determines the rate.
    ///
    /// # Errors
    /// The same as [`plan`](Self::plan).
    pub fn plans(&self) -> Result<Vec<Plan>, ConfigError> {
        self.search(Breadth::All).map(|found| found.iter().map(Plan::of).collect())
    }

    fn search(&self, breadth: Breadth) -> Result<Vec<Dimensions>, ConfigError> {
        let search = Search::new(self, breadth);
        match self.goal()? {
            Goal::Size { window, rate } => {
                let found = search.least_memory(window, rate, self.max_memory)?;
                match self.max_memory {
                    Some(max_memory) => search.within_memory(found, rate, max_memory),
                    None => Ok(found),
                }
            }
            Goal::Rate { window, max_memory } => search.best_rate(window, max_memory),
            Goal::Elastic { window, rate } => {
                elastic::dimensions(self, window, rate).map(|found| vec![found])
            }
            Goal::HalfFull { window } => search::half_full(self, window),
            Goal::Window { rate, max_memory } => search.largest_window(rate, max_memory),
        }
    }
}
