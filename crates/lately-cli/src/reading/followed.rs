//! A file that grows, and is rotated: renamed and created again, or copied and truncated.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::position::{Position, RECOGNISED_BY, first_bytes};
use crate::failure::Failure;
use crate::system::directory::directory_of;
use crate::system::identity::Identity;

/// How often to look for a file that is renamed meanwhile.
const SEARCHES: u32 = 10;

/// The file that is followed at present.
pub(super) struct Followed {
    pub(super) file: File,
    /// Its device and number, noted once: the position must be known also if the file cannot be read any more.
    numbers: (u64, u64),
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
                let numbers = numbers_of(&file)?;
                Ok(Some(Self { file, numbers, read: 0, first: Vec::new() }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Continues at a position.
    fn at(mut file: File, position: &Position) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position.offset))?;
        let first = first_bytes(&file)?;
        Ok(Self { file, numbers: position.numbers(), read: position.offset, first })
    }

    /// Finds the file of a position: under its name, or under another one in the same directory.
    pub(super) fn resume(path: &Path, position: &Position) -> Result<Resumed, Failure> {
        let mut lost = "it is no longer in the same directory";
        for _ in 0..SEARCHES {
            let (mut is_renamed_meanwhile, mut unknown) = (false, None);
            for name in [path.to_path_buf()].into_iter().chain(files_beside(path)?) {
                // Most files there are not the one, and may be nobody's business.
                match fs::metadata(&name) {
                    Ok(metadata) if Identity::numbers_of(&metadata) == Some(position.numbers()) => {}
                    Ok(_) => continue,
                    // A link beside it that leads nowhere, or where nobody may look, is not the file.
                    Err(_) if name != path && is_link(&name) => continue,
                    Err(error) if is_gone(&error) => {
                        is_renamed_meanwhile = true;
                        continue;
                    }
                    Err(error) => {
                        unknown.get_or_insert((name, error));
                        continue;
                    }
                }
                let found = File::open(&name).and_then(|file| {
                    let is_there = position.is_in(&file)?;
                    is_there.then(|| Self::at(file, position)).transpose()
                });
                match found {
                    Ok(Some(followed)) => return Ok(Resumed::Found(followed)),
                    Ok(None) => lost = "it was truncated or replaced",
                    Err(error) if is_gone(&error) => is_renamed_meanwhile = true,
                    Err(error) => unknown = Some((name, error)),
                }
            }
            if let Some((name, error)) = unknown {
                return Err(not_found(path, &name, &error));
            }
            if !is_renamed_meanwhile {
                break;
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
    pub(super) fn position(&self, bytes_after: usize) -> Position {
        Position::new(self.numbers, &self.first, self.read - bytes_after as u64)
    }

    /// Says what is at the end of the file.
    pub(super) fn at_end(&self, path: &Path) -> io::Result<AtEnd> {
        if !self.position(0).is_in(&self.file)? {
            return Ok(AtEnd::Truncated);
        }
        let of_path = fs::metadata(path).ok().and_then(|metadata| Identity::numbers_of(&metadata));
        Ok(match of_path {
            Some(numbers) if numbers != self.numbers => AtEnd::Rotated,
            _ => AtEnd::Growing,
        })
    }
}

fn numbers_of(file: &File) -> io::Result<(u64, u64)> {
    Identity::numbers_of(&file.metadata()?).ok_or_else(|| {
        let problem = "--follow needs a regular file; leave out --follow to read a pipe to its end";
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    })
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn is_link(name: &Path) -> bool {
    fs::symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink())
}

/// The file of a position is not given up because of an error that may pass: the rest of it would be lost.
#[cold]
fn not_found(path: &Path, name: &Path, error: &io::Error) -> Failure {
    Failure::other(format!(
        "{}: the file that the last run has read cannot be looked for: {}: {error}; make it readable, or start with \
         another --state",
        path.display(),
        name.display()
    ))
}

/// The files beside this one, or beside what a link leads to.
fn files_beside(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let target = fs::canonicalize(path).unwrap_or_default();
    let here = match fs::canonicalize(directory_of(path)) {
        Err(error) if is_gone(&error) => None,
        here => Some(here.map_err(|error| not_found(path, directory_of(path), &error))?),
    };
    let mut directories: Vec<PathBuf> = here.into_iter().chain(target.parent().map(PathBuf::from)).collect();
    directories.dedup();
    let mut files = Vec::new();
    for directory in directories {
        let entries = fs::read_dir(&directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| not_found(path, &directory, &error))?;
        files.extend(entries.into_iter().map(|entry| entry.path()));
    }
    Ok(files)
}

/// Names files that may have been rotated after `old` was and before `path` was created: nobody has read them.
pub(super) fn rotated_between(path: &Path, old: &File) -> Vec<String> {
    let (Some(name), Ok(old)) = (path.file_name(), old.metadata()) else { return Vec::new() };
    let is_later = |other: &PathBuf| {
        let metadata = fs::metadata(other).ok();
        let is_other = |metadata: &Metadata| Identity::numbers_of(metadata) != Identity::numbers_of(&old);
        metadata.is_some_and(|other| {
            other.is_file() && is_other(&other) && other.modified().ok() > old.modified().ok()
        })
    };
    let has_suffix = |other: &PathBuf| {
        let other = other.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        other.strip_prefix(name.as_encoded_bytes()).is_some_and(is_suffix)
    };
    let others = files_beside(path)
        .unwrap_or_default()
        .into_iter()
        .filter(|other| has_suffix(other) && is_later(other));
    let mut names: Vec<String> = others.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

/// Returns true for what rotation adds to a name: `.1`, `.2.gz`, `-20240501`.
fn is_suffix(rest: &[u8]) -> bool {
    matches!(rest, [b'.' | b'-', digit, ..] if digit.is_ascii_digit())
}
