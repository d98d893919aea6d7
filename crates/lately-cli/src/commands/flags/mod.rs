//! The flags that several commands share.

mod config_error;
mod key_syntax;
mod promise;
mod records;
mod time;
pub(crate) mod units;

pub(crate) use promise::PromiseFlags;
pub(crate) use records::RecordFlags;
pub(crate) use time::TimeFlags;
