//! The filter as a native data type: how it is saved, loaded, rewritten, compared and freed.

use std::convert::Infallible;

use lately::{Filter, SnapshotError};

use crate::replication::{CREATE, PATCH};
use crate::server::{AofWriter, Digest, Loader, Module, NotRegistered, Saver};
use crate::value::Value;

/// Version of the encoding in RDB files: the length of the snapshot, then the snapshot in pieces. The
/// snapshot has a version of its own.
pub(crate) const ENCODING: i32 = 0;

/// Words per PATCH command: one mebibyte.
const PATCH_WORDS: usize = 1 << 17;

/// Memory that counts as one unit of the server's free effort.
const PAGE_BYTES: usize = 4096;

pub(crate) fn register(module: &Module) -> Result<(), NotRegistered> {
    module.data_type()
}

/// Why a value cannot be loaded.
#[derive(Debug)]
pub(crate) enum LoadFailure {
    /// The file is cut off or damaged; the server reported a read error.
    Io,
    /// Written by a newer module.
    Encoding(i32),
    Snapshot(SnapshotError),
}

impl std::fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io => f.write_str("the data is cut off or damaged"),
            Self::Encoding(found) => {
                write!(
                    f,
                    "its encoding is {found}, but this module reads only {ENCODING}: use a newer module"
                )
            }
            Self::Snapshot(error) => error.fmt(f),
        }
    }
}

impl From<SnapshotError> for LoadFailure {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

/// Neither saving nor loading makes a second copy of the filter.
pub(crate) fn save(value: &Value, saver: &mut Saver) {
    saver.number(value.filter.snapshot_len());
    in_pieces(&value.filter, |piece| saver.bytes(piece));
}

pub(crate) fn load(loader: &mut Loader, encoding: i32) -> Result<Box<Value>, LoadFailure> {
    if encoding != ENCODING {
        return Err(LoadFailure::Encoding(encoding));
    }
    let len = loader.number()?;
    Value::new(|| Filter::read_snapshot(len, |piece| loader.fill(piece)))
}

/// Adds the filter's whole state to the digest, bit for bit.
pub(crate) fn digest(value: &Value, digest: &mut Digest) {
    in_pieces(&value.filter, |piece| digest.add(piece));
}

fn in_pieces(filter: &Filter, mut take: impl FnMut(&[u8])) {
    let written: Result<(), Infallible> = filter.write_snapshot(|piece| {
        take(piece);
        Ok(())
    });
    let Ok(()) = written;
}

/// Writes the filter's blueprint, then its memory in pieces that every server accepts. Pieces that are all
/// zero are left out.
pub(crate) fn rewrite(value: &Value, aof: &mut AofWriter) {
    aof.command(CREATE, &value.filter.blueprint());
    let mut bytes = Vec::with_capacity(PATCH_WORDS * 8);
    for (number, words) in value.filter.words().chunks(PATCH_WORDS).enumerate() {
        if words.iter().any(|&word| word != 0) {
            bytes.clear();
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            aof.command_at(PATCH, (number * PATCH_WORDS) as u64, &bytes);
        }
    }
}

/// Large allocations are returned to the system page by page, so the cost of freeing is the number of pages.
pub(crate) fn free_effort(value: &Value) -> usize {
    value.allocated_bytes().div_ceil(PAGE_BYTES)
}
