//! The inputs: files, or standard input.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The inputs, in order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// `-` is standard input.
    paths: Vec<PathBuf>,
}

const STANDARD_INPUT: &str = "-";

impl Inputs {
    /// Without files, the input is standard input. Fails at once if a file is missing or is a directory.
    pub(crate) fn new(files: &[PathBuf]) -> Result<Self, Failure> {
        for path in files.iter().filter(|path| !is_standard_input(path)) {
            let metadata = fs::metadata(path).map_err(|error| Failure::reading(path, &error))?;
            if metadata.is_dir() {
                return Err(Failure::other(format!("{}: is a directory; name files", path.display())));
            }
        }
        let paths = if files.is_empty() { vec![STANDARD_INPUT.into()] } else { files.to_vec() };
        Ok(Self { paths })
    }

    /// Fails if the output is also an input: the run would read its own output forever.
    pub(crate) fn check_output(&self, output: &File) -> Result<(), Failure> {
        let Some(output) = identity(output.metadata()) else { return Ok(()) };
        let is_output = |path: &&PathBuf| identity(metadata_of(path)).is_some_and(|input| input == output);
        match self.paths.iter().find(is_output) {
            None => Ok(()),
            Some(path) => Err(Failure::other(format!(
                "{}: is where the output goes; write to another file, and rename it afterwards",
                name_of(path).display()
            ))),
        }
    }

    /// Returns the total size of the inputs, if it is known.
    pub(crate) fn total_bytes(&self) -> Option<u64> {
        self.paths.iter().map(|path| size_of_file(path)).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Returns the name of an input in messages.
pub(crate) fn name_of(path: &Path) -> PathBuf {
    if is_standard_input(path) { "standard input".into() } else { path.to_path_buf() }
}

pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let file = if is_standard_input(path) { standard_input() } else { File::open(path) };
    file.map_err(|error| Failure::reading(&name_of(path), &error))
}

fn metadata_of(path: &Path) -> io::Result<fs::Metadata> {
    if is_standard_input(path) { standard_input()?.metadata() } else { fs::metadata(path) }
}

fn size_of_file(path: &Path) -> Option<u64> {
    metadata_of(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Identifies a file, whatever its path.
#[cfg(unix)]
fn identity(metadata: io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ok().filter(fs::Metadata::is_file).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    None
}

/// Returns standard input without the standard library's buffer, which is smaller than ours.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}
