//! The shape of a filter: the number of segments, and the kind of one segment.

use core::fmt;

use crate::limits::{MAX_PARTS, MAX_SEGMENTS};
use crate::names::names;

/// How the segments are arranged in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Layout {
    /// The paper's APBF: each segment is one or more bit arrays, and an item sets one bit in each. The fewest
    /// bits per item.
    Slices,
    /// The paper's APBBF: each segment is a blocked Bloom filter, and an item sets a few bits in one block.
    /// Fewer memory accesses, for a little more memory.
    Blocks,
    /// All segments of an item lie side by side in one row, so an insert, a hit and a miss each take one
    /// memory access. The fastest.
    Rows,
    /// Fingerprints in order of arrival, in cache lines of which each item has two to choose from. An insert,
    /// a hit and a miss each touch these two. The rate depends only on how many items are in the window, not
    /// on when they came. The least memory at low rates.
    Bins,
}

names!(Layout, "layout": Slices = "slices", Blocks = "blocks", Rows = "rows", Bins = "bins");

/// The kind of one segment. An item picks cells in it: `parts` of them, or one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Segment {
    /// `parts` bit arrays of equal size; an item sets one bit in each. A cell is one bit of a part.
    Slices {
        /// b, at least 1.
        parts: u32,
    },
    /// Blocks of `block_bits` bits, each split into `bits_per_block` parts; an item picks one block and sets
    /// one bit in each of its parts. A cell is one block.
    Blocks {
        /// B: 64 (a word) or 512 (a cache line).
        block_bits: u32,
        /// b: 1, 2, 4, 8 or 16, provided that `b * log2(B / b)` is at most 64, the bits of one hash.
        bits_per_block: u32,
    },
    /// Rows of `row_bytes` bytes that hold a piece of every segment: `parts` parts of 16 bits. An item picks
    /// one row and sets one bit in each part of the segments it writes. A cell is one row.
    Rows {
        /// 64 or 128: one or two cache lines.
        row_bytes: u32,
        /// b, at least 1; (k + l) * b is at most 31 in rows of 64 bytes, and 63 in rows of 128.
        parts: u32,
    },
    /// Cache lines with fingerprints of `fingerprint_bits` bits, newest last. An item picks two lines, and is
    /// written into the one with fewer items of the window. k is 1. A cell is one line.
    Bins {
        /// 8 to 56. The more bits, the fewer fingerprints a line holds.
        fingerprint_bits: u32,
    },
    /// Bins whose number of lines follows the traffic, for elastic windows. k is 1. A cell is one line.
    ElasticBins {
        /// 16 to 40. The more bits, the fewer fingerprints a line holds.
        fingerprint_bits: u32,
    },
}

impl Segment {
    /// Returns the layout this segment belongs to.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match self {
            Self::Slices { .. } => Layout::Slices,
            Self::Blocks { .. } => Layout::Blocks,
            Self::Rows { .. } => Layout::Rows,
            Self::Bins { .. } | Self::ElasticBins { .. } => Layout::Bins,
        }
    }

    /// All block segments that the format supports.
    pub(crate) fn all_blocks() -> impl Iterator<Item = Self> {
        [64, 512].into_iter().flat_map(|block_bits| {
            [1, 2, 4, 8, 16]
                .into_iter()
                .map(move |bits_per_block| Self::Blocks { block_bits, bits_per_block })
                .filter(Self::is_possible)
        })
    }

    /// Returns true if filters can have segments of this kind.
    pub(crate) fn is_possible(&self) -> bool {
        match *self {
            Self::Slices { parts } => (1..=MAX_PARTS).contains(&parts),
            Self::Blocks { block_bits, bits_per_block } => {
                matches!(block_bits, 64 | 512)
                    && matches!(bits_per_block, 1 | 2 | 4 | 8 | 16)
                    && bits_per_block * (block_bits / bits_per_block).ilog2() <= u64::BITS
            }
            Self::Rows { row_bytes, parts } => ROW_BYTES.contains(&row_bytes) && (1..=31).contains(&parts),
            Self::Bins { fingerprint_bits } => FINGERPRINT_BITS.contains(&fingerprint_bits),
            Self::ElasticBins { fingerprint_bits } => ELASTIC_FINGERPRINT_BITS.contains(&fingerprint_bits),
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slices { parts } => write!(f, "slices of b={parts}"),
            Self::Blocks { block_bits, bits_per_block } => {
                write!(f, "blocks of B={block_bits} b={bits_per_block}")
            }
            Self::Rows { row_bytes, parts } => write!(f, "rows of {row_bytes} bytes b={parts}"),
            Self::Bins { fingerprint_bits } => write!(f, "bins of {fingerprint_bits}-bit fingerprints"),
            Self::ElasticBins { fingerprint_bits } => {
                write!(f, "elastic bins of {fingerprint_bits}-bit fingerprints")
            }
        }
    }
}

/// k, l and the kind of segment: everything about a filter except its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shape {
    /// k: the number of newest segments an insert writes, and the number of consecutive matches a query
    /// needs.
    pub required_matches: u32,
    /// l: the number of guaranteed generations.
    pub window_generations: u32,
    /// The kind of segment.
    pub segment: Segment,
}

impl Shape {
    /// Returns the paper's APBF with k and l: one slice per segment.
    pub fn slices(required_matches: u32, window_generations: u32) -> Self {
        Self { required_matches, window_generations, segment: Segment::Slices { parts: 1 } }
    }

    /// Returns the paper's APBBF with k, l, B and b.
    pub fn blocks(
        required_matches: u32,
        window_generations: u32,
        block_bits: u32,
        bits_per_block: u32,
    ) -> Self {
        Self { required_matches, window_generations, segment: Segment::Blocks { block_bits, bits_per_block } }
    }

    /// Returns k + l; in elastic bins, the most generations at any moment: some begin early.
    #[must_use]
    pub fn segments(&self) -> u32 {
        match self.segment {
            Segment::ElasticBins { .. } => self.required_matches + ELASTIC_GENERATIONS,
            _ => self.required_matches + self.window_generations,
        }
    }

    /// Returns true if the filter grows and shrinks.
    pub(crate) fn is_elastic(&self) -> bool {
        matches!(self.segment, Segment::ElasticBins { .. })
    }

    /// Memory accesses of an insert.
    pub(crate) fn accesses_per_insert(&self) -> u32 {
        match self.segment {
            Segment::Slices { parts } => self.required_matches * parts,
            Segment::Blocks { .. } => self.required_matches,
            Segment::Rows { .. } => 1,
            Segment::Bins { .. } | Segment::ElasticBins { .. } => 2,
        }
    }

    /// Returns true if k and l are in range.
    pub(crate) fn has_possible_ages(&self) -> bool {
        let (k, l) = (self.required_matches, self.window_generations);
        k >= 1 && l >= 1 && u64::from(k) + u64::from(l) <= u64::from(MAX_SEGMENTS)
    }

    /// Returns true if the rate depends only on how many items all generations have together. Otherwise each
    /// generation has room for its own share only.
    pub(crate) fn pools_generations(&self) -> bool {
        matches!(self.segment, Segment::Bins { .. } | Segment::ElasticBins { .. })
    }

    /// Returns true if filters can have this shape.
    pub(crate) fn is_possible(&self) -> bool {
        self.has_possible_ages() && self.segment.is_possible() && self.fits_line()
    }

    /// Returns true unless the segments are too many for a row or a line.
    fn fits_line(&self) -> bool {
        match self.segment {
            Segment::Rows { row_bytes, parts } => self.segments() * parts <= parts_per_row(row_bytes),
            Segment::Bins { fingerprint_bits } => {
                self.required_matches == 1
                    && BinShape::new(fingerprint_bits, self.window_generations).is_some()
            }
            Segment::ElasticBins { fingerprint_bits } => {
                self.required_matches == 1
                    && self.window_generations <= MOST_ELASTIC_WINDOW_GENERATIONS
                    && BinShape::elastic(fingerprint_bits).is_some()
            }
            _ => true,
        }
    }
}

/// The widths of fingerprints that Bins can have.
pub(crate) const FINGERPRINT_BITS: core::ops::RangeInclusive<u32> = 8..=56;

/// The widths of fingerprints that elastic bins can have: not narrower than a lane, and so narrow that a hash has
/// bits left for the choice of a line.
pub(crate) const ELASTIC_FINGERPRINT_BITS: core::ops::RangeInclusive<u32> = 16..=40;

/// The older generations for which the lines of elastic bins have room: those of the window, and those that began
/// early, because the traffic doubled.
pub(crate) const ELASTIC_GENERATIONS: u32 = 25;

/// The most of them that belong to the window: the others are for doublings.
pub(crate) const MOST_ELASTIC_WINDOW_GENERATIONS: u32 = 16;

/// Elastic bins grow by so many lines.
pub(crate) const ELASTIC_BLOCK_LINES: u64 = 64;

/// The lines of the smallest elastic bins.
pub(crate) const LEAST_ELASTIC_LINES: u64 = 2 * ELASTIC_BLOCK_LINES;

/// The most generations that the header of a line has room for: with lanes of 16 bits; with 8 bits, one less.
pub(crate) const MAX_BIN_GENERATIONS: u32 = 42;

/// How a line of Bins is divided: into fingerprints, and a header of at most one word. The header has a mark
/// for each fingerprint and for each end of a generation, and some fixed fields; see `layout::bins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinShape {
    pub(crate) fingerprint_bits: u32,
    /// The most fingerprints in a line.
    pub(crate) entries: u32,
    /// l.
    pub(crate) window_generations: u32,
}

impl BinShape {
    /// The bits of a header besides the marks and the place of the next fingerprint: a stamp of 8, two spill
    /// marks and a claim.
    const FIXED_BITS: u32 = 11;

    /// The fewest fingerprints per line that are worth a header.
    const FEWEST_ENTRIES: u32 = 6;

    /// Returns `None` if a line cannot hold this width or this many generations.
    pub(crate) fn new(fingerprint_bits: u32, window_generations: u32) -> Option<Self> {
        let shape = |entries| Self { fingerprint_bits, entries, window_generations };
        (Self::FEWEST_ENTRIES..64).rev().map(shape).find(|shape| {
            let lanes_fit = shape.entries * shape.lane_bits() <= 448;
            let all_fits = shape.entries * fingerprint_bits + shape.header_bits() <= 512;
            shape.header_bits() <= 64 && lanes_fit && all_fits
        })
    }

    /// The lines of elastic bins.
    pub(crate) fn elastic(fingerprint_bits: u32) -> Option<Self> {
        Self::new(fingerprint_bits, ELASTIC_GENERATIONS)
    }

    /// The number of items for which so many lines of elastic bins have room. With more, too many items find both
    /// their lines full.
    pub(crate) fn elastic_capacity(&self, lines: u64) -> u64 {
        (u128::from(lines) * u128::from(self.entries) * 86 / 100) as u64
    }

    /// The bits of a fingerprint that are compared at once. No lane is in the last word, which has the header.
    pub(crate) fn lane_bits(&self) -> u32 {
        if self.fingerprint_bits < 16 { 8 } else { 16 }
    }

    /// The number of cells that an item has in the spare. With half of the cells in the window, the spare's rate
    /// is about half that of a line.
    pub(crate) fn spare_probes(&self) -> u32 {
        self.fingerprint_bits - 4
    }

    /// The number of cells of the spare: one per line, in whole cache lines.
    pub(crate) fn spare_cells(lines: u64) -> u64 {
        lines.saturating_add(63) / 64 * 64
    }

    pub(crate) fn header_bits(&self) -> u32 {
        self.entries
            .saturating_add(self.window_generations)
            .saturating_add(place_bits(self.lane_bits()) + Self::FIXED_BITS)
    }
}

/// The bits that number the places of a line: it has fewer than 32 lanes of 16 bits, or fewer than 64 of 8.
pub(crate) const fn place_bits(lane_bits: u32) -> u32 {
    if lane_bits == 16 { 5 } else { 6 }
}

/// The most parts, and so the most segments, of a row of any size: a 64-bit word has a bit for each.
pub(crate) const MOST_PARTS_IN_ROW: usize = 63;

/// The possible sizes of a row.
pub(crate) const ROW_BYTES: [u32; 2] = [64, 128];

/// The bits of one part of a row: four bits of hash select one of them.
pub(crate) const PART_BITS: u32 = 16;

/// The number of parts of a row that segments can use: all except the one with the stamp.
pub(crate) fn parts_per_row(row_bytes: u32) -> u32 {
    row_bytes * 8 / PART_BITS - 1
}

/// How a row is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowShape {
    pub(crate) row_bytes: u32,
    /// Per segment.
    pub(crate) parts: u32,
    /// k + l.
    pub(crate) segments: u32,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={} l={}, {}", self.required_matches, self.window_generations, self.segment)
    }
}
