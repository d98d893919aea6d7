//! Files, or standard input.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What to read, in order.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// `-` is standard input.
    paths: Vec<PathBuf>,
}

const STANDARD_INPUT: &str = "-";

impl Inputs {
    /// Standard input if there are no files. What is not there is found out before anything is done.
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

    /// All bytes there are to read, if that can be known.
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

/// How messages call it.
pub(crate) fn name_of(path: &Path) -> PathBuf {
    if is_standard_input(path) { "standard input".into() } else { path.to_path_buf() }
}

pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let file = if is_standard_input(path) { standard_input() } else { File::open(path) };
    file.map_err(|error| Failure::reading(&name_of(path), &error))
}

/// Waits until something can be read, and reads nothing.
#[cfg(unix)]
pub(crate) fn wait_for(file: &File) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    // The end, or an error, is what reading will tell.
    while poll(&mut [PollFd::new(file, PollFlags::IN)], None) == Err(Errno::INTR) {}
}

/// Without signals nobody asks for the end of a read.
#[cfg(not(unix))]
pub(crate) fn wait_for(_: &File) {}

fn size_of_file(path: &Path) -> Option<u64> {
    let metadata =
        if is_standard_input(path) { standard_input().ok()?.metadata() } else { fs::metadata(path) };
    metadata.ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Without the standard library's buffer, which is smaller than ours.
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
