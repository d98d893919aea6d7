"""One window over many servers: a filter whose shards are keys of a Redis or Valkey with the module of `lately-redis`.

Nothing here imports a client. Bring one of redis-py or valkey-py, for a single server or for a cluster.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, Protocol

from lately._native import ConfigError, item_bytes, plan, shard_of, shard_window
from lately._report import Plan
from lately._types import Item

__all__ = ["Client", "ShardedFilter"]

ITEMS_PER_COMMAND = 500
"""A server does one command at a time, so that no command should take long."""


class Client(Protocol):
    """What is needed of a client: redis.Redis, redis.RedisCluster, valkey.Valkey and valkey.ValkeyCluster have it."""

    def pipeline(self, transaction: bool = ...) -> Any: ...


class ShardedFilter:
    """A sliding window that is spread over N keys, so that all servers of a cluster share the work.

    An item belongs to the shard that shard_of says; shard i is the key "{name:i}", and the braces let a cluster place each
    shard by itself. Every shard keeps the window of shard_window, so that together they keep the whole one. Every process
    that uses the same name, number of shards and promise uses the same filter.

    The shards that do not exist yet are created. Those that do must keep the same window, or ConfigError is raised.

    client: of redis-py or valkey-py, for a server or a cluster.
    name: of the filter; no braces.
    shards: how many; a few for each server, so that a cluster can spread them. It cannot be changed later.
    window, or within and capacity; false_positive_rate, max_slack, layout, shape, overload, seed: as for Filter. Time windows
        go by the servers' clocks.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        shards: int,
        *,
        false_positive_rate: float,
        window: int | None = None,
        within: timedelta | None = None,
        capacity: int | None = None,
        max_slack: float | None = None,
        layout: Literal["slices", "blocks", "rows"] | None = None,
        shape: tuple[int, int] | None = None,
        overload: Literal["keep_window", "keep_rate"] | None = None,
        seed: int | None = None,
    ) -> None:
        if "{" in name or "}" in name:
            raise ConfigError(f"name = {name!r} is not possible: braces decide where a cluster puts a key; leave them out")
        whole = capacity if window is None else window
        share = None if whole is None else shard_window(whole, shards)
        # Also says what is wrong, in the words of Filter, before any server is asked.
        self._plan = plan(
            window=share if window is not None else None,
            within=within,
            capacity=share if capacity is not None else None,
            false_positive_rate=false_positive_rate,
            max_slack=max_slack,
            layout=layout,
            shape=shape,
            overload=overload,
        )[0]
        self._client = client
        self._name = name
        self._shards = shards
        options: list[object] = [repr(float(false_positive_rate)), self._plan.window]
        if self._plan.span_ms is not None:
            options += ["SPAN", self._plan.span_ms]
            options += ["OVERLOAD", "RATE" if self._plan.overload == "keep_rate" else "WINDOW"]
        for word, value in (("SLACK", max_slack), ("LAYOUT", layout), ("SEED", seed)):
            options += [] if value is None else [word, value]
        options += [] if shape is None else ["SHAPE", *shape]
        self._create(options)

    @property
    def keys(self) -> list[str]:
        """The keys of the shards, in order."""
        return [f"{{{self._name}:{shard}}}" for shard in range(self._shards)]

    @property
    def shard_plan(self) -> Plan:
        """The plan of one shard, as this version of lately makes it."""
        return self._plan

    def add(self, item: Item) -> None:
        """Adds an item."""
        self.add_many([item])

    def contains(self, item: Item) -> bool:
        """Whether the item was added lately."""
        return self.contains_many([item])[0]

    __contains__ = contains

    def check_and_add(self, item: Item) -> bool:
        """Whether the item was seen lately; and adds it. Every sighting refreshes."""
        return self.check_and_add_many([item])[0]

    def check_or_add(self, item: Item) -> bool:
        """Whether the item was seen lately; and adds it only if not."""
        return self.check_or_add_many([item])[0]

    def add_many(self, items: Iterable[Item]) -> None:
        """add for each of many items. All shards are asked at once; if one fails, others may have been added to."""
        self._ask(items, ("APBF.INSERT",), ("NOCREATE", "ITEMS"))

    def contains_many(self, items: Iterable[Item]) -> list[bool]:
        """contains for each of many items, answered in order."""
        return self._ask(items, ("APBF.MEXISTS",), ())

    def check_and_add_many(self, items: Iterable[Item]) -> list[bool]:
        """check_and_add for each of many items, answered in order; a repeat among them is seen."""
        return [not new for new in self._ask(items, ("APBF.INSERT",), ("NOCREATE", "ITEMS"))]

    def check_or_add_many(self, items: Iterable[Item]) -> list[bool]:
        """check_or_add for each of many items, answered in order."""
        return [not new for new in self._ask(items, ("APBF.INSERT",), ("NX", "NOCREATE", "ITEMS"))]

    def delete(self) -> None:
        """Deletes all shards, and with them what they know."""
        pipeline = self._client.pipeline(transaction=False)
        for key in self.keys:
            pipeline.delete(key)
        pipeline.execute()

    def _create(self, options: list[object]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for key in self.keys:
            pipeline.execute_command("APBF.RESERVE", key, *options)
        replies = pipeline.execute(raise_on_error=False)
        existing = []
        for key, reply in zip(self.keys, replies, strict=True):
            if isinstance(reply, Exception):
                if "already exists" not in str(reply):
                    raise reply
                existing.append(key)
        self._check(existing)

    def _check(self, keys: list[str]) -> None:
        """Whoever created them may have wanted something else."""
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            for name in ("window", "span_ms"):
                pipeline.execute_command("APBF.INFO", key, name)
        replies = iter(pipeline.execute())
        for key in keys:
            found = next(replies), next(replies)
            if found != (self._plan.window, self._plan.span_ms):
                raise ConfigError(
                    f"{key} exists with a window of {found[0]} and a span of {found[1]} ms, but {self._plan.window} and "
                    f"{self._plan.span_ms} ms were asked for: ask for the window and the shards it was created with, or "
                    f"choose another name"
                )

    def _ask(self, items: Iterable[Item], command: tuple[str, ...], words: tuple[str, ...]) -> list[bool]:
        groups = grouped(items, self._shards)
        pipeline = self._client.pipeline(transaction=False)
        positions = []
        for shard, group in sorted(groups.items()):
            for first in range(0, len(group.items), ITEMS_PER_COMMAND):
                batch = slice(first, first + ITEMS_PER_COMMAND)
                pipeline.execute_command(*command, self.keys[shard], *words, *group.items[batch])
                positions.append(group.positions[batch])
        answers = [False] * sum(len(group.items) for group in groups.values())
        replies = pipeline.execute() if positions else []
        for places, reply in zip(positions, replies, strict=True):
            for position, answer in zip(places, reply, strict=True):
                answers[position] = bool(answer)
        return answers


@dataclass
class Group:
    """The items of one shard, and where they stood among all."""

    positions: list[int] = field(default_factory=list)
    items: list[bytes] = field(default_factory=list)


def grouped(items: Iterable[Item], shards: int) -> dict[int, Group]:
    """The items by shard, each group in their order."""
    groups: dict[int, Group] = {}
    for position, item in enumerate(_objects(items)):
        # As bytes, so that no encoding of the client's changes them.
        data = item_bytes(item)
        group = groups.setdefault(shard_of(data, shards), Group())
        group.positions.append(position)
        group.items.append(data)
    return groups


def _objects(items: Iterable[Item]) -> Iterable[Item]:
    """Arrays and columns as Python's objects: a client sends nothing else."""
    if isinstance(items, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"{type(items).__name__} is one item, not many: call the method without _many, or pass a list")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(items, method):
            objects: Sequence[Item] = getattr(items, method)()
            return objects
    return items
