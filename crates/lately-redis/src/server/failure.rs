//! Error replies.

use std::fmt;

use lately::{ConfigError, SnapshotError};

/// An error reply.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    /// Wrong number of arguments. The server replies with its own message.
    Arity,
    /// The key holds something else.
    WrongType,
    /// The system refuses memory, although the server has not reached `maxmemory`.
    Allocation(String),
    /// The server has reached `maxmemory`. Names what needs memory, and the remedy.
    OutOfMemory(&'static str),
    /// Names the argument, the limit and the remedy.
    Refused(String),
}

impl Failure {
    /// Returns the message without the word that says which kind of error it is.
    pub(crate) fn message(&self) -> String {
        let text = self.to_string();
        text.split_once(' ').map_or_else(String::new, |(_, message)| message.into())
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arity => f.write_str("ERR wrong number of arguments"),
            Self::WrongType => {
                f.write_str("WRONGTYPE Operation against a key holding the wrong kind of value")
            }
            Self::OutOfMemory(message) => write!(f, "OOM {message}"),
            Self::Allocation(message) | Self::Refused(message) => write!(f, "ERR {message}"),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Allocation { .. } => Self::Allocation(error.to_string()),
            error => Self::new(error.to_string()),
        }
    }
}
