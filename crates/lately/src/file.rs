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
    /// If the system refuses. The old file is then as it was, unless only the last step failed, the syncing of the
    /// directory.
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
    // A link to a file stays a link: what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let (temporary, file) = create_beside(&target)?;
    let written = write_synced(file, bytes, &target).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written.and_then(|()| sync_directory(&target))
}

fn write_synced(mut file: File, bytes: &[u8], target: &Path) -> io::Result<()> {
    if let Ok(existing) = fs::metadata(target) {
        file.set_permissions(existing.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new file in the same directory, so that the rename stays within one file system. A name that is taken, by another
/// save or left by a crash, is not touched.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static SAVES: AtomicU64 = AtomicU64::new(0);
    let name =
        target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{}.tmp", std::process::id(), SAVES.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(temporary);
        match new_private_file().open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// A snapshot may hold a secret key: only its owner may read it, unless the file it replaces says otherwise.
fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
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
