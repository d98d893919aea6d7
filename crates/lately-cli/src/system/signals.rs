//! The first SIGINT, SIGTERM or SIGHUP requests an orderly end; the second ends the process at once.

use std::io;

/// Signals that ask for statistics. Only some systems have a key for it (Control-T), which sends SIGINFO.
#[cfg(all(
    unix,
    not(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd"))
))]
const REPORT: &[i32] = &[signal_hook::consts::SIGUSR1];
#[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd"))]
const REPORT: &[i32] = &[signal_hook::consts::SIGUSR1, signal_hook::consts::SIGINFO];

/// Calls `request_stop` with the number of the first signal, on another thread, and `request_report` for each SIGUSR1 or
/// SIGINFO. A signal that was ignored when the program was started stays ignored: `nohup` and shells that start a job
/// in the background rely on it.
#[cfg(unix)]
pub(crate) fn listen(
    request_stop: impl Fn(i32) + Send + 'static,
    request_report: impl Fn() + Send + 'static,
) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().chain(REPORT.iter().copied());
    let heard = wanted.filter(|signal| ignored & 1 << (signal - 1) == 0);
    let mut signals = Signals::new(heard)?;
    std::thread::spawn(move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if REPORT.contains(&signal) {
                request_report();
                continue;
            }
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

/// Returns the signals that are ignored, one bit each. Systems without `/proc` tell this only to unsafe code; there,
/// none counts as ignored.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) fn listen(_: impl Fn(i32) + Send + 'static, _: impl Fn() + Send + 'static) -> io::Result<()> {
    Ok(())
}
