"""Primary, replica and replay always have equal digests, for all commands and after every failover."""

import random
import time

import pytest
import redis

from conftest import eventually, info, items

KEYS = ("count", "slices", "rows", "bins", "time", "rate", "elastic", "keyed", "default", "script")


def follow(replica, primary):
    replica.client.replicaof("127.0.0.1", primary.port)
    eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")


def caught_up(primary, replica):
    def offsets():
        return (primary.client.info("replication")["master_repl_offset"],
                replica.client.info("replication")["slave_repl_offset"])

    eventually(lambda: len(set(offsets())) == 1)


def assert_equal(primary, replica):
    caught_up(primary, replica)
    for key in KEYS:
        if primary.client.exists(key):
            assert primary.digest(key) == replica.digest(key), key
    digests = [server.client.execute_command("DEBUG", "DIGEST") for server in (primary, replica)]
    assert digests[0] == digests[1]


def create(client):
    client.execute_command("APBF.RESERVE", "count", 0.001, 1000)
    client.execute_command("APBF.RESERVE", "slices", 0.01, 300, "LAYOUT", "SLICES", "SEED", 3)
    client.execute_command("APBF.RESERVE", "rows", 0.01, 300, "LAYOUT", "ROWS")
    client.execute_command("APBF.RESERVE", "bins", 0.01, 300, "LAYOUT", "BINS")
    client.execute_command("APBF.RESERVE", "time", 0.001, 1000, "SPAN", 300)
    client.execute_command("APBF.RESERVE", "rate", 0.01, 200, "SPAN", 400, "OVERLOAD", "RATE")
    client.execute_command("APBF.RESERVE", "elastic", 0.01, 0, "SPAN", 400)
    client.execute_command("APBF.RESERVE", "keyed", 0.001, 0, "SPAN", 500, "KEYED")


def work(client, numbers, rounds=60):
    """Writes in every way, mixed, with pauses in which time windows age."""
    for _ in range(rounds):
        key = numbers.choice(KEYS[:8])
        some = [f"{numbers.randrange(3000)}" for _ in range(numbers.choice((1, 1, 2, 30)))]
        way = numbers.randrange(8)
        if way == 0:
            client.execute_command("APBF.ADD", key, some[0])
        elif way == 1:
            client.execute_command("APBF.ADDNX", key, some[0])
        elif way == 2:
            client.execute_command("APBF.MADD", key, *some)
        elif way == 3:
            client.execute_command("APBF.MADDNX", key, *some)
        elif way == 4:
            client.execute_command("APBF.INSERT", key, *numbers.choice(((), ("NX",))), "ITEMS", *some)
        elif way == 5:
            transaction = client.pipeline(transaction=True)
            for item in some:
                transaction.execute_command("APBF.ADD", key, item)
            transaction.execute_command("APBF.MADD", "default", *some)
            transaction.execute()
        elif way == 6:
            client.eval("redis.call('APBF.INSERT', KEYS[2], 'SPAN', 500, 'ITEMS', unpack(ARGV)) "
                        "return redis.call('APBF.MADDNX', KEYS[1], unpack(ARGV))", 2, key, "script", *some)
        else:
            client.execute_command("APBF.MEXISTS", key, *some)
            client.execute_command("APBF.AGE", key, some[0])
            time.sleep(0.03)


def test_a_replica_has_the_same_digests_after_every_kind_of_write(servers):
    primary, replica = servers(), servers("--apbf.default-window", 77, "--apbf.max-bytes-per-key", 1024)
    create(primary.client)
    work(primary.client, random.Random(1))
    follow(replica, primary)
    assert_equal(primary, replica)
    for seed in range(4):
        work(primary.client, random.Random(seed))
        assert_equal(primary, replica)
    primary.client.copy("time", "copied")
    primary.client.rename("count", "renamed")
    primary.client.execute_command("APBF.LOAD", "loaded", primary.client.execute_command("APBF.SNAPSHOT", "time"))
    primary.client.delete("rate")
    assert_equal(primary, replica)
    assert info(replica.client, "default")["window"] == 100_000, "the primary's default, not the replica's"


def test_failover_there_and_back(servers):
    first, second = servers("--appendonly", "yes"), servers("--appendonly", "yes")
    create(first.client)
    follow(second, first)
    work(first.client, random.Random(11))
    assert_equal(first, second)
    for seed, (old, new) in enumerate(((first, second), (second, first), (first, second))):
        caught_up(old, new)
        new.client.replicaof("NO", "ONE")
        follow(old, new)
        work(new.client, random.Random(seed))
        assert_equal(new, old)
    for server in (first, second):
        digests = [server.digest(key) for key in KEYS]
        server.client.execute_command("DEBUG", "LOADAOF")
        assert [server.digest(key) for key in KEYS] == digests, "replayed from its own file"


def test_kill_9_of_a_primary_loses_nothing_that_its_replica_has(servers):
    primary, replica = servers(), servers()
    follow(replica, primary)
    client = primary.client
    client.execute_command("APBF.RESERVE", "count", 1e-6, 1000)
    client.execute_command("APBF.RESERVE", "time", 1e-6, 1000, "SPAN", 3_600_000)
    for first in range(0, 800, 50):
        client.execute_command("APBF.MADD", "count", *items(first, 50))
        client.execute_command("APBF.MADDNX", "time", *items(first, 50))
    assert client.wait(1, 10_000) == 1
    primary.kill()
    replica.client.replicaof("NO", "ONE")
    for key in ("count", "time"):
        assert replica.client.execute_command("APBF.MEXISTS", key, *items(0, 800)) == [1] * 800
        assert replica.client.execute_command("APBF.MADDNX", key, *items(0, 800)) == [0] * 800


def test_repeats_that_change_nothing_are_not_replicated(servers):
    primary, replica = servers(), servers()
    follow(replica, primary)
    primary.client.execute_command("APBF.RESERVE", "time", 1e-6, 1000, "SPAN", 60_000)
    for key in ("count", "time"):
        primary.client.execute_command("APBF.MADDNX", key, "a", "b")
    caught_up(primary, replica)
    calls = lambda: {name: stats["calls"] for name, stats in replica.client.info("commandstats").items() if "apbf" in name}
    before = calls()
    for key in ("count", "time"):
        for _ in range(20):
            primary.client.execute_command("APBF.ADDNX", key, "a")
            primary.client.execute_command("APBF.MADDNX", key, "b", "a")
    primary.client.set("marker", 1)
    eventually(lambda: replica.client.exists("marker"))
    assert calls() == before
    primary.client.delete("marker")
    assert_equal(primary, replica)


def test_only_a_primary_creates_missing_keys(servers):
    """A replica that lacks a key does not make up another filter in its place."""
    primary, replica = servers(), servers("--replica-read-only", "no")
    follow(replica, primary)
    primary.client.execute_command("APBF.RESERVE", "count", 0.001, 777)
    caught_up(primary, replica)
    replica.client.delete("count")
    primary.client.execute_command("APBF.MADD", "count", "a", "b")
    primary.client.execute_command("APBF.ADDNX", "count", "c")
    caught_up(primary, replica)
    assert not replica.client.exists("count")


def test_reads_on_a_replica_use_the_current_time_and_change_nothing(servers):
    primary, replica = servers(), servers()
    primary.client.execute_command("APBF.RESERVE", "time", 1e-6, 1000, "SPAN", 300)
    primary.client.execute_command("APBF.MADD", "time", *items(0, 100))
    follow(replica, primary)
    caught_up(primary, replica)
    digest = replica.digest("time")
    for server in (primary, replica):
        eventually(lambda: server.client.execute_command("APBF.MEXISTS", "time", *items(0, 100)) == [0] * 100)
        assert server.client.execute_command("APBF.CARD", "time") == 0
        assert info(server.client, "time")["inserts"] == 100
    assert primary.digest("time") == replica.digest("time") == digest
    with pytest.raises(redis.exceptions.ReadOnlyError):
        replica.client.execute_command("APBF.ADD", "time", "a")


def test_only_the_primary_plans(servers):
    """The commands for replicas and files contain dimensions and no promise."""
    # With any other appendfsync, the server may delay its writes while the disk is busy.
    primary = servers("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "always")
    primary.client.execute_command("APBF.RESERVE", "a", 0.01, 1000, "SPAN", 1000)
    primary.client.execute_command("APBF.ADD", "b", "item")
    primary.client.execute_command("APBF.INSERT", "c", "WINDOW", 50, "ITEMS", "item")
    primary.client.execute_command("APBF.ADD", "a", "item")
    sent = b"".join(file.read_bytes() for file in (primary.directory / "appendonlydir").iterdir())
    assert b"reserve" not in sent.lower() and b"insert" not in sent.lower()
    assert sent.count(b"apbf.create") == 3 and sent.count(b"apbf.apply") == 1
