"""What has to be known about clients, whose library is not imported."""

import inspect
import warnings
from collections.abc import Awaitable
from typing import Any, Protocol


class Client(Protocol):
    """A client: redis.Redis, redis.RedisCluster, valkey.Valkey, valkey.ValkeyCluster, or another with these methods."""

    def pipeline(self, transaction: bool = ...) -> Any: ...

    def execute_command(self, *args: Any) -> Any: ...


class AsyncClient(Protocol):
    """A client for asyncio: redis.asyncio.Redis, redis.asyncio.RedisCluster, those of valkey.asyncio, or another."""

    def pipeline(self, transaction: bool = ...) -> Any: ...

    def execute_command(self, *args: Any) -> Awaitable[Any]: ...


def is_for_asyncio(client: object) -> bool:
    command = getattr(client, "execute_command", None)
    return inspect.iscoroutinefunction(command) or ".asyncio" in type(client).__module__


def is_cluster(client: object) -> bool:
    return hasattr(client, "get_primaries")


def check(client: object, for_asyncio: bool) -> None:
    """Raises TypeError if this is no client of the right kind. Warns if it retries."""
    if not callable(getattr(client, "execute_command", None)) or not callable(getattr(client, "pipeline", None)):
        raise TypeError(
            f"client cannot be of type {type(client).__name__}: give a client of redis-py or valkey-py, for example "
            "redis.Redis()"
        )
    if is_for_asyncio(client) != for_asyncio:
        blocking, asynchronous = ("a client that blocks", "ShardedFilter"), ("a client for asyncio", "AsyncShardedFilter")
        found, word = blocking if for_asyncio else asynchronous
        raise TypeError(f"client is {found}: pass it to lately.redis.{word}")
    if count := retries(client):
        has_own_count = hasattr(client, "cluster_error_retry_attempts")
        remedy = "retry=Retry(NoBackoff(), 0)" + ", cluster_error_retry_attempts=0" * has_own_count
        warnings.warn(
            f"this client retries a command {count} times after a lost connection; if the first attempt has added new "
            f"items, the retry reports them as seen: build the client with {remedy}",
            RuntimeWarning,
            stacklevel=3,
        )


def retries(client: Any) -> int | str:
    """Returns how often a client retries a command after a lost connection; 0 if unknown."""
    # A cluster client has the policy as an attribute, a single-server client has a method. valkey-py's cluster client
    # has a separate count as well.
    has_method = hasattr(client, "get_retry") and not is_cluster(client)
    policy = client.get_retry() if has_method else getattr(client, "retry", None)
    errors = {error.__name__ for error in getattr(policy, "_supported_errors", ())}
    count: int = getattr(policy, "_retries", 0)
    if errors.isdisjoint({"ConnectionError", "TimeoutError", "OSError", "RedisError", "ValkeyError", "Exception"}):
        count = 0
    count = count or getattr(client, "cluster_error_retry_attempts", 0)
    return "any number of" if count < 0 else count
