//! What can be decided on a record, and how often each decision was made.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    New,
    Seen,
    /// The record has no key.
    Missing,
    /// The record's window has passed.
    Late,
    /// The record is too long. It may be only the beginning.
    Oversize,
    /// More of a record that is too long.
    Rest,
    /// The record names the columns.
    Header,
}

/// The decision on a record of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) record: usize,
    pub(crate) verdict: Verdict,
    /// The place of its key in the batch, if it was looked up.
    pub(crate) key: usize,
}

impl Decided {
    /// The record was not looked up.
    pub(super) fn without_key(record: usize, verdict: Verdict) -> Self {
        Self { record, verdict, key: usize::MAX }
    }
}

/// Counts of records. `records` is the sum of `unique`, `duplicates`, `missing`, `late` and `oversize`;
/// headers are not records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) unique: u64,
    pub(crate) duplicates: u64,
    pub(crate) missing: u64,
    pub(crate) late: u64,
    pub(crate) oversize: u64,
    pub(crate) bytes: u64,
}
