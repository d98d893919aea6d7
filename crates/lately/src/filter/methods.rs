//! The filter's operations on items, on hashes, and on batches of either.
//!
//! A batch gives the same answers and leaves the filter in the same state as the same calls one by one, in
//! order. Mostly it is faster: it fetches the memory of later items while it handles earlier ones.

use super::Filter;
use super::operation::{CheckAndInsert, CheckOrInsert, Insert, check_lengths};
use crate::item::Item;

/// Defines the same operations for [`Filter`], which needs `&mut`, and for `SharedFilter`, which many threads
/// use. The names that it uses must be known where it is used.
macro_rules! methods {
    ($filter:ident, $self:ident, $($write:tt)+) => {
        impl $filter {
            /// Returns the hash that this filter gives to an item: `contains(item)` is
            /// `contains_hash(hash_of(item))`.
            #[inline]
            #[must_use]
            pub fn hash_of<T: Item>(& $self, item: T) -> u64 {
                $self.hash_function.hash_of(&item)
            }

            /// Inserts an item. It is reported as long as it is in the window: for *window* inserts,
            /// including its own, or for the span of a time window.
            #[inline]
            pub fn insert<T: Item>($($write)+ $self, item: T) {
                $self.apply(Insert, $self.hash_function.hash_of(&item));
            }

            /// Returns true if the item was inserted lately; every item in the window is reported. `false`
            /// means that the item is not in the window, not that it was never inserted.
            #[inline]
            #[must_use]
            pub fn contains<T: Item>(& $self, item: T) -> bool {
                $self.query($self.hash_function.hash_of(&item))
            }

            /// Deduplicates; every sighting refreshes the item. Returns true if the item was seen lately, and
            /// inserts it in any case. An item counts as new again once it has been *silent* for the window.
            #[inline]
            #[must_use = "the answer says whether the item is new; use insert if you do not need it"]
            pub fn check_and_insert<T: Item>($($write)+ $self, item: T) -> bool {
                $self.apply(CheckAndInsert, $self.hash_function.hash_of(&item))
            }

            /// Deduplicates; only the first sighting counts. Returns true if the item was seen lately;
            /// inserts it only if not. An item counts as new about *once per* window, however often it comes.
            #[inline]
            pub fn check_or_insert<T: Item>($($write)+ $self, item: T) -> bool {
                $self.apply(CheckOrInsert, $self.hash_function.hash_of(&item))
            }

            /// The same as [`insert`](Self::insert), for a hash computed by the caller.
            ///
            /// The hash must be *mixed*: every one of its 64 bits must depend on all of the item, because the
            /// filter uses its bits as they are. A counter, an address, or the result of a hasher that
            /// returns an integer itself is not mixed: many items would share a place, and the false positive
            /// rate would not hold. [`hash_of`](Self::hash_of) returns a mixed hash.
            #[inline]
            pub fn insert_hash($($write)+ $self, hash: u64) {
                $self.apply(Insert, hash);
            }

            /// The same as [`contains`](Self::contains), for a hash computed by the caller.
            #[inline]
            #[must_use]
            pub fn contains_hash(& $self, hash: u64) -> bool {
                $self.query(hash)
            }

            /// The same as [`check_and_insert`](Self::check_and_insert), for a hash computed by the caller.
            #[inline]
            #[must_use = "the answer says whether the item is new; use insert_hash if you do not need it"]
            pub fn check_and_insert_hash($($write)+ $self, hash: u64) -> bool {
                $self.apply(CheckAndInsert, hash)
            }

            /// The same as [`check_or_insert`](Self::check_or_insert), for a hash computed by the caller.
            #[inline]
            pub fn check_or_insert_hash($($write)+ $self, hash: u64) -> bool {
                $self.apply(CheckOrInsert, hash)
            }

            /// Calls [`insert`](Self::insert) for each item, in order.
            pub fn insert_batch<T: Item>($($write)+ $self, items: &[T]) {
                let hash_function = $self.hash_function;
                $self.apply_all(Insert, items.iter().map(|item| hash_function.hash_of(item)), &mut []);
            }

            /// Calls [`contains`](Self::contains) for each item and writes the i-th answer to `seen[i]`.
            ///
            /// # Panics
            /// If `items` and `seen` differ in length.
            ///
            /// ```
            /// let mut filter = lately::Filter::builder().window(100).false_positive_rate(1e-9).build()?;
            /// filter.insert_batch(&["a", "b"]);
            /// let mut seen = [false; 3];
            /// filter.contains_batch(&["a", "c", "b"], &mut seen);
            /// assert_eq!(seen, [true, false, true]);
            /// # Ok::<(), lately::ConfigError>(())
            /// ```
            pub fn contains_batch<T: Item>(& $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                $self.query_all(items.iter().map(|item| $self.hash_of(item)), seen);
            }

            /// Calls [`check_and_insert`](Self::check_and_insert) for each item, in order, and writes the
            /// i-th answer to `seen[i]`.
            ///
            /// # Panics
            /// If `items` and `seen` differ in length.
            pub fn check_and_insert_batch<T: Item>($($write)+ $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                let hash_function = $self.hash_function;
                let hashes = items.iter().map(|item| hash_function.hash_of(item));
                $self.apply_all(CheckAndInsert, hashes, seen);
            }

            /// Calls [`check_or_insert`](Self::check_or_insert) for each item, in order, and writes the i-th
            /// answer to `seen[i]`.
            ///
            /// # Panics
            /// If `items` and `seen` differ in length.
            pub fn check_or_insert_batch<T: Item>($($write)+ $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                let hash_function = $self.hash_function;
                let hashes = items.iter().map(|item| hash_function.hash_of(item));
                $self.apply_all(CheckOrInsert, hashes, seen);
            }

            /// Calls [`insert_hash`](Self::insert_hash) for each hash, in order.
            pub fn insert_hash_batch($($write)+ $self, hashes: &[u64]) {
                $self.apply_all(Insert, hashes.iter().copied(), &mut []);
            }

            /// The same as [`contains_batch`](Self::contains_batch), for hashes computed by the caller.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn contains_hash_batch(& $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.query_all(hashes.iter().copied(), seen);
            }

            /// The same as [`check_and_insert_batch`](Self::check_and_insert_batch), for hashes computed by
            /// the caller.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn check_and_insert_hash_batch($($write)+ $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.apply_all(CheckAndInsert, hashes.iter().copied(), seen);
            }

            /// The same as [`check_or_insert_batch`](Self::check_or_insert_batch), for hashes computed by the
            /// caller.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn check_or_insert_hash_batch($($write)+ $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.apply_all(CheckOrInsert, hashes.iter().copied(), seen);
            }
        }

        /// Inserts every item, in order, with memory prefetched.
        impl<T: Item> Extend<T> for $filter {
            fn extend<I: IntoIterator<Item = T>>(&mut $self, items: I) {
                let hash_function = $self.hash_function;
                let hash_of = |item: &T| hash_function.hash_of(item);
                insert_in_groups(items, hash_of, |hashes| $self.insert_hash_batch(hashes));
            }
        }
    };
}

#[cfg(feature = "std")]
pub(super) use methods;

methods!(Filter, self, &mut);

/// Passes on the hashes of the items in groups: an iterator does not say in advance how many there are.
pub(super) fn insert_in_groups<T>(
    items: impl IntoIterator<Item = T>,
    hash_of: impl Fn(&T) -> u64,
    mut insert: impl FnMut(&[u64]),
) {
    let mut hashes = [0; 256];
    let mut count = 0;
    for item in items {
        hashes[count] = hash_of(&item);
        count += 1;
        if count == hashes.len() {
            insert(&hashes);
            count = 0;
        }
    }
    insert(&hashes[..count]);
}
