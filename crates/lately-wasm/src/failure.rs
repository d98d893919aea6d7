//! Why a call failed: a kind, which becomes a class of errors in JavaScript, and a message in its words.

use alloc::format;
use alloc::string::{String, ToString as _};

use lately::{ConfigError, JumpError, SnapshotError};

/// The first letter of the kind begins the reply.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { kind: "config", message: message.into() }
    }

    /// A call on a filter after its `free()`.
    pub(crate) fn freed() -> Self {
        Self {
            kind: "type",
            message: "this filter was freed: build another one, or call free() later".into(),
        }
    }

    /// WebAssembly has at most 4 GiB.
    pub(crate) fn no_memory(bytes: u64) -> Self {
        Self {
            kind: "memory",
            message: format!(
                "cannot allocate {bytes} bytes: WebAssembly has at most 4 GiB; free() filters that you no longer need, or \
                 pass fewer items at once"
            ),
        }
    }

    /// The package passed something that it never passes.
    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self { kind: "internal", message: what.into() }
    }
}

/// Messages that name functions of Rust are replaced by messages that name options.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::config(match error {
            ConfigError::MissingWindow => {
                "no window was asked for: give window (a number of inserts) or within (a span of time), or maxMemory with \
                 falsePositiveRate for the largest window that fits"
                    .into()
            }
            ConfigError::MissingRate => {
                "no false positive rate was asked for: give falsePositiveRate, or maxMemory for the best rate that fits, or \
                 shape: [k, l] for the paper's half-full design"
                    .into()
            }
            ConfigError::TwoWindows { .. } => {
                "window and within were both given: give window (a number of inserts) or within (a span of time)".into()
            }
            ConfigError::CapacityWithoutSpan { .. } => {
                "capacity was given without within: leave it out for a count window, or give within for a time window".into()
            }
            ConfigError::OverloadWithoutTime => {
                "overload was given for a count window, which cannot be overloaded: leave it out, or build a time window \
                 with within"
                    .into()
            }
            ConfigError::ElasticShape => {
                "a time window without a capacity grows and shrinks, which only the layout 'bins' can, in a shape of its own: \
                 give capacity, or leave out layout and shape"
                    .into()
            }
            ConfigError::MemoryTooSmall { needed_bytes, max_memory, fitting_window, fitting_rate } => {
                let window = fitting_window.map(|window| format!(", or ask for a window (or capacity) of {window}"));
                // Rounded up, so that the printed rate is accepted.
                let rate = fitting_rate.map(|rate| format!(", or for a falsePositiveRate of {:.3e}", rate * 1.001));
                format!(
                    "{needed_bytes} bytes are needed, but maxMemory is {max_memory}: raise it to {needed_bytes}{}{}",
                    window.unwrap_or_default(),
                    rate.unwrap_or_default()
                )
            }
            ConfigError::Allocation { bytes } => return Self::no_memory(bytes),
            other => other.to_string(),
        })
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Allocation { bytes } => Self::no_memory(bytes),
            other => Self { kind: "snapshot", message: other.to_string() },
        }
    }
}

impl From<JumpError> for Failure {
    fn from(error: JumpError) -> Self {
        let JumpError { now_ms, latest_ms, ahead, max_jump, .. } = error;
        let message = format!(
            "now = {now_ms} ms is {} ms ahead of the latest time, {latest_ms} ms, but maxJump is {} ms: check the time, or \
             give a longer maxJump",
            ahead.as_millis(),
            max_jump.as_millis()
        );
        Self { kind: "jump", message }
    }
}
