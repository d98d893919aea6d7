//! Errors that name the value, the limit and the remedy.

use alloc::string::String;
use core::time::Duration;

use crate::limits::{MAX_PARTS, MAX_SEGMENTS, MAX_WINDOW, MIN_RATE};
use crate::shape::{FINGERPRINT_BITS, Layout, MAX_BIN_GENERATIONS};

/// The reason why the requested filter cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Neither a window was given, nor a memory limit and a rate from which to derive it.
    #[error(
        "no window was asked for: call window(inserts) or time_window(span), or give max_memory(bytes) with false_positive_rate(rate) for the largest window that fits"
    )]
    MissingWindow,
    /// No rate was given, and nothing from which to derive it.
    #[error(
        "no false positive rate was asked for: call false_positive_rate(rate), or give max_memory(bytes) for the best rate that fits, or shape(k, l) for the paper's half-full design"
    )]
    MissingRate,
    /// The window has no items, or more than [`MAX_WINDOW`].
    #[error("a window of {window} inserts cannot be kept: ask for 1 to {MAX_WINDOW}")]
    Window {
        /// The requested value.
        window: u64,
    },
    /// The time window is too short or too long.
    #[error("a time window of {millis} ms cannot be kept: ask for 1 ms to {} ms", u64::MAX)]
    Span {
        /// The requested value.
        millis: u128,
    },
    /// The time window has fewer milliseconds than generations.
    #[error(
        "a time window of {span_ms} ms cannot have {window_generations} generations: a generation lasts at least 1 ms, so lengthen the window or ask for more slack or a shape with a smaller l"
    )]
    SpanTooShort {
        /// The span.
        span_ms: u64,
        /// l.
        window_generations: u32,
    },
    /// The rate is not in the range that can be promised.
    #[error("a false positive rate of {rate} cannot be promised: ask for at least {min:e} and less than 1", min = MIN_RATE)]
    Rate {
        /// The requested value.
        rate: f64,
    },
    /// The slack is not a positive finite number.
    #[error(
        "a slack of {slack} is not valid: ask for more than 0, the share of the window that may still be reported after it has left, for example 0.1"
    )]
    Slack {
        /// The requested value.
        slack: f64,
    },
    /// No shape reaches the requested slack.
    #[error("a slack of {slack} cannot be reached{}: {reachable} or more can be reached", within(.layout.as_ref(), .shape.as_ref()))]
    SlackUnreachable {
        /// The requested value.
        slack: f64,
        /// The least slack that would have been accepted, or a value close to it.
        reachable: f64,
        /// The requested layout, if any.
        layout: Option<Layout>,
        /// The requested k and l, if any.
        shape: Option<(u32, u32)>,
    },
    /// The rate is below what 64-bit hashes can keep.
    #[error("a false positive rate of {rate:e} cannot be promised for a window of {window} items: 64-bit hashes alone collide at about {:e}, so ask for {reachable:e} or more", .reachable / 2.0)]
    RateUnreachable {
        /// The requested value.
        rate: f64,
        /// The number of items in the window.
        window: u64,
        /// A rate that can be promised.
        reachable: f64,
    },
    /// k or l is out of range.
    #[error(
        "a shape of k={required_matches} l={window_generations} cannot be built: k and l are at least 1, and k + l at most {MAX_SEGMENTS}"
    )]
    Shape {
        /// k.
        required_matches: u32,
        /// l.
        window_generations: u32,
    },
    /// b is out of range for slices.
    #[error("segments of {parts} parts cannot be built: ask for 1 to {MAX_PARTS}")]
    Parts {
        /// b.
        parts: u32,
    },
    /// The format does not support this combination of B and b.
    #[error(
        "blocks of {block_bits} bits with {bits_per_block} set per item cannot be built: ask for blocks of 64 or 512 bits in which an item sets 1, 2, 4 or 8 bits, or 16 in blocks of 64 bits"
    )]
    Block {
        /// B.
        block_bits: u32,
        /// b.
        bits_per_block: u32,
    },
    /// The segments do not fit into rows of this size.
    #[error(
        "rows of {row_bytes} bytes cannot hold {segments} segments of {parts} parts: a row has 64 or 128 bytes, a segment at least 1 part, and (k + l) * parts is at most 31 in 64 bytes and 63 in 128"
    )]
    Row {
        /// Bytes in a row.
        row_bytes: u32,
        /// b.
        parts: u32,
        /// k + l.
        segments: u32,
    },
    /// The fingerprints of bins are too short or too long.
    #[error(
        "bins with fingerprints of {fingerprint_bits} bits cannot be built: ask for {} to {} bits",
        FINGERPRINT_BITS.start(),
        FINGERPRINT_BITS.end()
    )]
    FingerprintBits {
        /// The requested width.
        fingerprint_bits: u32,
    },
    /// The header of a line cannot hold these generations.
    #[error(
        "bins cannot have k={required_matches} l={window_generations}: k is always 1, and l at most {MAX_BIN_GENERATIONS}, so leave the shape to the planner or ask for another layout"
    )]
    Bin {
        /// k.
        required_matches: u32,
        /// l.
        window_generations: u32,
    },
    /// The requested segment does not belong to the requested layout.
    #[error(
        "the segment asked for belongs to the layout {segment}, but the layout asked for is {layout}: leave out one of the two"
    )]
    LayoutConflict {
        /// The requested layout.
        layout: Layout,
        /// The layout of the requested segment.
        segment: Layout,
    },
    /// Both kinds of window were given.
    #[error(
        "a window of {window} inserts and a time window were both asked for: a filter has one window, so leave out one of the two"
    )]
    TwoWindows {
        /// The requested count window.
        window: u64,
    },
    /// Threads cannot share an elastic window.
    #[error(
        "threads cannot share a time window without a capacity: give the largest number of different items that you expect in one span, or put a Filter behind a lock"
    )]
    SharedElastic,
    /// A layout, a shape or a segment was given for a time window without a capacity.
    #[error(
        "a time window without a capacity grows and shrinks, which only the layout bins can, in a shape of its own: give a capacity, or leave out layout, shape and segment"
    )]
    ElasticShape,
    /// The rate is below what a time window without a capacity can keep.
    #[error(
        "a false positive rate of {rate:e} cannot be promised for a time window without a capacity: ask for {reachable:e} or more, or give a capacity"
    )]
    ElasticRate {
        /// The requested value.
        rate: f64,
        /// A rate that can be promised.
        reachable: f64,
    },
    /// A capacity without a time window.
    #[error(
        "a capacity of {capacity} was given without a span: leave it out for a count window, or give the span of a time window"
    )]
    CapacityWithoutSpan {
        /// The requested capacity.
        capacity: u64,
    },
    /// An overload policy was given without a time window.
    #[error(
        "an overload policy was given without a time window, and nothing else can be overloaded: leave it out, or ask for time_window(span)"
    )]
    OverloadWithoutTime,
    /// The requested promise does not fit into `max_memory`.
    #[error("{needed_bytes} bytes are needed, but max_memory is {max_memory}: raise it to {needed_bytes}{}", remedies(.fitting_window.as_ref(), .fitting_rate.as_ref()))]
    MemoryTooSmall {
        /// The memory of the smallest plan.
        needed_bytes: u64,
        /// The requested limit.
        max_memory: u64,
        /// A window that would fit with the requested rate.
        fitting_window: Option<u64>,
        /// A rate that would fit with the requested window.
        fitting_rate: Option<f64>,
    },
    /// The filter would need more memory than can be addressed.
    #[error(
        "a filter for {window} items with this rate and shape is too large to be addressed: ask for a smaller window or a higher rate, or leave the shape to the planner"
    )]
    TooLarge {
        /// The number of items in the window.
        window: u64,
    },
    /// The memory cannot be allocated on this machine.
    #[error(
        "{bytes} bytes cannot be allocated here: ask for a smaller window or a higher rate, or give max_memory(bytes)"
    )]
    Allocation {
        /// The memory of the plan.
        bytes: u64,
    },
}

fn within(layout: Option<&Layout>, shape: Option<&(u32, u32)>) -> String {
    use alloc::format;
    let layout = layout.map(|layout| format!(" with layout {layout}")).unwrap_or_default();
    let shape = shape.map(|(k, l)| format!(" with k={k} l={l}")).unwrap_or_default();
    layout + &shape
}

fn remedies(fitting_window: Option<&u64>, fitting_rate: Option<&f64>) -> String {
    use alloc::format;
    let window = fitting_window
        .map(|window| format!(", or ask for a window (or capacity) of {window}"))
        .unwrap_or_default();
    let rate =
        fitting_rate.map(|rate| format!(", or for a rate of {:.3e}", rate * 1.001)).unwrap_or_default();
    window + &rate
}

/// The reason why a time was refused: it is too far ahead of the latest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the time {now_ms} ms is {} ms ahead of the latest time, {latest_ms} ms, but at most {} ms are allowed: check the time, or allow a longer jump",
    .ahead.as_millis(),
    .max_jump.as_millis()
)]
#[non_exhaustive]
pub struct JumpError {
    /// The refused time.
    pub now_ms: u64,
    /// The latest time of the filter.
    pub latest_ms: u64,
    /// How far the refused time is ahead of it.
    pub ahead: Duration,
    /// The longest jump that the call allowed.
    pub max_jump: Duration,
}

/// The reason why bytes or a file cannot be used as a snapshot, or a snapshot cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be read or written.
    #[cfg(feature = "std")]
    #[error("{}: {error}", path.display())]
    Io {
        /// The path of the file.
        path: std::path::PathBuf,
        /// The error of the operating system. The message includes it, so it is not a `source` as well: a
        /// report of the whole chain would print it twice.
        error: std::io::Error,
    },
    /// The bytes end before the snapshot that their header describes.
    #[error(
        "the snapshot is cut off: it has {found} bytes, but {expected} are needed; restore the file from a copy"
    )]
    Truncated {
        /// The number of bytes needed.
        expected: u64,
        /// The number of bytes found.
        found: u64,
    },
    /// More bytes follow the snapshot that the header describes.
    #[error("{extra} bytes follow the end of the snapshot; pass exactly the bytes that were saved")]
    TrailingBytes {
        /// The number of extra bytes.
        extra: u64,
    },
    /// The bytes are not a snapshot.
    #[error("this is not a lately snapshot: it does not begin with the bytes \"LATELY\\r\\n\"")]
    Magic,
    /// The snapshot has another format version.
    #[error(
        "the snapshot has format version {found}, but this build reads version {supported}; use a build that reads it"
    )]
    Version {
        /// The version in the header.
        found: u32,
        /// The version that this build reads.
        supported: u32,
    },
    /// The checksum does not match: the snapshot is damaged.
    #[error(
        "the snapshot is damaged: its checksum is {found:016x}, but its bytes give {computed:016x}; restore the file from a copy"
    )]
    Checksum {
        /// The checksum at the end of the snapshot.
        found: u64,
        /// The checksum computed from the bytes.
        computed: u64,
    },
    /// A field has a value that no filter writes.
    #[error(
        "the snapshot's field `{field}` has the value {value}, which is not valid; the snapshot is damaged or was not written by this software"
    )]
    Field {
        /// The name of the field in docs/format.md.
        field: &'static str,
        /// The value found.
        value: u64,
    },
    /// Bits are set that belong to no segment.
    #[error("the snapshot has bits set that no filter sets; it was not written by this software")]
    UnusedBits,
    /// The snapshot has an elastic window, and threads cannot share those.
    #[error(
        "the snapshot has a time window without a capacity, which threads cannot share: open it as a Filter"
    )]
    SharedElastic,
    /// The memory for the filter cannot be allocated on this machine.
    #[error(
        "the snapshot's filter takes {bytes} bytes, which cannot be allocated here; open it on a larger machine"
    )]
    Allocation {
        /// The memory that the filter needs.
        bytes: u64,
    },
}
