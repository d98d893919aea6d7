//! Waiting for a file without reading or writing it.

#[cfg(unix)]
pub(crate) use unix::{until_readable, until_writable};

#[cfg(unix)]
mod unix {
    use std::fs::File;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    /// Until something can be read: data, the end, or an error.
    pub(crate) fn until_readable(file: &File) {
        until(file, PollFlags::IN);
    }

    /// Until something can be written, or an error told.
    pub(crate) fn until_writable(file: &File) {
        until(file, PollFlags::OUT);
    }

    fn until(file: &File, flags: PollFlags) {
        // What it cannot tell, reading or writing will.
        while poll(&mut [PollFd::new(file, flags)], None) == Err(Errno::INTR) {}
    }
}

/// Elsewhere reading and writing wait, and no signal ends that.
#[cfg(not(unix))]
pub(crate) fn until_readable(_: &std::fs::File) {}

#[cfg(not(unix))]
pub(crate) fn until_writable(_: &std::fs::File) {}
