//! Snapshots as files, replaced atomically.

use std::ffi::OsString;
use std::format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::string::ToString;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::SnapshotError;
use crate::filter::Filter;

impl Filter {
    /// Saves a snapshot to a file. Whatever happens, a crash of the machine included, the file holds either the old
    /// snapshot or the new one, whole: the new one is written beside it, synced, and renamed over it.
    ///
    /// ```
    /// use lately::Filter;
    ///
    /// let path = std::env::temp_dir().join(format!("seen-{}.lately", std::process::id()));
    /// let mut filter = Filter::builder().window(100).false_positive_rate(1e-3).build()?;
    /// filter.insert("kept");
    /// filter.save(&path)?;
    /// assert!(Filter::load(&path)?.contains("kept"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses; the old file is then as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        let path = path.as_ref();
        replace(path, &self.to_bytes()).map_err(|source| at(path, source))
    }

    /// Loads a snapshot that [`save`](Self::save) wrote, or the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If the file cannot be read or does not hold exactly one undamaged snapshot.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        Self::from_bytes(&fs::read(path).map_err(|source| at(path, source))?)
    }
}

fn at(path: &Path, source: io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.display().to_string(), source }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let temporary = beside(&target)?;
    let written = write_synced(&temporary, &target, bytes);
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_synced(temporary: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    if let Ok(existing) = fs::metadata(target) {
        file.set_permissions(existing.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, target)?;
    sync_directory(target)
}

/// A name in the same directory, so that the rename stays within one file system, that no other save uses.
fn beside(target: &Path) -> io::Result<PathBuf> {
    static SAVES: AtomicU64 = AtomicU64::new(0);
    let name =
        target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{}.tmp", std::process::id(), SAVES.fetch_add(1, Ordering::Relaxed)));
    Ok(target.with_file_name(temporary))
}

/// Makes the rename itself durable. Only Unix lets a directory be opened and synced.
fn sync_directory(target: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let directory =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
