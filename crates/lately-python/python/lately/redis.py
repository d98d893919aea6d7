"""One window over many servers: a filter whose shards are keys in Redis or Valkey with the module `lately-redis`.

This module imports no client library. Pass a client of redis-py or valkey-py, for a single server or for a cluster.
"""

import operator
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from lately._native import ConfigError, item_bytes, plan, shard_of, shard_window
from lately._report import Plan
from lately._types import Item, Layout, Overload

__all__ = ["Client", "ShardedFilter"]

ITEMS_PER_COMMAND = 500
"""A server executes one command at a time, so each command should be short."""

SHARDS_AT_ONCE = 8
"""Threads per bulk call to a cluster. More threads would wait for the GIL and not for servers."""

Command = tuple[object, ...]
"""The name of a command, and its arguments."""


class Client(Protocol):
    """A client: redis.Redis, redis.RedisCluster, valkey.Valkey, valkey.ValkeyCluster, or another with these methods."""

    def pipeline(self, transaction: bool = ...) -> Any: ...

    def execute_command(self, *args: Any) -> Any: ...


class ShardedFilter:
    """A sliding window that is spread over N keys, so that all servers of a cluster share the work.

    shard_of assigns each item to a shard. Shard i is the key "{name:i}"; the braces let a cluster place each shard
    independently. Every shard keeps a window of shard_window, so that together they keep the whole window. All
    processes that use the same name, number of shards and promise use the same filter.

    Missing shards are created. Existing shards must have the same window and overload policy, and a rate that is not
    higher; otherwise ConfigError is raised.

    client: a client of redis-py or valkey-py, for a server or a cluster. It must not retry: if a command is sent again
        after a lost connection, its first attempt may have added the new items, and they are then reported as seen. A
        client that retries causes a RuntimeWarning.
    name: the name of the filter, without braces.
    shards: the number of shards. Use a few per server, so that a cluster can spread them. It cannot be changed later.
    window, or within and capacity; false_positive_rate, max_slack, layout, shape, overload, seed: as for Filter. Time
        windows use the servers' clocks.
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
        layout: Layout | None = None,
        shape: tuple[int, int] | None = None,
        overload: Overload | None = None,
        seed: int | None = None,
    ) -> None:
        if "{" in name or "}" in name:
            raise ConfigError(f"name = {name!r} is not possible: braces decide where a cluster puts a key; leave them out")
        whole = capacity if window is None else window
        share = None if whole is None else shard_window(whole, shards)
        # Planning also validates the arguments, with the error messages of Filter, before any command is sent.
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
            has_own_count = hasattr(client, "cluster_error_retry_attempts")
            remedy = "retry=Retry(NoBackoff(), 0)" + ", cluster_error_retry_attempts=0" * has_own_count
            warnings.warn(
                f"this client retries a command {retries} times after a lost connection; if the first attempt has added "
                f"new items, the retry reports them as seen: build the client with {remedy}",
                RuntimeWarning,
                stacklevel=2,
            )
        options: list[object] = [repr(self._rate), self._plan.window]
        if self._plan.span_ms is not None:
            options += ["SPAN", self._plan.span_ms]
            options += ["OVERLOAD", "RATE" if self._plan.overload == "keep_rate" else "WINDOW"]
        # Clients send only Python's own number types; numbers of numpy are converted.
        options += [] if max_slack is None else ["SLACK", repr(float(max_slack))]
        options += [] if layout is None else ["LAYOUT", layout]
        options += [] if seed is None else ["SEED", operator.index(seed)]
        options += [] if shape is None else ["SHAPE", *map(operator.index, shape)]
        self._create(options)

    @property
    def keys(self) -> list[str]:
        """Keys of the shards, in order."""
        return [f"{{{self._name}:{shard}}}" for shard in range(self._shards)]

    @property
    def shard_plan(self) -> Plan:
        """The plan of one shard, as computed by this version of lately."""
        return self._plan

    def add(self, item: Item) -> None:
        """Adds an item."""
        self.add_many([item])

    def contains(self, item: Item) -> bool:
        """Returns True if the item was added lately."""
        return self.contains_many([item])[0]

    __contains__ = contains

    def check_and_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately, and adds it. Every sighting refreshes the item."""
        return self.check_and_add_many([item])[0]

    def check_or_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately; adds it otherwise."""
        return self.check_or_add_many([item])[0]

    def add_many(self, items: Iterable[Item]) -> None:
        """Adds many items. Commands go to several shards at the same time, in a cluster to at most eight. If one shard
        fails, others may already have added their items."""
        self._insert(items)

    def contains_many(self, items: Iterable[Item]) -> list[bool]:
        """Calls contains for each item; returns the answers in order."""
        return self._send_items("APBF.MEXISTS", (), items)

    def check_and_add_many(self, items: Iterable[Item]) -> list[bool]:
        """Calls check_and_add for each item; returns the answers in order. A repeat within the call counts as seen."""
        return [not new for new in self._insert(items)]

    def check_or_add_many(self, items: Iterable[Item]) -> list[bool]:
        """Calls check_or_add for each item; returns the answers in order."""
        return [not new for new in self._insert(items, "NX")]

    def delete(self) -> None:
        """Deletes all shards with their items."""
        self._pipeline(("DEL", key) for key in self.keys)

    def _create(self, options: list[object]) -> None:
        commands = (("APBF.RESERVE", key, *options) for key in self.keys)
        replies = self._pipeline(commands, raise_on_error=False)
        existing = []
        for key, reply in zip(self.keys, replies, strict=True):
            if isinstance(reply, Exception):
                if "already exists" not in str(reply):
                    raise reply
                existing.append(key)
        self._check_promise(existing)

    def _check_promise(self, keys: list[str]) -> None:
        """Raises ConfigError if a shard exists with a promise that does not cover this one."""
        names = ("window", "span_ms", "overload", "error_rate")
        replies = iter(self._pipeline(("APBF.INFO", key, name) for key in keys for name in names))
        for key in keys:
            window, span_ms, overload, rate = (next(replies) for _ in names)
            if (window, span_ms) != (self._plan.window, self._plan.span_ms):
                raise _another_promise(
                    key,
                    f"a window of {window} and a span of {span_ms} ms",
                    f"{self._plan.window} and {self._plan.span_ms} ms were",
                    "the window and the number of shards",
                )
            policy = None if overload is None else f"keep_{_text(overload)}"
            if policy != self._plan.overload:
                raise _another_promise(key, f"overload={policy!r}", f"{self._plan.overload!r} was", "the policy")
            # A lower rate keeps the promise, too. The tolerance is for the rounding in the server's reply.
            if float(rate) > self._rate * (1 + 1e-9):
                raise _another_promise(key, f"a false positive rate of {float(rate)}", f"{self._rate} was", "the rate")

    def _insert(self, items: Iterable[Item], *options: str) -> list[bool]:
        """Inserts the items. Returns for each of them True if it was new."""
        # A lost shard must not be replaced by a new one with another promise, so no command creates a shard.
        return self._send_items("APBF.INSERT", (*options, "NOCREATE", "ITEMS"), items)

    def _send_items(self, command: str, options: tuple[str, ...], items: Iterable[Item]) -> list[bool]:
        """Sends each item to its shard. Returns the answers in the order of the items."""
        groups, keys = grouped(items, self._shards), self.keys
        commands: list[list[Command]] = []
        for shard, group in groups.items():
            firsts = range(0, len(group.items), ITEMS_PER_COMMAND)
            batches = [group.items[first : first + ITEMS_PER_COMMAND] for first in firsts]
            commands.append([(command, keys[shard], *options, *batch) for batch in batches])
        answers = [False] * sum(len(group.items) for group in groups.values())
        for group, replies in zip(groups.values(), self._send(commands), strict=True):
            for position, answer in zip(group.positions, (answer for reply in replies for answer in reply), strict=True):
                answers[position] = bool(answer)
        return answers

    def _send(self, shards: list[list[Command]]) -> list[list[Any]]:
        """Sends the commands of several shards. Returns the replies per shard, in the order of the commands."""
        if _is_cluster(self._client):
            # Cluster pipelines retry a command after a lost connection, whatever the client's retry policy is
            # (redis-py 8.1, `_send_cluster_commands`). Single commands follow the policy.
            def send(commands: list[Command]) -> list[Any]:
                return [self._client.execute_command(*command) for command in commands]

            if len(shards) < 2:
                return [send(commands) for commands in shards]
            with ThreadPoolExecutor(min(len(shards), SHARDS_AT_ONCE)) as pool:
                return list(pool.map(send, shards))
        replies = iter(self._pipeline(command for commands in shards for command in commands))
        return [[next(replies) for _ in commands] for commands in shards]

    def _pipeline(self, commands: Iterable[Command], raise_on_error: bool = True) -> list[Any]:
        """Sends the commands in one pipeline. Returns the replies in order."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        replies: list[Any] = pipeline.execute(raise_on_error=raise_on_error)
        return replies


@dataclass
class Group:
    """The items of one shard, and their positions in the whole call."""

    positions: list[int] = field(default_factory=list)
    items: list[bytes] = field(default_factory=list)


def grouped(items: Iterable[Item], shards: int) -> dict[int, Group]:
    """Groups items by shard; each group keeps their order."""
    groups: dict[int, Group] = {}
    for position, item in enumerate(_objects(items)):
        # As bytes, so that the client's encoding does not change them.
        data = item_bytes(item)
        group = groups.setdefault(shard_of(data, shards), Group())
        group.positions.append(position)
        group.items.append(data)
    return groups


def _objects(items: Iterable[Item]) -> Iterable[Item]:
    """Converts arrays and columns to Python objects, because a client sends nothing else."""
    if isinstance(items, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"{type(items).__name__} is one item, not many: call the method without _many, or pass a list")
    if hasattr(items, "columns"):
        raise TypeError(
            "a table is not possible here: pass one column, or tuples of values, for example "
            'zip(table["user"], table["page"])'
        )
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(items, method):
            objects: Sequence[Item] = getattr(items, method)()
            return objects
    return items


def _another_promise(key: str, found: str, asked: str, remedy: str) -> ConfigError:
    remedy = f"ask for {remedy} it was created with, or choose another name"
    return ConfigError(f"{key} exists with {found}, but {asked} asked for: {remedy}")


def _text(reply: str | bytes) -> str:
    """Decodes a reply, unless the client has already decoded it."""
    return reply.decode() if isinstance(reply, bytes) else reply


def _is_cluster(client: object) -> bool:
    return hasattr(client, "get_primaries")


def _retries(client: Any) -> int | str:
    """Returns how often a client retries a command after a lost connection; 0 if unknown."""
    # A cluster client has the policy as an attribute, a single-server client has a method. valkey-py's cluster client
    # has a separate count as well.
    has_method = hasattr(client, "get_retry") and not _is_cluster(client)
    policy = client.get_retry() if has_method else getattr(client, "retry", None)
    errors = {error.__name__ for error in getattr(policy, "_supported_errors", ())}
    count: int = getattr(policy, "_retries", 0)
    if errors.isdisjoint({"ConnectionError", "TimeoutError", "OSError", "RedisError", "ValkeyError", "Exception"}):
        count = 0
    count = count or getattr(client, "cluster_error_retry_attempts", 0)
    return "any number of" if count < 0 else count
