//! The first SIGINT or SIGTERM requests an orderly end; the second ends the process at once.

use std::sync::mpsc::Sender;

use crate::failure::Failure;
use crate::reader::Event;

#[cfg(unix)]
pub(crate) fn forward_to(events: Sender<Event>) -> Result<(), Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::other(format!("cannot install the signal handlers: {error}")))?;
    std::thread::spawn(move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if is_first {
                // Sending fails after the end of the input: then the orderly end, with its save, has already
                // begun.
                let _ = events.send(Event::Stop(signal));
            } else {
                // The run may be stuck, perhaps in a write to a pipe that is not read: this signal has its
                // default effect.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            is_first = false;
        }
    });
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn forward_to(_: Sender<Event>) -> Result<(), Failure> {
    Ok(())
}
