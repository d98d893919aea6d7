"""`ShardedFilter`, for clients that block."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

from lately._report import AgeRange, Plan
from lately._types import Item, Items, Key, Nulls
from lately.redis import _client, _statistics
from lately.redis._client import Client
from lately.redis._statistics import ShardedStatistics
from lately.redis._window import SHARDS_AT_ONCE, Call, Command, ShardedPromise, Window, read_age, read_info


class ShardedFilter:
    """A sliding window that is spread over N keys, so that all servers of a cluster share the work.

    shard_of assigns each item to a shard. Shard i is the key "{name:i}"; the braces let a cluster place each shard
    independently. Every shard keeps a window of shard_window, so that together they keep the whole window. All
    processes that use the same name, number of shards and promise use the same filter.

    Missing shards are created. Existing shards must have the same window and overload policy, and a rate that is not
    higher; otherwise ConfigError is raised. Items, answers and words are those of Filter.

    client: a client of redis-py or valkey-py, for a server or a cluster, or a function that makes one: a filter that was
        given a function can be pickled, and every process makes its own client. The client must not retry: if a command
        is sent again after a lost connection, its first attempt may have added the new items, and they are then
        reported as seen. A client that retries causes a RuntimeWarning.
    name: the name of the filter, without braces.
    shards: the number of shards. Use a few per server, so that a cluster can spread them. It cannot be changed later.
    window, or within and capacity; false_positive_rate, max_slack, layout, shape, overload, seed: as for Filter. Time
        windows use the servers' clocks. Without capacity, the memory of each shard follows its traffic.
    keyed: if True, the servers give each shard a secret key, for streams with hostile senders. The hash of a shard is
        then SipHash. The hash that assigns items to shards stays public: senders can still choose items that all belong
        to one shard.
    """

    def __init__(
        self, client: Client | Callable[[], Client], name: str, shards: int, **promise: Unpack[ShardedPromise]
    ) -> None:
        self._window = Window(name, shards, **promise)
        self._arguments = (client, name, shards, promise)
        self._client = client() if callable(client) else client
        _client.check(self._client, for_asyncio=False)
        existing = self._window.existing(self._pipeline(self._window.reserve(), raise_on_error=False))
        self._window.check_promise(existing, self._pipeline(self._window.info(existing)))

    def __reduce__(self) -> tuple[Any, ...]:
        client, name, shards, promise = self._arguments
        if not callable(client):
            raise TypeError(
                "a ShardedFilter with a client cannot be pickled, because the client cannot: pass a function that makes "
                "the client, for example functools.partial(redis.Redis, port=6379)"
            )
        return (_rebuild, (client, name, shards, promise))

    def __repr__(self) -> str:
        return self._window.describe("ShardedFilter")

    @property
    def keys(self) -> list[str]:
        """Keys of the shards, in order."""
        return list(self._window.keys)

    @property
    def shard_plan(self) -> Plan:
        """The plan of one shard, as computed by this version of lately."""
        return self._window.plan

    def add(self, item: Item) -> None:
        """Adds an item."""
        self.add_many([item])

    def contains(self, item: Item) -> bool:
        """Returns True if the item was added lately."""
        return bool(self.contains_many([item])[0])

    def __contains__(self, item: Item) -> bool:
        return self.contains(item)

    def check_and_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately, and adds it. Every sighting refreshes the item."""
        return bool(self.check_and_add_many([item])[0])

    def check_or_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately; adds it otherwise."""
        return bool(self.check_or_add_many([item])[0])

    def add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> None:
        """Adds many items. Commands go to several shards at the same time, in a cluster to at most eight. If one shard
        fails, others may already have added their items."""
        self._answers(self._window.call("check_and_add", items, nulls, key))

    def contains_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls contains for each item; the result is as in Filter: for columns an array, otherwise a list."""
        return self._answers(self._window.call("contains", items, nulls, key))

    def check_and_add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls check_and_add for each item; a repeat within the call counts as seen. The result is as in Filter."""
        return self._answers(self._window.call("check_and_add", items, nulls, key))

    def check_or_add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls check_or_add for each item. The result is as in Filter."""
        return self._answers(self._window.call("check_or_add", items, nulls, key))

    def age_of(self, item: Item) -> AgeRange | None:
        """Returns how long ago the item was last added, counted in inserts of its shard; None if not seen lately."""
        return read_age(self._client.execute_command(*self._window.age(item)))

    def statistics(self) -> ShardedStatistics:
        """Returns counters of all shards together, and estimates."""
        return _statistics.together([read_info(reply) for reply in self._pipeline(self._window.info())])

    @property
    def memory_bytes(self) -> int:
        """Memory of all shards in bytes."""
        return self.statistics().memory_bytes

    def delete(self) -> None:
        """Deletes all shards with their items."""
        self._pipeline(("DEL", key) for key in self.keys)

    def _answers(self, call: Call) -> Any:
        return call.read(self._send(call.commands()))

    def _send(self, shards: list[list[Command]]) -> list[list[Any]]:
        """Sends the commands of several shards. Returns the replies per shard, in the order of the commands."""
        if _client.is_cluster(self._client):
            # Cluster pipelines retry a command after a lost connection, whatever the client's retry policy is
            # (redis-py 8.1, `_send_cluster_commands`). Single commands follow the policy.
            def send(commands: list[Command]) -> list[Any]:
                return [self._client.execute_command(*command) for command in commands]

            if len(shards) < 2:
                return [send(commands) for commands in shards]
            # More threads would wait for the GIL and not for servers.
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


def _rebuild(client: Callable[[], Client], name: str, shards: int, promise: ShardedPromise) -> ShardedFilter:
    return ShardedFilter(client, name, shards, **promise)
