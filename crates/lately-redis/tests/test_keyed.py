"""Filters with a secret key: how they get it, who sees it, and what hostile senders can do then."""

import subprocess

import pytest
import redis
import xxhash

from conftest import info, items, most_successes, named
from test_persistence import KEYS, fill
from test_pieces import load, pieces_of
from test_replication import caught_up, follow

CONFIGS = ("apbf.default-keyed", "apbf.template", "apbf.auto-create")
RATE = 1e-3
STRANGERS = 100_000


@pytest.fixture
def configured(client):
    before = {name: client.config_get(name)[name] for name in CONFIGS}
    yield client
    for name, value in before.items():
        client.config_set(name, value)


def key_of(client, key):
    """The filter's hash and secret key, from the snapshot's header (docs/format.md)."""
    head = client.execute_command("APBF.SNAPSHOT", key)[80:104]
    return int.from_bytes(head[:4], "little"), head[8:]


def is_keyed(client, key):
    number, secret = key_of(client, key)
    assert info(client, key)["hash"] == {1: b"xxh3", 2: b"siphash13"}[number]
    return (number, secret[8:] != bytes(8)) == (2, True)


def test_every_command_that_creates_takes_the_word(configured):
    client = configured
    client.execute_command("APBF.RESERVE", "a", 0.01, 100, "keyed", "SPAN", 60_000)
    client.execute_command("APBF.INSERT", "b", "WINDOW", 100, "KEYED", "NX", "ITEMS", "KEYED")
    client.config_set("apbf.template", "orders:* 0.01 100 KEYED")
    for key in ("orders:1", "orders:2"):
        client.execute_command("APBF.ADD", key, "x")
    client.execute_command("APBF.ADD", "others", "x")
    keyed = ("a", "b", "orders:1", "orders:2")
    assert all(is_keyed(client, key) for key in keyed) and not is_keyed(client, "others")
    assert len({key_of(client, key) for key in keyed}) == 4, "each filter has a key of its own"
    assert client.execute_command("APBF.EXISTS", "b", "KEYED") == 1
    # Options do not change an existing filter.
    client.execute_command("APBF.INSERT", "others", "KEYED", "ITEMS", "y")
    assert not is_keyed(client, "others")


def test_all_new_filters_can_be_keyed(configured):
    client = configured
    client.config_set("apbf.default-keyed", "yes")
    client.config_set("apbf.template", "orders:* 0.01 100")
    client.execute_command("APBF.RESERVE", "a", 0.01, 100)
    client.execute_command("APBF.INSERT", "b", "WINDOW", 100, "ITEMS", "x")
    for key in ("c", "orders:1"):
        client.execute_command("APBF.ADD", key, "x")
    assert all(is_keyed(client, key) for key in ("a", "b", "c", "orders:1"))
    client.execute_command("APBF.RESERVE", "seeded", 0.01, 100, "SEED", 7)
    assert key_of(client, "seeded") == (1, (7).to_bytes(16, "little"))
    with pytest.raises(redis.ResponseError):
        client.config_set("apbf.default-keyed", "perhaps")


@pytest.mark.parametrize("default, options, expected", [
    ("no", (), b"xxh3"), ("no", ("KEYED",), b"siphash13"), ("yes", (), b"siphash13"), ("yes", ("SEED", 1), b"xxh3")])
def test_a_plan_tells_the_hash(configured, default, options, expected):
    configured.config_set("apbf.default-keyed", default)
    assert named(configured.execute_command("APBF.PLAN", 0.01, 100, *options))["hash"] == expected


def test_no_reply_about_a_filter_has_its_key(client):
    client.config_set("slowlog-log-slower-than", 0)
    client.slowlog_reset()
    client.execute_command("APBF.RESERVE", "f", 0.01, 100, "KEYED")
    client.execute_command("APBF.ADD", "f", "x")
    shown = [info(client, "f"), client.info("apbf"),
             client.execute_command("DEBUG", "OBJECT", "f"), client.slowlog_get(128)]
    client.config_set("slowlog-log-slower-than", 10_000)
    assert "APBF.RESERVE f 0.01 100 KEYED" in str(shown)
    _, key = key_of(client, "f")
    for spelled in (repr(key)[2:-1], key.hex(), str(list(key))[1:-1], str(int.from_bytes(key[:8], "little"))):
        assert spelled not in str(shown)


def test_a_copy_has_the_same_key_in_whatever_way_it_was_made(server):
    """Persistence and replication: KEYS has one keyed filter there, and digests contain the key."""
    client = server.client
    fill(client)
    assert "keyed" in KEYS and is_keyed(client, "keyed")
    secret = key_of(client, "keyed")
    client.copy("keyed", "copied")
    client.restore("restored", 0, client.dump("keyed"))
    client.execute_command("APBF.LOAD", "loaded", client.execute_command("APBF.SNAPSHOT", "keyed"))
    load(client, "pieces", pieces_of(client, "keyed"))
    client.execute_command("DEBUG", "RELOAD")
    for key in ("keyed", "copied", "restored", "loaded", "pieces"):
        assert key_of(client, key) == secret
        assert client.execute_command("APBF.MEXISTS", key, *items(500, 1000)) == [1] * 1000


def test_only_the_primary_makes_a_key(servers):
    primary, replica = servers("--appendonly", "yes"), servers("--apbf.default-keyed", "yes")
    follow(replica, primary)
    client = primary.client
    client.execute_command("APBF.RESERVE", "reserved", 0.01, 100, "KEYED")
    client.execute_command("APBF.INSERT", "inserted", "WINDOW", 100, "SPAN", 60_000, "KEYED", "ITEMS", "a")
    client.eval("redis.call('APBF.RESERVE', KEYS[1], 0.01, 0, 'SPAN', 60000, 'KEYED')", 1, "script")
    transaction = client.pipeline(transaction=True)
    transaction.execute_command("APBF.RESERVE", "transaction", 0.01, 100, "KEYED")
    transaction.execute_command("APBF.ADD", "transaction", "a")
    transaction.execute()
    client.execute_command("APBF.ADD", "not keyed", "a")
    keys = ("reserved", "inserted", "script", "transaction", "not keyed")
    assert [is_keyed(client, key) for key in keys] == [True] * 4 + [False]
    before = [primary.digest(key) for key in keys]
    caught_up(primary, replica)
    assert [replica.digest(key) for key in keys] == before
    client.execute_command("DEBUG", "LOADAOF")
    assert [primary.digest(key) for key in keys] == before
    # After a failover, the new primary goes on with the same keys, and so does the old one as its replica.
    primary.kill()
    replica.client.replicaof("NO", "ONE")
    replica.client.execute_command("APBF.MADD", "transaction", *items(0, 50))
    assert replica.client.execute_command("APBF.EXISTS", "transaction", "a") == 1
    primary.start()
    follow(primary, replica)
    caught_up(replica, primary)
    assert [primary.digest(key) for key in keys] == [replica.digest(key) for key in keys]
    assert key_of(primary.client, "transaction") == key_of(replica.client, "transaction")


def test_without_random_bytes_no_keyed_filter_is_made(servers, tmp_path, monkeypatch):
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    called = tmp_path / "called"
    # Valkey opens modules with a flag that lets them find the C library before the preloaded one.
    source.write_text(f"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        void *dlopen(const char *file, int flags) {{
            void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
            return next(file, flags & ~RTLD_DEEPBIND);
        }}
        long getrandom(void *to, unsigned long most, unsigned flags) {{
            (void)to; (void)flags;
            creat("{called}", 0600);
            errno = EIO;
            return most ? -1 : 0;
        }}""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    server = servers()
    for command in (("RESERVE", "f", 0.01, 100, "KEYED"), ("INSERT", "f", "KEYED", "ITEMS", "a")):
        with pytest.raises(redis.ResponseError, match="no random bytes for the key") as refused:
            server.client.execute_command(f"APBF.{command[0]}", *command[1:])
        assert "or leave out KEYED" in str(refused.value)
    assert called.exists()
    assert server.client.dbsize() == 0
    assert server.client.execute_command("APBF.ADD", "f", "a") == 1


def aimed(count):
    """Numbers whose hashes with the default seed select one eighth of the rows or even lines, and one eighth of the odd
    lines: both are selected by the upper bits, of the hash and of the hash mixed once more (docs/format.md)."""
    found, number = [], 0
    while len(found) < count:
        item = str(number).encode()
        hashed = xxhash.xxh3_64_intdigest(item)
        if hashed >> 61 == 0:
            product = (hashed ^ 0x9E3779B97F4A7C15) * 0x243F6A8885A308D3
            if ((product >> 64) ^ product) & (7 << 61) == 0:
                found.append(item)
        number += 1
    return found


def test_senders_who_know_the_hash_raise_the_rate_but_not_of_a_keyed_filter(client):
    hostile = aimed(10_000)
    for layout in ("BINS", "ROWS"):
        mistaken = {}
        for key, options in (("known", ()), ("keyed", ("KEYED",))):
            client.execute_command("APBF.RESERVE", key, RATE, 10_000, "LAYOUT", layout, *options)
            client.execute_command("APBF.MADD", key, *hostile)
            assert all(client.execute_command("APBF.MEXISTS", key, *hostile)), "nothing is forgotten even then"
            mistaken[key] = sum(
                sum(client.execute_command("APBF.MEXISTS", key, *(f"stranger {number}" for number in range(first, first + 5_000))))
                for first in range(0, STRANGERS, 5_000))
            client.delete(key)
        # Keys differ in the rate of their filters. Of 150 keys, rows had 7.3e-4, with a standard deviation of 0.7e-4, so
        # the limit is ten of them away; bins had 7.4e-4, with hardly any.
        assert mistaken["keyed"] <= most_successes(STRANGERS, 1.5 * RATE), (layout, mistaken)
        assert mistaken["known"] > 10 * RATE * STRANGERS, (layout, mistaken)
