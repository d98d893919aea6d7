"""One window over many servers: a filter whose shards are keys in Redis or Valkey with the module `lately-redis`.

This package imports no client library. Pass a client of redis-py or valkey-py, for a single server or for a cluster:
to ShardedFilter a client that blocks, to AsyncShardedFilter one of `redis.asyncio` or `valkey.asyncio`.
"""

from lately.redis._async import AsyncShardedFilter
from lately.redis._blocking import ShardedFilter
from lately.redis._client import AsyncClient, Client
from lately.redis._statistics import ShardedStatistics

__all__ = ["AsyncClient", "AsyncShardedFilter", "Client", "ShardedFilter", "ShardedStatistics"]
