"""`lately.redis`: grouping by shard, and one window over real servers with the module loaded.

Tests that need a server and the module (LATELY_REDIS_MODULE) are skipped if either is missing.
"""

import asyncio
import functools
import hashlib
import os
import pickle
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy
import pandas
import polars
import pyarrow
import pytest
import redis
import redis.asyncio
import redis.asyncio.retry
from hypothesis import given
from hypothesis import strategies as st
from redis.backoff import NoBackoff
from redis.retry import Retry

from lately import ConfigError, Filter, adedup, dedup, item_bytes, shard_of, shard_window
from lately._native import _grouped
from lately.redis import AsyncShardedFilter, ShardedFilter
from lately.redis._client import retries as _retries

PROMISE: dict[str, Any] = {"window": 20_000, "false_positive_rate": 1e-6}
ONCE = Retry(NoBackoff(), 0)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.binary()), st.integers(1, 20))
def test_groups_hold_every_item_once_and_in_order(items: list[str | int | bytes], shards: int) -> None:
    count, missing, is_column, groups = _grouped(items, shards)
    assert (count, missing, is_column) == (len(items), [], False)
    found = sorted((position, data, shard) for shard, *group in groups for position, data in zip(*group, strict=True))
    assert found == [(position, item_bytes(item), shard_of(item, shards)) for position, item in enumerate(items)]
    assert all(positions == sorted(positions) for _, positions, _ in groups)


def test_columns_and_tables_are_grouped_like_lists() -> None:
    numbers, texts = [3, 1, 2**64 - 1], ["a", "ü", ""]

    def check(column: Any, expected: list[Any]) -> None:
        count, missing, is_column, groups = _grouped(column, 4)
        assert is_column and (count, missing, False, groups) == _grouped(expected, 4)

    for column in (numpy.array(numbers, dtype="uint64"), pyarrow.array(numbers, pyarrow.uint64()), polars.Series(numbers, dtype=polars.UInt64)):
        check(column, numbers)
    for column in (
        numpy.array(texts),
        numpy.array(texts, dtype=numpy.dtypes.StringDType()),
        numpy.array([text.encode() for text in texts]),
        pandas.Series(texts),
        pandas.Series(texts, dtype="category"),
        polars.Series(texts),
    ):
        check(column, texts)
    rows = [("user-5", 17), ("user-5", 18), ("ü", -1)]
    assert _grouped(rows, 4) == _grouped([item_bytes(row) for row in rows], 4)
    columns = {"user": [user for user, _ in rows], "page": [page for _, page in rows]}
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
        check(table, rows)
    for wrong, message in (("text", "one item, not many"), (b"bytes", "one item, not many"), ([None], "item 0: an item must be"), (numpy.array(["2026"], dtype="M8[s]"), "dates or times")):
        with pytest.raises(TypeError, match=message):
            _grouped(wrong, 4)  # type: ignore[arg-type]


def test_wrong_arguments_reach_no_server() -> None:
    nobody: Any = SimpleNamespace(execute_command=None, pipeline=None)
    with pytest.raises(ConfigError, match="braces"):
        ShardedFilter(nobody, "{x}", 4, **PROMISE)
    with pytest.raises(ValueError, match="0 shards are not possible"):
        ShardedFilter(nobody, "x", 0, **PROMISE)
    with pytest.raises(ConfigError, match="no window was asked for"):
        ShardedFilter(nobody, "x", 4, false_positive_rate=1e-3)
    with pytest.raises(ConfigError, match="seed and keyed were both given"):
        ShardedFilter(nobody, "x", 4, **PROMISE, seed=1, keyed=True)
    with pytest.raises(TypeError, match="client cannot be of type SimpleNamespace: give a client of redis-py"):
        ShardedFilter(nobody, "x", 4, **PROMISE)
    with pytest.raises(TypeError, match="name cannot be of type bytes"):
        ShardedFilter(nobody, b"x", 4, **PROMISE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="client is a client for asyncio: pass it to lately.redis.AsyncShardedFilter"):
        ShardedFilter(redis.asyncio.Redis(retry=redis.asyncio.retry.Retry(NoBackoff(), 0)), "x", 4, **PROMISE)
    with pytest.raises(TypeError, match="client is a client that blocks: pass it to lately.redis.ShardedFilter"):
        asyncio.run(AsyncShardedFilter.create(redis.Redis(retry=ONCE), "x", 4, **PROMISE))


def free_port() -> int:
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        # Servers of a cluster talk to each other on this port plus 10000.
        if port < 50_000:
            return port


class Server:
    """A server on its own port, which is stopped after the tests."""

    def __init__(self, directory: Path, *options: str) -> None:
        module, binary = os.environ.get("LATELY_REDIS_MODULE"), shutil.which("redis-server")
        if not module or not binary:
            pytest.skip("needs redis-server, and LATELY_REDIS_MODULE with the path of the module")
        self.port = free_port()
        directory.mkdir()
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", "", "--loadmodule", module]
        self.process = subprocess.Popen([binary, *arguments, *options, "--logfile", "log"])

    def __enter__(self) -> Self:
        self.wait(lambda client: client.ping())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def wait(self, condition: Callable[[redis.Redis], Any]) -> None:
        deadline = time.monotonic() + 60
        with redis.Redis(port=self.port) as client:
            while True:
                try:
                    if condition(client):
                        return
                except redis.RedisError:
                    pass
                assert self.process.poll() is None and time.monotonic() < deadline, "the server does not start"
                time.sleep(0.05)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.Redis]:
    with Server(tmp_path_factory.mktemp("single") / "server") as server, redis.Redis(port=server.port, retry=ONCE) as client:
        yield client


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.RedisCluster]:
    """Three primaries."""
    directory = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(directory / str(i), "--cluster-enabled", "yes")) for i in range(3)]
        addresses = [f"127.0.0.1:{server.port}" for server in servers]
        subprocess.run(["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"], check=True, capture_output=True)
        for server in servers:
            server.wait(lambda node: node.cluster("info")["cluster_state"] == "ok")
        with redis.RedisCluster(host="127.0.0.1", port=servers[0].port, retry=ONCE) as client:
            yield client


@pytest.fixture(params=["single", "cluster"])
def client(request: pytest.FixtureRequest) -> Any:
    found = request.getfixturevalue(request.param)
    found.flushall(target_nodes="primaries") if request.param == "cluster" else found.flushall()
    return found


def test_methods(client: Any) -> None:
    seen = ShardedFilter(client, "hooks", 6, **PROMISE)
    seen.add("order-17")
    assert "order-17" in seen and "order-18" not in seen
    assert seen.contains(b"order-17") is True
    assert seen.check_and_add("order-18") is False and seen.check_and_add("order-18") is True
    assert seen.check_or_add(19) is False and seen.check_or_add("19") is True
    assert seen.check_and_add_many(["a", "b", "a", 17, "17"]) == [False, False, True, False, True]
    assert seen.check_or_add_many(numpy.array([17, 18])).tolist() == [True, False]
    assert seen.check_and_add_many([]) == []


def test_one_window_over_all_shards(client: Any) -> None:
    """Compared with an exact record: no item of the window is lost, however the items are spread over the shards."""
    seen = ShardedFilter(client, "wide", 6, **PROMISE)
    stream = [f"item {i * i % 24_001}" for i in range(40_000)]
    answers = []
    for first in range(0, len(stream), 7_000):
        answers += seen.check_and_add_many(stream[first : first + 7_000])
    last: dict[str, int] = {}
    for position, (item, reported) in enumerate(zip(stream, answers, strict=True)):
        if item not in last:
            assert not reported, f"{item} was never added"
        elif position - last[item] <= PROMISE["window"]:
            assert reported, f"{item} was added {position - last[item]} inserts ago"
        last[item] = position
    assert all(seen.contains_many(stream[-PROMISE["window"] :]))


def test_items_are_in_the_shard_that_shard_of_returns(client: Any) -> None:
    seen = ShardedFilter(client, "where", 6, **PROMISE)
    assert seen.keys == [f"{{where:{i}}}" for i in range(6)]
    for item in ("x", 17, b"\xff"):
        seen.add(item)
        holding = [key for key in seen.keys if client.execute_command("APBF.EXISTS", key, item_bytes(item))]
        assert holding == [seen.keys[shard_of(item, 6)]]
    for key in seen.keys:
        assert client.execute_command("APBF.INFO", key, "window") == shard_window(PROMISE["window"], 6)
    # A shard is a filter like any other: Python loads its snapshot.
    shard = Filter.from_bytes(client.execute_command("APBF.SNAPSHOT", seen.keys[shard_of("x", 6)]))
    assert "x" in shard and "y" not in shard
    assert shard.plan() == seen.shard_plan
    age = seen.age_of("x")
    assert age is not None and 0 in age.inserts and age.millis is None
    assert seen.age_of("never") is None


def test_tables_and_columns(client: Any) -> None:
    """As in Filter: rows are keys, and the answers select rows."""
    seen = ShardedFilter(client, "tables", 3, **PROMISE)
    frame = pandas.DataFrame({"user": ["u", "v", "u"], "page": [1, 2, 1]})
    assert frame[~seen.check_and_add_many(frame)]["user"].tolist() == ["u", "v"]
    assert ("u", 1) in seen and "user" not in seen
    assert frame[~seen.check_and_add_many(frame["user"])]["user"].tolist() == ["u", "v"]
    assert seen.check_and_add(numpy.int64(5)) is False and 5 in seen
    with pytest.raises(TypeError, match="dates or times"):
        seen.check_and_add_many(numpy.array(["2026"], dtype="M8[s]"))
    assert seen.check_or_add_many(["a", None, "a"], nulls="pass") == [False, False, True]
    assert seen.check_or_add_many(["b", None, "b"], nulls="drop") == [False, True, True]
    assert "lately.redis.ShardedFilter: the last 20000 inserts, rate 1.000e-6" in repr(seen).replace("e-06", "e-6")
    before = seen.statistics()
    assert before.shards == 3 and before.inserts == 9 and before.memory_bytes == seen.memory_bytes > 0
    assert before.latest_ms is None and 5 < before.estimated_distinct_items < 9


def test_dedup_with_shards(client: Any) -> None:
    seen = ShardedFilter(client, "dedup", 3, **PROMISE)
    assert list(dedup(["a", "b", "a"], filter=seen)) == ["a", "b"]
    assert list(dedup(["a", "c"], refresh="first", filter=seen)) == ["c"]
    with pytest.raises(TypeError, match="time was given, but a ShardedFilter lives on the clock of its servers"):
        dedup(["a"], time=lambda _: 1, filter=seen)


def test_workers_get_a_filter_by_pickle(single: redis.Redis) -> None:
    port = single.get_connection_kwargs()["port"]
    seen = ShardedFilter(functools.partial(redis.Redis, port=port, retry=ONCE), "pickled", 3, **PROMISE)
    seen.add("x")
    assert "x" in pickle.loads(pickle.dumps(seen))
    with pytest.raises(TypeError, match="pass a function that makes the client"):
        pickle.dumps(ShardedFilter(single, "pickled", 3, **PROMISE))


def for_asyncio(client: Any) -> Any:
    """Returns a client of asyncio for the servers of another client."""
    once = redis.asyncio.retry.Retry(NoBackoff(), 0)
    if isinstance(client, redis.RedisCluster):
        return redis.asyncio.RedisCluster(host="127.0.0.1", port=client.get_primaries()[0].port, retry=once)
    return redis.asyncio.Redis(port=client.get_connection_kwargs()["port"], retry=once)


def test_a_cancelled_call_does_not_disturb_the_next_ones(client: Any) -> None:
    """Its replies may still be on their way. The next call must not take them for its own."""

    async def main() -> None:
        async with for_asyncio(client) as ours:
            seen = await AsyncShardedFilter.create(ours, "cancelled", 6, window=500_000, false_positive_rate=1e-9)
            known = [f"known {i}" for i in range(300)]
            await seen.add_many(known)
            cancelled = 0
            for turn in range(40):
                call = asyncio.create_task(seen.check_and_add_many(range(turn * 3000, turn * 3000 + 3000)))
                await asyncio.sleep(turn * 0.0005)
                call.cancel()
                try:
                    await call
                except asyncio.CancelledError:
                    cancelled += 1
                assert all(await seen.contains_many(known))
                assert not any(await seen.contains_many([f"new {i}" for i in range(300)]))
            assert cancelled > 0
            await seen.delete()

    asyncio.run(main())


def test_asyncio(client: Any) -> None:
    async def main() -> None:
        async with for_asyncio(client) as ours:
            seen = await AsyncShardedFilter.create(ours, "async", 6, **PROMISE)
            assert await seen.check_and_add("order-17") is False and await seen.check_and_add("order-17") is True
            await seen.add("order-18")
            assert await seen.contains("order-18") and not await seen.check_or_add("order-19")
            stream = [f"item {i % 700}" for i in range(5_000)]
            answers = await seen.check_and_add_many(stream)
            assert answers == [False] * 700 + [True] * 4_300
            assert (await seen.check_and_add_many(numpy.array(stream))).all()
            assert (await seen.statistics()).inserts == 10_003 + 1
            age = await seen.age_of("order-17")
            assert age is not None and 0 <= age.inserts.start
            assert [x async for x in adedup(["a", "b", "a"], filter=seen)] == ["a", "b"]
            with pytest.raises(TypeError, match="have to be awaited: use adedup"):
                list(dedup(["a"], filter=seen))  # type: ignore[arg-type]
            again = await AsyncShardedFilter.create(ours, "async", 6, **PROMISE)
            assert await again.contains("a") and repr(again) == repr(seen)
            with pytest.raises(ConfigError, match="exists with a window of"):
                await AsyncShardedFilter.create(ours, "async", 6, window=10, false_positive_rate=1e-3)
            blocking = ShardedFilter(client, "async", 6, **PROMISE)
            assert "a" in blocking
            await seen.delete()
            assert [client.exists(key) for key in seen.keys] == [0] * 6

    asyncio.run(main())


def test_a_cluster_has_shards_on_every_primary(cluster: redis.RedisCluster) -> None:
    seen = ShardedFilter(cluster, "spread", 24, **PROMISE)
    assert {cluster.get_node_from_key(key).name for key in seen.keys} == {node.name for node in cluster.get_primaries()}
    seen.add_many(range(5_000))
    assert all(seen.contains_many(range(5_000)))


def test_processes_share_a_filter_and_must_agree_on_the_window(client: Any) -> None:
    ShardedFilter(client, "shared", 3, **PROMISE).add("x")
    assert "x" in ShardedFilter(client, "shared", 3, **PROMISE)
    with pytest.raises(ConfigError, match="exists with a window of .* were asked for"):
        ShardedFilter(client, "shared", 3, window=10, false_positive_rate=1e-3)
    with pytest.raises(ConfigError, match="exists with a window"):
        ShardedFilter(client, "shared", 3, within=timedelta(hours=1), capacity=20_000, false_positive_rate=1e-6)


def test_processes_must_agree_on_the_rate_and_the_policy(client: Any) -> None:
    ShardedFilter(client, "strict", 3, **PROMISE)
    # A filter with a lower rate keeps this promise, too.
    ShardedFilter(client, "strict", 3, **PROMISE | {"false_positive_rate": 1e-3})
    with pytest.raises(ConfigError, match="exists with a false positive rate of .*, but 1e-09 was asked for: ask for the rate"):
        ShardedFilter(client, "strict", 3, **PROMISE | {"false_positive_rate": 1e-9})
    timed: dict[str, Any] = {"within": timedelta(hours=1), "capacity": 9_000, "false_positive_rate": 1e-4}
    ShardedFilter(client, "timed", 3, **timed)
    ShardedFilter(client, "timed", 3, **timed, overload="keep_window")
    with pytest.raises(ConfigError, match="exists with overload='keep_window', but 'keep_rate' was asked for"):
        ShardedFilter(client, "timed", 3, **timed, overload="keep_rate")


def test_keyed_shards_have_secret_keys_of_their_own(client: Any) -> None:
    seen = ShardedFilter(client, "x", 4, **PROMISE, keyed=True)
    assert seen.check_and_add_many(range(1000)) == [False] * 1000 and all(seen.contains_many(range(1000)))
    assert {bytes(client.execute_command("APBF.INFO", key, "hash")) for key in seen.keys} == {b"siphash13"}
    secrets = {bytes(client.execute_command("APBF.SNAPSHOT", key)[88:104]) for key in seen.keys}
    assert len(secrets) == 4
    # A process that does not ask for keys uses the same filter; the other way round it would go without.
    assert all(ShardedFilter(client, "x", 4, **PROMISE).contains_many(range(1000)))
    ShardedFilter(client, "y", 4, **PROMISE)
    with pytest.raises(ConfigError, match="y:0} exists with the hash xxh3, which has no key, but keyed=True was asked for: ask for the hash"):
        ShardedFilter(client, "y", 4, **PROMISE, keyed=True)


def test_senders_can_aim_at_a_shard_unless_items_are_hashed_with_a_secret_before(client: Any) -> None:
    window = shard_window(20_000, 4)
    flood = [number for number in range(10 * window) if shard_of(item_bytes(number), 4) == 0][: 2 * window]
    assert len(flood) < 20_000, "the first item is still in the window"
    first = next(number for number in range(10**6, 2 * 10**6) if shard_of(item_bytes(number), 4) == 0)

    def secretly(number: int) -> bytes:
        return hashlib.blake2b(item_bytes(number), key=b"shared by all processes", digest_size=16).digest()

    seen = ShardedFilter(client, "x", 4, **PROMISE, keyed=True)
    for item, others, remembered in ((first, flood, False), (secretly(first), [secretly(number) for number in flood], True)):
        seen.add(item)
        seen.add_many(others)
        assert seen.contains(item) is remembered


def test_numpy_numbers_are_accepted(client: Any) -> None:
    seen = ShardedFilter(
        client,
        "numpy",
        3,
        window=numpy.int64(5_000),  # type: ignore[arg-type]
        false_positive_rate=numpy.float64(1e-4),
        max_slack=numpy.float64(2.5),
        shape=(numpy.int32(3), numpy.uint8(5)),  # type: ignore[arg-type]
        seed=numpy.uint64(7),  # type: ignore[arg-type]
    )
    assert seen.check_and_add("x") is False and seen.check_and_add("x") is True
    plan = Filter.from_bytes(client.execute_command("APBF.SNAPSHOT", seen.keys[0])).plan()
    assert (plan.required_matches, plan.window_generations) == (3, 5)


class Proxy:
    """A proxy of a server. On demand it drops a reply and closes the connection."""

    def __init__(self, port: int) -> None:
        self.server_port, self.loses_next_reply = port, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.server_port))
            for source, sink, replies in ((near, far, False), (far, near, True)):
                self.threads.append(threading.Thread(target=self.forward, args=(source, sink, replies)))
                self.threads[-1].start()

    def forward(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if replies and self.loses_next_reply:
                    self.loses_next_reply = False
                    break
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            source.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.listener.close()


@contextmanager
def behind_proxies(client: Any, retry: Retry) -> Iterator[tuple[Any, list[Proxy]]]:
    """Yields a client of the same server or cluster that connects through proxies."""
    if isinstance(client, redis.RedisCluster):
        proxies = {node.port: Proxy(node.port) for node in client.get_primaries()}
        to_proxy = lambda address: ("127.0.0.1", proxies[address[1]].port if address[1] in proxies else address[1])  # noqa: E731
        first = next(iter(proxies.values()))
        through: Any = redis.RedisCluster(host="127.0.0.1", port=first.port, address_remap=to_proxy, retry=retry)
    else:
        port = client.get_connection_kwargs()["port"]
        proxies = {port: Proxy(port)}
        through = redis.Redis(port=proxies[port].port, retry=retry)
    try:
        with through:
            yield through, list(proxies.values())
    finally:
        for proxy in proxies.values():
            proxy.close()


@pytest.mark.parametrize("word", ["check_and_add_many", "check_or_add_many", "add_many"])
def test_a_lost_reply_raises_an_error_and_is_not_retried(client: Any, word: str) -> None:
    with behind_proxies(client, ONCE) as (through, proxies):
        seen = ShardedFilter(through, "lossy", 3, **PROMISE)
        shard = shard_of("new", 3)
        # This opens all connections, so that the next reply is the one to the items.
        getattr(seen, word)([str(i) for i in range(100)])
        before = client.execute_command("APBF.INFO", seen.keys[shard], "inserts")
        for proxy in proxies:
            proxy.loses_next_reply = True
        with pytest.raises(redis.ConnectionError):
            getattr(seen, word)(["new"])
        assert client.execute_command("APBF.INFO", seen.keys[shard], "inserts") == before + 1, "the command was sent once"
        for proxy in proxies:
            proxy.loses_next_reply = False
        assert "new" in seen


def test_clients_that_retry_cause_a_warning(client: Any) -> None:
    with behind_proxies(client, Retry(NoBackoff(), 7)) as (through, _):
        with pytest.warns(RuntimeWarning, match=r"retries a command 7 times.*retry=Retry\(NoBackoff\(\), 0\)") as given:
            seen = ShardedFilter(through, "warned", 3, **PROMISE)
            seen.add_many(range(10))
        assert len(given) == 1 and given[0].filename == __file__


def test_which_clients_retry() -> None:
    assert _retries(redis.Redis(retry=ONCE)) == 0
    assert _retries(redis.Redis(retry=Retry(NoBackoff(), 2))) == 2
    assert _retries(redis.Redis(retry=Retry(NoBackoff(), -1))) == "any number of"
    assert _retries(redis.Redis(retry=Retry(NoBackoff(), 2, supported_errors=(KeyError,)))) == 0
    assert _retries(redis.Redis()) != 0, "redis-py's default"
    assert _retries(object()) == 0
    # Built like the cluster client of valkey-py, which is not installed here.
    valkey = SimpleNamespace(get_primaries=list, cluster_error_retry_attempts=3)
    assert _retries(valkey) == 3
    valkey.cluster_error_retry_attempts, valkey.retry = 0, ONCE
    assert _retries(valkey) == 0


def test_a_lost_shard_is_an_error_and_is_not_replaced(client: Any) -> None:
    seen = ShardedFilter(client, "lost", 3, **PROMISE)
    client.delete(seen.keys[shard_of("x", 3)])
    for add in (seen.add, seen.check_and_add, seen.check_or_add):
        with pytest.raises(redis.ResponseError, match="no such key"):
            add("x")
    seen.delete()
    assert [client.exists(key) for key in seen.keys] == [0, 0, 0]


def test_time_windows_and_options(client: Any) -> None:
    options: dict[str, Any] = {"max_slack": 0.5, "layout": "blocks", "seed": 7, "overload": "keep_rate"}
    seen = ShardedFilter(client, "timed", 3, within=timedelta(hours=1), capacity=9_000, false_positive_rate=1e-4, **options)
    assert seen.check_and_add("x") is False and seen.check_and_add("x") is True
    shard = Filter.from_bytes(client.execute_command("APBF.SNAPSHOT", seen.keys[0]))
    assert shard.plan() == seen.shard_plan
    assert (shard.plan().layout, shard.plan().overload, shard.plan().span_ms) == ("blocks", "keep_rate", 3_600_000)
    shaped = ShardedFilter(client, "shaped", 3, window=5_000, false_positive_rate=1e-4, shape=(3, 5))
    found = Filter.from_bytes(client.execute_command("APBF.SNAPSHOT", shaped.keys[0])).plan()
    assert (found.required_matches, found.window_generations) == (3, 5)


def test_time_windows_without_capacity(client: Any) -> None:
    """The memory of each shard follows its traffic."""
    seen = ShardedFilter(client, "elastic", 3, within=timedelta(hours=1), false_positive_rate=1e-4)
    at_first = seen.memory_bytes
    items = [f"item {i}" for i in range(60_000)]
    assert sum(seen.check_and_add_many(items)) < 60 and all(seen.contains_many(items))
    assert seen.memory_bytes > 3 * at_first and seen.statistics().latest_ms is not None
    assert "the last 3600000 ms, memory as needed" in repr(seen)
    assert "item 5" in ShardedFilter(client, "elastic", 3, within=timedelta(hours=1), false_positive_rate=1e-3)
    for other in ({"within": timedelta(hours=2)}, {"within": timedelta(hours=1), "capacity": 1000}, {"window": 1000}):
        with pytest.raises(ConfigError, match="exists with a window of"):
            ShardedFilter(client, "elastic", 3, false_positive_rate=1e-4, **other)  # type: ignore[arg-type]
    ShardedFilter(client, "fixed", 3, within=timedelta(hours=1), capacity=1000, false_positive_rate=1e-4)
    with pytest.raises(ConfigError, match="exists with a window of"):
        ShardedFilter(client, "fixed", 3, within=timedelta(hours=1), false_positive_rate=1e-4)
