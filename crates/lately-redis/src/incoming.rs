//! A filter whose snapshot comes in pieces: a data type of its own, so that no command takes it for a filter.

use std::ffi::CStr;

use lately::{Filter, SnapshotError, SnapshotReader};

use crate::allocator;
use crate::configs;
use crate::data_type::{LoadFailure, PAGE_BYTES};
use crate::replication::{CURSOR, LOAD};
use crate::server::{AofWriter, DataType, Digest, Handle, Loader, Saver};

/// Bytes per command in the append-only file.
const PIECE_BYTES: usize = 1 << 20;

/// The pieces that have come.
#[derive(Default)]
pub(crate) struct Incoming {
    reader: SnapshotReader,
    allocated_bytes: usize,
}

impl Incoming {
    pub(crate) fn reader(&self) -> &SnapshotReader {
        &self.reader
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (pushed, grown) = allocator::measured(|| self.reader.push(bytes));
        self.allocated_bytes = self.allocated_bytes.saturating_add_signed(grown);
        pushed
    }

    /// Leaves nothing behind.
    pub(crate) fn take(&mut self) -> SnapshotReader {
        std::mem::take(&mut self.reader)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.reader.write_received(|piece| bytes.extend_from_slice(piece));
        bytes
    }
}

impl DataType for Incoming {
    const NAME: &'static CStr = c"apbf-load";
    /// The number of bytes, then the bytes.
    const ENCODING: i32 = 0;

    type LoadFailure = LoadFailure;

    fn handle() -> &'static Handle<Self> {
        static HANDLE: Handle<Incoming> = Handle::new();
        &HANDLE
    }

    fn load(loader: &mut Loader, encoding: i32) -> Result<Box<Self>, LoadFailure> {
        if encoding != Self::ENCODING {
            return Err(LoadFailure::Encoding(encoding));
        }
        let is_limited = loader.is_for_client();
        let (mut incoming, mut left) = (Box::<Self>::default(), loader.number()?);
        while left > 0 {
            let mut piece = vec![0; left.min(PIECE_BYTES as u64) as usize];
            loader.fill(&mut piece)?;
            if is_limited && incoming.reader.received() == 0 {
                // The reader allocates what the head asks for.
                configs::check_size(Filter::memory_of_snapshot(&piece)?)?;
            }
            incoming.push(&piece)?;
            left -= piece.len() as u64;
        }
        // LOAD keeps no shorter one.
        if is_limited && incoming.reader.partial().is_none() {
            return Err(LoadFailure::Damaged);
        }
        Ok(incoming)
    }

    fn save(&self, saver: &mut Saver) {
        saver.number(self.reader.received());
        self.reader.write_received(|piece| saver.bytes(piece));
    }

    fn rewrite(&self, aof: &mut AofWriter) {
        let (mut piece, mut begin) = (Vec::with_capacity(PIECE_BYTES), 0);
        let mut write = |piece: &mut Vec<u8>| {
            aof.command_after(LOAD, CURSOR, begin, piece);
            begin += piece.len() as u64;
            piece.clear();
        };
        self.reader.write_received(|bytes| {
            if piece.len() + bytes.len() > PIECE_BYTES {
                write(&mut piece);
            }
            piece.extend_from_slice(bytes);
        });
        write(&mut piece);
    }

    fn digest(&self, digest: &mut Digest) {
        self.reader.write_received(|piece| digest.add(piece));
    }

    fn copy(&self) -> Option<Box<Self>> {
        let mut copy = Box::<Self>::default();
        copy.push(&self.bytes()).ok().map(|()| copy)
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.allocated_bytes
    }

    fn free_effort(&self) -> usize {
        self.allocated_bytes.div_ceil(PAGE_BYTES)
    }
}
