"""Names for what goes in and comes out; only for annotations."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, SupportsIndex, TypedDict

Item = str | bytes | bytearray | memoryview | SupportsIndex
"""One item."""

Time = datetime | int
"""An aware datetime, or milliseconds."""

Layout = Literal["slices", "blocks", "rows"]


class ArrowArray(Protocol):
    """A column of Arrow, in one piece."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """A column of Arrow, pandas or Polars."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class Promise(TypedDict, total=False):
    """The keywords of `plan`: what a filter has to promise."""

    window: int | None
    within: timedelta | None
    capacity: int | None
    false_positive_rate: float | None
    max_slack: float | None
    layout: Layout | None
    prefer: Literal["speed", "memory"] | None
    max_memory: int | None
    shape: tuple[int, int] | None
    overload: Literal["keep_window", "keep_rate"] | None


class FilterOptions(Promise, total=False):
    """The keywords of `Filter`: a promise, and how items are hashed."""

    seed: int | None
    key: bytes | None


Items = Iterable[Item] | ArrowArray | ArrowStream
"""Many items; numpy arrays are iterables, too."""
