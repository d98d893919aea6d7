//! What is timed in a round.

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Task {
    CheckAndInsertBatch,
    CheckAndInsertStringBatch,
    Miss,
    Hit,
}

impl Task {
    pub(crate) fn inserts(self) -> bool {
        matches!(self, Self::CheckAndInsertBatch | Self::CheckAndInsertStringBatch)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CheckAndInsertBatch => "check_and_insert_batch",
            Self::CheckAndInsertStringBatch => "check_and_insert_batch of 24-byte strings",
            Self::Miss => "contains, one by one, of new keys",
            Self::Hit => "contains, one by one, of known keys",
        }
    }
}
