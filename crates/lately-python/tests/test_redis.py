"""`lately.redis`: grouping by shard, and one window over real servers with the module loaded.

Tests that need a server and the module (LATELY_REDIS_MODULE) are skipped if either is missing.
"""

import os
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
from hypothesis import given
from hypothesis import strategies as st
from redis.backoff import NoBackoff
from redis.retry import Retry

from lately import ConfigError, Filter, item_bytes, shard_of, shard_window
from lately.redis import ShardedFilter, _retries, grouped

PROMISE: dict[str, Any] = {"window": 20_000, "false_positive_rate": 1e-6}
ONCE = Retry(NoBackoff(), 0)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.binary()), st.integers(1, 20))
def test_groups_hold_every_item_once_and_in_order(items: list[str | int | bytes], shards: int) -> None:
    groups = grouped(items, shards)
    found = sorted((position, data, shard) for shard, group in groups.items() for position, data in zip(group.positions, group.items, strict=True))
    assert found == [(position, item_bytes(item), shard_of(item, shards)) for position, item in enumerate(items)]
    assert all(group.positions == sorted(group.positions) for group in groups.values())


def test_columns_are_grouped_like_lists() -> None:
    numbers, texts = [3, 1, 2**64 - 1], ["a", "ü", ""]
    for column in (numpy.array(numbers, dtype="uint64"), pyarrow.array(numbers, pyarrow.uint64()), polars.Series(numbers, dtype=polars.UInt64)):
        assert grouped(column, 4) == grouped(numbers, 4)  # type: ignore[arg-type]
    for column in (numpy.array(texts), numpy.array([text.encode() for text in texts]), pandas.Series(texts), polars.Series(texts)):
        assert grouped(column, 4) == grouped(texts, 4)
    for wrong in ("text", b"bytes"):
        with pytest.raises(TypeError, match="one item, not many"):
            grouped(wrong, 4)
    with pytest.raises(TypeError, match="an item must be"):
        grouped([None], 4)  # type: ignore[list-item]


def test_tuples_are_grouped_by_their_key() -> None:
    rows = [("user-5", 17), ("user-5", 18), ("ü", -1)]
    assert grouped(rows, 4) == grouped([item_bytes(row) for row in rows], 4)
    columns = {"user": [user for user, _ in rows], "page": [page for _, page in rows]}
    assert grouped(zip(columns["user"], pandas.Series(columns["page"]), strict=True), 4) == grouped(rows, 4)
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)):
        with pytest.raises(TypeError, match="a table is not possible here"):
            grouped(table, 4)  # type: ignore[arg-type]


def test_wrong_arguments_reach_no_server() -> None:
    nobody: Any = None
    with pytest.raises(ConfigError, match="braces"):
        ShardedFilter(nobody, "{x}", 4, **PROMISE)
    with pytest.raises(ValueError, match="0 shards are not possible"):
        ShardedFilter(nobody, "x", 0, **PROMISE)
    with pytest.raises(ConfigError, match="no window was asked for"):
        ShardedFilter(nobody, "x", 4, false_positive_rate=1e-3)
    with pytest.raises(ConfigError, match="within needs capacity"):
        ShardedFilter(nobody, "x", 4, within=timedelta(1), false_positive_rate=1e-3)


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
    assert seen.check_or_add_many(numpy.array([17, 18])) == [True, False]  # type: ignore[arg-type]
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
