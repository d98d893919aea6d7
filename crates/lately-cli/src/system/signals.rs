//! The first SIGINT or SIGTERM requests an orderly end; the second ends the process at once.

use std::io;

/// Calls `request_stop` with the number of the first signal, on another thread.
#[cfg(unix)]
pub(crate) fn listen(request_stop: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if is_first {
                request_stop(signal);
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
pub(crate) fn listen(_: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    Ok(())
}
