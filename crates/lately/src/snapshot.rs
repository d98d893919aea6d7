//! A filter as bytes, and back. FORMAT.md describes the format field by field; this file is its only code.
//!
//! Decoding trusts nothing: lengths are checked before anything is allocated, every field before it is used, and the
//! checksum before a filter is handed out.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use xxhash_rust::xxh3::Xxh3;

use crate::ageing::{Ageing, GenerationStart};
use crate::error::SnapshotError;
use crate::filter::Filter;
use crate::hash::HashFunction;
use crate::layout;
use crate::plan::{Dimensions, MAX_WINDOW};
use crate::ring::{Age, Ring};
use crate::shape::{MAX_SEGMENTS, Segment, Shape};
use crate::window::{Overload, Window};

pub(crate) const MAGIC: [u8; 8] = *b"LATELY\r\n";
/// The version this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: usize = 144;
const CHECKSUM_BYTES: usize = 8;
/// Words are written and read in pieces of so many.
const PIECE_WORDS: usize = 8192;
/// Counters beyond this are no counters; it keeps all arithmetic on them from overflowing.
const MAX_COUNT: u64 = 1 << 62;

impl Filter {
    /// The filter as a snapshot, for any machine.
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
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.memory.segments().words().len();
        let mut bytes = Vec::with_capacity(snapshot_bytes(self.ageing.starts.len(), words));
        let written: Result<(), Infallible> = self.write_snapshot(|piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        let Ok(()) = written;
        bytes
    }

    /// The snapshot in pieces, so that nobody has to hold a second copy of the filter.
    pub(crate) fn write_snapshot<E>(&self, mut sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut checksum = Xxh3::new();
        let mut checked = |piece: &[u8]| {
            checksum.update(piece);
            sink(piece)
        };
        checked(&self.snapshot_head())?;
        let mut piece = Writer(Vec::with_capacity(PIECE_WORDS * 8));
        for words in self.memory.segments().words().chunks(PIECE_WORDS) {
            piece.0.clear();
            words.iter().for_each(|&word| piece.u64(word));
            checked(&piece.0)?;
        }
        sink(&checksum.digest().to_le_bytes())
    }

    /// Everything before the words.
    fn snapshot_head(&self) -> Vec<u8> {
        let Self { dimensions, hash_function, ring, ageing, .. } = self;
        let mut out = Writer(Vec::with_capacity(snapshot_bytes(ageing.starts.len(), 0)));
        out.0.extend_from_slice(&MAGIC);
        out.u32(FORMAT_VERSION);
        let (layout, b, block_bits, row_bytes) = match dimensions.shape.segment {
            Segment::Slices { parts } => (1, parts, 0, 0),
            Segment::Blocks { block_bits, bits_per_block } => (2, bits_per_block, block_bits, 0),
            Segment::Rows { row_bytes, parts } => (3, parts, 0, row_bytes),
        };
        out.u32(layout);
        out.u32(dimensions.shape.required_matches);
        out.u32(dimensions.shape.window_generations);
        out.u32(b);
        out.u32(block_bits);
        out.u32(row_bytes);
        out.u32(0);
        out.u64(dimensions.cells);
        out.u64(dimensions.items_per_generation);
        let (kind, overload, span_ms) = match dimensions.window {
            Window::Count { .. } => (1, 0, 0),
            Window::Time { span_ms, overload: Overload::KeepWindow, .. } => (2, 1, span_ms),
            Window::Time { span_ms, overload: Overload::KeepRate, .. } => (2, 2, span_ms),
        };
        out.u32(kind);
        out.u32(overload);
        out.u64(dimensions.window.items());
        out.u64(span_ms);
        let (hash, key) = match *hash_function {
            HashFunction::Xxh3 { seed } => (1, u128::from(seed)),
            HashFunction::SipHash13 { key } => (2, u128::from_le_bytes(key)),
        };
        out.u32(hash);
        out.u32(u32::from(ageing.latest_ms.is_some()));
        out.0.extend_from_slice(&key.to_le_bytes());
        out.u64(ageing.inserts);
        out.u64(ring.generation());
        out.u64(ageing.now_or_zero());
        out.u64(ageing.backward_steps);
        out.u64(ageing.overloaded_generations);
        debug_assert_eq!(out.0.len(), HEADER_BYTES);
        for start in &ageing.starts {
            out.u64(start.inserts);
            out.u64(start.millis);
        }
        out.0
    }

    /// The filter that [`to_bytes`](Self::to_bytes) was called on; it answers and goes on exactly as that one would.
    ///
    /// # Errors
    /// If the bytes are not exactly one undamaged snapshot of a version this build reads.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut input = Reader(bytes);
        Self::read_snapshot(bytes.len() as u64, |piece| {
            input.fill(piece);
            Ok(())
        })
    }

    /// A filter from a snapshot of `len` bytes, which `fill` hands out in order, piece by piece.
    pub(crate) fn read_snapshot(
        len: u64,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), SnapshotError>,
    ) -> Result<Self, SnapshotError> {
        let truncated = |expected| SnapshotError::Truncated { expected, found: len };
        let mut checksum = Xxh3::new();
        let mut checked = |piece: &mut [u8]| {
            fill(piece)?;
            checksum.update(piece);
            Ok(())
        };
        let mut header = [0; HEADER_BYTES];
        let header = &mut header[..len.min(HEADER_BYTES as u64) as usize];
        checked(header)?;
        if !header.starts_with(&MAGIC[..header.len().min(MAGIC.len())]) {
            return Err(SnapshotError::Magic);
        }
        if len < (HEADER_BYTES + CHECKSUM_BYTES) as u64 {
            return Err(truncated((HEADER_BYTES + CHECKSUM_BYTES) as u64));
        }
        let mut input = Reader(&header[MAGIC.len()..]);
        let version = input.u32();
        if version != FORMAT_VERSION {
            return Err(SnapshotError::Version { found: version, supported: FORMAT_VERSION });
        }
        let header = Header::read(&mut input)?;
        let Dimensions { shape, cells, memory_bytes, .. } = header.dimensions;
        // Checked before: the memory, and so the snapshot, can be counted.
        let words = layout::words(&shape, cells).unwrap_or(0);
        let segments = shape.segments() as usize;
        let expected = snapshot_bytes(segments, words as usize) as u64;
        match len.checked_sub(expected) {
            None => return Err(truncated(expected)),
            Some(0) => {}
            Some(extra) => return Err(SnapshotError::TrailingBytes { extra }),
        }

        // The snapshot is as long as its header says, so the memory that is asked for here was there to hold it.
        let mut starts = vec![0; segments * size_of::<GenerationStart>()];
        checked(&mut starts)?;
        let mut filter = Self::with_dimensions(header.dimensions, header.hash_function)
            .map_err(|_| SnapshotError::Allocation { bytes: memory_bytes })?;
        filter.ring =
            Ring::at_generation(shape.required_matches, shape.window_generations, header.generation);
        let mut piece = vec![0; PIECE_WORDS * 8];
        for words in filter.memory.segments_mut().words_mut().chunks_mut(PIECE_WORDS) {
            let piece = &mut piece[..words.len() * 8];
            checked(piece)?;
            let mut input = Reader(piece);
            words.iter_mut().for_each(|word| *word = input.u64());
        }
        let computed = checksum.digest();
        let mut found = [0; CHECKSUM_BYTES];
        fill(&mut found)?;
        let found = u64::from_le_bytes(found);
        if found != computed {
            return Err(SnapshotError::Checksum { found, computed });
        }
        header.restore_ageing(&mut filter.ageing, &filter.ring, &mut Reader(&starts))?;
        let segments = filter.memory.segments_mut();
        segments.ring_was_set(&filter.ring);
        if segments.words_are_valid() { Ok(filter) } else { Err(SnapshotError::UnusedBits) }
    }
}

/// The fixed part, checked field by field.
struct Header {
    dimensions: Dimensions,
    hash_function: HashFunction,
    clock_is_set: bool,
    inserts: u64,
    generation: u64,
    latest_ms: u64,
    backward_steps: u64,
    overloaded_generations: u64,
}

impl Header {
    fn read(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let shape = Self::read_shape(input)?;
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
        let mut counter = |name| field(name, input.u64(), |count| count <= MAX_COUNT);
        let inserts = counter("inserts")?;
        let generation = counter("generation")?;
        let timed = matches!(window, Window::Time { .. });
        field_u32("clock", u32::from(clock_is_set), |set| timed || set == 0)?;
        let latest_ms = field("latest_ms", input.u64(), |ms| clock_is_set || ms == 0)?;
        let mut counter =
            |name| field(name, input.u64(), |count| count <= MAX_COUNT && (timed || count == 0));
        let backward_steps = counter("backward_steps")?;
        let overloaded_generations = counter("overloaded_generations")?;
        Ok(Self {
            dimensions,
            hash_function,
            clock_is_set,
            inserts,
            generation,
            latest_ms,
            backward_steps,
            overloaded_generations,
        })
    }

    fn read_shape(input: &mut Reader<'_>) -> Result<Shape, SnapshotError> {
        let layout = input.u32();
        let (required_matches, window_generations) = (input.u32(), input.u32());
        let (b, block_bits, row_bytes) = (input.u32(), input.u32(), input.u32());
        let segment = match layout {
            1 => Segment::Slices { parts: b },
            2 => Segment::Blocks { block_bits, bits_per_block: b },
            3 => Segment::Rows { row_bytes, parts: b },
            _ => return Err(SnapshotError::Field { field: "layout", value: layout.into() }),
        };
        field_u32("block_bits", block_bits, |bits| layout == 2 || bits == 0)?;
        field_u32("row_bytes", row_bytes, |bytes| layout == 3 || bytes == 0)?;
        field_u32("reserved", input.u32(), |reserved| reserved == 0)?;
        field_u32("block_bits", block_bits, |bits| layout != 2 || matches!(bits, 64 | 512))?;
        field_u32("row_bytes", row_bytes, |bytes| layout != 3 || matches!(bytes, 64 | 128 | 256))?;
        field_u32("b", b, |_| segment.check().is_ok())?;
        field_u32("k", required_matches, |k| (1..MAX_SEGMENTS).contains(&k))?;
        let shape = Shape { required_matches, window_generations, segment };
        field_u32("l", window_generations, |_| shape.check().is_ok())?;
        Ok(shape)
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
                if overload == 0 { Ok(Window::Count { inserts: items }) } else { Err(refused) }
            }
            2 => {
                field("span_ms", span_ms, |ms| ms >= generations)?;
                let overload = match overload {
                    1 => Overload::KeepWindow,
                    2 => Overload::KeepRate,
                    _ => return Err(refused),
                };
                Ok(Window::Time { span_ms, capacity: items, overload })
            }
            _ => Err(SnapshotError::Field { field: "window_kind", value: kind.into() }),
        }
    }

    /// Reads where generations began. They never go back from an older to a younger one, nor beyond now, and a
    /// generation that closes by count never holds more than its share.
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
        let closes_by_count = !matches!(ageing.window, Window::Time { overload: Overload::KeepWindow, .. });
        let held = self.inserts - ageing.start_of(ring, Age(0)).inserts;
        field("inserts", self.inserts, |_| !closes_by_count || held <= ageing.items_per_generation)?;
        ageing.inserts = self.inserts;
        ageing.latest_ms = self.clock_is_set.then_some(self.latest_ms);
        ageing.backward_steps = self.backward_steps;
        ageing.overloaded_generations = self.overloaded_generations;
        ageing.derive_full_at(ring);
        Ok(())
    }
}

fn snapshot_bytes(segments: usize, words: usize) -> usize {
    HEADER_BYTES + segments * size_of::<GenerationStart>() + words * 8 + CHECKSUM_BYTES
}

fn field(name: &'static str, value: u64, is_valid: impl Fn(u64) -> bool) -> Result<u64, SnapshotError> {
    if is_valid(value) { Ok(value) } else { Err(SnapshotError::Field { field: name, value }) }
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
}

/// Reads little-endian numbers from bytes whose length has been checked; past the end there are only zeros.
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
