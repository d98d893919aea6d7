//! Snapshots as files, replaced atomically.

use std::ffi::OsString;
use std::format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::Vec;

use super::Filter;
use super::snapshot::MAGIC;
use crate::error::SnapshotError;

impl Filter {
    /// Saves a snapshot to a file. The file always holds either the complete old snapshot or the complete new
    /// one, even after a crash of the machine: the new one is written to a temporary file beside it, synced,
    /// and renamed over it.
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
    /// If an operating system call fails. The old file is then unchanged, unless only the last step failed,
    /// which syncs the directory.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        self.start_save(path)?.finish()
    }

    /// The first half of [`save`](Self::save): writes a snapshot to a temporary file, without a second copy
    /// of the filter in memory. [`PendingSave::finish`] then moves it into place. That takes long but does
    /// not need the filter, so another thread can do it while this one goes on.
    ///
    /// # Errors
    /// If an operating system call fails. The old file is then unchanged.
    pub fn start_save(&self, path: impl AsRef<Path>) -> Result<PendingSave, SnapshotError> {
        let path = path.as_ref();
        PendingSave::create(path)
            .and_then(|mut pending| {
                self.write_snapshot(|piece| pending.file.write_all(piece))?;
                Ok(pending)
            })
            .map_err(|error| at(path, error))
    }

    /// Loads a snapshot that [`save`](Self::save) wrote, or the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If the file cannot be read or does not hold exactly one undamaged snapshot.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        let read = || {
            let mut file = File::open(path)?;
            let metadata = file.metadata()?;
            Ok(if metadata.is_file() {
                let fill = |piece: &mut [u8]| file.read_exact(piece).map_err(|error| at(path, error));
                Self::read_snapshot(metadata.len(), fill)
            } else {
                // The length is known in advance only for a regular file. Other input may be endless, so it
                // is read on only if it begins like a snapshot.
                let mut bytes = Vec::new();
                (&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
                if bytes == MAGIC {
                    file.read_to_end(&mut bytes)?;
                }
                Self::from_bytes(&bytes)
            })
        };
        read().map_err(|error| at(path, error))?
    }
}

fn at(path: &Path, error: io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.to_path_buf(), error }
}

/// A snapshot that has been written to a temporary file but is not in place yet; created by
/// [`Filter::start_save`]. Dropping it removes the temporary file.
#[derive(Debug)]
#[must_use = "a snapshot that is not finished is not saved"]
pub struct PendingSave {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    is_in_place: bool,
}

impl PendingSave {
    fn create(path: &Path) -> io::Result<Self> {
        let target = Self::target_of(path);
        let existing = fs::symlink_metadata(&target).ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            let problem = "is not a regular file, and a save would replace it; choose another path";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let (temporary, file) = create_beside(&target)?;
        let pending = Self { file, temporary, target, is_in_place: false };
        if let Some(existing) = existing {
            keep_owner(&pending.file, &existing);
            pending.file.set_permissions(existing.permissions())?;
        }
        Ok(pending)
    }

    /// Returns the path of the file that a save to this path replaces or creates; a canonical path, if the
    /// directory exists. A symbolic link stays a link: the target is the file it leads to, even if that file
    /// does not exist yet.
    #[must_use]
    pub fn target_of(path: impl AsRef<Path>) -> PathBuf {
        /// Linux follows at most this many.
        const MOST_LINKS: usize = 40;
        let mut target = path.as_ref().to_path_buf();
        for _ in 0..MOST_LINKS {
            let Ok(link) = fs::read_link(&target) else { break };
            target = directory_of(&target).join(link);
        }
        let directory = fs::canonicalize(directory_of(&target)).ok();
        directory.zip(target.file_name()).map(|(directory, name)| directory.join(name)).unwrap_or(target)
    }

    /// Removes temporary files that were left beside this file by saves that were killed before they
    /// finished. Call it only if no save to this file is in progress, for example while holding a lock.
    ///
    /// # Errors
    /// If an operating system call fails.
    pub fn remove_abandoned(path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        let path = path.as_ref();
        let target = Self::target_of(path);
        let remove = || {
            let prefix = temporary_prefix(&target)?;
            for entry in fs::read_dir(directory_of(&target))? {
                let entry = entry?;
                let name = entry.file_name();
                let middle = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
                if middle.and_then(|middle| middle.strip_suffix(b".tmp")).is_some_and(are_two_numbers) {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        remove().map_err(|error| at(path, error))
    }

    /// Makes the snapshot durable and replaces the old one.
    ///
    /// # Errors
    /// If an operating system call fails. The old file is then unchanged, unless only the last step failed,
    /// which syncs the directory.
    pub fn finish(mut self) -> Result<(), SnapshotError> {
        let mut replace = || {
            self.file.sync_all()?;
            fs::rename(&self.temporary, &self.target)?;
            self.is_in_place = true;
            sync_directory(&self.target)
        };
        replace().map_err(|error| at(&self.target, error))
    }
}

impl Drop for PendingSave {
    /// A temporary file that was not renamed is useless. After the rename, its name may already belong to
    /// another save.
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Creates a new file in the same directory, so that the rename stays within one file system. Never reuses a
/// name that exists, whether it belongs to another save or was left by a crash.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static SAVES: AtomicU64 = AtomicU64::new(0);
    let prefix = temporary_prefix(target)?;
    loop {
        let mut temporary = prefix.clone();
        temporary.push(format!("{}.{}.tmp", std::process::id(), SAVES.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(temporary);
        match new_private_file().open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the prefix of the names of a file's temporary files; two numbers and `.tmp` follow it.
fn temporary_prefix(target: &Path) -> io::Result<OsString> {
    let name = target.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name; add one")
    })?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    Ok(prefix)
}

/// Returns true for the variable part of a temporary file's name. Three numbers would belong to a file whose
/// own name ends in a number.
fn are_two_numbers(text: &[u8]) -> bool {
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b'.').collect();
    parts.len() == 2 && parts.into_iter().all(is_number)
}

fn directory_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A snapshot may contain a secret key, so only its owner may read it, unless the replaced file's permissions
/// say otherwise.
fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Keeps the owner and the group of the replaced file; otherwise its owner could lose access to it. Only root
/// may give a file to another owner; other users may keep its group if they are members of it.
fn keep_owner(file: &File, existing: &fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()))
            .or_else(|_| fchown(file, None, Some(existing.gid())));
    }
    #[cfg(not(unix))]
    let _ = (file, existing);
}

/// Makes the rename itself durable. Only on Unix can a directory be opened and synced.
fn sync_directory(target: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory_of(target))?.sync_all()?;
    }
    Ok(())
}
