"""`dedup` and `adedup`: an iterable without the elements that were seen lately."""

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from operator import itemgetter
from typing import Any, Literal, Protocol, TypeVar, Unpack, cast

from lately._native import Filter
from lately._types import Item, Key, Nulls, Promise, Time

T = TypeVar("T")
Refresh = Literal["every", "first"]


class Seen(Protocol):
    """A Filter, a SharedFilter, a lately.redis.ShardedFilter, or another object with these methods."""

    def check_and_add(self, item: Any, /) -> bool: ...

    def check_or_add(self, item: Any, /) -> bool: ...


class AsyncSeen(Protocol):
    """The same with methods that are awaited, as of lately.redis.AsyncShardedFilter."""

    def check_and_add(self, item: Any, /) -> Awaitable[bool]: ...

    def check_or_add(self, item: Any, /) -> Awaitable[bool]: ...


def dedup(
    iterable: Iterable[T],
    key: Callable[[T], Item] | Key | None = None,
    *,
    refresh: Refresh = "every",
    time: Callable[[T], Time] | None = None,
    max_jump: timedelta | None = None,
    nulls: Nulls = "fail",
    filter: Seen | None = None,
    **promise: Unpack[Promise],
) -> Iterator[T]:
    """Yields the elements of an iterable whose key was not seen lately, each as soon as it arrives.

    key: a function that returns the item that identifies an element: a str, bytes or int, or a tuple of these; or the
        name of a field of the elements, or several names. By default, the element itself.
    refresh: with "every", every sighting refreshes an element, so it passes again after it has been silent for the
        window. With "first", only the sighting that passed counts, so an element passes about once per window.
    time: a function that returns the time of an element, for time windows. By default, the filter's clock is used.
    max_jump: a time that is further ahead of the latest one than this is not believed; see statistics().refused_times.
    nulls: what to do with an element whose key is None: "fail", "pass" it or "drop" it.
    filter: an existing filter to check and to add to: a Filter, a SharedFilter or a lately.redis.ShardedFilter. Without
        it, a new Filter is built from the other keywords, which are those of plan.

    >>> from lately import dedup
    >>> list(dedup(["a", "b", "a", "c"], window=1000, false_positive_rate=1e-6))
    ['a', 'b', 'c']
    >>> hooks = [{"id": 1, "try": 1}, {"id": 2, "try": 1}, {"id": 1, "try": 2}]
    >>> list(dedup(hooks, key="id", window=1000, false_positive_rate=1e-6))
    [{'id': 1, 'try': 1}, {'id': 2, 'try': 1}]
    """
    check = _Check(key, refresh, time, max_jump, nulls, filter, promise)
    # A generator would check its arguments only when the first element is asked for.
    return _unseen(iter(iterable), check)


def adedup(
    iterable: AsyncIterable[T] | Iterable[T],
    key: Callable[[T], Item] | Key | None = None,
    *,
    refresh: Refresh = "every",
    time: Callable[[T], Time] | None = None,
    max_jump: timedelta | None = None,
    nulls: Nulls = "fail",
    filter: Seen | AsyncSeen | None = None,
    **promise: Unpack[Promise],
) -> AsyncIterator[T]:
    """Does the same as dedup for an asynchronous iterable, and for filters whose methods are awaited, such as
    lately.redis.AsyncShardedFilter.

    >>> import asyncio
    >>> from lately import adedup
    >>> async def main():
    ...     return [x async for x in adedup(["a", "b", "a"], window=1000, false_positive_rate=1e-6)]
    >>> asyncio.run(main())
    ['a', 'b']
    """
    check = _Check(key, refresh, time, max_jump, nulls, filter, promise)
    if isinstance(iterable, AsyncIterable):
        return _aunseen(aiter(iterable), check)
    return _aunseen(_as_async(iter(iterable)), check)


class _Check:
    """Asks the filter about an element."""

    def __init__(
        self,
        key: Callable[[Any], Item] | Key | None,
        refresh: Refresh,
        time: Callable[[Any], Time] | None,
        max_jump: timedelta | None,
        nulls: Nulls,
        filter: Any,
        promise: Promise,
    ) -> None:
        if refresh not in ("every", "first"):
            raise ValueError(f'refresh = {refresh!r} is not possible: give "every" or "first"')
        if nulls not in ("fail", "pass", "drop"):
            raise ValueError(f'nulls = {nulls!r} is not possible: give "fail" or "pass" or "drop"')
        if max_jump is not None and time is None:
            raise ValueError("max_jump was given without time: leave it out, or give time")
        if filter is None:
            filter = Filter(**promise)
        elif promise:
            keywords = ", ".join(promise)
            raise TypeError(
                f"filter was given, so these keywords have no effect: {keywords}; leave out filter or the keywords"
            )
        seen_lately = getattr(filter, "check_and_add" if refresh == "every" else "check_or_add", None)
        if not callable(seen_lately):
            raise TypeError(
                f"filter cannot be of type {type(filter).__name__}: give a Filter, a SharedFilter or a ShardedFilter"
            )
        if time is not None and "now" not in inspect.signature(seen_lately).parameters:
            raise TypeError(
                f"time was given, but a {type(filter).__name__} lives on the clock of its servers: leave out time, or use a Filter"
            )
        self._key: Callable[[Any], Item] | None = key if callable(key) else None
        if isinstance(key, str):
            self._key = itemgetter(key)
        elif key is not None and not callable(key):
            self._key = itemgetter(*key)
        self._time, self._nulls = time, nulls
        self._seen_lately: Callable[..., Any] = seen_lately
        self._options: dict[str, Any] = {} if max_jump is None else {"max_jump": max_jump}

    def __call__(self, element: Any) -> Any:
        """Returns True if the element was seen lately, or an awaitable of that."""
        item = cast(Item, element) if self._key is None else self._key(element)
        if item is None and self._nulls != "fail":
            return self._nulls == "drop"
        if self._time is None:
            return self._seen_lately(item)
        return self._seen_lately(item, self._time(element), **self._options)


def _unseen(iterator: Iterator[T], check: _Check) -> Iterator[T]:
    for element in iterator:
        seen = check(element)
        if inspect.isawaitable(seen):
            cast(Any, seen).close()
            raise TypeError("the methods of this filter have to be awaited: use adedup")
        if not seen:
            yield element


async def _aunseen(iterator: AsyncIterator[T], check: _Check) -> AsyncIterator[T]:
    async for element in iterator:
        seen = check(element)
        if inspect.isawaitable(seen):
            seen = await seen
        if not seen:
            yield element


async def _as_async(iterator: Iterator[T]) -> AsyncIterator[T]:
    for element in iterator:
        yield element
