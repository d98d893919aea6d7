//! One trait over filters, for code that works with either kind.

use core::time::Duration;

#[cfg(feature = "std")]
use super::SharedFilter;
use super::{Counters, Filter, Statistics};
use crate::ageing::AgeRange;
use crate::error::JumpError;
use crate::hash::HashFunction;
use crate::item::Item;
use crate::plan::Plan;
use crate::window::Window;

mod sealed {
    /// Only this crate implements [`AnyFilter`](super::AnyFilter), so that methods can be added.
    pub trait Sealed {}
    impl Sealed for super::Filter {}
    #[cfg(feature = "std")]
    impl Sealed for super::SharedFilter {}
    #[cfg(feature = "std")]
    impl Sealed for &super::SharedFilter {}
    #[cfg(feature = "std")]
    impl Sealed for std::sync::Arc<super::SharedFilter> {}
    impl<F: Sealed> Sealed for &mut F {}
}

/// A [`Filter`], a [`SharedFilter`](crate::SharedFilter), or a reference or `Arc` to one: for code that works
/// with either.
///
/// Every method is described at [`Filter`], under the same name. Methods that write take `&mut self`; a
/// `&SharedFilter` and an `Arc<SharedFilter>` are filters too, so each thread or task can have its own.
///
/// ```
/// use lately::{AnyFilter, Filter};
///
/// fn count_new(filter: &mut impl AnyFilter, orders: &[&str]) -> usize {
///     orders.iter().filter(|order| !filter.check_and_insert(order)).count()
/// }
///
/// let mut own = Filter::new(1000, 1e-6)?;
/// assert_eq!(count_new(&mut own, &["a", "b", "a"]), 2);
/// let shared = Filter::builder().window(1000).false_positive_rate(1e-6).build_shared()?;
/// assert_eq!(count_new(&mut &shared, &["a", "b", "a"]), 2);
/// # Ok::<(), lately::ConfigError>(())
/// ```
pub trait AnyFilter: sealed::Sealed {
    /// See [`Filter::insert_hash`].
    fn insert_hash(&mut self, hash: u64);
    /// See [`Filter::contains_hash`].
    #[must_use]
    fn contains_hash(&self, hash: u64) -> bool;
    /// See [`Filter::check_and_insert_hash`].
    #[must_use = "the answer says whether the item is new; use insert_hash if you do not need it"]
    fn check_and_insert_hash(&mut self, hash: u64) -> bool;
    /// See [`Filter::check_or_insert_hash`].
    fn check_or_insert_hash(&mut self, hash: u64) -> bool;
    /// See [`Filter::insert_batch`].
    fn insert_batch<T: Item>(&mut self, items: &[T]);
    /// See [`Filter::contains_batch`].
    fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]);
    /// See [`Filter::check_and_insert_batch`].
    fn check_and_insert_batch<T: Item>(&mut self, items: &[T], seen: &mut [bool]);
    /// See [`Filter::check_or_insert_batch`].
    fn check_or_insert_batch<T: Item>(&mut self, items: &[T], seen: &mut [bool]);
    /// See [`Filter::insert_hash_batch`].
    fn insert_hash_batch(&mut self, hashes: &[u64]);
    /// See [`Filter::contains_hash_batch`].
    fn contains_hash_batch(&self, hashes: &[u64], seen: &mut [bool]);
    /// See [`Filter::check_and_insert_hash_batch`].
    fn check_and_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]);
    /// See [`Filter::check_or_insert_hash_batch`].
    fn check_or_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]);
    /// See [`Filter::age_of_hash`].
    #[must_use]
    fn age_of_hash(&self, hash: u64) -> Option<AgeRange>;
    /// See [`Filter::advance_to`].
    fn advance_to(&mut self, now_ms: u64);
    /// See [`Filter::advance_at_most`].
    ///
    /// # Errors
    /// If the time is too far ahead.
    fn advance_at_most(&mut self, now_ms: u64, max_jump: Duration) -> Result<(), JumpError>;
    /// See [`Filter::latest_ms`].
    #[must_use]
    fn latest_ms(&self) -> Option<u64>;
    /// See [`Filter::next_shift_ms`].
    #[must_use]
    fn next_shift_ms(&self) -> Option<u64>;
    /// See [`Filter::clear`] and [`SharedFilter::clear`](crate::SharedFilter::clear).
    fn clear(&mut self);
    /// See [`Filter::guaranteed_window`].
    #[must_use]
    fn guaranteed_window(&self) -> u64;
    /// See [`Filter::guaranteed_span`].
    #[must_use]
    fn guaranteed_span(&self) -> Option<Duration>;
    /// See [`Filter::window`].
    #[must_use]
    fn window(&self) -> Window;
    /// See [`Filter::plan`].
    #[must_use]
    fn plan(&self) -> Plan;
    /// See [`Filter::memory_bytes`].
    #[must_use]
    fn memory_bytes(&self) -> u64;
    /// See [`Filter::counters`].
    #[must_use]
    fn counters(&self) -> Counters;
    /// See [`Filter::statistics`].
    #[must_use]
    fn statistics(&self) -> Statistics;
    /// See [`Filter::hash_function`].
    #[must_use]
    fn hash_function(&self) -> HashFunction;

    /// See [`Filter::hash_of`].
    #[inline]
    #[must_use]
    fn hash_of<T: Item>(&self, item: T) -> u64 {
        self.hash_function().hash_of(&item)
    }
    /// See [`Filter::insert`].
    #[inline]
    fn insert<T: Item>(&mut self, item: T) {
        self.insert_hash(self.hash_of(item));
    }
    /// See [`Filter::contains`].
    #[inline]
    #[must_use]
    fn contains<T: Item>(&self, item: T) -> bool {
        self.contains_hash(self.hash_of(item))
    }
    /// See [`Filter::check_and_insert`].
    #[inline]
    #[must_use = "the answer says whether the item is new; use insert if you do not need it"]
    fn check_and_insert<T: Item>(&mut self, item: T) -> bool {
        self.check_and_insert_hash(self.hash_of(item))
    }
    /// See [`Filter::check_or_insert`].
    #[inline]
    fn check_or_insert<T: Item>(&mut self, item: T) -> bool {
        self.check_or_insert_hash(self.hash_of(item))
    }
    /// See [`Filter::age_of`].
    #[must_use]
    fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }
}

/// Each method calls the one of the same name of `$filter`; for the filters themselves, that is not this
/// trait's.
macro_rules! any_filter {
    ([$($generic:tt)*] $type:ty => $filter:ty) => {
        impl<$($generic)*> AnyFilter for $type {
            #[inline]
            fn insert_hash(&mut self, hash: u64) {
                <$filter>::insert_hash(self, hash);
            }

            #[inline]
            fn contains_hash(&self, hash: u64) -> bool {
                <$filter>::contains_hash(self, hash)
            }

            #[inline]
            fn check_and_insert_hash(&mut self, hash: u64) -> bool {
                <$filter>::check_and_insert_hash(self, hash)
            }

            #[inline]
            fn check_or_insert_hash(&mut self, hash: u64) -> bool {
                <$filter>::check_or_insert_hash(self, hash)
            }

            #[inline]
            fn insert_batch<T: Item>(&mut self, items: &[T]) {
                <$filter>::insert_batch(self, items);
            }

            #[inline]
            fn contains_batch<T: Item>(&self, items: &[T], seen: &mut [bool]) {
                <$filter>::contains_batch(self, items, seen);
            }

            #[inline]
            fn check_and_insert_batch<T: Item>(&mut self, items: &[T], seen: &mut [bool]) {
                <$filter>::check_and_insert_batch(self, items, seen);
            }

            #[inline]
            fn check_or_insert_batch<T: Item>(&mut self, items: &[T], seen: &mut [bool]) {
                <$filter>::check_or_insert_batch(self, items, seen);
            }

            #[inline]
            fn insert_hash_batch(&mut self, hashes: &[u64]) {
                <$filter>::insert_hash_batch(self, hashes);
            }

            #[inline]
            fn contains_hash_batch(&self, hashes: &[u64], seen: &mut [bool]) {
                <$filter>::contains_hash_batch(self, hashes, seen);
            }

            #[inline]
            fn check_and_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]) {
                <$filter>::check_and_insert_hash_batch(self, hashes, seen);
            }

            #[inline]
            fn check_or_insert_hash_batch(&mut self, hashes: &[u64], seen: &mut [bool]) {
                <$filter>::check_or_insert_hash_batch(self, hashes, seen);
            }

            #[inline]
            fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
                <$filter>::age_of_hash(self, hash)
            }

            #[inline]
            fn advance_to(&mut self, now_ms: u64) {
                <$filter>::advance_to(self, now_ms);
            }

            #[inline]
            fn advance_at_most(&mut self, now_ms: u64, max_jump: Duration) -> Result<(), JumpError> {
                <$filter>::advance_at_most(self, now_ms, max_jump)
            }

            #[inline]
            fn latest_ms(&self) -> Option<u64> {
                <$filter>::latest_ms(self)
            }

            #[inline]
            fn next_shift_ms(&self) -> Option<u64> {
                <$filter>::next_shift_ms(self)
            }

            #[inline]
            fn clear(&mut self) {
                <$filter>::clear(self);
            }

            #[inline]
            fn guaranteed_window(&self) -> u64 {
                <$filter>::guaranteed_window(self)
            }

            #[inline]
            fn guaranteed_span(&self) -> Option<Duration> {
                <$filter>::guaranteed_span(self)
            }

            #[inline]
            fn window(&self) -> Window {
                <$filter>::window(self)
            }

            #[inline]
            fn plan(&self) -> Plan {
                <$filter>::plan(self)
            }

            #[inline]
            fn memory_bytes(&self) -> u64 {
                <$filter>::memory_bytes(self)
            }

            #[inline]
            fn counters(&self) -> Counters {
                <$filter>::counters(self)
            }

            #[inline]
            fn statistics(&self) -> Statistics {
                <$filter>::statistics(self)
            }

            #[inline]
            fn hash_function(&self) -> HashFunction {
                <$filter>::hash_function(self)
            }
        }
    };
}

any_filter!([] Filter => Filter);
#[cfg(feature = "std")]
any_filter!([] SharedFilter => SharedFilter);
#[cfg(feature = "std")]
any_filter!([] &SharedFilter => SharedFilter);
#[cfg(feature = "std")]
any_filter!([] std::sync::Arc<SharedFilter> => SharedFilter);
any_filter!([F: AnyFilter] &mut F => F);
