"""Servers that are stopped, killed, cut off and short of memory, under load. With `--full` many times, and with sentinels
that choose a new primary."""

import contextlib
import os
import random
import shutil
import time

import pytest
import redis

from conftest import FULL, Server, eventually, info, items
from faults import BATCH, KEYS, Pair, Writer, create, stopped
from soak import soak
from test_memory import used
from test_replication import caught_up, follow


def all_equal(primary, replica):
    caught_up(primary, replica)
    return all(primary.digest(key) == replica.digest(key) for key in KEYS)


def test_a_replica_that_is_cut_off_under_load_catches_up(servers):
    # The primary keeps so little of what it has sent that a replica that was away needs everything.
    primary, replica = servers("--repl-backlog-size", "16kb", "--repl-timeout", 2), servers("--repl-timeout", 2)
    create(primary.client)
    follow(replica, primary)
    with Writer(lambda: primary.port, replicas=0) as writer:
        for number in range(20 if FULL else 2):
            with stopped(replica):
                writer.wait_for(20)
            primary.client.client_kill_filter(_type="replica")
            if number % 2:
                replica.kill()
                replica.start()
                follow(replica, primary)
            writer.wait_for(20)
            eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")
    assert all_equal(primary, replica)
    assert primary.client.info("stats")["sync_full"] > 1
    writer.check(replica.client)


def test_a_file_that_is_cut_anywhere_has_what_was_written_before(kind, servers, tmp_path):
    server = servers("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no")
    create(server.client)
    file = next(path for path in (server.directory / "appendonlydir").iterdir() if path.name.endswith(".incr.aof"))
    ends, chosen = [], random.Random(5)
    for number in range(300):
        server.client.execute_command("APBF.ADD", chosen.choice(list(KEYS)), f"item-{number}")
        ends.append(file.stat().st_size)
    server.kill()
    for number in range(40 if FULL else 3):
        cut = chosen.randrange(ends[0] if number == 0 else 0, ends[-1] + 1)
        directory = tmp_path / f"cut{number}"
        shutil.copytree(server.directory, directory)
        os.truncate(directory / "appendonlydir" / file.name, cut)
        rest = Server(kind, directory, *server.options).start()
        try:
            found = [any(rest.client.execute_command("APBF.EXISTS", key, item) for key in KEYS) for item in items(0, 300)]
            assert found == [end <= cut for end in ends], f"cut at {cut}"
        finally:
            rest.stop("kill")
        shutil.rmtree(directory)


def test_reloading_in_a_loop_changes_nothing_and_takes_no_memory(servers):
    server = servers()
    client = server.client
    create(client)
    client.execute_command("APBF.MADD", "time", *items(0, 50_000))
    memory = []
    for number in range(60 if FULL else 4):
        for key in KEYS:
            client.execute_command("APBF.MADD", key, *items(50_000 + 50 * number, 50))
        before = [server.digest(key) for key in KEYS]
        client.execute_command("DEBUG", "RELOAD")
        assert [server.digest(key) for key in KEYS] == before
        assert client.info("apbf")["apbf_keys"] == len(KEYS)
        memory.append(used(client))
    assert client.execute_command("APBF.MEXISTS", "time", *items(0, 50_000)) == [1] * 50_000
    assert max(memory) - min(memory) < 300_000, memory


def test_what_is_acknowledged_at_changing_limits_of_memory_is_kept_and_replicas_are_equal(servers):
    primary, replica = servers(), servers()
    client, chosen = primary.client, random.Random(7)
    follow(replica, primary)
    create(client)
    accepted, refused = [], 0
    for number in range(2_000 if FULL else 150):
        if number % 5 == 0:
            client.config_set("maxmemory", chosen.choice((0, 1, used(client), used(client) + 20_000, used(client) + 300_000)))
        some = items(number * 500, 500)
        try:
            client.execute_command("APBF.MADD", "time", *some)
            accepted += some
        except redis.exceptions.OutOfMemoryError as error:
            assert "the filter has to grow" in str(error)
            refused += 1
    client.config_set("maxmemory", 0)
    assert accepted and refused, (len(accepted), refused)
    assert all_equal(primary, replica)
    for server in (primary, replica):
        for first in range(0, len(accepted), 10_000):
            assert all(server.client.execute_command("APBF.MEXISTS", "time", *accepted[first:first + 10_000]))
        assert info(server.client, "time")["inserts"] == len(accepted)


@pytest.mark.skipif(not FULL, reason="sentinels are run by ./test --full")
@pytest.mark.parametrize("seed", range(3))
def test_nothing_that_a_replica_has_acknowledged_is_lost_while_servers_are_cut_off(kind, tmp_path, seed):
    """As Jepsen does it: random processes are stopped, killed or cut off, and sentinels choose a new primary meanwhile."""
    chosen = random.Random(seed)
    with Pair(kind, tmp_path) as pair:
        create(pair.servers[0].client)
        with Writer(pair.primary_port) as writer:
            writer.wait_for(20)
            # At first a primary is away until its replica has taken over.
            first = pair.primary_port()
            with stopped(pair.server(first)):
                eventually(lambda: pair.primary_port() != first)
            for _ in range(25):
                disturb(pair, chosen)
                time.sleep(chosen.random())
            eventually(pair.is_whole)
            writer.wait_for(20)
        eventually(pair.is_whole)
        primary = pair.server(pair.primary_port())
        replica = next(server for server in pair.servers if server is not primary)
        assert all_equal(primary, replica)
        for server in pair.servers:
            writer.check(server.client)
        lost = writer.lost(primary.client)
        print(f"{writer.sent} items sent, {BATCH * len(writer.acknowledged)} acknowledged, {lost} others lost, {pair.switches()} switches")
        # Otherwise the faults were too harmless to say anything.
        assert lost > 0 and pair.switches() >= 1
        assert not any(server.has_crashed() for server in pair.servers)


def disturb(pair, chosen):
    victim = chosen.choice((*pair.servers, *pair.sentinels))
    match chosen.choice(("kill", "cut", "stop", "stop", "stop")):
        case "kill":
            victim.kill()
            time.sleep(chosen.choice((0, 3)))
            victim.start()
        case "cut" if victim in pair.servers:
            with contextlib.suppress(redis.RedisError):
                victim.client.client_kill_filter(_type=chosen.choice(("replica", "master", "normal")))
        case _:
            with stopped(victim):
                time.sleep(chosen.choice((0.1, 0.7, 2.5, 4)))


@pytest.mark.skipif(not FULL, reason="a minute under load is for ./test --full")
def test_memory_is_flat_under_load(kind, tmp_path):
    soak(kind, 1, tmp_path)
