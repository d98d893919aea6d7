//! Operations on items, for `Filter` and for `SharedFilter`.

use lately::{Filter, SharedFilter};

#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Add,
    Contains,
    CheckAndAdd,
    CheckOrAdd,
}

/// The two filters of the core have the same methods but no common trait: one needs `&mut`, the other does
/// not.
macro_rules! operations {
    ($filter:ty, $one:ident, $many:ident) => {
        /// Returns true if the item was seen lately; always false for an operation that does not query.
        #[inline]
        pub(crate) fn $one(self, filter: $filter, hash: u64) -> bool {
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

        /// The same for each hash; writes the answers to `seen`, unless the operation does not query.
        pub(crate) fn $many(self, filter: $filter, hashes: &[u64], seen: &mut [bool]) {
            match self {
                Self::Add => filter.insert_hash_batch(hashes),
                Self::Contains => filter.contains_hash_batch(hashes, seen),
                Self::CheckAndAdd => filter.check_and_insert_hash_batch(hashes, seen),
                Self::CheckOrAdd => filter.check_or_insert_hash_batch(hashes, seen),
            }
        }
    };
}

impl Operation {
    operations!(&mut Filter, one, many);
    operations!(&SharedFilter, one_shared, many_shared);

    pub(crate) fn answers(self) -> bool {
        !matches!(self, Self::Add)
    }
}
