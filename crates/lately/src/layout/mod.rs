//! Arrangements of segments in memory, behind one interface.
//!
//! The interface works on *items*, not on single segments, so that a layout which keeps all segments of an
//! item side by side can answer with one memory access.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

pub(crate) mod bins;
mod claims;
pub(crate) mod instructions;
pub(crate) mod kernel;
mod rows;
pub(crate) mod runs;
mod segmented;
#[cfg(feature = "std")]
pub(crate) mod shared;
#[cfg(feature = "std")]
pub(crate) mod view;
pub(crate) mod words;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use bins::Bins;
use bins::elastic::ElasticBins;
use kernel::Kernel;
use rows::Rows;
use segmented::{BlockGeometry, Blocks, SliceGeometry, Slices};
#[cfg(feature = "std")]
use view::View;
use words::aligned::AlignedWords;

use crate::ring::{Age, Ring};
use crate::shape::{BinShape, RowShape, Segment, Shape};

/// An item's hash, and its place in a layout, for layouts in which it has one: worth keeping between a
/// prefetch and its use.
#[derive(Clone, Copy, Default)]
pub(crate) struct Located<P = usize> {
    pub(crate) hash: u64,
    pub(crate) place: P,
}

/// The places to visit in a generation so that each of `places` is visited once in `shifts_per_round` shifts, in
/// turn.
fn due_for_visit(generation: u64, places: u64, shifts_per_round: u64) -> impl Iterator<Item = u64> {
    let per_shift = places.div_ceil(shifts_per_round);
    let first = (u128::from(generation) * u128::from(per_shift) % u128::from(places)) as u64;
    (first..first + per_shift).map(move |place| place % places)
}

/// How an operation uses an item's memory, and so which of it is worth prefetching.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Reads,
    Writes,
    ReadsAndWrites,
    ReadsAndMayWrite,
}

impl Use {
    #[inline(always)]
    fn reads(self) -> bool {
        self != Self::Writes
    }

    #[inline(always)]
    fn may_write(self) -> bool {
        self != Self::Reads
    }

    #[cfg(feature = "std")]
    #[inline(always)]
    fn certainly_writes(self) -> bool {
        matches!(self, Self::Writes | Self::ReadsAndWrites)
    }
}

/// Queries about an item, in memory borrowed for a call or a batch.
pub(crate) trait Query {
    /// The part of an item's positions that is worth computing only once.
    type Place: Copy + Default;
    fn locate(&self, hash: u64) -> Located<Self::Place>;
    /// Returns true if k consecutive segments match.
    fn contains<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, ring: &Ring) -> bool;
    /// Prefetches the memory that the item will need.
    fn prefetch<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, ring: &Ring, uses: Use);
}

/// Writing an item into a layout.
pub(crate) trait Update: Query {
    /// Sets the item's bits in the k newest segments.
    fn insert<K: Kernel>(&mut self, kernel: K, item: Located<Self::Place>, ring: &Ring);
    /// [`contains`](Query::contains), then [`insert`](Self::insert).
    #[inline(always)]
    fn check_and_insert<K: Kernel>(&mut self, kernel: K, item: Located<Self::Place>, ring: &Ring) -> bool {
        let seen = self.contains(kernel, item, ring);
        self.insert(kernel, item, ring);
        seen
    }
    /// Called after the ring has advanced: empties the newest segment, which is being recycled.
    fn recycle_newest(&mut self, ring: &Ring);
    /// Called after the window of an elastic filter has been shortened.
    fn shorten_window(&mut self, _ring: &Ring) {}
    /// Makes an elastic layout larger or smaller, so that it has room for its items. `early_left`: the number of
    /// generations that may begin before the clock starts them.
    fn fit(&mut self, _ring: &Ring, _early_left: u32) -> Fit {
        Fit { next: Some(u64::MAX), starts_generation: false }
    }
}

/// How an elastic layout fits its items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// After how many inserts to look again; `None` if the layout is full and cannot grow.
    pub(crate) next: Option<u64>,
    /// Whether the next generation should begin now: the layout has doubled in this one.
    pub(crate) starts_generation: bool,
}

#[cfg(feature = "std")]
/// [`Query`] and [`Update`] for many threads at once, in memory borrowed for a call or a
/// batch.
pub(crate) trait SharedUpdate {
    /// The part of an item's positions that is worth computing only once.
    type Place: Copy;
    /// Whether an insert claims the memory that it writes to before it reads the generation.
    const CLAIMS: bool;
    fn locate(&self, hash: u64) -> Located<Self::Place>;
    /// See [`Query::prefetch`].
    fn prefetch<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, ring: &Ring, uses: Use);
    fn contains<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, view: &mut View<'_>) -> bool;
    fn insert<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, view: &mut View<'_>);
    /// Calls [`contains`](Self::contains) and [`insert`](Self::insert). If threads call this with the same
    /// new item at the same time, in rows and bins exactly one of the calls returns false.
    fn check_and_insert<K: Kernel>(&self, kernel: K, item: Located<Self::Place>, view: &mut View<'_>)
    -> bool;
    /// Calls [`insert`](Self::insert) for each item, in order.
    #[inline(always)]
    fn insert_all<K: Kernel>(&self, kernel: K, items: &[Located<Self::Place>], view: &mut View<'_>) {
        items.iter().for_each(|item| self.insert(kernel, *item, view));
    }
    /// Calls [`check_and_insert`](Self::check_and_insert) for each item, in order, and writes the i-th answer
    /// to `seen[i]`.
    #[inline(always)]
    fn check_and_insert_all<K: Kernel>(
        &self,
        kernel: K,
        items: &[Located<Self::Place>],
        view: &mut View<'_>,
        seen: &mut [bool],
    ) {
        for (item, seen) in items.iter().zip(&mut seen[..items.len()]) {
            *seen = self.check_and_insert(kernel, *item, view);
        }
    }
    /// See [`Contents::newest_run`]. No shift can happen during the call.
    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)>;
    /// Empties the newest segment of `next`, the ring of the next generation, before that generation is
    /// published.
    fn empty_newest(&self, next: &Ring);
    /// Called after the generation has been published, for work that can wait until then.
    fn after_shift(&self, _view: &mut View<'_>) {}
    /// Copies the words while other threads write.
    fn copy_to(&self, words: &mut [u64]);
}

/// What is in a layout, for ages, statistics and snapshots; none of it is performance-critical. `item` is an
/// item's hash.
pub(crate) trait Contents {
    /// For a layout that may be in a box.
    fn as_contents(&self) -> &dyn Contents
    where
        Self: Sized,
    {
        self
    }
    /// See [`as_contents`](Self::as_contents).
    fn as_contents_mut(&mut self) -> &mut dyn Contents
    where
        Self: Sized,
    {
        self
    }
    /// Returns the newest and the oldest age that the last insert of an item may have once the ring has moved on to
    /// `later`, or `None` if the item will not be reported then.
    fn newest_run(&self, item: u64, ring: &Ring, later: &Ring) -> Option<(Age, Age)>;
    /// Forgets everything. The ring is that of a new filter.
    fn clear(&mut self, ring: &Ring) {
        self.words_mut().fill(0);
        self.ring_was_set(ring);
    }
    /// Called after the ring and the words have been set to those of a snapshot, or of a new filter.
    fn ring_was_set(&mut self, _ring: &Ring) {}
    /// What is in the segments, the newest first.
    fn by_age(&self, ring: &Ring, sample: Sample) -> Vec<Held>;
    /// Estimated number of distinct items that will be in a spare once the ring has moved on to `later`.
    fn spilled_items(&self, _ring: &Ring, _later: &Ring, _sample: Sample) -> f64 {
        0.0
    }
    /// Probability, with the present bits, that a never-inserted item is reported once the ring has moved on to
    /// `later`.
    fn false_positive_rate(&self, ring: &Ring, later: &Ring, sample: Sample) -> f64;
    /// All state that a snapshot must contain.
    fn words(&self) -> &[u64];
    fn words_mut(&mut self) -> &mut [u64];
    /// Returns true if this layout can have written the words; those of a snapshot may be invalid. Checks the
    /// cells that have words in this range.
    fn words_are_valid(&self, range: Range<usize>) -> bool;
}

/// What is in a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Share of set bits; in bins, of places with an item of this age.
    pub(crate) fill: f64,
    /// Estimated number of distinct items.
    pub(crate) items: f64,
}

/// The share of each segment that estimates read; they read its first cells. Hashes select cells evenly, so
/// the first ones are as good as any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample(pub(crate) f64);

impl Sample {
    pub(crate) const ALL: Self = Self(1.0);

    fn of(self, cells: u64) -> u64 {
        (libm::ceil(cells as f64 * self.0) as u64).clamp(1, cells)
    }
}

/// Of pieces of memory with `words` words each, returns those that overlap the range.
fn pieces_with<T>(
    range: Range<usize>,
    words: usize,
    pieces: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let first = range.start / words;
    pieces.skip(first).take(range.end.div_ceil(words).saturating_sub(first))
}

/// The memory of a filter, in one of the layouts.
#[derive(Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // a filter has only one
pub(crate) enum Memory {
    Slices(Slices),
    Blocks(Blocks),
    Rows64(Rows<8>),
    Rows128(Rows<16>),
    Bins8(Bins<8, true>),
    Bins16(Bins<16, false>),
    LongBins(Bins<16, true>),
    /// Boxed: it would make filters of every layout a kilobyte larger.
    Elastic(Box<ElasticBins>),
}

/// Evaluates the same expression for the actual layout, compiled for each.
macro_rules! whichever {
    (SharedMemory: $expression:expr, $layout:ident => $body:expr) => {
        match $expression {
            SharedMemory::Slices($layout) => $body,
            SharedMemory::Blocks($layout) => $body,
            SharedMemory::Rows64($layout) => $body,
            SharedMemory::Rows128($layout) => $body,
            SharedMemory::Bins8($layout) => $body,
            SharedMemory::Bins16($layout) => $body,
            SharedMemory::LongBins($layout) => $body,
        }
    };
    ($memory:ident: $expression:expr, $layout:ident => $body:expr) => {
        match $expression {
            $memory::Slices($layout) => $body,
            $memory::Blocks($layout) => $body,
            $memory::Rows64($layout) => $body,
            $memory::Rows128($layout) => $body,
            $memory::Bins8($layout) => $body,
            $memory::Bins16($layout) => $body,
            $memory::LongBins($layout) => $body,
            $memory::Elastic($layout) => $body,
        }
    };
}
pub(crate) use whichever;

/// The bytes on the heap that a filter of this shape needs besides its words, whatever its size.
pub(crate) fn table_bytes(shape: &Shape) -> u64 {
    match shape.segment {
        Segment::Rows { row_bytes: 64, .. } => Rows::<8>::TABLE_BYTES,
        Segment::Rows { .. } => Rows::<16>::TABLE_BYTES,
        Segment::ElasticBins { .. } => ElasticBins::TABLE_BYTES,
        _ => 0,
    }
}

/// The number of 64-bit words of a filter with this many cells per segment, or `None` on overflow.
pub(crate) fn words(shape: &Shape, cells: u64) -> Option<u64> {
    let words_of_cells = |bits_per_cell: u32| Some(cells.checked_mul(bits_per_cell.into())?.div_ceil(64));
    match shape.segment {
        // Every segment begins at a whole word.
        Segment::Slices { parts } => words_of_cells(parts)?.checked_mul(shape.segments().into()),
        Segment::Blocks { block_bits, .. } => {
            words_of_cells(block_bits)?.checked_mul(shape.segments().into())
        }
        // All segments share a row.
        Segment::Rows { row_bytes, .. } => words_of_cells(row_bytes * 8),
        Segment::Bins { .. } => bins::words(cells),
        Segment::ElasticBins { .. } => bins::elastic::words(cells),
    }
}

impl Memory {
    /// Returns empty segments, or `None` if the memory cannot be allocated.
    pub(crate) fn allocate(shape: &Shape, cells: u64, ring: &Ring) -> Option<Self> {
        let words = AlignedWords::zeroed(usize::try_from(words(shape, cells)?).ok()?)?;
        Some(match shape.segment {
            Segment::Slices { parts } => {
                let words_per_segment = words.len() / shape.segments() as usize;
                Self::Slices(Slices::new(SliceGeometry { parts, part_bits: cells, words_per_segment }, words))
            }
            Segment::Blocks { block_bits, bits_per_block } => {
                Self::Blocks(Blocks::new(BlockGeometry { block_bits, bits_per_block, blocks: cells }, words))
            }
            Segment::Rows { row_bytes, parts } => {
                let row = RowShape { row_bytes, parts, segments: shape.segments() };
                match row_bytes {
                    64 => Self::Rows64(Rows::new(row, words, ring)),
                    _ => Self::Rows128(Rows::new(row, words, ring)),
                }
            }
            Segment::Bins { fingerprint_bits } => {
                let bin = BinShape::new(fingerprint_bits, shape.window_generations)?;
                match fingerprint_bits {
                    ..16 => Self::Bins8(Bins::new(bin, cells, words, ring)),
                    16 => Self::Bins16(Bins::new(bin, cells, words, ring)),
                    _ => Self::LongBins(Bins::new(bin, cells, words, ring)),
                }
            }
            Segment::ElasticBins { fingerprint_bits } => {
                let bins = ElasticBins::new(BinShape::elastic(fingerprint_bits)?, cells, words, ring);
                Self::Elastic(Box::new(bins))
            }
        })
    }

    pub(crate) fn contents(&self) -> &dyn Contents {
        whichever!(Self: self, layout => layout.as_contents())
    }

    pub(crate) fn contents_mut(&mut self) -> &mut dyn Contents {
        whichever!(Self: self, layout => layout.as_contents_mut())
    }
}
