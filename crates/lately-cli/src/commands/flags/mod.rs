//! The flags that several commands share.

mod promise;
mod records;
pub(crate) mod units;

pub(crate) use promise::{LayoutName, PreferName, Promise, describe_window};
pub(crate) use records::RecordFlags;
