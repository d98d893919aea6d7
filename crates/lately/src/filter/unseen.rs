//! Iterators and streams without the items that were seen lately.

use core::fmt;
use core::iter::FusedIterator;

use super::AnyFilter;
use crate::item::Item;

/// Adds [`unseen`](Self::unseen) and [`unseen_by`](Self::unseen_by) to every iterator.
pub trait UnseenExt: Iterator + Sized {
    /// Passes on only the items that were not seen lately. Every sighting refreshes an item:
    /// [`check_and_insert`](crate::Filter::check_and_insert) decides.
    ///
    /// ```
    /// use lately::{Filter, UnseenExt};
    ///
    /// let mut seen = Filter::new(1000, 1e-6)?;
    /// let orders = ["order-17", "order-18", "order-17"];
    /// let new: Vec<_> = orders.into_iter().unseen(&mut seen).collect();
    /// assert_eq!(new, ["order-17", "order-18"]);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    fn unseen<F: AnyFilter>(self, filter: F) -> Unseen<Self, F>
    where
        Self::Item: Item,
    {
        Unseen { items: self, filter }
    }

    /// The same for elements that are not items themselves: `key` returns the item of an element.
    ///
    /// ```
    /// use lately::{Filter, UnseenExt};
    ///
    /// struct Delivery { event: u64, attempt: u32 }
    ///
    /// let mut seen = Filter::new(1000, 1e-6)?;
    /// let deliveries = [(7, 1), (8, 1), (7, 2)].map(|(event, attempt)| Delivery { event, attempt });
    /// let new = deliveries.iter().unseen_by(&mut seen, |delivery| delivery.event);
    /// assert!(new.map(|delivery| (delivery.event, delivery.attempt)).eq([(7, 1), (8, 1)]));
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    fn unseen_by<F: AnyFilter, T: Item, K: FnMut(&Self::Item) -> T>(
        self,
        filter: F,
        key: K,
    ) -> UnseenBy<Self, F, K> {
        UnseenBy { items: self, filter, key }
    }
}

impl<I: Iterator> UnseenExt for I {}

/// An iterator without the items that were seen lately; created by [`UnseenExt::unseen`].
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing until it is used"]
pub struct Unseen<I, F> {
    items: I,
    filter: F,
}

impl<I, F> Unseen<I, F> {
    /// Returns the iterator inside and the filter.
    pub fn into_parts(self) -> (I, F) {
        (self.items, self.filter)
    }
}

impl<I: Iterator<Item: Item>, F: AnyFilter> Iterator for Unseen<I, F> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let Self { items, filter } = self;
        items.find(|item| !filter.check_and_insert(item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.items.size_hint().1)
    }
}

impl<I: FusedIterator<Item: Item>, F: AnyFilter> FusedIterator for Unseen<I, F> {}

/// An iterator without the elements whose keys were seen lately; created by [`UnseenExt::unseen_by`].
#[derive(Clone)]
#[must_use = "an iterator does nothing until it is used"]
pub struct UnseenBy<I, F, K> {
    items: I,
    filter: F,
    key: K,
}

impl<I, F, K> UnseenBy<I, F, K> {
    /// Returns the iterator inside and the filter.
    pub fn into_parts(self) -> (I, F) {
        (self.items, self.filter)
    }
}

impl<I: fmt::Debug, F: fmt::Debug, K> fmt::Debug for UnseenBy<I, F, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, filter, .. } = self;
        f.debug_struct("UnseenBy").field("items", items).field("filter", filter).finish_non_exhaustive()
    }
}

impl<I: Iterator, F: AnyFilter, T: Item, K: FnMut(&I::Item) -> T> Iterator for UnseenBy<I, F, K> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let Self { items, filter, key } = self;
        items.find(|item| !filter.check_and_insert(key(item)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.items.size_hint().1)
    }
}

impl<I: FusedIterator, F: AnyFilter, T: Item, K: FnMut(&I::Item) -> T> FusedIterator for UnseenBy<I, F, K> {}

#[cfg(feature = "futures")]
pub use stream::{UnseenByStream, UnseenStream, UnseenStreamExt};

#[cfg(feature = "futures")]
mod stream {
    use core::pin::Pin;
    use core::task::{Context, Poll, ready};

    use futures_core::{FusedStream, Stream};

    use super::{AnyFilter, Item, fmt};

    /// Adds [`unseen`](Self::unseen) and [`unseen_by`](Self::unseen_by) to every [`Stream`].
    pub trait UnseenStreamExt: Stream + Sized {
        /// Passes on only the items that were not seen lately; see
        /// [`UnseenExt::unseen`](crate::UnseenExt::unseen).
        ///
        /// ```
        /// use futures::stream::{StreamExt, iter};
        /// use lately::{Filter, UnseenStreamExt};
        ///
        /// let mut seen = Filter::new(1000, 1e-6)?;
        /// let orders = iter(["order-17", "order-18", "order-17"]);
        /// let new: Vec<_> = futures::executor::block_on(orders.unseen(&mut seen).collect());
        /// assert_eq!(new, ["order-17", "order-18"]);
        /// # Ok::<(), lately::ConfigError>(())
        /// ```
        fn unseen<F: AnyFilter>(self, filter: F) -> UnseenStream<Self, F>
        where
            Self::Item: Item,
        {
            UnseenStream { items: self, filter }
        }

        /// The same for elements that are not items themselves; see
        /// [`UnseenExt::unseen_by`](crate::UnseenExt::unseen_by).
        fn unseen_by<F: AnyFilter, T: Item, K: FnMut(&Self::Item) -> T>(
            self,
            filter: F,
            key: K,
        ) -> UnseenByStream<Self, F, K> {
            UnseenByStream { items: self, filter, key }
        }
    }

    impl<I: Stream> UnseenStreamExt for I {}

    pin_project_lite::pin_project! {
        /// A stream without the items that were seen lately; created by [`UnseenStreamExt::unseen`].
        #[derive(Clone, Debug)]
        #[must_use = "a stream does nothing until it is polled"]
        pub struct UnseenStream<I, F> {
            #[pin]
            items: I,
            filter: F,
        }
    }

    impl<I: Stream<Item: Item>, F: AnyFilter> Stream for UnseenStream<I, F> {
        type Item = I::Item;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<I::Item>> {
            let this = self.project();
            poll_new(this.items, context, |item| this.filter.check_and_insert(item))
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (0, self.items.size_hint().1)
        }
    }

    impl<I: FusedStream<Item: Item>, F: AnyFilter> FusedStream for UnseenStream<I, F> {
        fn is_terminated(&self) -> bool {
            self.items.is_terminated()
        }
    }

    pin_project_lite::pin_project! {
        /// A stream without the elements whose keys were seen lately; created by
        /// [`UnseenStreamExt::unseen_by`].
        #[derive(Clone)]
        #[must_use = "a stream does nothing until it is polled"]
        pub struct UnseenByStream<I, F, K> {
            #[pin]
            items: I,
            filter: F,
            key: K,
        }
    }

    impl<I: fmt::Debug, F: fmt::Debug, K> fmt::Debug for UnseenByStream<I, F, K> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self { items, filter, .. } = self;
            f.debug_struct("UnseenByStream")
                .field("items", items)
                .field("filter", filter)
                .finish_non_exhaustive()
        }
    }

    impl<I: Stream, F: AnyFilter, T: Item, K: FnMut(&I::Item) -> T> Stream for UnseenByStream<I, F, K> {
        type Item = I::Item;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<I::Item>> {
            let this = self.project();
            poll_new(this.items, context, |item| this.filter.check_and_insert((this.key)(item)))
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (0, self.items.size_hint().1)
        }
    }

    impl<I: FusedStream, F: AnyFilter, T: Item, K: FnMut(&I::Item) -> T> FusedStream for UnseenByStream<I, F, K> {
        fn is_terminated(&self) -> bool {
            self.items.is_terminated()
        }
    }

    /// Polls until an element comes that was not seen, or none is ready.
    fn poll_new<I: Stream>(
        mut items: Pin<&mut I>,
        context: &mut Context<'_>,
        mut was_seen: impl FnMut(&I::Item) -> bool,
    ) -> Poll<Option<I::Item>> {
        loop {
            match ready!(items.as_mut().poll_next(context)) {
                Some(item) if was_seen(&item) => {}
                new_or_end => return Poll::Ready(new_or_end),
            }
        }
    }
}
