"""One window over many servers: a filter whose shards are keys of a Redis or Valkey with the module of `lately-redis`.

Nothing here imports a client. Bring one of redis-py or valkey-py, for a single server or for a cluster.
"""

import operator
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, Protocol

from lately._native import ConfigError, item_bytes, plan, shard_of, shard_window
from lately._report import Plan
from lately._types import Item

__all__ = ["Client", "ShardedFilter"]

ITEMS_PER_COMMAND = 500
"""A server does one command at a time, so that no command should take long."""

SHARDS_AT_ONCE = 8
"""Of a cluster; more threads would wait for Python's lock and not for servers."""


class Client(Protocol):
    """What is needed of a client: redis.Redis, redis.RedisCluster, valkey.Valkey and valkey.ValkeyCluster have it."""

    def pipeline(self, transaction: bool = ...) -> Any: ...

    def execute_command(self, *args: Any) -> Any: ...


class ShardedFilter:
    """A sliding window that is spread over N keys, so that all servers of a cluster share the work.

    An item belongs to the shard that shard_of says; shard i is the key "{name:i}", and the braces let a cluster place each
    shard by itself. Every shard keeps the window of shard_window, so that together they keep the whole one. Every process
    that uses the same name, number of shards and promise uses the same filter.

    The shards that do not exist yet are created. Those that do must keep the same window at least as well, or ConfigError is
    raised.

    client: of redis-py or valkey-py, for a server or a cluster. One that does not retry: a command that is sent again after a
        lost connection finds what it has added itself, and says of new items that they were seen. RuntimeWarning is
        given for one that does.
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
        self._rate = float(false_positive_rate)
        if retries := _retries(client):
            counts_itself = hasattr(client, "cluster_error_retry_attempts")
            remedy = "retry=Retry(NoBackoff(), 0)" + ", cluster_error_retry_attempts=0" * counts_itself
            warnings.warn(
                f"this client sends a command {retries} times again when the connection is lost, and new items that the "
                f"lost one has added are then reported as seen: build the client with {remedy}",
                RuntimeWarning,
                stacklevel=2,
            )
        options: list[object] = [repr(self._rate), self._plan.window]
        if self._plan.span_ms is not None:
            options += ["SPAN", self._plan.span_ms]
            options += ["OVERLOAD", "RATE" if self._plan.overload == "keep_rate" else "WINDOW"]
        # Clients send Python's own numbers only, and numpy's are as good.
        options += [] if max_slack is None else ["SLACK", repr(float(max_slack))]
        options += [] if layout is None else ["LAYOUT", layout]
        options += [] if seed is None else ["SEED", operator.index(seed)]
        options += [] if shape is None else ["SHAPE", *map(operator.index, shape)]
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
        """add for each of many items. Shards are asked at the same time, those of a cluster up to eight; if one fails, others may
        have been added to."""
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
            for name in ("window", "span_ms", "overload", "error_rate"):
                pipeline.execute_command("APBF.INFO", key, name)
        replies = iter(pipeline.execute())
        for key in keys:
            window, span_ms, overload, rate = (next(replies) for _ in range(4))
            if (window, span_ms) != (self._plan.window, self._plan.span_ms):
                raise ConfigError(
                    f"{key} exists with a window of {window} and a span of {span_ms} ms, but {self._plan.window} and "
                    f"{self._plan.span_ms} ms were asked for: ask for the window and the shards it was created with, or "
                    f"choose another name"
                )
            policy = None if overload is None else f"keep_{_text(overload)}"
            if policy != self._plan.overload:
                raise ConfigError(
                    f"{key} exists with overload={policy!r}, but {self._plan.overload!r} was asked for: ask for the policy it "
                    f"was created with, or choose another name"
                )
            # One that errs less keeps the promise, too. The server prints the rate to some digits.
            if float(rate) > self._rate * (1 + 1e-9):
                raise ConfigError(
                    f"{key} exists with a false positive rate of {float(rate)}, but {self._rate} was asked for: ask for the "
                    f"rate it was created with, or choose another name"
                )

    def _ask(self, items: Iterable[Item], command: tuple[str, ...], words: tuple[str, ...]) -> list[bool]:
        groups = grouped(items, self._shards)
        commands: list[list[tuple[str | bytes, ...]]] = []
        for shard, group in groups.items():
            batches = range(0, len(group.items), ITEMS_PER_COMMAND)
            key = self.keys[shard]
            commands.append([(*command, key, *words, *group.items[first : first + ITEMS_PER_COMMAND]) for first in batches])
        answers = [False] * sum(len(group.items) for group in groups.values())
        for group, replies in zip(groups.values(), self._send(commands), strict=True):
            for position, answer in zip(group.positions, (answer for reply in replies for answer in reply), strict=True):
                answers[position] = bool(answer)
        return answers

    def _send(self, shards: list[list[tuple[str | bytes, ...]]]) -> list[list[Any]]:
        """The replies to the commands of several shards, each shard's in their order."""
        if _is_cluster(self._client):
            # The clients' pipelines for clusters send a command again when the connection is lost, however they
            # are built (redis-py 8.1, `_send_cluster_commands`); their single commands do as they are told.
            def send(commands: list[tuple[str | bytes, ...]]) -> list[Any]:
                return [self._client.execute_command(*command) for command in commands]

            if len(shards) < 2:
                return [send(commands) for commands in shards]
            with ThreadPoolExecutor(min(len(shards), SHARDS_AT_ONCE)) as pool:
                return list(pool.map(send, shards))
        pipeline = self._client.pipeline(transaction=False)
        for commands in shards:
            for command in commands:
                pipeline.execute_command(*command)
        replies = iter(pipeline.execute() if shards else [])
        return [[next(replies) for _ in commands] for commands in shards]


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


def _text(reply: str | bytes) -> str:
    """A reply of a client that decodes, or of one that does not."""
    return reply.decode() if isinstance(reply, bytes) else reply


def _is_cluster(client: object) -> bool:
    return hasattr(client, "get_primaries")


def _retries(client: Any) -> int | str:
    """How often a client sends a command again when the connection is lost; 0 if it does not say."""
    # A cluster's client has it as an attribute, a server's tells it. valkey-py's for clusters has a count besides.
    is_asked = hasattr(client, "get_retry") and not _is_cluster(client)
    policy = client.get_retry() if is_asked else getattr(client, "retry", None)
    errors = {error.__name__ for error in getattr(policy, "_supported_errors", ())}
    count: int = getattr(policy, "_retries", 0)
    if errors.isdisjoint({"ConnectionError", "TimeoutError", "OSError", "RedisError", "ValkeyError", "Exception"}):
        count = 0
    count = count or getattr(client, "cluster_error_retry_attempts", 0)
    return "any number of" if count < 0 else count
