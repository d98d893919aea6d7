//! SIGINT and SIGTERM ask for an orderly end; the second one gets an immediate one.

use std::sync::mpsc::Sender;

use crate::failure::Failure;
use crate::reader::Event;

#[cfg(unix)]
pub(crate) fn forward_to(events: Sender<Event>) -> Result<(), Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::other(format!("signals cannot be handled: {error}")))?;
    std::thread::spawn(move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if is_first {
                // Nobody hears it when the input has ended: then the end in order, with its save, is under way already.
                let _ = events.send(Event::Stop(signal));
            } else {
                // Stuck, perhaps in a write that nobody reads: what would have happened without us.
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
