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
    pub(super) device: u64,
    pub(super) inode: u64,
    /// After the last complete record that was read.
    pub(super) offset: u64,
    /// The hash of the first bytes before it.
    start: u64,
}

impl Position {
    /// A place in this file, which begins with these bytes. `None` where the system does not number files.
    pub(super) fn new(file: &File, first: &[u8], offset: u64) -> io::Result<Option<Self>> {
        let start = start_of(first, offset);
        let numbers = Identity::numbers_of(&file.metadata()?);
        Ok(numbers.map(|(device, inode)| Self { device, inode, offset, start }))
    }

    /// Returns true if it is in this file, and the file still begins as it did.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        Ok(Identity::numbers_of(&metadata) == Some((self.device, self.inode))
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
