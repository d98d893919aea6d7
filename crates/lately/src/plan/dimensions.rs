//! A shape with a size: the quantities that define a filter, and their predicted properties.

use super::sizing;
use crate::ageing::GenerationStart;
use crate::layout;
use crate::layout::bins::elastic;
use crate::layout::words::aligned::ALIGNMENT_BYTES;
use crate::model::{Cells, Profile};
use crate::shape::{LEAST_ELASTIC_LINES, Segment, Shape};
use crate::window::Window;

/// Everything that defines a filter except its hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimensions {
    /// The requested window.
    pub(crate) window: Window,
    pub(crate) shape: Shape,
    /// g.
    pub(crate) items_per_generation: u64,
    /// Per segment; the most of an elastic filter.
    pub(crate) cells: u64,
    /// On the heap: segments and generation starts.
    pub(crate) memory_bytes: u64,
}

impl Dimensions {
    /// Returns `None` if no machine can address the memory. The limit is the same on all of them, and so is the
    /// plan; a machine with smaller addresses fails when it builds the filter.
    pub(crate) fn new(window: Window, shape: Shape, items_per_generation: u64, cells: u64) -> Option<Self> {
        let words = layout::words(&shape, cells)?.checked_mul(8)?;
        let memory_bytes = words.checked_add(Self::overhead_bytes(&shape)?)?;
        i64::try_from(memory_bytes).ok()?;
        Some(Self { window, shape, items_per_generation, cells, memory_bytes })
    }

    /// The memory of a filter besides its words: their alignment, the generation starts, and what all cells share.
    fn overhead_bytes(shape: &Shape) -> Option<u64> {
        // Elastic bins remember their number of lines at the start of each generation.
        let lines_at = if shape.is_elastic() { size_of::<u64>() } else { 0 };
        u64::from(shape.segments())
            .checked_mul((size_of::<GenerationStart>() + lines_at) as u64)?
            .checked_add(ALIGNMENT_BYTES + layout::table_bytes(shape))
    }

    /// The cells of a new filter: those of an elastic one become more.
    pub(crate) fn cells_at_first(&self) -> u64 {
        if self.shape.is_elastic() { LEAST_ELASTIC_LINES } else { self.cells }
    }

    /// The memory of a filter that has so many cells at present.
    pub(crate) fn bytes_with(&self, cells: u64) -> u64 {
        Self::new(self.window, self.shape, self.items_per_generation, cells)
            .map_or(self.memory_bytes, |dimensions| dimensions.memory_bytes)
    }

    /// The most cells that a segment can have if the whole filter takes at most `bytes` bytes.
    pub(super) fn most_cells(shape: &Shape, bytes: u64) -> u64 {
        let Some(overhead) = Self::overhead_bytes(shape) else { return 0 };
        let words = bytes.saturating_sub(overhead) / 8;
        let per_segment = words / u64::from(shape.segments());
        match shape.segment {
            Segment::Slices { parts } => per_segment.saturating_mul(64) / u64::from(parts),
            Segment::Blocks { block_bits, .. } => per_segment / u64::from(block_bits / 64),
            Segment::Rows { row_bytes, .. } => words / u64::from(row_bytes / 8),
            // 64 lines have a spare of one line.
            Segment::Bins { .. } => (words / 8).saturating_sub((words / 8).div_ceil(65)) / 2 * 2,
            Segment::ElasticBins { .. } => elastic::most_lines(words),
        }
    }

    /// Items of the window and the newest generation per line of bins.
    pub(super) fn items_per_line(&self) -> f64 {
        f64::from(self.shape.segments()) * self.items_per_generation as f64 / self.cells as f64
    }

    /// The same with as many cells as fit into `bytes` bytes, unless these are fewer.
    pub(super) fn filled(self, bytes: u64) -> Self {
        let cells = Self::most_cells(&self.shape, bytes).max(self.cells);
        Self::new(self.window, self.shape, self.items_per_generation, cells).unwrap_or(self)
    }

    /// w = l * g.
    pub(crate) fn guaranteed_items(&self) -> u64 {
        self.items_per_generation * u64::from(self.shape.window_generations)
    }

    /// The filter at its worst moment, just before a shift, by the exact model.
    pub(super) fn profile(&self) -> Profile {
        let load = sizing::load(&self.shape, self.items_per_generation, self.cells);
        Profile::exact(&self.shape, load, Cells::Exactly(self.cells), 1.0)
    }

    /// Items per row and generation.
    pub(super) fn load_of_rows(&self) -> f64 {
        self.items_per_generation as f64 / self.cells as f64
    }

    pub(crate) fn worst_rate(&self) -> f64 {
        match self.shape.segment {
            Segment::Rows { .. } | Segment::Bins { .. } | Segment::ElasticBins { .. } => {
                self.worst_rate_of(&self.profile())
            }
            _ => sizing::worst_rate(&self.shape, self.items_per_generation, self.cells),
        }
    }

    /// The false positive rate of the profile, plus hash collisions.
    pub(super) fn worst_rate_of(&self, profile: &Profile) -> f64 {
        sizing::with_hash_collisions(profile.false_positive_rate(), &self.shape, self.items_per_generation)
    }

    pub(crate) fn npws(&self) -> f64 {
        self.npws_of(&self.profile())
    }

    /// Returns true if the slack is kept. For large k the slack takes long to compute, so this skips it if any
    /// slack is allowed.
    pub(super) fn keeps_slack(&self, max_slack: f64) -> bool {
        max_slack.is_infinite() || self.npws() <= max_slack
    }

    pub(super) fn npws_of(&self, profile: &Profile) -> f64 {
        let l = self.shape.window_generations;
        npws(&self.window, l, self.items_per_generation, profile.weighted_slack())
    }
}

/// Peak slack relative to the *requested* window, from the slack in generations. A count window is rounded up to
/// l * g inserts, and to its user the surplus is slack like any other. A time window has exactly l generations.
pub(super) fn npws(
    window: &Window,
    window_generations: u32,
    items_per_generation: u64,
    weighted_slack: f64,
) -> f64 {
    let l = f64::from(window_generations);
    match *window {
        Window::Count { inserts } => {
            let reported = (l + weighted_slack) * items_per_generation as f64;
            (reported - inserts as f64) / inserts as f64
        }
        Window::Time { .. } | Window::Elastic { .. } => weighted_slack / l,
    }
}
