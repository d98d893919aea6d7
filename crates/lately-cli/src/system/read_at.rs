//! Reads at a place of a file, without moving the place where the next read begins.

use std::fs::File;
use std::io;

#[cfg(unix)]
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, room, offset)
}

/// Elsewhere no file is recognised by its number, so nothing is read in this way.
#[cfg(not(unix))]
pub(crate) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}
