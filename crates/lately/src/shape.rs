//! What a filter is made of: how many segments, and what one segment is.

use core::fmt;

use crate::error::ConfigError;

/// The most segments (k + l) a filter may have.
pub const MAX_SEGMENTS: u32 = 1024;
/// The most parts a segment of [`Layout::Slices`] may have.
pub const MAX_PARTS: u32 = 64;

/// How segments lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Layout {
    /// The paper's APBF: each segment is one or more bit arrays, and an item sets one bit in each.
    /// The fewest bits per item.
    Slices,
    /// The paper's APBBF: each segment is a blocked Bloom filter, and an item sets a few bits in one block.
    /// The fewest memory accesses.
    Blocks,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slices => "slices",
            Self::Blocks => "blocks",
        })
    }
}

/// What one segment is made of. An item picks cells in it: `parts` of them, or one block.
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
    /// Blocks of `block_bits` bits, each split into `bits_per_block` parts; an item picks one block and sets one
    /// bit in each of its parts. A cell is one block.
    Blocks {
        /// B: 64 (a word) or 512 (a cache line).
        block_bits: u32,
        /// b: 1, 2, 4, 8 or 16, as far as `b * log2(B / b)` bits fit into one 64-bit hash.
        bits_per_block: u32,
    },
}

impl Segment {
    /// The layout this segment belongs to.
    pub fn layout(&self) -> Layout {
        match self {
            Self::Slices { .. } => Layout::Slices,
            Self::Blocks { .. } => Layout::Blocks,
        }
    }

    /// Bits of memory for one cell, over all parts.
    pub(crate) fn bits_per_cell(&self) -> u32 {
        match *self {
            Self::Slices { parts } => parts,
            Self::Blocks { block_bits, .. } => block_bits,
        }
    }

    /// Memory accesses of an insert in one segment.
    pub(crate) fn accesses_per_insert(&self) -> u32 {
        match *self {
            Self::Slices { parts } => parts,
            Self::Blocks { .. } => 1,
        }
    }

    /// Every segment made of blocks that the format can hold.
    pub(crate) fn all_blocks() -> impl Iterator<Item = Self> {
        [64, 512].into_iter().flat_map(|block_bits| {
            [1, 2, 4, 8, 16]
                .into_iter()
                .map(move |bits_per_block| Self::Blocks { block_bits, bits_per_block })
                .filter(|segment| segment.check().is_ok())
        })
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::Slices { parts } if parts == 0 || parts > MAX_PARTS => Err(ConfigError::Parts { parts }),
            Self::Blocks { block_bits, bits_per_block } => {
                let block_fits = matches!(block_bits, 64 | 512);
                let bits_fit = matches!(bits_per_block, 1 | 2 | 4 | 8 | 16);
                if block_fits
                    && bits_fit
                    && bits_per_block * (block_bits / bits_per_block).ilog2() <= u64::BITS
                {
                    Ok(())
                } else {
                    Err(ConfigError::Block { block_bits, bits_per_block })
                }
            }
            Self::Slices { .. } => Ok(()),
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
        }
    }
}

/// k, l and the kind of segment: everything about a filter but its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Shape {
    /// k: the newest segments an insert writes, and the consecutive matches a query needs.
    pub required_matches: u32,
    /// l: the generations that are guaranteed.
    pub window_generations: u32,
    /// What one segment is made of.
    pub segment: Segment,
}

impl Shape {
    /// The paper's APBF with k and l: one slice per segment.
    pub fn slices(required_matches: u32, window_generations: u32) -> Self {
        Self { required_matches, window_generations, segment: Segment::Slices { parts: 1 } }
    }

    /// The paper's APBBF with k, l, B and b.
    pub fn blocks(
        required_matches: u32,
        window_generations: u32,
        block_bits: u32,
        bits_per_block: u32,
    ) -> Self {
        Self { required_matches, window_generations, segment: Segment::Blocks { block_bits, bits_per_block } }
    }

    /// k + l.
    pub fn segments(&self) -> u32 {
        self.required_matches + self.window_generations
    }

    /// Memory accesses of an insert.
    pub(crate) fn accesses_per_insert(&self) -> u32 {
        self.required_matches * self.segment.accesses_per_insert()
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let segments = u64::from(self.required_matches) + u64::from(self.window_generations);
        if self.required_matches == 0 || self.window_generations == 0 || segments > u64::from(MAX_SEGMENTS) {
            return Err(ConfigError::Shape {
                required_matches: self.required_matches,
                window_generations: self.window_generations,
            });
        }
        self.segment.check()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={} l={}, {}", self.required_matches, self.window_generations, self.segment)
    }
}
