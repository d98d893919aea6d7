//! Directories, whose names must be durable, too.

use std::io;
use std::path::Path;

/// Returns the directory of a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of a file durable: without it, a power cut leaves a file that nobody finds.
#[cfg(unix)]
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    std::fs::File::open(directory_of(path))?.sync_all()
}

/// Elsewhere, directories cannot be synced.
#[cfg(not(unix))]
pub(crate) fn sync_name(_: &Path) -> io::Result<()> {
    Ok(())
}
