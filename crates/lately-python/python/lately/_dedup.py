"""`dedup`: an iterable without the elements that were seen lately."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar, Unpack, cast

from lately._native import BaseFilter, Filter
from lately._types import Item, Promise, Time

T = TypeVar("T")


def dedup(
    iterable: Iterable[T],
    key: Callable[[T], Item] | None = None,
    *,
    refresh: Literal["every", "first"] = "every",
    time: Callable[[T], Time] | None = None,
    filter: BaseFilter | None = None,
    **promise: Unpack[Promise],
) -> Iterator[T]:
    """Yields the elements of an iterable whose key was not seen lately, each as soon as it arrives.

    key: a function that returns the item that identifies an element: a str, bytes or int, or a tuple of these. By
        default, the element itself.
    refresh: with "every", every sighting refreshes an element, so it passes again after it has been silent for the
        window. With "first", only the sighting that passed counts, so an element passes about once per window.
    time: a function that returns the time of an element, for time windows. By default, the filter's clock is used.
    filter: an existing filter to check and to add to. Without it, a new Filter is built from the other keywords, which
        are those of plan.

    >>> from lately import dedup
    >>> list(dedup(["a", "b", "a", "c"], window=1000, false_positive_rate=1e-6))
    ['a', 'b', 'c']
    >>> hooks = [{"id": 1, "try": 1}, {"id": 2, "try": 1}, {"id": 1, "try": 2}]
    >>> list(dedup(hooks, key=lambda hook: hook["id"], window=1000, false_positive_rate=1e-6))
    [{'id': 1, 'try': 1}, {'id': 2, 'try': 1}]
    """
    if refresh not in ("every", "first"):
        raise ValueError(f'refresh = {refresh!r} is not possible: give "every" or "first"')
    if filter is None:
        filter = Filter(**promise)
    elif promise:
        keywords = ", ".join(promise)
        raise TypeError(f"filter was given, so these keywords have no effect: {keywords}; leave out filter or the keywords")
    seen_lately = filter.check_and_add if refresh == "every" else filter.check_or_add
    # A generator would check its arguments only when the first element is asked for.
    return _unseen(iterable, key, time, seen_lately)


def _unseen(
    iterable: Iterable[T],
    key: Callable[[T], Item] | None,
    time: Callable[[T], Time] | None,
    seen_lately: Callable[[Item, Time | None], bool],
) -> Iterator[T]:
    for element in iterable:
        item = cast(Item, element) if key is None else key(element)
        if not seen_lately(item, None if time is None else time(element)):
            yield element
