//! Errors that name the value, the limit and the remedy.

use alloc::string::String;

use crate::plan::MAX_WINDOW;
use crate::shape::{Layout, MAX_PARTS, MAX_SEGMENTS};

/// A filter that cannot be built as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Neither a window nor a memory limit to derive it from.
    #[error(
        "no window was asked for: call window(inserts) or time_window(span, capacity), or give max_memory(bytes) with false_positive_rate(rate) for the largest window that fits"
    )]
    MissingWindow,
    /// No rate, and nothing to derive it from.
    #[error(
        "no false positive rate was asked for: call false_positive_rate(rate), or give max_memory(bytes) for the best rate that fits, or shape(k, l) for the paper's half-full design"
    )]
    MissingRate,
    /// A window of no items, or more than can be counted.
    #[error("a window of {window} inserts cannot be kept: ask for 1 to {MAX_WINDOW}")]
    Window {
        /// What was asked.
        window: u64,
    },
    /// A time window too short or too long.
    #[error("a time window of {millis} ms cannot be kept: ask for 1 ms to {} ms", u64::MAX)]
    Span {
        /// What was asked.
        millis: u128,
    },
    /// A time window with more generations than milliseconds.
    #[error(
        "a time window of {span_ms} ms cannot have {window_generations} generations: a generation lasts at least 1 ms, so lengthen the window or ask for more slack or a shape with a smaller l"
    )]
    SpanTooShort {
        /// The span.
        span_ms: u64,
        /// l.
        window_generations: u32,
    },
    /// A rate that is not a probability of practical use.
    #[error("a false positive rate of {rate} cannot be promised: ask for at least {min:e} and less than 1", min = crate::plan::MIN_RATE)]
    Rate {
        /// What was asked.
        rate: f64,
    },
    /// A slack that is no positive number.
    #[error(
        "a slack of {slack} means nothing: ask for the share of the window that may be reported after it has left, more than 0, for example 0.1"
    )]
    Slack {
        /// What was asked.
        slack: f64,
    },
    /// A slack that no shape reaches.
    #[error("a slack of {slack} cannot be reached{}: {reachable} or more can", within(.layout.as_ref(), .shape.as_ref()))]
    SlackUnreachable {
        /// What was asked.
        slack: f64,
        /// The least slack that would have been accepted, or close to it.
        reachable: f64,
        /// The layout that was asked for, if any.
        layout: Option<Layout>,
        /// k and l, if they were asked for.
        shape: Option<(u32, u32)>,
    },
    /// A rate that a 64-bit hash cannot keep.
    #[error("a false positive rate of {rate:e} cannot be promised for a window of {window} items: 64-bit hashes alone collide at about {:e}, so ask for {reachable:e} or more", .reachable / 2.0)]
    RateUnreachable {
        /// What was asked.
        rate: f64,
        /// The items of the window.
        window: u64,
        /// A rate that would do.
        reachable: f64,
    },
    /// k or l out of range.
    #[error(
        "a shape of k={required_matches} l={window_generations} cannot be built: k and l are at least 1, and k + l at most {MAX_SEGMENTS}"
    )]
    Shape {
        /// k.
        required_matches: u32,
        /// l.
        window_generations: u32,
    },
    /// b out of range for slices.
    #[error("segments of {parts} parts cannot be built: ask for 1 to {MAX_PARTS}")]
    Parts {
        /// b.
        parts: u32,
    },
    /// B and b that the format cannot hold.
    #[error(
        "blocks of {block_bits} bits with {bits_per_block} set per item cannot be built: a block has 64 or 512 bits, an item sets 1, 2, 4, 8 or (in 64) 16 of them"
    )]
    Block {
        /// B.
        block_bits: u32,
        /// b.
        bits_per_block: u32,
    },
    /// Rows that cannot hold the segments.
    #[error(
        "rows of {row_bytes} bytes cannot hold {segments} segments of {parts} parts: a row has 64, 128 or 256 bytes, a segment at least 1 part, and (k + l) * parts is at most 31 in 64 bytes and 63 in the others"
    )]
    Row {
        /// Bytes in a row.
        row_bytes: u32,
        /// b.
        parts: u32,
        /// k + l.
        segments: u32,
    },
    /// A segment that is not of the layout asked for.
    #[error(
        "the segment asked for belongs to the layout {segment}, but the layout asked for is {layout}: leave out one of the two"
    )]
    LayoutConflict {
        /// The layout asked for.
        layout: Layout,
        /// The segment's.
        segment: Layout,
    },
    /// An overload policy for a count window.
    #[error(
        "an overload policy was given for a count window, which cannot be overloaded: leave it out, or ask for time_window(span, capacity)"
    )]
    OverloadWithoutTime,
    /// The promise does not fit into `max_memory`.
    #[error("{needed_bytes} bytes are needed, but max_memory is {max_memory}: allow that many{}", remedies(.fitting_window.as_ref(), .fitting_rate.as_ref()))]
    MemoryTooSmall {
        /// What the least plan takes.
        needed_bytes: u64,
        /// What was allowed.
        max_memory: u64,
        /// The window that would fit at the rate asked for.
        fitting_window: Option<u64>,
        /// The rate that would fit with the window asked for.
        fitting_rate: Option<f64>,
    },
    /// More memory than can be addressed.
    #[error(
        "no filter for {window} items can be addressed with this rate and shape: ask for a smaller window or a higher rate, or leave the shape to the planner"
    )]
    TooLarge {
        /// The items of the window.
        window: u64,
    },
    /// More memory than this machine can allocate.
    #[error(
        "{bytes} bytes cannot be allocated here: ask for a smaller window or a higher rate, or give max_memory(bytes)"
    )]
    Allocation {
        /// What the plan takes.
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

/// Bytes or a file that are not a usable snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be read or written.
    #[cfg(feature = "std")]
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Fewer bytes than a snapshot of this header has.
    #[error(
        "the snapshot is cut off: {found} bytes, but {expected} are needed; restore the file from a copy"
    )]
    Truncated {
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// More bytes than a snapshot of this header has.
    #[error("{extra} bytes follow the end of the snapshot; pass exactly what was saved")]
    TrailingBytes {
        /// How many.
        extra: u64,
    },
    /// Not a snapshot at all.
    #[error("this is not a lately snapshot: it does not begin with the bytes \"LATELY\\r\\n\"")]
    Magic,
    /// A format of another version.
    #[error(
        "the snapshot has format version {found}, but this build reads version {supported}; use a build that reads it"
    )]
    Version {
        /// What the header says.
        found: u32,
        /// What this build reads.
        supported: u32,
    },
    /// A damaged snapshot.
    #[error(
        "the snapshot is damaged: its checksum is {found:016x}, but its bytes give {computed:016x}; restore the file from a copy"
    )]
    Checksum {
        /// What stands at the end.
        found: u64,
        /// What the bytes give.
        computed: u64,
    },
    /// A field with a value no snapshot of ours has.
    #[error(
        "the snapshot's field `{field}` has the value {value}, which no filter has; the snapshot is damaged or was not written by this software"
    )]
    Field {
        /// Its name in docs/format.md.
        field: &'static str,
        /// What it says.
        value: u64,
    },
    /// Bits are set that belong to no segment.
    #[error("bits of the snapshot's words are set that no filter sets; it was not written by this software")]
    UnusedBits,
    /// The filter does not fit into this machine's memory.
    #[error(
        "the snapshot's filter takes {bytes} bytes, which cannot be allocated here; open it on a larger machine"
    )]
    Allocation {
        /// How many.
        bytes: u64,
    },
}
