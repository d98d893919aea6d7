//! `--max-record` and `--oversize`: records that are too long to be held in memory.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnOversize {
    /// End the run with an error
    Fail,
    /// Let it pass, as if it were new
    Pass,
    /// Leave it out
    Drop,
}

/// The longest record, and what to do with a longer one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// In bytes, without the terminator.
    pub(crate) max_record: u64,
    pub(crate) on_oversize: OnOversize,
}

impl Limit {
    #[inline]
    pub(super) fn is_exceeded(&self, len: usize) -> bool {
        len as u64 > self.max_record
    }
}
