//! Standard input and output without the standard library's buffers, and messages on standard error.

use std::fs::File;
use std::io::{self, Write as _};

/// Returns standard input as a file: the standard library's buffer is smaller than ours.
pub(crate) fn input() -> io::Result<File> {
    unbuffered(&io::stdin())
}

/// Returns standard output as a file: the standard library's buffer searches for newlines.
pub(crate) fn output() -> io::Result<File> {
    unbuffered(&io::stdout())
}

#[cfg(unix)]
fn unbuffered(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn unbuffered(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

/// Prints a message to standard error. If that fails, the message is lost and the run continues.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
