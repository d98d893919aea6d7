//! Waits for a file without reading or writing it.

#[cfg(unix)]
pub(crate) use unix::{until_readable, until_writable};

#[cfg(unix)]
mod unix {
    use std::fs::File;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    /// Waits until there is something to read: data, the end, or an error.
    pub(crate) fn until_readable(file: &File) {
        until(file, PollFlags::IN);
    }

    /// Waits until a write would succeed or return an error.
    pub(crate) fn until_writable(file: &File) {
        until(file, PollFlags::OUT);
    }

    fn until(file: &File, flags: PollFlags) {
        // Other errors are ignored: the read or the write reports them.
        while poll(&mut [PollFd::new(file, flags)], None) == Err(Errno::INTR) {}
    }
}

/// On other platforms reads and writes block, and no signal interrupts them.
#[cfg(not(unix))]
pub(crate) fn until_readable(_: &std::fs::File) {}

#[cfg(not(unix))]
pub(crate) fn until_writable(_: &std::fs::File) {}
