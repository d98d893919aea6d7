"""`AsyncShardedFilter`, for clients of asyncio."""

import asyncio
from collections.abc import Iterable
from typing import Any, Self, Unpack

from lately._report import AgeRange, Plan
from lately._types import Item, Items, Key, Nulls
from lately.redis import _client, _statistics
from lately.redis._client import AsyncClient
from lately.redis._statistics import ShardedStatistics
from lately.redis._window import SHARDS_AT_ONCE, Call, Command, ShardedPromise, Window, read_age, read_info


class AsyncShardedFilter:
    """A ShardedFilter whose methods are awaited. Make it with `await AsyncShardedFilter.create(client, name, shards, ...)`.

    It is the same filter as a ShardedFilter with the same name, number of shards and promise.
    """

    def __init__(self, client: AsyncClient, window: Window) -> None:
        self._client = client
        self._window = window

    @classmethod
    async def create(cls, client: AsyncClient, name: str, shards: int, **promise: Unpack[ShardedPromise]) -> Self:
        """Creates the missing shards, and checks those that exist. The arguments are those of ShardedFilter."""
        window = Window(name, shards, **promise)
        _client.check(client, for_asyncio=True)
        made = cls(client, window)
        existing = window.existing(await made._pipeline(window.reserve(), raise_on_error=False))
        window.check_promise(existing, await made._pipeline(window.info(existing)))
        return made

    def __repr__(self) -> str:
        return self._window.describe("AsyncShardedFilter")

    @property
    def keys(self) -> list[str]:
        """Keys of the shards, in order."""
        return list(self._window.keys)

    @property
    def shard_plan(self) -> Plan:
        """The plan of one shard, as computed by this version of lately."""
        return self._window.plan

    async def add(self, item: Item) -> None:
        """Adds an item."""
        await self.add_many([item])

    async def contains(self, item: Item) -> bool:
        """Returns True if the item was added lately."""
        return bool((await self.contains_many([item]))[0])

    async def check_and_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately, and adds it. Every sighting refreshes the item."""
        return bool((await self.check_and_add_many([item]))[0])

    async def check_or_add(self, item: Item) -> bool:
        """Returns True if the item was seen lately; adds it otherwise."""
        return bool((await self.check_or_add_many([item]))[0])

    async def add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> None:
        """Adds many items. If one shard fails, others may already have added their items."""
        await self._answers(self._window.call("check_and_add", items, nulls, key))

    async def contains_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls contains for each item; the result is as in Filter: for columns an array, otherwise a list."""
        return await self._answers(self._window.call("contains", items, nulls, key))

    async def check_and_add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls check_and_add for each item; a repeat within the call counts as seen. The result is as in Filter."""
        return await self._answers(self._window.call("check_and_add", items, nulls, key))

    async def check_or_add_many(self, items: Items, *, nulls: Nulls | None = None, key: Key | None = None) -> Any:
        """Calls check_or_add for each item. The result is as in Filter."""
        return await self._answers(self._window.call("check_or_add", items, nulls, key))

    async def age_of(self, item: Item) -> AgeRange | None:
        """Returns how long ago the item was last added, counted in inserts of its shard; None if not seen lately."""
        return read_age(await self._client.execute_command(*self._window.age(item)))

    async def statistics(self) -> ShardedStatistics:
        """Returns counters of all shards together, and estimates."""
        return _statistics.together([read_info(reply) for reply in await self._pipeline(self._window.info())])

    async def delete(self) -> None:
        """Deletes all shards with their items."""
        await self._pipeline(("DEL", key) for key in self.keys)

    async def _answers(self, call: Call) -> Any:
        return call.read(await self._send(call.commands()))

    async def _send(self, shards: list[list[Command]]) -> list[list[Any]]:
        """Sends the commands of several shards. Returns the replies per shard, in the order of the commands."""
        if not _client.is_cluster(self._client):
            replies = iter(await self._pipeline(command for commands in shards for command in commands))
            return [[next(replies) for _ in commands] for commands in shards]
        turns = asyncio.Semaphore(SHARDS_AT_ONCE)

        # Cluster pipelines may retry a command after a lost connection. Single commands follow the client's policy.
        async def send(commands: list[Command]) -> list[Any]:
            async with turns:
                return [await self._client.execute_command(*command) for command in commands]

        return await asyncio.gather(*map(send, shards))

    async def _pipeline(self, commands: Iterable[Command], raise_on_error: bool = True) -> list[Any]:
        """Sends the commands in one pipeline. Returns the replies in order."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            # The pipeline of a single server is told, not awaited; that of a cluster returns itself.
            pipeline.execute_command(*command)
        replies: list[Any] = await pipeline.execute(raise_on_error=raise_on_error)
        return replies
