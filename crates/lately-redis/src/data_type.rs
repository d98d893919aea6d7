//! The filter as a native data type: how a key is saved to an RDB file and loaded from it, rewritten to the
//! append-only file, compared, copied and freed.

use std::convert::Infallible;
use std::ffi::CStr;
use std::fmt;

use lately::{Filter, SnapshotError};

use crate::configs;
use crate::replication::{CREATE, PATCH};
use crate::server::{AofWriter, Damaged, DataType, Digest, Failure, Handle, Loader, Saver};
use crate::value::Value;

/// Words per PATCH command: one mebibyte.
const PATCH_WORDS: usize = 1 << 17;

/// Memory that counts as one unit of the server's free effort.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Neither saving nor loading makes a second copy of the filter.
impl DataType for Value {
    const NAME: &'static CStr = c"apbf-late";
    /// The length of the snapshot, then the snapshot in pieces. The snapshot has a version of its own.
    const ENCODING: i32 = 0;

    type LoadFailure = LoadFailure;

    fn handle() -> &'static Handle<Self> {
        static HANDLE: Handle<Value> = Handle::new();
        &HANDLE
    }

    fn load(loader: &mut Loader, encoding: i32) -> Result<Box<Self>, LoadFailure> {
        if encoding != Self::ENCODING {
            return Err(LoadFailure::Encoding(encoding));
        }
        let len = loader.number()?;
        let is_limited = loader.is_for_client();
        if is_limited {
            configs::check_size(len)?;
        }
        let value = Self::new(|| Filter::read_snapshot::<LoadFailure>(len, |piece| Ok(loader.fill(piece)?)))?;
        if is_limited {
            configs::check_size(value.filter().most_memory_bytes_after(u64::MAX))?;
            value.check_counts()?;
        }
        Ok(value)
    }

    fn save(&self, saver: &mut Saver) {
        saver.number(self.filter().snapshot_len());
        in_pieces(self.filter(), |piece| saver.bytes(piece));
    }

    /// Writes the filter's blueprint, then its memory in pieces that every server accepts. Pieces that are
    /// all zero are left out.
    fn rewrite(&self, aof: &mut AofWriter) {
        aof.command(CREATE, &self.filter().blueprint());
        let mut bytes = Vec::with_capacity(PATCH_WORDS * 8);
        for (number, words) in self.filter().words().chunks(PATCH_WORDS).enumerate() {
            if words.iter().any(|&word| word != 0) {
                bytes.clear();
                words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
                aof.command_at(PATCH, (number * PATCH_WORDS) as u64, &bytes);
            }
        }
    }

    /// Adds the filter's whole state to the digest, bit for bit.
    fn digest(&self, digest: &mut Digest) {
        in_pieces(self.filter(), |piece| digest.add(piece));
    }

    /// Returns `None` if the memory cannot be allocated.
    fn copy(&self) -> Option<Box<Self>> {
        Self::new(|| self.filter().try_clone()).ok()
    }

    fn memory_usage(&self) -> usize {
        self.allocated_bytes()
    }

    /// Large allocations are returned to the system page by page, so the cost of freeing is the number of
    /// pages.
    fn free_effort(&self) -> usize {
        self.allocated_bytes().div_ceil(PAGE_BYTES)
    }
}

fn in_pieces(filter: &Filter, mut take: impl FnMut(&[u8])) {
    let written: Result<(), Infallible> = filter.write_snapshot(|piece| {
        take(piece);
        Ok(())
    });
    let Ok(()) = written;
}

/// Why a value cannot be loaded.
#[derive(Debug)]
pub(crate) enum LoadFailure {
    Damaged,
    /// Written by a newer module.
    Encoding(i32),
    Snapshot(SnapshotError),
    /// Larger than a client's command may create, or with higher counts.
    Limit(Failure),
}

impl fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => f.write_str("the data is cut off or damaged"),
            Self::Encoding(found) => {
                let known = Value::ENCODING;
                write!(f, "its encoding is {found}, but this module reads only {known}: use a newer module")
            }
            Self::Snapshot(error) => error.fmt(f),
            Self::Limit(failure) => f.write_str(&failure.message()),
        }
    }
}

impl From<Damaged> for LoadFailure {
    fn from(Damaged: Damaged) -> Self {
        Self::Damaged
    }
}

impl From<Failure> for LoadFailure {
    fn from(failure: Failure) -> Self {
        Self::Limit(failure)
    }
}

impl From<SnapshotError> for LoadFailure {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}
