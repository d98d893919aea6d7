"""Types of arguments and results; only for annotations."""

from array import array
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict

if TYPE_CHECKING:
    from numpy.typing import NDArray

Item = str | bytes | bytearray | memoryview | SupportsIndex | tuple["Item", ...]
"""One item; a tuple is several values that identify it together."""

class Datetime64(Protocol):
    """A datetime64 of numpy, which is not imported here. Its time zone is UTC."""

    @property
    def dtype(self) -> Any: ...

    def item(self) -> datetime | date | int | None: ...


Time = datetime | SupportsIndex | Datetime64
"""An aware datetime, a datetime64, or whole milliseconds."""

Nulls = Literal["fail", "pass", "drop"]
"""What a bulk call does with missing items: fail; answer them as new; or answer them as seen. It never adds them."""

Key = str | Sequence[str]
"""Names of the columns of a table that together identify a row."""

Layout = Literal["slices", "blocks", "rows", "bins"]
Prefer = Literal["balanced", "speed", "memory"]
Overload = Literal["keep_window", "keep_rate"]


class ArrayLike(Protocol):
    """An object that numpy can convert to an array, for example an array of numpy or a series of pandas."""

    def __array__(self, dtype: Any = ..., /) -> Any: ...


class ArrowArray(Protocol):
    """An Arrow column or table in one chunk."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """A column or a table of Arrow, pandas or Polars, in any number of chunks."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


Column: TypeAlias = "NDArray[Any] | array[Any] | memoryview | ArrayLike | ArrowArray | ArrowStream"
"""Items for which the result is an array of numpy."""

Items: TypeAlias = "Column | Iterable[Item | None]"
"""The items of a bulk call."""

Times = Sequence[Time] | ArrayLike | ArrowArray | ArrowStream
"""A time for each item of a bulk call: a list, or an array or column of timestamps or of whole milliseconds."""


class Promise(TypedDict, total=False):
    """The promise that a filter has to keep: the keywords of `plan`."""

    window: int | None
    within: timedelta | None
    capacity: int | None
    false_positive_rate: float | None
    max_slack: float | None
    layout: Layout | None
    prefer: Prefer | None
    max_memory: int | None
    shape: tuple[int, int] | None
    overload: Overload | None


class FilterKeywords(Promise, total=False):
    """The keywords of `Filter`: a promise, and the hash function."""

    seed: int | None
    key: bytes | None
