//! Elastic windows: what they can grow to, and the fingerprints that keep the rate while they do.

use super::Dimensions;
use crate::error::ConfigError;
use crate::promise::Promise;
use crate::shape::{
    BinShape, ELASTIC_BLOCK_LINES, ELASTIC_FINGERPRINT_BITS, LEAST_ELASTIC_LINES, Layout,
    MOST_ELASTIC_WINDOW_GENERATIONS, Segment, Shape,
};
use crate::window::Window;

/// The most memory of an elastic window for which no limit is requested: 256 MiB.
pub const DEFAULT_ELASTIC_MEMORY: u64 = 256 << 20;

/// A line holds no more of the narrower fingerprints.
const NARROWEST: u32 = 19;

/// The dimensions of a window at its largest, with the narrowest fingerprints that keep the rate.
pub(super) fn dimensions(promise: &Promise, window: Window, rate: f64) -> Result<Dimensions, ConfigError> {
    let Promise { layout, shape, segment, max_slack, max_memory, .. } = *promise;
    if layout.is_some_and(|layout| layout != Layout::Bins) || shape.is_some() || segment.is_some() {
        return Err(ConfigError::ElasticShape);
    }
    let window_generations = window.span_ms().min(MOST_ELASTIC_WINDOW_GENERATIONS.into()) as u32;
    let reachable = 1.0 / f64::from(window_generations);
    if let Some(slack) = max_slack.filter(|slack| *slack < reachable) {
        return Err(ConfigError::SlackUnreachable { slack, reachable, layout, shape });
    }
    let max_memory = max_memory.unwrap_or(DEFAULT_ELASTIC_MEMORY);
    let mut widest = None;
    for fingerprint_bits in NARROWEST..=*ELASTIC_FINGERPRINT_BITS.end() {
        let segment = Segment::ElasticBins { fingerprint_bits };
        let shape = Shape { required_matches: 1, window_generations, segment };
        let found = largest(window, shape, max_memory)?;
        if found.worst_rate() <= rate {
            return Ok(found);
        }
        widest = Some(found);
    }
    let reachable = widest.map_or(1.0, |widest| widest.worst_rate());
    Err(ConfigError::ElasticRate { rate, reachable })
}

/// The most lines that a table at its limit can fill. While a side is being divided, the lines that are not divided yet
/// are full long before the others. Nearly nobody meets those if a fifth of the side is divided at most, or nearly all of
/// it.
fn most_usable(lines: u64) -> u64 {
    let blocks = lines / ELASTIC_BLOCK_LINES;
    let Some(power) = (blocks / 2).checked_ilog2() else { return lines };
    let divided = blocks % (1 << power);
    let few = (1 << power) / 5;
    let is_usable = divided <= few || divided >= (1 << power) - few / 2;
    (if is_usable { blocks } else { blocks - divided + few }) * ELASTIC_BLOCK_LINES
}

impl Dimensions {
    /// The same window and fingerprints, with as many lines as fit into so much memory.
    pub(crate) fn with_max_memory(&self, max_memory: u64) -> Result<Self, ConfigError> {
        largest(self.window, self.shape, max_memory)
    }
}

/// The most lines that fit into the memory.
fn largest(window: Window, shape: Shape, max_memory: u64) -> Result<Dimensions, ConfigError> {
    let Segment::ElasticBins { fingerprint_bits } = shape.segment else {
        return Err(ConfigError::ElasticShape);
    };
    let bins = BinShape::elastic(fingerprint_bits).ok_or(ConfigError::ElasticShape)?;
    let with_lines = |lines: u64| {
        let l = u64::from(shape.window_generations);
        // The newest generation has items besides those of the span.
        let capacity = bins.elastic_capacity(lines) / (l + 1) * l;
        Dimensions::new(window.with_items(capacity), shape, capacity.div_ceil(l), lines)
    };
    // The bits that choose a line and those of the fingerprint are different bits of one hash.
    let most = 1 << (u64::BITS - fingerprint_bits);
    let lines = most_usable(Dimensions::most_cells(&shape, max_memory).min(most));
    let too_small = |least: Option<Dimensions>| ConfigError::MemoryTooSmall {
        needed_bytes: least.map_or(0, |least| least.memory_bytes),
        max_memory,
        fitting_window: None,
        fitting_rate: None,
    };
    with_lines(lines)
        .filter(|_| lines >= LEAST_ELASTIC_LINES)
        .ok_or_else(|| too_small(with_lines(LEAST_ELASTIC_LINES)))
}
