"""`dedup`: an iterable without what was seen lately."""

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
    """The elements of an iterable without those whose key was seen lately, each as soon as it comes.

    key: what identifies an element, a str, bytes or int; without it, the element itself.
    refresh: "every" sighting renews an element's place, so it passes again after it has been silent for the window; with
        "first" only the one that passed counts, so it passes about once per window.
    time: an element's time, for time windows; without it, the system's clock.
    filter: a filter of yours, which then knows what has passed. Without it, keywords describe a new one, as those of plan do.

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
        raise TypeError(f"a filter was given, so these describe nothing: {', '.join(promise)}; leave out one of the two")
    seen_lately = filter.check_and_add if refresh == "every" else filter.check_or_add
    # Outside of the generator, so that what is asked wrongly fails at the call and not at the first element.
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
