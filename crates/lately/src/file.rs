//! Snapshots as files, replaced atomically.

use std::ffi::OsString;
use std::format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::string::ToString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::Vec;

use crate::error::SnapshotError;
use crate::filter::Filter;
use crate::snapshot::MAGIC;

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
        self.start_save(path)?.finish()
    }

    /// The first half of [`save`](Self::save): writes a snapshot beside the file, without a second copy of the filter in
    /// memory. [`PendingSave::finish`] puts it in its place; that takes long, but no longer needs the filter, so another
    /// thread may do it while this one goes on.
    ///
    /// # Errors
    /// If the system refuses. The old file is then as it was.
    pub fn start_save(&self, path: impl AsRef<Path>) -> Result<PendingSave, SnapshotError> {
        let path = path.as_ref();
        PendingSave::create(path)
            .and_then(|mut pending| {
                self.write_snapshot(|piece| pending.file.write_all(piece))?;
                Ok(pending)
            })
            .map_err(|source| at(path, source))
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
                let fill = |piece: &mut [u8]| file.read_exact(piece).map_err(|source| at(path, source));
                Self::read_snapshot(metadata.len(), fill)
            } else {
                // Only of a file is the length known beforehand. What may never end is read on only if it begins as
                // a snapshot does.
                let mut bytes = Vec::new();
                (&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
                if bytes == MAGIC {
                    file.read_to_end(&mut bytes)?;
                }
                Self::from_bytes(&bytes)
            })
        };
        read().map_err(|source| at(path, source))?
    }
}

fn at(path: &Path, source: io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.display().to_string(), source }
}

/// A snapshot that is written, but not in its place yet; made by [`Filter::start_save`]. Dropped, it is as if it had never
/// been.
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
            let problem = "is no file, and a save would replace it by one; name another path";
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

    /// The file that a save to this path replaces or creates, under the name it has wherever one comes from. A link stays a link:
    /// it is what it leads to, even if that does not exist yet.
    pub fn target_of(path: impl AsRef<Path>) -> PathBuf {
        /// Linux follows no more.
        const MOST_LINKS: usize = 40;
        let mut target = path.as_ref().to_path_buf();
        for _ in 0..MOST_LINKS {
            let Ok(link) = fs::read_link(&target) else { break };
            target = directory_of(&target).join(link);
        }
        let directory = fs::canonicalize(directory_of(&target)).ok();
        directory.zip(target.file_name()).map(|(directory, name)| directory.join(name)).unwrap_or(target)
    }

    /// Removes what saves to this file have left beside it that were killed before they finished. Only for callers who
    /// know that no save to it is under way, for example because they hold a lock.
    ///
    /// # Errors
    /// If the system refuses.
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
        remove().map_err(|source| at(path, source))
    }

    /// Makes the snapshot durable and puts it in the place of the old one.
    ///
    /// # Errors
    /// If the system refuses. The old file is then as it was, unless only the last step failed, the syncing of the
    /// directory.
    pub fn finish(mut self) -> Result<(), SnapshotError> {
        let mut replace = || {
            self.file.sync_all()?;
            fs::rename(&self.temporary, &self.target)?;
            self.is_in_place = true;
            sync_directory(&self.target)
        };
        replace().map_err(|source| at(&self.target, source))
    }
}

impl Drop for PendingSave {
    /// What was not renamed is of no use to anybody. After a rename the name may already be somebody else's.
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A new file in the same directory, so that the rename stays within one file system. A name that is taken, by another
/// save or left by a crash, is not touched.
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

/// How the names of a file's temporary files begin; two numbers and `.tmp` follow.
fn temporary_prefix(target: &Path) -> io::Result<OsString> {
    let name =
        target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    Ok(prefix)
}

/// What stands in the names of a file's own temporary files; where there are three, they are those of a file whose name ends with a
/// number.
fn are_two_numbers(text: &[u8]) -> bool {
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b'.').collect();
    parts.len() == 2 && parts.into_iter().all(is_number)
}

fn directory_of(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A snapshot may hold a secret key: only its owner may read it, unless the file it replaces says otherwise.
fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file that changes hands at a save would be out of its owner's reach. Only the system's administrator may give one away;
/// others may keep it in its group, if they are in it.
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

/// Makes the rename itself durable. Only Unix lets a directory be opened and synced.
fn sync_directory(target: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory_of(target))?.sync_all()?;
    }
    Ok(())
}
