"""RDB, append-only files, DUMP and RESTORE, kill -9, and damaged data, which is an error and never a crash."""

import random

import pytest
import redis

from conftest import Server, eventually, info, items
from forgery import with_inserts

KEYS = ("count", "slices", "blocks", "rows", "bins", "time", "rate", "empty", "sparse", "elastic", "grown", "shrunk", "keyed")


def fill(client):
    """Creates filters of every kind, in different states."""
    client.execute_command("APBF.RESERVE", "count", 0.001, 1000)
    client.execute_command("APBF.MADD", "count", *items(0, 3333))
    client.execute_command("APBF.RESERVE", "slices", 0.001, 1000, "LAYOUT", "SLICES", "SEED", 7)
    client.execute_command("APBF.MADDNX", "slices", *items(0, 777))
    client.execute_command("APBF.RESERVE", "blocks", 0.001, 500, "LAYOUT", "BLOCKS")
    client.execute_command("APBF.MADD", "blocks", *items(0, 1500))
    client.execute_command("APBF.RESERVE", "rows", 0.001, 500, "LAYOUT", "ROWS")
    client.execute_command("APBF.MADD", "rows", *items(0, 1500))
    client.execute_command("APBF.RESERVE", "bins", 0.001, 500, "LAYOUT", "BINS")
    client.execute_command("APBF.MADD", "bins", *items(0, 1500))
    client.execute_command("APBF.RESERVE", "time", 0.001, 1000, "SPAN", 600_000)
    client.execute_command("APBF.MADD", "time", *items(0, 900))
    client.execute_command("APBF.RESERVE", "rate", 0.01, 100, "SPAN", 1_000, "OVERLOAD", "RATE")
    for first in range(0, 500, 50):
        client.execute_command("APBF.MADD", "rate", *items(first, 50))
    client.execute_command("APBF.RESERVE", "elastic", 0.001, 0, "SPAN", 600_000)
    # In an append-only file it has several pieces, more than at first.
    client.execute_command("APBF.RESERVE", "grown", 0.001, 0, "SPAN", 600_000)
    for first in range(0, 400_000, 20_000):
        client.execute_command("APBF.MADD", "grown", *items(first, 20_000))
    client.execute_command("APBF.RESERVE", "shrunk", 0.001, 0, "SPAN", 1_000)
    client.execute_command("APBF.APPLY", "shrunk", 5_000, "EVERY", *items(0, 50_000))
    client.execute_command("APBF.APPLY", "shrunk", 6_000, "EVERY", *items(50_000, 50))
    client.execute_command("APBF.APPLY", "shrunk", 6_500, "EVERY", *items(50_050, 50))
    client.execute_command("APBF.RESERVE", "keyed", 0.001, 1000, "KEYED")
    client.execute_command("APBF.MADD", "keyed", *items(0, 1500))
    client.execute_command("APBF.RESERVE", "empty", 0.01, 100)
    # In an append-only file it has several pieces, most of them all zero.
    client.execute_command("APBF.RESERVE", "sparse", 0.001, 1_000_000)
    client.execute_command("APBF.MADD", "sparse", *items(0, 3))


def digests(server):
    return {key: server.digest(key) for key in KEYS}


def test_rdb(servers):
    server = servers()
    fill(server.client)
    before = digests(server)
    server.client.save()
    server.kill()
    server.start()
    assert digests(server) == before
    assert server.client.execute_command("APBF.MEXISTS", "count", *items(2333, 1000)) == [1] * 1000


@pytest.mark.parametrize("preamble", ("yes", "no"))
def test_append_only_files_replay_to_the_same_digests(servers, preamble):
    server = servers("--appendonly", "yes", "--aof-use-rdb-preamble", preamble, "--auto-aof-rewrite-percentage", 0)
    fill(server.client)
    before = digests(server)
    server.client.execute_command("DEBUG", "LOADAOF")
    assert digests(server) == before, "replay of the commands as they were sent"
    server.client.bgrewriteaof()
    eventually(lambda: not server.client.info("persistence")["aof_rewrite_in_progress"])
    assert server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok"
    server.client.execute_command("DEBUG", "LOADAOF")
    assert digests(server) == before, "replay of the rewritten file"
    server.client.execute_command("APBF.MADD", "time", *items(900, 100))
    server.client.execute_command("APBF.MADD", "count", *items(9000, 100))
    before = digests(server)
    server.restart()
    assert digests(server) == before, "replay of the rewritten file and later commands"
    base = [file for file in (server.directory / "appendonlydir").iterdir() if "base" in file.name]
    assert (b"apbf.patch" in base[0].read_bytes()) == (preamble == "no")


def test_a_file_replays_what_has_counted_further_than_a_client_may_load(servers):
    server = servers("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", 0)
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.01, 50)
    most = with_inserts(client.execute_command("APBF.SNAPSHOT", "f"), 2**61)
    client.execute_command("APBF.LOAD", "g", most)
    client.execute_command("APBF.LOAD", "pieces", "CURSOR", 0, most)
    for key in ("g", "pieces"):
        client.execute_command("APBF.MADD", key, "a", "b")
    before = [server.digest(key) for key in ("g", "pieces")]
    client.bgrewriteaof()
    eventually(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    client.execute_command("DEBUG", "LOADAOF")
    assert [server.digest(key) for key in ("g", "pieces")] == before
    assert client.execute_command("APBF.MEXISTS", "g", "a", "b") == [1, 1]


def test_kill_9_loses_nothing_that_was_acknowledged(servers):
    server = servers("--appendonly", "yes", "--appendfsync", "always")
    client, numbers = server.client, random.Random(9)
    client.execute_command("APBF.RESERVE", "count", 1e-6, 500)
    client.execute_command("APBF.RESERVE", "time", 1e-6, 5000, "SPAN", 3_600_000)
    inserted = []
    for _ in range(4):
        for _ in range(numbers.randrange(50, 150)):
            item = f"{len(inserted)}"
            assert client.execute_command("APBF.ADD", "count", item) == 1
            assert client.execute_command("APBF.ADDNX", "time", item) == 1
            inserted.append(item)
        before = [server.digest(key) for key in ("count", "time")]
        server.kill()
        server.start()
        client = server.client
        assert [server.digest(key) for key in ("count", "time")] == before
        assert all(client.execute_command("APBF.MEXISTS", "count", *inserted[-500:]))
        assert all(client.execute_command("APBF.MEXISTS", "time", *inserted))


def test_dump_restore_and_copy(server):
    client = server.client
    fill(client)
    for key in KEYS:
        dump, digest = client.dump(key), server.digest(key)
        client.restore(f"{key}-restored", 0, dump)
        client.copy(key, f"{key}-copy")
        client.delete(key)
        assert server.digest(f"{key}-restored") == server.digest(f"{key}-copy") == digest
        assert info(client, f"{key}-copy")["inserts"] == info(client, f"{key}-restored")["inserts"]
    assert client.execute_command("APBF.EXISTS", "count-restored", "item-3332") == 1


def test_debug_reload(server):
    fill(server.client)
    before = digests(server)
    server.client.execute_command("DEBUG", "RELOAD")
    assert digests(server) == before


def test_a_damaged_dump_is_refused_wherever_it_is_damaged(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.01, 50)
    client.execute_command("APBF.MADD", "f", *items(0, 30))
    client.config_set("rdbcompression", "no")
    dump = client.dump("f")
    client.config_set("rdbcompression", "yes")
    # Switch off the server's own checksum, so that only the module's checks can find the damage.
    client.execute_command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
    refused = 0
    try:
        # Damage everything after the type's name, which selects the loader, and before the server's footer.
        for place in range(10, len(dump) - 10):
            damaged = bytearray(dump)
            damaged[place] ^= 0x20
            try:
                client.restore("g", 0, bytes(damaged), replace=True)
            except redis.ResponseError:
                refused += 1
    finally:
        client.execute_command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 0)
    # There are several encodings of the same length, so a few flipped bits in lengths may change nothing.
    assert refused >= len(dump) - 20 - 3
    assert client.exists("g") == 0 or server.digest("g") == server.digest("f")
    assert "the filter of the key 'g' cannot be loaded" in server.log()


def test_a_damaged_file_stops_the_server_with_a_line_in_its_log(kind, servers, tmp_path):
    server = servers("--rdbcompression", "no", "--rdbchecksum", "no")
    server.client.execute_command("APBF.RESERVE", "f\n1", 0.01, 5000)
    server.client.execute_command("APBF.MADD", "f\n1", *items(0, 3000))
    server.client.save()
    server.kill()
    file = server.directory / "dump.rdb"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    damaged = Server(kind, server.directory, *server.options)
    damaged.start(wait=False)
    assert damaged.process.wait(timeout=60) >= 0, "the server was ended by a signal"
    assert "the filter of the key 'f\\n1' cannot be loaded: the snapshot is damaged" in damaged.log()


def test_files_and_replicas_may_have_larger_keys_than_clients_may_create(servers):
    options = ("--appendonly", "yes", "--apbf.max-bytes-per-key", 10_000)
    server, other = servers(*options), servers(*options)
    server.client.config_set("apbf.max-bytes-per-key", "1mb")
    server.client.execute_command("APBF.RESERVE", "f", 0.01, 50_000)
    dump = server.client.dump("f")
    server.client.restore("g", 0, dump)
    with pytest.raises(redis.ResponseError, match="Bad data format"):
        other.client.restore("g", 0, dump)
    server.restart()
    assert server.client.config_get("apbf.max-bytes-per-key") == {"apbf.max-bytes-per-key": "10000"}
    assert server.client.dbsize() == 2
    other.client.replicaof("127.0.0.1", server.port)
    eventually(lambda: other.client.dbsize() == 2)
    server.client.config_set("apbf.max-bytes-per-key", "1mb")
    server.client.restore("h", 0, dump)
    eventually(lambda: other.client.dbsize() == 3)
    assert other.digest("h") == server.digest("h")


def test_a_key_s_expiry_is_saved_with_it(servers):
    server = servers("--appendonly", "yes")
    server.client.execute_command("APBF.ADD", "f", "a")
    server.client.expire("f", 1000)
    server.restart()
    assert 900 < server.client.ttl("f") <= 1000
    assert server.client.execute_command("APBF.EXISTS", "f", "a") == 1
