//! Why a record has no key.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It lacks a field, a column or a path that the key or the time needs.
    Value,
    /// Its time cannot be read.
    UnreadableTime,
    /// Its time is spelled in another way than the first one of its file.
    OtherSpelling,
}
