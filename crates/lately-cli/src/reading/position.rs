//! How far a followed file was read, so that a later run can go on there.

use std::fs::File;
use std::io;

use lately::HashFunction;
use serde::{Deserialize, Serialize};

use crate::system::identity::Identity;
use crate::system::read_at::read_at;

/// A file is recognised by as many of its first bytes: its number may have been given to another one.
pub(super) const RECOGNISED_BY: usize = 256;

/// A place in a file, which is recognised under any name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    device: u64,
    inode: u64,
    /// After the last complete record that was read.
    pub(super) offset: u64,
    /// The hash of the first bytes before it.
    start: u64,
}

impl Position {
    /// A place in the file with these numbers, which begins with these bytes.
    pub(super) fn new((device, inode): (u64, u64), first: &[u8], offset: u64) -> Self {
        Self { device, inode, offset, start: start_of(first, offset) }
    }

    /// Returns the device and the number of the file.
    pub(super) fn numbers(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns true if it is in this file, and the file still begins as it did.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        Ok(Identity::numbers_of(&metadata) == Some(self.numbers())
            && metadata.len() >= self.offset
            && start_of(&first_bytes(file)?, self.offset) == self.start)
    }
}

/// Returns the bytes by which a file is recognised.
pub(super) fn first_bytes(file: &File) -> io::Result<Vec<u8>> {
    let mut first = vec![0; RECOGNISED_BY];
    let mut len = 0;
    while len < first.len() {
        match read_at(file, &mut first[len..], len as u64)? {
            0 => break,
            read => len += read,
        }
    }
    first.truncate(len);
    Ok(first)
}

fn start_of(first: &[u8], offset: u64) -> u64 {
    let known = usize::try_from(offset).map_or(first.len(), |offset| offset.min(first.len()));
    HashFunction::default().hash(&first[..known])
}
