//! A progress bar on standard error.

use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar. It is hidden unless standard error is a terminal, the records do not go to a
/// terminal, and the size of the input is known.
pub(crate) fn progress_bar(total_bytes: Option<u64>, records_are_shown: bool) -> ProgressBar {
    let clashes = records_are_shown && io::stdout().is_terminal();
    match total_bytes {
        Some(total) if io::stderr().is_terminal() && !clashes => {
            let style = ProgressStyle::with_template(
                "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {percent}% ETA {eta}",
            );
            ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }
        _ => ProgressBar::hidden(),
    }
}
