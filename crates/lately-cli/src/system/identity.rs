//! Recognises a file, whichever path leads to it.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use lately::PendingSave;

/// A regular file, or the place where one would be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Device and number.
    File(u64, u64),
    Missing(PathBuf),
}

impl Identity {
    /// Returns `None` for what is not a regular file: writing it twice overwrites nothing.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) => of(&metadata),
            Err(_) => Some(Self::Missing(PendingSave::target_of(path))),
        }
    }

    /// Returns the device and the number of a regular file; `None` also where the system does not tell them.
    pub(crate) fn numbers_of(metadata: &Metadata) -> Option<(u64, u64)> {
        match of(metadata)? {
            Self::File(device, number) => Some((device, number)),
            Self::Missing(_) => None,
        }
    }

    /// Returns `None` for what is not a regular file.
    pub(crate) fn of_file(file: &File) -> Option<Self> {
        of(&file.metadata().ok()?)
    }
}

#[cfg(unix)]
fn of(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    metadata.is_file().then(|| Identity::File(metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn of(_: &Metadata) -> Option<Identity> {
    None
}
