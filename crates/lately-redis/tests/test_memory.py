"""Memory: the figures are exact, it is allocated once, it stays within limits, and it is freed without a stall."""

import pytest
import redis

from conftest import eventually, info, items


def used(client):
    return client.info("memory")["used_memory"]


@pytest.mark.parametrize("window", (1000, 100_000, 3_000_000))
@pytest.mark.parametrize("layout", ("SLICES", "BLOCKS", "ROWS", "BINS"))
def test_memory_usage_equals_the_growth_of_the_server_s_memory(servers, window, layout):
    # Use a new server: on a shared one, the buffers of other tests' clients may shrink in between. Measure the second
    # time, when the server has allocated everything that it keeps.
    client = servers().client
    plan = client.execute_command("APBF.PLAN", 0.001, window, "LAYOUT", layout)
    keys = [f"f{number}" for number in range(20)]

    def reserve():
        client.execute_command("FLUSHALL", "SYNC")
        before = used(client)
        for key in keys:
            client.execute_command("APBF.RESERVE", key, 0.001, window, "LAYOUT", layout)
        return (used(client) - before) / len(keys)

    reserve()
    grown = reserve()
    said = client.memory_usage("f0")
    # The server itself needs a few kilobytes, for a key and for the client.
    assert abs(grown - said) < 2048, (grown, said)
    assert plan[b"memory_bytes"] <= said <= plan[b"memory_bytes"] * 1.26 + 4096, "allocators round up by a quarter at most"
    assert said - 256 <= info(client, "f0")["allocated_bytes"] <= said


@pytest.mark.parametrize("promise", ((0.01, 10), (0.001, 1000), (0.01, 10, "SPAN", 1000)), ids=str)
def test_a_small_filter_takes_little_besides_its_items(client, promise):
    client.execute_command("APBF.RESERVE", "f", *promise)
    memory = info(client, "f")["memory_bytes"]
    # Allocators round up by a quarter at most.
    assert client.memory_usage("f") < 1.25 * memory + 600


def test_nothing_is_allocated_after_creation(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.001, 10_000)
    said = client.memory_usage("f")
    for first in range(0, 50_000, 1000):
        client.execute_command("APBF.MADD", "f", *items(first, 1000))
    assert client.memory_usage("f") == said
    client.delete("f")
    eventually(lambda: client.info("apbf")["apbf_memory_bytes"] == 0)


def test_loaded_copied_and_restored_filters_are_measured_too(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.001, 100_000)
    client.execute_command("APBF.LOAD", "loaded", client.execute_command("APBF.SNAPSHOT", "f"))
    client.restore("restored", 0, client.dump("f"))
    client.copy("f", "copied")
    sizes = [info(client, key)["allocated_bytes"] for key in ("f", "loaded", "restored", "copied")]
    assert max(sizes) - min(sizes) < 4096 and min(sizes) > info(client, "f")["memory_bytes"]
    section = client.info("apbf")
    assert (section["apbf_keys"], section["apbf_memory_bytes"]) == (4, sum(sizes))


def test_large_filters_are_freed_by_another_thread_and_small_ones_at_once(servers):
    client = servers().client
    client.execute_command("APBF.RESERVE", "small", 0.01, 1000)
    client.unlink("small")
    assert client.info("memory")["lazyfreed_objects"] == 0
    client.execute_command("APBF.RESERVE", "large", 0.01, 3_000_000)
    client.unlink("large")
    eventually(lambda: client.info("memory")["lazyfreed_objects"] == 1)
    eventually(lambda: client.info("apbf")["apbf_memory_bytes"] == 0)


def test_a_server_without_free_memory_refuses_writes_and_answers_reads(servers):
    server = servers()
    client = server.client
    client.execute_command("APBF.ADD", "f", "a")
    client.config_set("maxmemory", used(client) - 100_000)
    for command in (("ADD", "g", "b"), ("MADDNX", "g", "b"), ("RESERVE", "g", 0.01, 10), ("INSERT", "g", "ITEMS", "b")):
        with pytest.raises(redis.exceptions.OutOfMemoryError, match="maxmemory"):
            client.execute_command(f"APBF.{command[0]}", *command[1:])
    assert not client.exists("g")
    assert client.execute_command("APBF.ADD", "f", "b") == 1, "a filter needs no more memory"
    assert client.execute_command("APBF.INSERT", "f", "ITEMS", "c") == [1]
    assert client.execute_command("APBF.MEXISTS", "f", "a", "b", "c", "d") == [1, 1, 1, 0]
    assert client.execute_command("APBF.CARD", "f") == 3


def test_a_limit_that_a_transaction_lowers_applies_to_the_keys_that_it_creates(servers):
    client = servers().client
    for command in (("RESERVE", "f", 0.01, 10_000), ("ADD", "f", "a")):
        transaction = client.pipeline(transaction=True)
        transaction.config_set("maxmemory", used(client) - 100_000)
        transaction.execute_command(f"APBF.{command[0]}", *command[1:])
        replies = transaction.execute(raise_on_error=False)
        client.config_set("maxmemory", 0)
        assert isinstance(replies[1], redis.exceptions.OutOfMemoryError), command
        assert not client.exists("f")


def reserved(client, key):
    try:
        return client.execute_command("APBF.RESERVE", key, 0.001, 200_000)
    except redis.exceptions.OutOfMemoryError:
        return False


def test_filters_are_evicted_like_other_keys(servers):
    server = servers("--maxmemory-policy", "allkeys-lru")
    client = server.client
    client.config_set("maxmemory", used(client) + (8 << 20))
    for number in range(40):
        # Another thread may free the evicted filter, so its memory may not be free yet.
        eventually(lambda: reserved(client, f"f{number}"))
    assert 1 <= client.dbsize() < 40
    assert client.info("apbf")["apbf_keys"] == client.dbsize()
    assert client.info("stats")["evicted_keys"] > 0


def test_asking_about_a_filter_does_not_protect_it_from_eviction(client):
    client.execute_command("APBF.ADD", "f", "a")
    eventually(lambda: client.object("idletime", "f") >= 2)
    client.execute_command("APBF.INFO", "f")
    client.execute_command("APBF.INFO", "f", "inserts")
    client.execute_command("APBF.CARD", "f")
    assert client.object("idletime", "f") >= 2
    client.execute_command("APBF.EXISTS", "f", "a")
    assert client.object("idletime", "f") < 2


def test_a_window_of_a_hundred_million_is_created_without_touching_its_memory(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.001, 100_000_000)
    assert info(client, "f")["memory_bytes"] > 250 << 20
    assert client.info("memory")["used_memory_rss"] < 250 << 20
    assert client.execute_command("APBF.MADD", "f", *items(0, 1000)) == [1] * 1000
    assert client.execute_command("APBF.MEXISTS", "f", *items(0, 1000)) == [1] * 1000
    assert 500 <= client.execute_command("APBF.CARD", "f") <= 2000
    client.delete("f")
