//! What a call does with its items, for both filters of the core.

use lately::{Filter, SharedFilter};

/// What a call does with each of its items.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Add,
    Contains,
    CheckAndAdd,
    CheckOrAdd,
}

/// The two filters of the core have the same methods but no common trait: one needs `&mut`, the other does
/// not.
macro_rules! perform {
    ($filter:ty, $one:ident, $many:ident) => {
        /// Returns true if the item was seen lately; always false for `Add`, which does not query.
        #[inline]
        pub(super) fn $one(self, filter: $filter, hash: u64) -> bool {
            match self {
                Self::Add => {
                    filter.insert_hash(hash);
                    false
                }
                Self::Contains => filter.contains_hash(hash),
                Self::CheckAndAdd => filter.check_and_insert_hash(hash),
                Self::CheckOrAdd => filter.check_or_insert_hash(hash),
            }
        }

        /// The same for each hash; writes the answers to `seen`, unless the action is `Add`.
        pub(super) fn $many(self, filter: $filter, hashes: &[u64], seen: &mut [bool]) {
            match self {
                Self::Add => filter.insert_hash_batch(hashes),
                Self::Contains => filter.contains_hash_batch(hashes, seen),
                Self::CheckAndAdd => filter.check_and_insert_hash_batch(hashes, seen),
                Self::CheckOrAdd => filter.check_or_insert_hash_batch(hashes, seen),
            }
        }
    };
}

impl Action {
    perform!(&mut Filter, perform, perform_many);
    perform!(&SharedFilter, perform_shared, perform_many_shared);

    /// Returns true if the action tells whether an item was seen.
    pub(super) fn has_answers(self) -> bool {
        !matches!(self, Self::Add)
    }
}
