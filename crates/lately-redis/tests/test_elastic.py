"""Time windows without a capacity: memory follows the traffic, within its limits, and replicas follow bit for bit."""

import pathlib
import resource

import pytest
import redis

from conftest import Server, eventually, info, items
from test_memory import used
from test_replication import caught_up, follow

MINUTE = 60_000
# The times of these tests are ahead of the server's clock, so its reads use the latest of them.
START = 2**42


def reserve(client, key, *options):
    return client.execute_command("APBF.RESERVE", key, 0.001, 0, "SPAN", MINUTE, *options)


def apply(client, key, now_ms, first, count):
    """Adds items at a time after the start."""
    for start in range(first, first + count, 10_000):
        some = items(start, min(10_000, first + count - start))
        client.execute_command("APBF.APPLY", key, START + now_ms, "EVERY", *some)


def test_memory_follows_the_traffic(servers):
    client = servers().client
    reserve(client, "f")
    apply(client, "f", 0, 0, 1)
    least, before = client.memory_usage("f"), used(client)
    assert least < 16_000
    for number in range(1, 11):
        apply(client, "f", number * 1_000, number * 20_000, 20_000)
    most = client.memory_usage("f")
    assert 3 * 200_000 < most < 12 * 200_000
    assert abs(used(client) - before - (most - least)) < 64_000, "MEMORY USAGE is what the server counts"
    assert client.info("apbf")["apbf_memory_bytes"] == info(client, "f")["allocated_bytes"]
    assert client.execute_command("APBF.MEXISTS", "f", *items(20_000, 200_000)) == [1] * 200_000
    apply(client, "f", 5 * MINUTE, 0, 1)
    assert client.memory_usage("f") < 20_000
    assert client.info("apbf")["apbf_memory_bytes"] == info(client, "f")["allocated_bytes"]
    assert sum(client.execute_command("APBF.MEXISTS", "f", *items(20_000, 1_000))) <= 10
    made, section = info(client, "f"), client.info("apbf")
    assert made["peak_memory_bytes"] > 10 * made["memory_bytes"] and made["growths"] > 3 and made["shrinks"] > 0
    assert (section["apbf_growths"], section["apbf_shrinks"]) == (made["growths"], made["shrinks"])


def test_a_clients_items_are_kept_and_its_memory_grows(client):
    assert client.execute_command("APBF.INSERT", "f", "WINDOW", 0, "SPAN", MINUTE, "ITEMS", "a") == [1]
    for first in range(0, 100_000, 1_000):
        client.execute_command("APBF.MADDNX", "f", *items(first, 1_000))
    assert client.execute_command("APBF.MEXISTS", "f", "a", *items(0, 100_000)) == [1] * 100_001
    made = info(client, "f")
    assert made["span_ms"] == MINUTE and made["layout"] == b"bins" and float(made["error_rate"]) <= 0.001
    assert float(made["estimated_error_rate"]) <= 0.001
    assert 300_000 < made["memory_bytes"] < 1_200_000 <= made["most_memory_bytes"] <= 512 << 20


@pytest.mark.parametrize("keeps", ("WINDOW", "RATE"))
def test_the_limit_of_a_key_is_kept_and_the_overload_is_counted(server, keeps):
    client = server.client
    client.config_set("apbf.max-bytes-per-key", 100_000)
    try:
        reserve(client, "f", "OVERLOAD", keeps)
        apply(client, "f", 1_000, 0, 100_000)
        snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    finally:
        client.config_set("apbf.max-bytes-per-key", 512 << 20)
    made = info(client, "f")
    assert made["memory_bytes"] <= made["most_memory_bytes"] <= 100_000
    assert made["overloaded_generations"] > 0
    reported = client.execute_command("APBF.MEXISTS", "f", *items(0, 100_000))
    assert all(reported) if keeps == "WINDOW" else 1_000 < sum(reported) < 50_000
    client.config_set("apbf.max-bytes-per-key", 50_000)
    try:
        with pytest.raises(redis.ResponseError, match="apbf.max-bytes-per-key is 50000"):
            client.execute_command("APBF.LOAD", "g", snapshot)
        # Its limit was chosen when it was created.
        apply(client, "f", 2_000, 100_000, 1_000)
        reserve(client, "small")
        digest = server.digest("small")
    finally:
        client.config_set("apbf.max-bytes-per-key", 512 << 20)
    assert server.digest("small") == digest


def test_defaults_for_other_windows_do_not_stand_in_the_way(server):
    client = server.client
    client.config_set("apbf.default-layout", "rows")
    try:
        assert reserve(client, "f") == b"OK"
    finally:
        client.config_set("apbf.default-layout", "auto")


def assert_equal(primary, replica, key="f"):
    caught_up(primary, replica)
    assert primary.digest(key) == replica.digest(key)
    assert info(primary.client, key)["memory_bytes"] == info(replica.client, key)["memory_bytes"]


def test_replicas_are_equal_through_growth_shrinkage_and_failover(servers):
    # The second has another limit, which must not matter.
    first, second = servers("--appendonly", "yes"), servers("--apbf.max-bytes-per-key", 4096)
    follow(second, first)
    reserve(first.client, "f")
    sizes = []
    for number in range(1, 5):
        apply(first.client, "f", number * 3_000, number * 30_000, 30_000)
        assert_equal(first, second)
        sizes.append(info(second.client, "f")["memory_bytes"])
    apply(first.client, "f", MINUTE, 500_000, 10)
    assert_equal(first, second)
    first.client.execute_command("DEBUG", "LOADAOF")
    assert first.digest("f") == second.digest("f")
    second.client.replicaof("NO", "ONE")
    follow(first, second)
    for number in range(3):
        apply(second.client, "f", MINUTE + number * MINUTE // 2, 600_000 + number * 50_000, 50_000)
        assert_equal(second, first)
    apply(second.client, "f", 10 * MINUTE, 900_000, 10)
    assert_equal(second, first)
    sizes.append(info(second.client, "f")["memory_bytes"])
    assert sizes == sorted(sizes[:4]) + sizes[4:] and sizes[4] < sizes[0] < sizes[3]


def add_until_refused(client, key):
    """Returns the first item that was refused, and the error."""
    number = 0
    while True:
        try:
            client.execute_command("APBF.ADD", key, f"item-{number}")
        except redis.ResponseError as error:
            return number, error
        number += 1
        assert number < 1_000_000


def test_at_maxmemory_only_what_makes_it_grow_is_refused(servers):
    primary, replica = servers(), servers()
    follow(replica, primary)
    client = primary.client
    reserve(client, "f")
    client.execute_command("APBF.RESERVE", "short", 0.001, 0, "SPAN", 500)
    client.execute_command("APBF.MADD", "short", *items(0, 30_000))
    grown = client.memory_usage("short")
    client.config_set("maxmemory", 1)
    refused, error = add_until_refused(client, "f")
    assert isinstance(error, redis.exceptions.OutOfMemoryError) and "the filter has to grow" in str(error)
    # It had room for some items.
    assert refused > 0
    assert client.execute_command("APBF.MEXISTS", "f", *items(0, refused + 1)) == [1] * refused + [0]
    assert client.execute_command("APBF.ADDNX", "f", "item-0") == 0, "a repeat needs no memory"
    assert_equal(primary, replica)
    # Once items have left the window, a write gives their memory back.
    eventually(lambda: not any(client.execute_command("APBF.MEXISTS", "short", *items(0, 1_000))))
    assert client.execute_command("APBF.ADD", "short", "new") == 1
    assert client.memory_usage("short") * 5 < grown
    client.config_set("maxmemory", 0)
    assert client.execute_command("APBF.ADD", "f", f"item-{refused}") == 1
    assert_equal(primary, replica)
    assert_equal(primary, replica, "short")


def limit_address_space(server, more):
    """Lets a server allocate so many more bytes. With `None`, any number."""
    status = pathlib.Path(f"/proc/{server.process.pid}/statm").read_text()
    pages = int(status.split()[0])
    soft = resource.RLIM_INFINITY if more is None else pages * resource.getpagesize() + more
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (soft, resource.RLIM_INFINITY))


def test_a_primary_that_cannot_allocate_refuses_the_command_and_stays_equal_to_its_replica(servers):
    primary, replica = servers(), servers()
    follow(replica, primary)
    reserve(primary.client, "f")
    primary.client.execute_command("APBF.MADD", "f", *items(0, 200_000))
    digest = primary.digest("f")
    limit_address_space(primary, 4 << 20)
    first = 200_000
    with pytest.raises(redis.ResponseError, match="which the server cannot allocate"):
        while first < 2_000_000:
            primary.client.execute_command("APBF.MADD", "f", *items(first, 1_000))
            first += 1_000
            digest = primary.digest("f")
    assert primary.digest("f") == digest
    assert_equal(primary, replica)
    limit_address_space(primary, None)
    assert sum(primary.client.execute_command("APBF.MADD", "f", *items(first, 1_000))) > 900
    assert_equal(primary, replica)


def test_a_replica_that_cannot_allocate_ends_instead_of_differing(kind, servers, tmp_path):
    primary = servers()
    reserve(primary.client, "f")
    # Not one of `servers`, which must not end by themselves.
    replica = Server(kind, tmp_path / "replica").start()
    try:
        follow(replica, primary)
        limit_address_space(replica, 1 << 20)
        first = 0
        while replica.process.poll() is None:
            assert first < 5_000_000, "the replica has found memory"
            primary.client.execute_command("APBF.MADD", "f", *items(first, 10_000))
            first += 10_000
        assert replica.process.returncode != 0
        replica.start()
        follow(replica, primary)
        assert_equal(primary, replica)
    finally:
        replica.stop("kill")


def test_a_replica_that_cannot_create_a_filter_ends_too(kind, servers, tmp_path):
    """Otherwise the next items would go into another filter than the primary's, or none."""
    primary, replica = servers(), Server(kind, tmp_path / "replica").start()
    try:
        follow(replica, primary)
        primary.client.execute_command("APBF.RESERVE", "small", 0.001, 1_000)
        caught_up(primary, replica)
        limit_address_space(replica, 50 << 20)
        primary.client.execute_command("APBF.RESERVE", "f", 0.001, 50_000_000)
        primary.client.execute_command("APBF.MADD", "f", "a", "b")
        assert replica.process.wait(timeout=60) != 0
        assert "which cannot be allocated here" in replica.log() and "this server ends" in replica.log()
        replica.start()
        follow(replica, primary)
        assert_equal(primary, replica)
    finally:
        replica.stop("kill")
