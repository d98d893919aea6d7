from array import array
from collections.abc import Iterable
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Self, final, overload

import numpy
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from lately._report import AgeRange, Plan, Statistics
from lately._types import ArrayLike, ArrowArray, ArrowStream, Item, Layout, Time

# For these arguments, the result is a numpy array.
_Column = NDArray[Any] | array[Any] | memoryview | ArrayLike | ArrowArray | ArrowStream

__all__ = [
    "BaseFilter",
    "ConfigError",
    "Filter",
    "SharedFilter",
    "SnapshotError",
    "_restore",
    "item_bytes",
    "plan",
    "shard_of",
    "shard_window",
]

class ConfigError(ValueError): ...
class SnapshotError(ValueError): ...

@disjoint_base
class BaseFilter:
    def add(self, item: Item, now: Time | None = None) -> None: ...
    def contains(self, item: Item, now: Time | None = None) -> bool: ...
    def __contains__(self, item: Item, /) -> bool: ...
    def check_and_add(self, item: Item, now: Time | None = None) -> bool: ...
    def check_or_add(self, item: Item, now: Time | None = None) -> bool: ...
    def add_many(self, items: _Column | Iterable[Item], now: Time | None = None) -> None: ...
    @overload
    def contains_many(self, items: _Column, now: Time | None = None) -> NDArray[numpy.bool_]: ...  # type: ignore[overload-overlap]
    @overload
    def contains_many(self, items: Iterable[Item], now: Time | None = None) -> list[bool]: ...
    @overload
    def check_and_add_many(self, items: _Column, now: Time | None = None) -> NDArray[numpy.bool_]: ...  # type: ignore[overload-overlap]
    @overload
    def check_and_add_many(self, items: Iterable[Item], now: Time | None = None) -> list[bool]: ...
    @overload
    def check_or_add_many(self, items: _Column, now: Time | None = None) -> NDArray[numpy.bool_]: ...  # type: ignore[overload-overlap]
    @overload
    def check_or_add_many(self, items: Iterable[Item], now: Time | None = None) -> list[bool]: ...
    def age_of(self, item: Item) -> AgeRange | None: ...
    def advance_to(self, now: Time) -> None: ...
    @property
    def guaranteed_window(self) -> int: ...
    @property
    def guaranteed_span(self) -> timedelta | None: ...
    def plan(self) -> Plan: ...
    def statistics(self) -> Statistics: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def to_bytes(self) -> bytes: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]

@final
class Filter(BaseFilter):
    def __new__(
        cls,
        *,
        window: int | None = None,
        within: timedelta | None = None,
        capacity: int | None = None,
        false_positive_rate: float | None = None,
        max_slack: float | None = None,
        layout: Layout | None = None,
        prefer: Literal["speed", "memory"] | None = None,
        max_memory: int | None = None,
        shape: tuple[int, int] | None = None,
        overload: Literal["keep_window", "keep_rate"] | None = None,
        seed: int | None = None,
        key: bytes | None = None,
    ) -> Self: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Filter: ...
    @staticmethod
    def from_bytes(snapshot: bytes) -> Filter: ...
    def clear(self) -> None: ...

@final
class SharedFilter(BaseFilter):
    def __new__(
        cls,
        *,
        window: int | None = None,
        within: timedelta | None = None,
        capacity: int | None = None,
        false_positive_rate: float | None = None,
        max_slack: float | None = None,
        layout: Layout | None = None,
        prefer: Literal["speed", "memory"] | None = None,
        max_memory: int | None = None,
        shape: tuple[int, int] | None = None,
        overload: Literal["keep_window", "keep_rate"] | None = None,
        seed: int | None = None,
        key: bytes | None = None,
    ) -> Self: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> SharedFilter: ...
    @staticmethod
    def from_bytes(snapshot: bytes) -> SharedFilter: ...
    def snapshot(self) -> Filter: ...

def plan(
    *,
    window: int | None = None,
    within: timedelta | None = None,
    capacity: int | None = None,
    false_positive_rate: float | None = None,
    max_slack: float | None = None,
    layout: Layout | None = None,
    prefer: Literal["speed", "memory"] | None = None,
    max_memory: int | None = None,
    shape: tuple[int, int] | None = None,
    overload: Literal["keep_window", "keep_rate"] | None = None,
) -> list[Plan]: ...
def item_bytes(item: Item) -> bytes: ...
def shard_of(item: Item, shards: int) -> int: ...
def shard_window(window: int, shards: int) -> int: ...
def _restore(is_shared: bool, snapshot: bytes, time_given: bool) -> BaseFilter: ...
