//! The inputs: files, or standard input.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{self, Path, PathBuf};

use super::content::Kind;
use super::position::Position;
use crate::failure::Failure;
use crate::system::identity::Identity;
use crate::system::standard_streams;

/// The inputs, in order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// `-` is standard input.
    paths: Vec<PathBuf>,
    /// The only file is followed.
    pub(super) follow: Option<Follow>,
}

/// Where to begin with a file that is followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follow {
    /// `None`: at its beginning.
    pub(crate) from: Option<Position>,
    /// The header of CSV before that position.
    pub(crate) header: Option<Vec<u8>>,
}

const STANDARD_INPUT: &str = "-";

impl Inputs {
    /// Without files, the input is standard input. Fails at once if a file is missing or is a directory.
    pub(crate) fn new(files: &[PathBuf]) -> Result<Self, Failure> {
        for path in files.iter().filter(|path| !is_standard_input(path)) {
            let metadata = fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
            if metadata.is_dir() {
                return Err(Failure::other(format!("{}: is a directory; name files", path.display())));
            }
        }
        let paths = if files.is_empty() { vec![STANDARD_INPUT.into()] } else { files.to_vec() };
        Ok(Self { paths, follow: None })
    }

    /// The input is a file that may not exist yet, and that grows.
    pub(crate) fn followed(files: &[PathBuf]) -> Result<Self, Failure> {
        match files {
            [path] if is_standard_input(path) => Err(Failure::Usage(
                "--follow: standard input cannot be followed; name a file, or leave out --follow".into(),
            )),
            [path] if cfg!(unix) => {
                if let Ok(metadata) = fs::metadata(path)
                    && !metadata.is_file()
                {
                    return Err(Failure::other(format!(
                        "{}: is not a regular file, so it cannot be followed; leave out --follow to read a pipe to its end",
                        path.display()
                    )));
                }
                Ok(Self { paths: files.to_vec(), follow: Some(Follow::default()) })
            }
            [_] => Err(Failure::Usage(
                "--follow: this system does not number its files; use a program like tail".into(),
            )),
            [] => Err(Failure::Usage("--follow: name the file that is to be followed".into())),
            _ => Err(Failure::Usage(
                "--follow: only one file can be followed; start one run, with its own --state, for each"
                    .into(),
            )),
        }
    }

    /// Begins in the middle of the followed file.
    pub(crate) fn begin_at(&mut self, from: Follow) {
        if self.follow.is_some() {
            self.follow = Some(from);
        }
    }

    /// Returns the full name of the file that is followed.
    pub(crate) fn followed_name(&self) -> Option<String> {
        let path = self.paths.first().filter(|_| self.follow.is_some())?;
        Some(path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned())
    }

    /// Returns where the followed file is begun, if it exists.
    pub(crate) fn beginning(&self) -> Option<Position> {
        let Follow { from, .. } = self.follow.as_ref()?;
        let numbers = || Identity::numbers_of(&fs::metadata(self.paths.first()?).ok()?);
        let at_first = || Some(Position::new(numbers()?, &[], 0));
        from.clone().or_else(at_first)
    }

    /// Returns the inputs that are regular files, with their names in messages.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (PathBuf, Option<Identity>)> {
        self.paths.iter().map(|path| {
            let identity = if is_standard_input(path) {
                standard_streams::input().ok().and_then(|input| Identity::of_file(&input))
            } else {
                Identity::of_path(path)
            };
            (name_of(path), identity)
        })
    }

    /// Returns the total size of the inputs, if it is known.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        if self.follow.is_some() {
            return None;
        }
        self.paths.iter().map(|path| size_of_file(path)).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Returns the name of an input in messages.
pub(super) fn name_of(path: &Path) -> PathBuf {
    if is_standard_input(path) { "standard input".into() } else { path.to_path_buf() }
}

pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let file = if is_standard_input(path) { standard_streams::input() } else { File::open(path) };
    file.map_err(|error| Failure::file(&name_of(path), &error))
}

fn metadata_of(path: &Path) -> io::Result<fs::Metadata> {
    if is_standard_input(path) { standard_streams::input()?.metadata() } else { fs::metadata(path) }
}

/// Returns `None` also for a compressed file: nobody knows how long its text is.
fn size_of_file(path: &Path) -> Option<u64> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        let mut first = [0; 4];
        let read = File::open(path).and_then(|mut file| file.read(&mut first)).unwrap_or(0);
        if matches!(Kind::of(&first[..read]), Kind::Gzip | Kind::Zstd) {
            return None;
        }
    }
    metadata_of(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}
