//! Lets the reading thread and the main thread agree on the end after a signal.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// After a signal every complete record that was read is decided, and nothing more is read.
///
/// Each thread first stores its own flag and then loads the other's. So if the thread that requests the stop
/// sees the reader waiting, the reader will see the request before it reads.
#[derive(Debug, Default)]
pub(super) struct Stop {
    /// Nothing more may be read.
    is_requested: AtomicBool,
    /// The reader waits for a file to open or for bytes to read, or will never read again. It has handed over
    /// every complete record it has read.
    is_waiting: AtomicBool,
    /// The reader is in a read that should not block.
    is_reading: AtomicBool,
}

/// The stop was requested.
#[derive(Debug)]
pub(super) struct Requested;

impl Stop {
    pub(super) fn request(&self) {
        self.is_requested.store(true, Ordering::SeqCst);
    }

    /// Returns true if every complete record that the reader has read is in the channel.
    pub(super) fn all_is_handed_over(&self) -> bool {
        self.is_waiting.load(Ordering::SeqCst)
    }

    pub(super) fn is_reading(&self) -> bool {
        self.is_reading.load(Ordering::SeqCst)
    }

    /// Reads the bytes that are available.
    pub(super) fn read(&self, content: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
        self.is_reading.store(true, Ordering::SeqCst);
        let result = content.read(room);
        self.is_reading.store(false, Ordering::SeqCst);
        result
    }

    /// Runs a step that may block and consumes no input (opening a pipe can block, too). Fails if the stop
    /// was requested before or during it.
    pub(super) fn wait<T>(&self, step: impl FnOnce() -> T) -> Result<T, Requested> {
        self.is_waiting.store(true, Ordering::SeqCst);
        if self.is_requested.load(Ordering::SeqCst) {
            return Err(Requested);
        }
        let result = step();
        self.is_waiting.store(false, Ordering::SeqCst);
        if self.is_requested.load(Ordering::SeqCst) {
            self.is_waiting.store(true, Ordering::SeqCst);
            return Err(Requested);
        }
        Ok(result)
    }

    #[cfg(test)]
    pub(super) fn in_a_read() -> Self {
        Self { is_reading: true.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_waits_when_the_stop_is_requested_reads_nothing_more() {
        let stop = Stop::default();
        assert!(stop.wait(|| assert!(stop.all_is_handed_over())).is_ok());
        assert!(!stop.all_is_handed_over(), "it may be reading");
        let found_something = stop.wait(|| {
            stop.request();
            assert!(stop.all_is_handed_over(), "the other thread does not wait for this one");
        });
        assert!(found_something.is_err() && stop.all_is_handed_over());
        assert!(stop.wait(|| panic!("the stop was already requested")).is_err());
    }
}
