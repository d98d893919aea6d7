//! The main thread's side of the reading thread: starts it, receives its batches, and stops it after a
//! signal.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::input::Inputs;
use super::reader::{Event, Reader};
use super::record_finder::RecordFinder;
use super::stop::Stop;
use crate::failure::Failure;
use crate::system::signals;

/// Batches that circulate between the two threads. With two, one thread would wait for the other whenever
/// their speeds vary.
const BATCHES: usize = 4;

/// How long to wait, after a signal, for a read that should not block. It can block if another process reads
/// from the same pipe and was faster.
const READ_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Source {
    events: Receiver<Event>,
    free: Sender<Batch>,
    stop: Arc<Stop>,
    stopped_by: Option<i32>,
}

/// What has come from the reading thread.
pub(crate) enum Next {
    Batch(Batch),
    /// A signal requests statistics.
    Report,
    /// No batch yet: the patience is over, or a signal requests the end.
    Nothing,
}

/// Why no more batches come.
pub(crate) enum InputEnd {
    Complete,
    Failed(Failure),
    /// By a signal.
    Stopped(i32),
}

impl Source {
    /// Starts the reading thread, and listens for signals.
    pub(crate) fn start(inputs: Inputs, finder: RecordFinder) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel();
        let (free, recycled) = mpsc::channel();
        for _ in 0..BATCHES {
            // This cannot fail: the receiver exists.
            let _ = free.send(Batch::new());
        }
        let (for_stop, for_reports) = (sender.clone(), sender.clone());
        // Sending fails after the end of the input: then the orderly end, with its save, has already begun.
        signals::listen(
            move |signal| drop(for_stop.send(Event::Stop(signal))),
            move || drop(for_reports.send(Event::Report)),
        )
        .map_err(|error| Failure::other(format!("cannot install the signal handlers: {error}")))?;
        let stop = Arc::new(Stop::default());
        let reader = Reader { inputs, finder, events: sender, stop: Arc::clone(&stop), free: recycled };
        std::thread::spawn(move || reader.run());
        Ok(Self { events, free, stop, stopped_by: None })
    }

    /// Returns what comes next within `patience`.
    pub(crate) fn next(&mut self, patience: Option<Duration>) -> Result<Next, InputEnd> {
        let event = match (self.stopped_by, patience) {
            (Some(_), _) => self.next_after_signal(),
            (None, Some(patience)) => self.events.recv_timeout(patience),
            (None, None) => self.events.recv().map_err(RecvTimeoutError::from),
        };
        match (event, self.stopped_by) {
            (Ok(Event::Batch(batch)), _) => Ok(Next::Batch(batch)),
            (Ok(Event::Report), _) => Ok(Next::Report),
            (Ok(Event::Failed(failure)), _) => Err(InputEnd::Failed(failure)),
            (Ok(Event::Stop(signal)), _) => {
                self.stop.request();
                self.stopped_by = Some(signal);
                Ok(Next::Nothing)
            }
            // A signal that ends a whole pipeline often ends the input as well.
            (Ok(Event::End) | Err(_), Some(signal)) => Err(InputEnd::Stopped(signal)),
            (Ok(Event::End), None) => Err(InputEnd::Complete),
            (Err(_), None) => Ok(Next::Nothing),
        }
    }

    /// Returns a batch to the reading thread.
    pub(crate) fn recycle(&self, batch: Batch) {
        // Sending fails if the reader has already ended, which is fine.
        let _ = self.free.send(batch);
    }

    /// After a signal: returns the remaining events, then an error.
    fn next_after_signal(&self) -> Result<Event, RecvTimeoutError> {
        let asked = Instant::now();
        loop {
            let all_is_handed_over = self.stop.all_is_handed_over();
            let is_stuck = self.stop.is_reading() && asked.elapsed() > READ_PATIENCE;
            match self.events.recv_timeout(Duration::from_millis(1)) {
                // The flag was loaded before the channel was read: if it was set, every batch was already
                // there.
                Err(RecvTimeoutError::Timeout) if !all_is_handed_over && !is_stuck => {}
                event => return event,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the end of an input with these events.
    fn end_of(events: impl IntoIterator<Item = Event>, stop: Stop) -> InputEnd {
        let (sender, receiver) = mpsc::channel();
        events.into_iter().for_each(|event| sender.send(event).unwrap());
        let (free, _recycled) = mpsc::channel();
        let mut source = Source { events: receiver, free, stop: Arc::new(stop), stopped_by: None };
        loop {
            if let Err(end) = source.next(None) {
                return end;
            }
        }
    }

    #[test]
    fn a_signal_is_reported_even_if_the_input_ends_too() {
        let end = end_of([Event::Stop(15), Event::End], Stop::default());
        assert!(matches!(end, InputEnd::Stopped(15)));
        let end = end_of([Event::End, Event::Stop(15)], Stop::default());
        assert!(matches!(end, InputEnd::Complete));
    }

    /// Another process has read the bytes for which this read was started.
    #[test]
    fn a_read_that_blocks_unexpectedly_does_not_block_a_signal() {
        let end = end_of([Event::Stop(15)], Stop::in_a_read());
        assert!(matches!(end, InputEnd::Stopped(15)));
    }
}
