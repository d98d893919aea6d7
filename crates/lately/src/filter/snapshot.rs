//! Converts a filter to bytes and back. docs/format.md describes the format field by field; only this file
//! implements it.
//!
//! Decoding trusts no input: it checks lengths before it allocates, every field before it uses it, and the
//! checksum before it returns a filter.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::time::Duration;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Filter;
use crate::ageing::{Ageing, GenerationStart};
use crate::error::SnapshotError;
use crate::hash::HashFunction;
use crate::layout::bins::elastic::History;
use crate::layout::{self, Memory};
use crate::limits::{MAX_SEGMENTS, MAX_WINDOW};
use crate::plan::{Dimensions, Plan};
use crate::ring::{Age, Ring};
use crate::shape::{ELASTIC_BLOCK_LINES, LEAST_ELASTIC_LINES, ROW_BYTES, Segment, Shape};
use crate::window::{Clock, Overload, Window};

pub(crate) const MAGIC: [u8; 8] = *b"LATELY\r\n";
/// The format version that this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 152;
pub(super) const CHECKSUM_BYTES: usize = 8;
/// Words are written and read in pieces of this many.
const PIECE_WORDS: usize = 8192;
/// The largest valid counter. The limit keeps arithmetic on counters from overflowing. Only forged snapshots come near
/// it; a filter that counts on beyond it is written with this value, so that it can be read again.
const MAX_COUNT: u64 = 1 << 62;
/// The most shifts. A ring is published to threads in one word, which also has its position.
const MAX_GENERATION: u64 = 1 << 52;

impl Filter {
    /// Returns the filter as a snapshot, which every platform can read.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let mut filter = Filter::builder().window(100).false_positive_rate(1e-3).build()?;
    /// filter.insert("kept");
    /// let restored = Filter::from_bytes(&filter.to_bytes()).expect("just written");
    /// assert!(restored == filter && restored.contains("kept"));
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.snapshot_len() as usize);
        let written: Result<(), Infallible> = self.write_snapshot(|piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        let Ok(()) = written;
        bytes
    }

    /// Returns the length of the snapshot, in bytes.
    #[must_use]
    pub fn snapshot_len(&self) -> u64 {
        (head_bytes(&self.dimensions.shape) + self.words().len() * 8 + CHECKSUM_BYTES) as u64
    }

    /// Passes the snapshot to `sink` in pieces of at most 64 KiB, so that no second copy of the filter is
    /// needed. Stops at the first error of `sink`.
    ///
    /// # Errors
    /// Those of `sink`.
    ///
    /// ```
    /// let filter = lately::Filter::builder().window(100).false_positive_rate(1e-3).build()?;
    /// let mut bytes = Vec::new();
    /// filter.write_snapshot(|piece| -> Result<(), ()> { Ok(bytes.extend_from_slice(piece)) }).unwrap();
    /// assert_eq!(bytes, filter.to_bytes());
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn write_snapshot<E>(&self, mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut checksum = Xxh3::new();
        let mut checked = |piece: &[u8]| {
            checksum.update(piece);
            sink(piece)
        };
        checked(&self.head())?;
        let mut piece = Writer(Vec::with_capacity(PIECE_WORDS * 8));
        for words in self.words().chunks(PIECE_WORDS) {
            piece.0.clear();
            words.iter().for_each(|&word| piece.u64(word));
            checked(&piece.0)?;
        }
        sink(&checksum.digest().to_le_bytes())
    }

    /// Returns the snapshot without the words: a few hundred bytes from which
    /// [`from_blueprint`](Self::from_blueprint) builds a filter of exactly these dimensions, without
    /// planning. Together with [`words`](Self::words) it is the whole filter. The words of a new filter are
    /// all zero.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let filter = Filter::builder().window(1_000_000).false_positive_rate(1e-3).build()?;
    /// let blueprint = filter.blueprint();
    /// assert!(blueprint.len() < 1000);
    /// assert!(Filter::from_blueprint(&blueprint).expect("just written") == filter);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[must_use]
    pub fn blueprint(&self) -> Vec<u8> {
        with_checksum(self.head())
    }

    /// Everything before the words.
    pub(super) fn head(&self) -> Vec<u8> {
        let mut out = head(&self.dimensions, (self.hash_function, self.label), &self.ring, &self.ageing);
        if let Memory::Elastic(bins) = &self.memory {
            let state = Elastic {
                lines: bins.lines(),
                look_at: self.ageing.full_at(),
                oldest_in_window: self.ring.oldest_in_window().0.into(),
                history: *bins.history(),
            };
            state.write(bins.lines_at().iter().copied(), &mut out);
        }
        out.0
    }

    /// Rebuilds the filter that [`blueprint`](Self::blueprint) was called on, with all words zero.
    ///
    /// # Errors
    /// If the bytes are not exactly one undamaged blueprint of a version this build reads, or if the memory
    /// cannot be allocated. Unlike a snapshot, a blueprint of a few bytes may ask for any amount of memory.
    pub fn from_blueprint(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut input = Reader(bytes);
        let head = Head::read(
            bytes.len() as u64,
            |_| 0,
            |piece| -> Result<(), SnapshotError> {
                input.fill(piece);
                Ok(())
            },
        )?;
        let (content, _) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        check_checksum(input.u64(), xxh3_64(content))?;
        let mut filter = head.build()?;
        head.restore_ageing(&mut filter)?;
        Ok(filter)
    }

    /// Returns the most memory that the filter of a snapshot or of a [`blueprint`](Self::blueprint) takes, from its
    /// first 152 bytes or more. Allocates nothing.
    ///
    /// # Errors
    /// If the bytes are no beginning of a snapshot that this build reads.
    pub fn memory_of_snapshot(bytes: &[u8]) -> Result<u64, SnapshotError> {
        let (found, expected) = (bytes.len() as u64, HEADER_BYTES as u64);
        if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
            return Err(SnapshotError::Magic);
        }
        if found < expected {
            return Err(SnapshotError::Truncated { expected, found });
        }
        Ok(Header::of(bytes)?.dimensions.memory_bytes)
    }

    /// Returns the memory of the segments, word by word as in a snapshot.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        self.memory.contents().words()
    }

    /// Overwrites the words from index `first` on, for example with those of a filter with the same
    /// [`blueprint`](Self::blueprint).
    ///
    /// # Errors
    /// If the range exceeds the filter's words, or if bits are set that no filter sets. The filter is then
    /// unchanged.
    pub fn set_words(&mut self, first: usize, words: &[u64]) -> Result<(), SnapshotError> {
        let contents = self.memory.contents_mut();
        let all = contents.words().len();
        let end = first.saturating_add(words.len());
        if end > all {
            return Err(SnapshotError::TrailingBytes { extra: (end - all.max(first)) as u64 * 8 });
        }
        let before = contents.words()[first..end].to_vec();
        contents.words_mut()[first..end].copy_from_slice(words);
        if contents.words_are_valid(first..end) {
            return Ok(());
        }
        contents.words_mut()[first..end].copy_from_slice(&before);
        Err(SnapshotError::UnusedBits)
    }

    /// Restores the filter that [`to_bytes`](Self::to_bytes) was called on. It answers and continues exactly
    /// as that one would.
    ///
    /// # Errors
    /// If the bytes are not exactly one undamaged snapshot of a version this build reads.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut input = Reader(bytes);
        Self::read_snapshot(bytes.len() as u64, |piece| {
            input.fill(piece);
            Ok::<(), SnapshotError>(())
        })
    }

    /// Restores a filter from a snapshot of `len` bytes, which `fill` provides in order, piece by piece.
    ///
    /// Nothing is allocated for the filter before the header has been found to match `len`. If `len` comes
    /// from an untrusted source, compare it with the number of bytes that are really available.
    ///
    /// # Errors
    /// The same as [`from_bytes`](Self::from_bytes), or those of `fill`.
    pub fn read_snapshot<E: From<SnapshotError>>(
        len: u64,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut checksum = Xxh3::new();
        let mut checked = |piece: &mut [u8]| {
            fill(piece)?;
            checksum.update(piece);
            Ok::<(), E>(())
        };
        let head = Head::read(len, |words| words, &mut checked)?;
        let mut filter = head.build()?;
        let mut piece = vec![0; PIECE_WORDS * 8];
        for words in filter.memory.contents_mut().words_mut().chunks_mut(PIECE_WORDS) {
            let piece = &mut piece[..words.len() * 8];
            checked(piece)?;
            let mut input = Reader(piece);
            words.iter_mut().for_each(|word| *word = input.u64());
        }
        let computed = checksum.digest();
        let mut found = [0; CHECKSUM_BYTES];
        fill(&mut found)?;
        check_checksum(u64::from_le_bytes(found), computed)?;
        head.restore_ageing(&mut filter)?;
        let contents = filter.memory.contents();
        if contents.words_are_valid(0..usize::MAX) {
            Ok(filter)
        } else {
            Err(SnapshotError::UnusedBits.into())
        }
    }
}

impl Plan {
    /// Returns the [`blueprint`](Filter::blueprint) of a new filter of this plan, without building it.
    /// [`Filter::from_blueprint`] builds it without planning again.
    #[must_use]
    pub fn blueprint(&self, hash_function: HashFunction) -> Vec<u8> {
        let Self { window, shape, items_per_generation, cells, memory_bytes, .. } = *self;
        let dimensions = Dimensions { window, shape, items_per_generation, cells, memory_bytes };
        let ring = Ring::of(&shape);
        let ageing = Ageing::new(window, items_per_generation, &ring, &shape);
        let mut out = head(&dimensions, (hash_function, 0), &ring, &ageing);
        if shape.is_elastic() {
            let lines = dimensions.cells_at_first();
            let lines_at = core::iter::repeat_n(lines, ring.segments() as usize);
            let history = History::new(lines);
            Elastic { lines, look_at: 0, oldest_in_window: 0, history }.write(lines_at, &mut out);
        }
        with_checksum(out.0)
    }
}

/// The head of a filter that is not elastic.
fn head(
    dimensions: &Dimensions,
    (hash_function, label): (HashFunction, u64),
    ring: &Ring,
    ageing: &Ageing,
) -> Writer {
    let mut out = Writer(Vec::with_capacity(head_bytes(&dimensions.shape) + CHECKSUM_BYTES));
    out.0.extend_from_slice(&MAGIC);
    out.u32(FORMAT_VERSION);
    let (layout, b, block_bits, row_bytes) = match dimensions.shape.segment {
        Segment::Slices { parts } => (1, parts, 0, 0),
        Segment::Blocks { block_bits, bits_per_block } => (2, bits_per_block, block_bits, 0),
        Segment::Rows { row_bytes, parts } => (3, parts, 0, row_bytes),
        Segment::Bins { fingerprint_bits } => (4, fingerprint_bits, 0, 0),
        Segment::ElasticBins { fingerprint_bits } => (5, fingerprint_bits, 0, 0),
    };
    out.u32(layout);
    out.u32(dimensions.shape.required_matches);
    out.u32(dimensions.shape.window_generations);
    out.u32(b);
    out.u32(block_bits);
    out.u32(row_bytes);
    out.u32(match ageing.clock {
        Clock::Unset => 0,
        Clock::System => 1,
        Clock::Events => 2,
    });
    out.u64(dimensions.cells);
    out.u64(dimensions.items_per_generation);
    out.u32(match dimensions.window {
        Window::Count { .. } => 1,
        Window::Time { .. } => 2,
        Window::Elastic { .. } => 3,
    });
    out.u32(match dimensions.window.overload() {
        None => 0,
        Some(Overload::KeepWindow) => 1,
        Some(Overload::KeepRate) => 2,
    });
    out.u64(dimensions.window.items());
    out.u64(dimensions.window.span_ms());
    let (hash, key) = match hash_function {
        HashFunction::Xxh3 { seed } => (1, u128::from(seed)),
        HashFunction::SipHash13 { key } => (2, u128::from_le_bytes(key)),
    };
    out.u32(hash);
    out.u32(u32::from(ageing.latest_ms.is_some()));
    out.0.extend_from_slice(&key.to_le_bytes());
    out.count(ageing.inserts);
    out.u64(valid_generation(ring));
    out.u64(ageing.now_or_zero());
    out.count(ageing.backward_steps);
    out.count(ageing.overloaded_generations);
    out.u64(label);
    debug_assert_eq!(out.0.len(), HEADER_BYTES);
    for start in &ageing.starts {
        out.count(start.inserts);
        out.u64(start.millis);
    }
    out
}

/// What an elastic filter adds to its head, besides the lines at the start of each generation.
struct Elastic {
    /// The lines at present.
    lines: u64,
    /// The number of inserts at which it looks how much room it needs.
    look_at: u64,
    oldest_in_window: u64,
    history: History,
}

impl Elastic {
    const WORDS: usize = 8;

    fn bytes(shape: &Shape) -> usize {
        if shape.is_elastic() { (Self::WORDS + shape.segments() as usize) * 8 } else { 0 }
    }

    fn write(&self, lines_at: impl Iterator<Item = u64>, out: &mut Writer) {
        out.u64(self.lines);
        if self.look_at == u64::MAX {
            out.u64(u64::MAX);
        } else {
            out.count(self.look_at);
        }
        out.u64(self.oldest_in_window);
        let History { growths, shrinks, peak_lines, spilled, spilled_before } = self.history;
        for count in [growths, shrinks, peak_lines, spilled, spilled_before] {
            out.count(count);
        }
        lines_at.for_each(|lines| out.u64(lines));
    }

    /// Reads a number of lines of which there are at most `limit`.
    fn lines(name: &'static str, input: &mut Reader<'_>, limit: u64) -> Result<u64, SnapshotError> {
        let range = LEAST_ELASTIC_LINES..=limit;
        field(name, input.u64(), |lines| range.contains(&lines) && lines.is_multiple_of(ELASTIC_BLOCK_LINES))
    }

    fn read(input: &mut Reader<'_>, limit: u64, segments: u32) -> Result<Self, SnapshotError> {
        let lines = Self::lines("lines", input, limit)?;
        let look_at = field("look_at", input.u64(), |inserts| inserts <= MAX_COUNT || inserts == u64::MAX)?;
        let oldest_in_window = field("oldest_in_window", input.u64(), |age| age < segments.into())?;
        let growths = count("growths", input)?;
        let shrinks = count("shrinks", input)?;
        let peak_lines = field("peak_lines", Self::lines("peak_lines", input, limit)?, |peak| peak >= lines)?;
        let spilled = count("spilled", input)?;
        let spilled_before = field("spilled_before", input.u64(), |before| before <= spilled)?;
        let history = History { growths, shrinks, peak_lines, spilled, spilled_before };
        Ok(Self { lines, look_at, oldest_in_window, history })
    }
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn check_checksum(found: u64, computed: u64) -> Result<(), SnapshotError> {
    if found == computed { Ok(()) } else { Err(SnapshotError::Checksum { found, computed }) }
}

/// Everything before the words. All of it is checked except the generation starts.
pub(super) struct Head {
    header: Header,
    starts: Vec<u8>,
    elastic: Option<Elastic>,
    /// The lines at the start of each generation of an elastic filter, or the least since.
    lines_at: Vec<u8>,
}

impl Head {
    /// The length of the head that begins with these bytes; they include the header.
    pub(super) fn len(bytes: &[u8]) -> Result<usize, SnapshotError> {
        Ok(head_bytes(&Header::of(bytes)?.dimensions.shape))
    }

    /// Builds the filter of a whole head, with all words zero.
    pub(super) fn parse(bytes: &[u8]) -> Result<Filter, SnapshotError> {
        let mut input = Reader(bytes);
        let len = (bytes.len() + CHECKSUM_BYTES) as u64;
        let head = Self::read(
            len,
            |_| 0,
            |piece| -> Result<(), SnapshotError> {
                input.fill(piece);
                Ok(())
            },
        )?;
        let mut filter = head.build()?;
        head.restore_ageing(&mut filter)?;
        Ok(filter)
    }

    /// Reads from `len` bytes, of which a checksum and the number of words that `words_that_follow` returns
    /// come after the head.
    fn read<E: From<SnapshotError>>(
        len: u64,
        words_that_follow: impl FnOnce(u64) -> u64,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let truncated = |expected| SnapshotError::Truncated { expected, found: len };
        let mut header = [0; HEADER_BYTES];
        let header = &mut header[..len.min(HEADER_BYTES as u64) as usize];
        fill(header)?;
        if !header.starts_with(&MAGIC[..header.len().min(MAGIC.len())]) {
            return Err(SnapshotError::Magic.into());
        }
        if len < (HEADER_BYTES + CHECKSUM_BYTES) as u64 {
            return Err(truncated((HEADER_BYTES + CHECKSUM_BYTES) as u64).into());
        }
        let header = Header::of(header)?;
        let Dimensions { shape, cells, .. } = header.dimensions;
        let least = (head_bytes(&shape) + CHECKSUM_BYTES) as u64;
        if len < least {
            return Err(truncated(least).into());
        }
        let mut starts = vec![0; shape.segments() as usize * size_of::<GenerationStart>()];
        fill(&mut starts)?;
        let mut lines_at = vec![0; Elastic::bytes(&shape)];
        fill(&mut lines_at)?;
        let mut elastic = None;
        if shape.is_elastic() {
            elastic = Some(Elastic::read(&mut Reader(&lines_at), cells, shape.segments())?);
            lines_at.drain(..Elastic::WORDS * 8);
        }
        let head = Self { header, starts, elastic, lines_at };
        // `Header::read` has checked that the memory, and so the length of the snapshot, does not overflow.
        let words = words_that_follow(layout::words(&shape, head.cells()).unwrap_or(0));
        let expected = least + words * 8;
        match len.checked_sub(expected) {
            None => Err(truncated(expected).into()),
            Some(0) => Ok(head),
            Some(extra) => Err(SnapshotError::TrailingBytes { extra }.into()),
        }
    }

    /// The number of cells at present.
    fn cells(&self) -> u64 {
        self.elastic.as_ref().map_or(self.header.dimensions.cells, |elastic| elastic.lines)
    }

    /// Builds the filter, still without words and ageing.
    fn build(&self) -> Result<Filter, SnapshotError> {
        let Header { dimensions, hash_function, label, generation, .. } = self.header;
        let mut filter = Filter::with_cells(dimensions, self.cells(), hash_function)
            .map_err(|_| SnapshotError::Allocation { bytes: dimensions.memory_bytes })?;
        filter.label = label;
        filter.ring = Ring::of_shape_at(&dimensions.shape, generation);
        Ok(filter)
    }

    fn restore_ageing(&self, filter: &mut Filter) -> Result<(), SnapshotError> {
        let Filter { ageing, ring, memory, .. } = filter;
        self.header.restore_ageing(ageing, ring, &mut Reader(&self.starts))?;
        if let (Some(elastic), Memory::Elastic(bins)) = (&self.elastic, &mut *memory) {
            let oldest = elastic.oldest_in_window;
            field("oldest_in_window", oldest, |age| age <= ring.generation())?;
            *ring = ring.with_window(Age(oldest as u32));
            ageing.look_at(elastic.look_at);
            let mut input = Reader(&self.lines_at);
            let mut lines_at = Vec::with_capacity(ring.segments() as usize);
            for _ in ring.ages() {
                lines_at.push(Elastic::lines("lines_at", &mut input, elastic.lines)?);
            }
            bins.set_lines_at(lines_at.into_iter());
            bins.set_history(elastic.history);
        }
        memory.contents_mut().ring_was_set(ring);
        Ok(())
    }
}

/// The part of fixed length, checked field by field.
struct Header {
    dimensions: Dimensions,
    hash_function: HashFunction,
    label: u64,
    clock: Clock,
    clock_is_set: bool,
    inserts: u64,
    generation: u64,
    latest_ms: u64,
    backward_steps: u64,
    overloaded_generations: u64,
}

impl Header {
    /// Reads the header at the beginning of these bytes.
    fn of(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(SnapshotError::Magic);
        }
        let mut input = Reader(&bytes[MAGIC.len()..]);
        let version = input.u32();
        if version != FORMAT_VERSION {
            return Err(SnapshotError::Version { found: version, supported: FORMAT_VERSION });
        }
        Self::read(&mut input)
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let (shape, clock) = Self::read_shape(input)?;
        let cells = input.u64();
        let items_per_generation =
            field("items_per_generation", input.u64(), |g| (1..=MAX_WINDOW).contains(&g))?;
        let window = Self::read_window(input, &shape, items_per_generation)?;
        let dimensions = Dimensions::new(window, shape, items_per_generation, cells).filter(|_| cells > 0);
        let dimensions = dimensions.ok_or(SnapshotError::Field { field: "cells", value: cells })?;
        let hash = input.u32();
        let clock_is_set = field_u32("clock", input.u32(), |set| set <= 1)? == 1;
        let key = input.u128();
        let hash_function = match hash {
            1 => HashFunction::Xxh3 {
                seed: field("seed", (key >> 64) as u64, |high| high == 0).map(|_| key as u64)?,
            },
            2 => HashFunction::SipHash13 { key: key.to_le_bytes() },
            _ => return Err(SnapshotError::Field { field: "hash", value: hash.into() }),
        };
        let inserts = field("inserts", input.u64(), |count| count <= MAX_COUNT)?;
        let generation = field("generation", input.u64(), |count| count <= MAX_GENERATION)?;
        let timed = window.span().is_some();
        field_u32("clock", u32::from(clock_is_set), |set| timed || set == 0)?;
        field_u32("clock_source", u32::from(clock != Clock::Unset), |set| timed || set == 0)?;
        let latest_ms = field("latest_ms", input.u64(), |ms| clock_is_set || ms == 0)?;
        let mut counter =
            |name| field(name, input.u64(), |count| count <= MAX_COUNT && (timed || count == 0));
        let backward_steps = counter("backward_steps")?;
        let overloaded_generations = counter("overloaded_generations")?;
        Ok(Self {
            dimensions,
            hash_function,
            label: input.u64(),
            clock,
            clock_is_set,
            inserts,
            generation,
            latest_ms,
            backward_steps,
            overloaded_generations,
        })
    }

    fn read_shape(input: &mut Reader<'_>) -> Result<(Shape, Clock), SnapshotError> {
        let layout = input.u32();
        let (required_matches, window_generations) = (input.u32(), input.u32());
        let (b, block_bits, row_bytes) = (input.u32(), input.u32(), input.u32());
        let segment = match layout {
            1 => Segment::Slices { parts: b },
            2 => Segment::Blocks { block_bits, bits_per_block: b },
            3 => Segment::Rows { row_bytes, parts: b },
            4 => Segment::Bins { fingerprint_bits: b },
            5 => Segment::ElasticBins { fingerprint_bits: b },
            _ => return Err(SnapshotError::Field { field: "layout", value: layout.into() }),
        };
        let clock = match field_u32("clock_source", input.u32(), |source| source <= 2)? {
            0 => Clock::Unset,
            1 => Clock::System,
            _ => Clock::Events,
        };
        field_u32("block_bits", block_bits, |bits| layout == 2 || bits == 0)?;
        field_u32("row_bytes", row_bytes, |bytes| layout == 3 || bytes == 0)?;
        field_u32("block_bits", block_bits, |bits| layout != 2 || matches!(bits, 64 | 512))?;
        field_u32("row_bytes", row_bytes, |bytes| layout != 3 || ROW_BYTES.contains(&bytes))?;
        field_u32("b", b, |_| segment.is_possible())?;
        field_u32("k", required_matches, |k| (1..MAX_SEGMENTS).contains(&k))?;
        let shape = Shape { required_matches, window_generations, segment };
        field_u32("l", window_generations, |_| shape.is_possible())?;
        Ok((shape, clock))
    }

    fn read_window(
        input: &mut Reader<'_>,
        shape: &Shape,
        items_per_generation: u64,
    ) -> Result<Window, SnapshotError> {
        let (kind, overload) = (input.u32(), input.u32());
        let generations = u64::from(shape.window_generations);
        // Both factors are bounded, so this cannot overflow.
        let guaranteed = items_per_generation * generations;
        let items = field("window", input.u64(), |items| (1..=guaranteed.min(MAX_WINDOW)).contains(&items))?;
        let span_ms = input.u64();
        let refused = SnapshotError::Field { field: "overload", value: overload.into() };
        match kind {
            1 => {
                field("span_ms", span_ms, |ms| ms == 0)?;
                field_u32("window_kind", kind, |_| !shape.is_elastic())?;
                if overload == 0 { Ok(Window::Count { inserts: items }) } else { Err(refused) }
            }
            2 | 3 => {
                field("span_ms", span_ms, |ms| ms >= generations)?;
                let (span, capacity) = (Duration::from_millis(span_ms), items);
                let overload = match overload {
                    1 => Overload::KeepWindow,
                    2 => Overload::KeepRate,
                    _ => return Err(refused),
                };
                // Elastic windows and elastic bins go together.
                match field_u32("window_kind", kind, |kind| (kind == 3) == shape.is_elastic())? {
                    3 => Ok(Window::Elastic { span, capacity, overload }),
                    _ => Ok(Window::Time { span, capacity, overload }),
                }
            }
            _ => Err(SnapshotError::Field { field: "window_kind", value: kind.into() }),
        }
    }

    /// Reads the generation starts. A younger generation never starts before an older one, none starts after
    /// now, and a generation that ends by count never holds more than its share.
    fn restore_ageing(
        &self,
        ageing: &mut Ageing,
        ring: &Ring,
        input: &mut Reader<'_>,
    ) -> Result<(), SnapshotError> {
        for start in &mut ageing.starts {
            *start = GenerationStart { inserts: input.u64(), millis: input.u64() };
        }
        let mut younger = GenerationStart { inserts: self.inserts, millis: self.latest_ms };
        for age in ring.ages() {
            let start = ageing.start_of(ring, age);
            field("generation_start_inserts", start.inserts, |inserts| inserts <= younger.inserts)?;
            field("generation_start_ms", start.millis, |millis| millis <= younger.millis)?;
            younger = start;
        }
        let closes_by_count = match ageing.window {
            Window::Count { .. } => true,
            Window::Time { overload, .. } => overload == Overload::KeepRate,
            Window::Elastic { .. } => false,
        };
        let held = self.inserts - ageing.start_of(ring, Age(0)).inserts;
        field("inserts", self.inserts, |_| !closes_by_count || held <= ageing.items_per_generation)?;
        ageing.inserts = self.inserts;
        ageing.latest_ms = self.clock_is_set.then_some(self.latest_ms);
        ageing.clock = self.clock;
        ageing.backward_steps = self.backward_steps;
        ageing.overloaded_generations = self.overloaded_generations;
        ageing.derive_full_at(ring);
        Ok(())
    }
}

/// The generation, or beyond the limit an equivalent one: all stamps are the same in it. They are generations modulo
/// 2^15 or 2^8 in rows and lines, modulo 255 in spares, and turns modulo 2.
fn valid_generation(ring: &Ring) -> u64 {
    let round = (u64::from(ring.segments()) * 255) << 15;
    let excess = ring.generation().saturating_sub(MAX_GENERATION);
    ring.generation() - excess.next_multiple_of(round)
}

fn head_bytes(shape: &Shape) -> usize {
    HEADER_BYTES + shape.segments() as usize * size_of::<GenerationStart>() + Elastic::bytes(shape)
}

fn field(name: &'static str, value: u64, is_valid: impl Fn(u64) -> bool) -> Result<u64, SnapshotError> {
    if is_valid(value) { Ok(value) } else { Err(SnapshotError::Field { field: name, value }) }
}

/// Reads a counter.
fn count(name: &'static str, input: &mut Reader<'_>) -> Result<u64, SnapshotError> {
    field(name, input.u64(), |count| count <= MAX_COUNT)
}

fn field_u32(name: &'static str, value: u32, is_valid: impl Fn(u32) -> bool) -> Result<u32, SnapshotError> {
    field(name, value.into(), |_| is_valid(value)).map(|_| value)
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn count(&mut self, count: u64) {
        self.u64(count.min(MAX_COUNT));
    }
}

/// Reads little-endian numbers from bytes whose length has been checked; reads zeros past the end.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn fill(&mut self, bytes: &mut [u8]) {
        let (head, rest) = self.0.split_at(bytes.len().min(self.0.len()));
        bytes[..head.len()].copy_from_slice(head);
        self.0 = rest;
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.take())
    }
}
