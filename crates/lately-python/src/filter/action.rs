//! What a call does with its items.

use lately::AnyFilter;

/// What a call does with each of its items.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Add,
    Contains,
    CheckAndAdd,
    CheckOrAdd,
}

impl Action {
    /// Returns true if the item was seen lately; always false for `Add`, which does not query.
    #[inline]
    pub(super) fn perform(self, filter: &mut impl AnyFilter, hash: u64) -> bool {
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
    pub(super) fn perform_many(self, filter: &mut impl AnyFilter, hashes: &[u64], seen: &mut [bool]) {
        match self {
            Self::Add => filter.insert_hash_batch(hashes),
            Self::Contains => filter.contains_hash_batch(hashes, seen),
            Self::CheckAndAdd => filter.check_and_insert_hash_batch(hashes, seen),
            Self::CheckOrAdd => filter.check_or_insert_hash_batch(hashes, seen),
        }
    }

    pub(super) fn adds(self) -> bool {
        !matches!(self, Self::Contains)
    }

    /// Returns true if the action tells whether an item was seen.
    pub(super) fn has_answers(self) -> bool {
        !matches!(self, Self::Add)
    }
}
