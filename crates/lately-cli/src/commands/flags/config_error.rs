//! The library's errors about a promise, in the words of the flags.

use lately::{ConfigError, MAX_WINDOW};

use crate::commands::human::human_bytes;
use crate::failure::Failure;

/// Puts the flag in front of the library's message. A message that names a function is replaced.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let flag = match &error {
            ConfigError::Allocation { bytes } => {
                return Self::Other(format!(
                    "cannot allocate {bytes} bytes ({}): ask for a smaller window or a higher --fp; \
                     `lately plan` shows how much memory they need",
                    human_bytes(*bytes)
                ));
            }
            ConfigError::MemoryTooSmall { needed_bytes, max_memory, fitting_window, fitting_rate } => {
                let window =
                    fitting_window.map(|window| format!(", or use a --window (or --capacity) of {window}"));
                // Rounded up, so that the printed rate is accepted.
                let rate = fitting_rate.map(|rate| format!(", or use --fp {:.3e}", rate * 1.001));
                return Self::Usage(format!(
                    "--max-memory {max_memory} is too little: {needed_bytes} bytes ({}) are needed; raise it to that{}{}",
                    human_bytes(*needed_bytes),
                    window.unwrap_or_default(),
                    rate.unwrap_or_default()
                ));
            }
            ConfigError::Window { window } => {
                return Self::Usage(format!(
                    "--window or --capacity: {window} records are not possible; ask for 1 to {MAX_WINDOW}"
                ));
            }
            ConfigError::Span { millis } => {
                return Self::Usage(format!(
                    "--within: a span of {millis}ms is not possible; ask for 1ms or more"
                ));
            }
            ConfigError::ElasticShape => {
                return Self::Usage(
                    "--layout: only bins can grow and shrink with the traffic; leave out --layout, or give the most \
                     different records of one span with --capacity, for fixed memory"
                        .into(),
                );
            }
            ConfigError::ElasticRate { rate, reachable } => {
                // Rounded up, so that the printed rate is accepted.
                return Self::Usage(format!(
                    "--fp {rate:e} is too low for a filter that grows with the traffic; use --fp {:.3e} or more, or give the \
                     most different records of one span with --capacity",
                    reachable * 1.001
                ));
            }
            ConfigError::SpanTooShort { .. } => "--within",
            ConfigError::Rate { .. } | ConfigError::RateUnreachable { .. } => "--fp",
            ConfigError::Slack { .. } | ConfigError::SlackUnreachable { .. } => "--slack",
            ConfigError::Shape { .. } => "--k and --l",
            ConfigError::Parts { .. } => "--parts",
            ConfigError::Block { .. } => "--block-bits and --bits-per-block",
            _ => return Self::Usage(error.to_string()),
        };
        Self::Usage(format!("{flag}: {error}"))
    }
}
