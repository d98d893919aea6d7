//! Iterators and streams without the items that were seen lately.

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
    fn unseen<F: AnyFilter>(self, filter: F) -> UnseenIter<Self, F, impl FnMut(&mut F, &Self::Item) -> bool>
    where
        Self::Item: Item,
    {
        let was_seen = |filter: &mut F, item: &Self::Item| filter.check_and_insert(item);
        UnseenIter { items: self, filter, was_seen }
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
    fn unseen_by<F: AnyFilter, T: Item>(
        self,
        filter: F,
        mut key: impl FnMut(&Self::Item) -> T,
    ) -> UnseenIter<Self, F, impl FnMut(&mut F, &Self::Item) -> bool> {
        let was_seen = move |filter: &mut F, item: &Self::Item| filter.check_and_insert(key(item));
        UnseenIter { items: self, filter, was_seen }
    }
}

impl<I: Iterator> UnseenExt for I {}

/// An iterator without the items that were seen lately; created by [`UnseenExt::unseen`].
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing until it is used"]
pub struct UnseenIter<I, F, S> {
    items: I,
    filter: F,
    was_seen: S,
}

impl<I: Iterator, F, S: FnMut(&mut F, &I::Item) -> bool> Iterator for UnseenIter<I, F, S> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let Self { items, filter, was_seen } = self;
        items.find(|item| !was_seen(filter, item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.items.size_hint().1)
    }
}

#[cfg(feature = "futures")]
pub use stream::{UnseenStream, UnseenStreamExt};

#[cfg(feature = "futures")]
mod stream {
    use core::pin::Pin;
    use core::task::{Context, Poll, ready};

    use futures_core::Stream;

    use super::{AnyFilter, Item};

    /// Adds [`unseen`](Self::unseen) and [`unseen_by`](Self::unseen_by) to every [`Stream`].
    pub trait UnseenStreamExt: Stream + Sized {
        /// Passes on only the items that were not seen lately; see [`UnseenExt::unseen`](crate::UnseenExt::unseen).
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
        fn unseen<F: AnyFilter>(
            self,
            filter: F,
        ) -> UnseenStream<Self, F, impl FnMut(&mut F, &Self::Item) -> bool>
        where
            Self::Item: Item,
        {
            let was_seen = |filter: &mut F, item: &Self::Item| filter.check_and_insert(item);
            UnseenStream { items: self, filter, was_seen }
        }

        /// The same for elements that are not items themselves; see
        /// [`UnseenExt::unseen_by`](crate::UnseenExt::unseen_by).
        fn unseen_by<F: AnyFilter, T: Item>(
            self,
            filter: F,
            mut key: impl FnMut(&Self::Item) -> T,
        ) -> UnseenStream<Self, F, impl FnMut(&mut F, &Self::Item) -> bool> {
            let was_seen = move |filter: &mut F, item: &Self::Item| filter.check_and_insert(key(item));
            UnseenStream { items: self, filter, was_seen }
        }
    }

    impl<I: Stream> UnseenStreamExt for I {}

    pin_project_lite::pin_project! {
        /// A stream without the items that were seen lately; created by [`UnseenStreamExt::unseen`].
        #[derive(Clone, Debug)]
        #[must_use = "a stream does nothing until it is polled"]
        pub struct UnseenStream<I, F, S> {
            #[pin]
            items: I,
            filter: F,
            was_seen: S,
        }
    }

    impl<I: Stream, F, S: FnMut(&mut F, &I::Item) -> bool> Stream for UnseenStream<I, F, S> {
        type Item = I::Item;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<I::Item>> {
            let mut this = self.project();
            loop {
                match ready!(this.items.as_mut().poll_next(context)) {
                    Some(item) if (this.was_seen)(this.filter, &item) => {}
                    new_or_end => return Poll::Ready(new_or_end),
                }
            }
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (0, self.items.size_hint().1)
        }
    }
}
