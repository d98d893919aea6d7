//! The filter's operations on items, on hashes, and on many of either.
//!
//! A batch answers and leaves the filter exactly as the same calls one by one, in order. It is faster: the memory of
//! later items is fetched while earlier ones are handled.

use crate::batch::{CheckAndInsert, CheckOrInsert, Insert};
use crate::filter::Filter;
#[cfg(feature = "std")]
use crate::shared::SharedFilter;

/// The same operations for a filter of one's own, which needs `&mut`, and for one that threads share.
macro_rules! operations {
    ($filter:ident, $self:ident, $($write:tt)+) => {
        impl $filter {
            /// The hash this filter gives to an item: `contains(item)` is `contains_hash(hash_of(item))`.
            #[inline]
            pub fn hash_of<T: AsRef<[u8]>>(& $self, item: T) -> u64 {
                $self.hash_function.hash(item.as_ref())
            }

            /// Inserts an item. It is reported as long as it is in the window: for that many inserts, itself included, or for the
            /// span of a time window.
            #[inline]
            pub fn insert<T: AsRef<[u8]>>($($write)+ $self, item: T) {
                $self.insert_hash($self.hash_of(item));
            }

            /// Whether the item was inserted lately. `true` for every item of the window; `false` says that it is not in the
            /// window, not that it was never inserted.
            #[inline]
            pub fn contains<T: AsRef<[u8]>>(& $self, item: T) -> bool {
                $self.contains_hash($self.hash_of(item))
            }

            /// Deduplication where every sighting refreshes: says whether the item was seen lately, and inserts it. An item
            /// is let through again once it has been *silent* for the window.
            #[inline]
            pub fn check_and_insert<T: AsRef<[u8]>>($($write)+ $self, item: T) -> bool {
                $self.check_and_insert_hash($self.hash_of(item))
            }

            /// Deduplication where only the first sighting counts: says whether the item was seen lately, and inserts it only
            /// if not. An item is let through about *once per* window however often it comes.
            #[inline]
            pub fn check_or_insert<T: AsRef<[u8]>>($($write)+ $self, item: T) -> bool {
                $self.check_or_insert_hash($self.hash_of(item))
            }

            /// [`insert`](Self::insert) for a hash of the caller's.
            #[inline]
            pub fn insert_hash($($write)+ $self, hash: u64) {
                $self.run(Insert, hash);
            }

            /// [`contains`](Self::contains) for a hash of the caller's.
            #[inline]
            pub fn contains_hash(& $self, hash: u64) -> bool {
                $self.run_query(hash)
            }

            /// [`check_and_insert`](Self::check_and_insert) for a hash of the caller's.
            #[inline]
            pub fn check_and_insert_hash($($write)+ $self, hash: u64) -> bool {
                $self.run(CheckAndInsert, hash)
            }

            /// [`check_or_insert`](Self::check_or_insert) for a hash of the caller's.
            #[inline]
            pub fn check_or_insert_hash($($write)+ $self, hash: u64) -> bool {
                $self.run(CheckOrInsert, hash)
            }

            /// [`insert`](Self::insert) for each item, in order.
            pub fn insert_batch<T: AsRef<[u8]>>($($write)+ $self, items: &[T]) {
                let hash_function = $self.hash_function;
                $self.run_batch(Insert, items.iter().map(|item| hash_function.hash(item.as_ref())), &mut []);
            }

            /// [`contains`](Self::contains) for each item, answered in the same place of `seen`.
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
            pub fn contains_batch<T: AsRef<[u8]>>(& $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                $self.run_batch_query(items.iter().map(|item| $self.hash_of(item)), seen);
            }

            /// [`check_and_insert`](Self::check_and_insert) for each item in order, answered in the same place of `seen`.
            ///
            /// # Panics
            /// If `items` and `seen` differ in length.
            pub fn check_and_insert_batch<T: AsRef<[u8]>>($($write)+ $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                let hash_function = $self.hash_function;
                let hashes = items.iter().map(|item| hash_function.hash(item.as_ref()));
                $self.run_batch(CheckAndInsert, hashes, seen);
            }

            /// [`check_or_insert`](Self::check_or_insert) for each item in order, answered in the same place of `seen`.
            ///
            /// # Panics
            /// If `items` and `seen` differ in length.
            pub fn check_or_insert_batch<T: AsRef<[u8]>>($($write)+ $self, items: &[T], seen: &mut [bool]) {
                check_lengths(items, seen);
                let hash_function = $self.hash_function;
                let hashes = items.iter().map(|item| hash_function.hash(item.as_ref()));
                $self.run_batch(CheckOrInsert, hashes, seen);
            }

            /// [`insert_hash`](Self::insert_hash) for each hash, in order.
            pub fn insert_hash_batch($($write)+ $self, hashes: &[u64]) {
                $self.run_batch(Insert, hashes.iter().copied(), &mut []);
            }

            /// [`contains_batch`](Self::contains_batch) for hashes of the caller's.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn contains_hash_batch(& $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.run_batch_query(hashes.iter().copied(), seen);
            }

            /// [`check_and_insert_batch`](Self::check_and_insert_batch) for hashes of the caller's.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn check_and_insert_hash_batch($($write)+ $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.run_batch(CheckAndInsert, hashes.iter().copied(), seen);
            }

            /// [`check_or_insert_batch`](Self::check_or_insert_batch) for hashes of the caller's.
            ///
            /// # Panics
            /// If `hashes` and `seen` differ in length.
            pub fn check_or_insert_hash_batch($($write)+ $self, hashes: &[u64], seen: &mut [bool]) {
                check_lengths(hashes, seen);
                $self.run_batch(CheckOrInsert, hashes.iter().copied(), seen);
            }
        }
    };
}

operations!(Filter, self, &mut);
#[cfg(feature = "std")]
operations!(SharedFilter, self, &);

pub(crate) fn check_lengths<T>(asked: &[T], seen: &[bool]) {
    assert!(
        asked.len() == seen.len(),
        "{} items need as many answers, but the slice for them has {}",
        asked.len(),
        seen.len()
    );
}
