//! The four operations on an item, for a filter of one's own and for one that threads share, for one item and
//! for many.
#![cfg_attr(not(feature = "std"), allow(dead_code))] // only shared filters use all of it
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use core::iter::FusedIterator;

use crate::layout::{Located, Use};

/// A filter during one call, once its layout and its instructions are known.
pub(crate) trait Access {
    /// Where an item is; see [`Located`].
    type Place: Copy;
    fn contains(&mut self, item: Located<Self::Place>) -> bool;
    fn insert(&mut self, item: Located<Self::Place>);
    fn check_and_insert(&mut self, item: Located<Self::Place>) -> bool;
    fn check_or_insert(&mut self, item: Located<Self::Place>) -> bool;
    /// Calls [`insert`](Self::insert) for each item, in order.
    #[inline(always)]
    fn insert_all(&mut self, items: &[Located<Self::Place>]) {
        items.iter().for_each(|item| self.insert(*item));
    }
    /// Calls [`check_and_insert`](Self::check_and_insert) for each item, in order, and writes the i-th answer
    /// to `seen[i]`.
    #[inline(always)]
    fn check_and_insert_all(&mut self, items: &[Located<Self::Place>], seen: &mut [bool]) {
        for (item, seen) in items.iter().zip(seen) {
            *seen = self.check_and_insert(*item);
        }
    }
}

/// An operation on one item; returns true if the item was seen lately (a plain insert does not check).
pub(crate) trait Operation: Copy {
    const USES: Use;
    /// Whether the caller uses the answers.
    const ANSWERS: bool = true;

    fn apply<A: Access>(self, access: &mut A, item: Located<A::Place>) -> bool;

    /// Calls [`apply`](Self::apply) for each item in order, and writes the i-th answer to `seen[i]` if the
    /// caller uses the answers.
    #[inline(always)]
    fn apply_all<A: Access>(self, access: &mut A, items: &[Located<A::Place>], seen: &mut [bool]) {
        for (item, seen) in items.iter().zip(seen) {
            *seen = self.apply(access, *item);
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Contains;

impl Operation for Contains {
    const USES: Use = Use::Reads;

    #[inline(always)]
    fn apply<A: Access>(self, access: &mut A, item: Located<A::Place>) -> bool {
        access.contains(item)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Insert;

impl Operation for Insert {
    const USES: Use = Use::Writes;
    const ANSWERS: bool = false;

    #[inline(always)]
    fn apply<A: Access>(self, access: &mut A, item: Located<A::Place>) -> bool {
        access.insert(item);
        false
    }

    #[inline(always)]
    fn apply_all<A: Access>(self, access: &mut A, items: &[Located<A::Place>], _seen: &mut [bool]) {
        access.insert_all(items);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckAndInsert;

impl Operation for CheckAndInsert {
    const USES: Use = Use::ReadsAndWrites;

    #[inline(always)]
    fn apply<A: Access>(self, access: &mut A, item: Located<A::Place>) -> bool {
        access.check_and_insert(item)
    }

    #[inline(always)]
    fn apply_all<A: Access>(self, access: &mut A, items: &[Located<A::Place>], seen: &mut [bool]) {
        access.check_and_insert_all(items, seen);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckOrInsert;

impl Operation for CheckOrInsert {
    const USES: Use = Use::ReadsAndMayWrite;

    #[inline(always)]
    fn apply<A: Access>(self, access: &mut A, item: Located<A::Place>) -> bool {
        access.check_or_insert(item)
    }
}

/// An operation on one item of a filter, as work for a kernel.
pub(crate) struct One<F, O> {
    pub(crate) filter: F,
    pub(crate) operation: O,
    pub(crate) hash: u64,
}

/// An operation on many items, in order. `seen[i]` is the answer to the i-th.
pub(crate) struct Many<'s, F, O, H> {
    pub(crate) filter: F,
    pub(crate) operation: O,
    pub(crate) hashes: H,
    pub(crate) seen: &'s mut [bool],
}

/// The hashes of a batch's items. The iterator may be called again after it has ended.
pub(crate) trait Hashes: ExactSizeIterator<Item = u64> + FusedIterator {}
impl<H: ExactSizeIterator<Item = u64> + FusedIterator> Hashes for H {}

/// How many items ahead memory is prefetched. A rolling distance keeps as many fetches in flight as the
/// machine allows; hashing a whole batch first and probing it afterwards does not.
pub(crate) const AHEAD: usize = 64;
/// How many items are looked up, and then applied, at a time; a divisor of [`AHEAD`]. In short loops of one kind
/// of work, more of the processor's registers are free than in one loop of both.
pub(crate) const GROUP: usize = 16;
const _: () = assert!(AHEAD.is_multiple_of(GROUP));

pub(crate) fn check_lengths<T>(asked: &[T], seen: &[bool]) {
    assert!(
        asked.len() == seen.len(),
        "{} items were passed, but `seen` has {} elements: pass one element per item",
        asked.len(),
        seen.len()
    );
}
