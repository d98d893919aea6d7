//! Snapshots in pieces, for programs that must not stop for as long as a whole one takes: each piece takes time for
//! itself only.

use alloc::vec::Vec;

use xxhash_rust::xxh3::Xxh3;

use super::Filter;
use super::snapshot::{CHECKSUM_BYTES, HEADER_BYTES, Head};
use crate::error::SnapshotError;

const WORD_BYTES: usize = 8;

/// Writes the snapshot of a filter in pieces. Together they are [`Filter::to_bytes`].
///
/// ```
/// use lately::{Filter, SnapshotReader, SnapshotWriter};
///
/// let mut filter = Filter::new(10_000, 1e-3)?;
/// filter.extend(0..5_000);
/// let (mut writer, mut reader) = (SnapshotWriter::new(&filter), SnapshotReader::new());
/// loop {
///     let piece = writer.next_piece(&filter, 4096).expect("the filter has not changed");
///     if piece.is_empty() {
///         break;
///     }
///     reader.push(&piece).expect("just written");
/// }
/// assert!(reader.is_complete());
/// assert!(reader.finish().expect("just written") == filter);
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct SnapshotWriter {
    head: Vec<u8>,
    written: u64,
    checksum: Xxh3,
}

impl SnapshotWriter {
    /// Begins a snapshot of the filter.
    #[must_use]
    pub fn new(filter: &Filter) -> Self {
        Self { head: filter.head(), written: 0, checksum: Xxh3::new() }
    }

    /// Returns the number of bytes of the pieces so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the next piece: at most `most` bytes, rounded down to a multiple of 8, and at least 8. It is empty after
    /// the last piece. Returns `None` if the filter has changed since the first piece: then begin again.
    #[must_use]
    pub fn next_piece(&mut self, filter: &Filter, most: usize) -> Option<Vec<u8>> {
        if filter.head() != self.head {
            return None;
        }
        let (most, head, words) =
            (most.max(WORD_BYTES) / WORD_BYTES * WORD_BYTES, self.head.len(), filter.words());
        let from = usize::try_from(self.written).unwrap_or(usize::MAX);
        let mut piece = Vec::with_capacity(most);
        piece.extend_from_slice(&self.head[from.min(head)..from.saturating_add(most).min(head)]);
        let first = (from + piece.len()).saturating_sub(head) / WORD_BYTES;
        let room = (most - piece.len()) / WORD_BYTES;
        let taken = words.get(first..).unwrap_or_default();
        taken.iter().take(room).for_each(|word| piece.extend_from_slice(&word.to_le_bytes()));
        self.checksum.update(&piece);
        let is_last = from + piece.len() == head + words.len() * WORD_BYTES;
        if is_last && piece.len() < most {
            piece.extend_from_slice(&self.checksum.digest().to_le_bytes());
        }
        self.written += piece.len() as u64;
        Some(piece)
    }
}

/// Restores a filter from a snapshot that comes in pieces of any length.
#[derive(Clone)]
pub struct SnapshotReader {
    /// What came before the words; complete once there is a body.
    head: Vec<u8>,
    body: Option<Body>,
}

/// What comes after the head.
#[derive(Clone)]
struct Body {
    filter: Filter,
    checksum: Xxh3,
    /// The words that came.
    words: usize,
    /// A part of the next word, or of the checksum.
    rest: Vec<u8>,
}

impl Default for SnapshotReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SnapshotReader {
    /// Expects the first piece.
    #[must_use]
    pub fn new() -> Self {
        Self { head: Vec::new(), body: None }
    }

    /// Returns the number of bytes of the pieces so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        let of_body = |body: &Body| body.words * WORD_BYTES + body.rest.len();
        (self.head.len() + self.body.as_ref().map_or(0, of_body)) as u64
    }

    /// Returns the length of the whole snapshot; `None` until its head has come.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.body.as_ref().map(|body| body.filter.snapshot_len())
    }

    /// Returns the filter as far as it has come, for its promise, its counters and its times: it does not have all items
    /// yet. `None` until the head has come.
    #[must_use]
    pub fn partial(&self) -> Option<&Filter> {
        self.body.as_ref().map(|body| &body.filter)
    }

    /// Returns true if all pieces have come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.expected() == Some(self.received())
    }

    /// Takes the next piece. Allocates the filter once its head has come: compare
    /// [`Filter::memory_of_snapshot`] with what you can give before the first piece.
    ///
    /// # Errors
    /// If the bytes are no part of a snapshot that this build reads, or if the memory cannot be allocated. Nothing more
    /// can be pushed then.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), SnapshotError> {
        while self.body.is_none() && !bytes.is_empty() {
            let wanted = if self.head.len() < HEADER_BYTES { HEADER_BYTES } else { Head::len(&self.head)? };
            let (taken, rest) = bytes.split_at(bytes.len().min(wanted - self.head.len()));
            self.head.extend_from_slice(taken);
            bytes = rest;
            if self.head.len() >= HEADER_BYTES && self.head.len() == Head::len(&self.head)? {
                let filter = Head::parse(&self.head)?;
                let mut checksum = Xxh3::new();
                checksum.update(&self.head);
                self.body = Some(Body { filter, checksum, words: 0, rest: Vec::new() });
            }
        }
        match &mut self.body {
            Some(body) => body.push(bytes),
            None => Ok(()),
        }
    }

    /// Returns the filter.
    ///
    /// # Errors
    /// If pieces are missing, or if the checksum finds that one was damaged.
    pub fn finish(self) -> Result<Filter, SnapshotError> {
        let received = self.received();
        let least = (HEADER_BYTES + CHECKSUM_BYTES) as u64;
        let Some(Body { filter, checksum, rest, .. }) = self.body else {
            return Err(SnapshotError::Truncated { expected: least, found: received });
        };
        let expected = filter.snapshot_len();
        if received < expected {
            return Err(SnapshotError::Truncated { expected, found: received });
        }
        let found = rest.try_into().map_or(0, u64::from_le_bytes);
        match checksum.digest() {
            computed if computed == found => Ok(filter),
            computed => Err(SnapshotError::Checksum { found, computed }),
        }
    }

    /// Passes all bytes that have come to `sink`, in pieces of at most 64 KiB.
    pub fn write_received(&self, mut sink: impl FnMut(&[u8])) {
        const PIECE_WORDS: usize = 8192;
        self.head.chunks(PIECE_WORDS * WORD_BYTES).for_each(&mut sink);
        let Some(Body { filter, words, rest, .. }) = &self.body else { return };
        for words in filter.words()[..*words].chunks(PIECE_WORDS) {
            let piece: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            sink(&piece);
        }
        if !rest.is_empty() {
            sink(rest);
        }
    }
}

impl Body {
    fn push(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let left = self.filter.words().len() - self.words;
        let expected = (left * WORD_BYTES + CHECKSUM_BYTES - self.rest.len()) as u64;
        if let Some(extra) = (bytes.len() as u64).checked_sub(expected).filter(|extra| *extra > 0) {
            return Err(SnapshotError::TrailingBytes { extra });
        }
        let missing = (WORD_BYTES - self.rest.len()) % WORD_BYTES;
        let (first, others) = bytes.split_at(missing.min(bytes.len()));
        self.rest.extend_from_slice(first);
        let (whole, rest) = others.as_chunks::<WORD_BYTES>();
        let begun = (self.rest.len() == WORD_BYTES).then(|| self.rest.as_slice().try_into().ok()).flatten();
        let all: Vec<[u8; WORD_BYTES]> = begun.into_iter().chain(whole.iter().copied()).collect();
        let (words, checksum) = all.split_at(all.len().min(left));
        self.checksum.update(words.as_flattened());
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.filter.set_words(self.words, &words)?;
        self.words += words.len();
        if begun.is_some() {
            self.rest.clear();
        }
        self.rest.extend_from_slice(checksum.as_flattened());
        self.rest.extend_from_slice(rest);
        Ok(())
    }
}
