//! A file that grows, and is rotated: renamed and created again, or copied and truncated.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::position::{Position, RECOGNISED_BY, first_bytes};
use crate::failure::Failure;
use crate::system::identity::Identity;

/// The file that is followed at present.
pub(super) struct Followed {
    pub(super) file: File,
    /// How many bytes were read, or were before the place where reading began.
    pub(super) read: u64,
    first: Vec<u8>,
}

/// What is at the end of a file for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtEnd {
    /// More may come.
    Growing,
    /// It was emptied, and perhaps written again.
    Truncated,
    /// Another file has its name.
    Rotated,
}

/// Where reading goes on after a restart.
pub(super) enum Resumed {
    /// In the file, whatever its name is now.
    Found(Followed),
    /// The rest of the old file cannot be found.
    Lost(&'static str),
}

impl Followed {
    /// Starts at the beginning. `None` if there is no such file yet.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => {
                check(&file)?;
                Ok(Some(Self { file, read: 0, first: Vec::new() }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Continues at a position.
    fn at(mut file: File, position: &Position) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position.offset))?;
        let first = first_bytes(&file)?;
        Ok(Self { file, read: position.offset, first })
    }

    /// Finds the file of a position: under its name, or under another one in the same directory.
    pub(super) fn resume(path: &Path, position: &Position) -> Result<Resumed, Failure> {
        let mut lost = "it is no longer in the same directory";
        if let Ok(file) = File::open(path) {
            if position.is_in(&file).map_err(|error| Failure::file(path, &error))? {
                let followed = Self::at(file, position).map_err(|error| Failure::file(path, &error))?;
                return Ok(Resumed::Found(followed));
            }
            if numbers_of(&file) == Some((position.device, position.inode)) {
                lost = "it was truncated or replaced";
            }
        }
        for name in others_in_directory(path) {
            let found = File::open(&name).ok().filter(|file| position.is_in(file).unwrap_or(false));
            if let Some(file) = found {
                let followed = Self::at(file, position).map_err(|error| Failure::file(&name, &error))?;
                return Ok(Resumed::Found(followed));
            }
        }
        Ok(Resumed::Lost(lost))
    }

    /// Notes that so many more bytes were read.
    pub(super) fn note_read(&mut self, bytes: usize) -> io::Result<()> {
        if self.read < RECOGNISED_BY as u64 {
            self.first = first_bytes(&self.file)?;
        }
        self.read += bytes as u64;
        Ok(())
    }

    /// The place before the last bytes that were read.
    pub(super) fn position(&self, bytes_after: usize) -> io::Result<Option<Position>> {
        Position::new(&self.file, &self.first, self.read - bytes_after as u64)
    }

    /// Says what is at the end of the file.
    pub(super) fn at_end(&self, path: &Path) -> io::Result<AtEnd> {
        let position = self.position(0)?;
        if let Some(position) = position
            && !position.is_in(&self.file)?
        {
            return Ok(AtEnd::Truncated);
        }
        let of_path = fs::metadata(path).ok().and_then(|metadata| Identity::numbers_of(&metadata));
        Ok(match of_path {
            Some(numbers) if Some(numbers) != numbers_of(&self.file) => AtEnd::Rotated,
            _ => AtEnd::Growing,
        })
    }
}

fn check(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    if Identity::numbers_of(&metadata).is_none() {
        let problem = "--follow needs a regular file; leave out --follow to read a pipe to its end";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(())
}

fn numbers_of(file: &File) -> Option<(u64, u64)> {
    Identity::numbers_of(&file.metadata().ok()?)
}

/// The regular files beside this one, or beside what a link leads to.
fn others_in_directory(path: &Path) -> Vec<PathBuf> {
    let target = fs::canonicalize(path).unwrap_or_default();
    let here = fs::canonicalize(directory_of(path)).ok();
    let mut directories: Vec<PathBuf> = here.into_iter().chain(target.parent().map(PathBuf::from)).collect();
    directories.dedup();
    let entries = directories.into_iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    files.filter(|path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file())).collect()
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names files that may have been rotated after `old` was and before `path` was created: nobody has read them.
pub(super) fn rotated_between(path: &Path, old: &File) -> Vec<String> {
    let (Some(name), Ok(old)) = (path.file_name(), old.metadata()) else { return Vec::new() };
    let is_later = |other: &PathBuf| {
        let metadata = fs::metadata(other).ok();
        let is_other = |metadata: &Metadata| Identity::numbers_of(metadata) != Identity::numbers_of(&old);
        metadata.is_some_and(|other| is_other(&other) && other.modified().ok() > old.modified().ok())
    };
    let has_suffix = |other: &PathBuf| {
        let other = other.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        other.strip_prefix(name.as_encoded_bytes()).is_some_and(is_suffix)
    };
    let others = others_in_directory(path).into_iter().filter(|other| has_suffix(other) && is_later(other));
    let mut names: Vec<String> = others.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Returns true for what rotation adds to a name: `.1`, `.2.gz`, `-20240501`.
fn is_suffix(rest: &[u8]) -> bool {
    matches!(rest, [b'.' | b'-', digit, ..] if digit.is_ascii_digit())
}
