//! Recognises a file, whichever path leads to it.

use std::fs::Metadata;

/// Returns the identity of a regular file; `None` for other files, and on systems without one.
#[cfg(unix)]
pub(crate) fn of(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) fn of(_: &Metadata) -> Option<(u64, u64)> {
    None
}
