"""Bad input: the reply names the argument and the limit; there is no crash and no half-created key."""

import pytest
import redis

from conftest import info
from forgery import as_dump, blueprint_of, parts_of, with_generation, with_inserts, with_number

BLUEPRINT_HELP = "LATELY"


def refused(client, *command):
    with pytest.raises(redis.ResponseError) as raised:
        client.execute_command(*command)
    return str(raised.value)


@pytest.mark.parametrize("command, expected", [
    (("APBF.RESERVE", "f", "often", 10), "error_rate is 'often'"),
    (("APBF.RESERVE", "f", 0, 10), "rate of 0 cannot be promised"),
    (("APBF.RESERVE", "f", 1, 10), "less than 1"),
    (("APBF.RESERVE", "f", -0.5, 10), "-0.5"),
    (("APBF.RESERVE", "f", "nan", 10), "error_rate is 'nan', but must be a number"),
    (("APBF.RESERVE", "f", 0.01, 10, "SLACK", "NaN"), "SLACK is 'NaN', but must be a number"),
    (("APBF.RESERVE", "f", 9e-16, 10), "ask for at least 1e-15 and less than 1"),
    (("APBF.RESERVE", "f", 1e-300, 10), "cannot be promised"),
    (("APBF.RESERVE", "f", 0.01, 0), "a window of 0 makes room for whatever comes, which needs SPAN"),
    (("APBF.RESERVE", "f", 0.01, 0, "OVERLOAD", "RATE"), "needs SPAN"),
    (("APBF.RESERVE", "f", 0.01, 0, "SPAN", 1000, "LAYOUT", "ROWS"), "only LAYOUT BINS can"),
    (("APBF.RESERVE", "f", 0.01, 0, "SPAN", 1000, "SHAPE", 1, 8), "give a window, or leave out LAYOUT and SHAPE"),
    (("APBF.RESERVE", "f", 1e-13, 0, "SPAN", 1000), "error_rate is 1e-13, but with a window of 0 it can be"),
    (("APBF.RESERVE", "f", 0.01, 0, "SPAN", 1000, "SLACK", 0.01), "0.0625"),
    (("APBF.INSERT", "f", "WINDOW", 0, "ITEMS", "a"), "needs SPAN"),
    (("APBF.RESERVE", "f", 0.01, -5), "whole number from 0 to 281474976710656"),
    (("APBF.RESERVE", "f", 0.01, 1.5), "window is '1.5'"),
    (("APBF.RESERVE", "f", 0.01, 2**48 + 1), "281474976710656"),
    (("APBF.RESERVE", "f", 0.01, 2**48), "max-bytes-per-key"),
    (("APBF.RESERVE", "f", 0.01, 10**9), "apbf.max-bytes-per-key is 536870912"),
    (("APBF.RESERVE", "f", 0.01, 10, "SPAN"), "SPAN needs a value"),
    (("APBF.RESERVE", "f", 0.01, 10, "SPAN", 0), "SPAN is '0'"),
    (("APBF.RESERVE", "f", 0.01, 10, "SPAN", "1h"), "SPAN is '1h'"),
    (("APBF.RESERVE", "f", 0.01, 10, "SPAN", 1, "SPAN", 2), "SPAN is given twice"),
    (("APBF.RESERVE", "f", 0.01, 10, "OVERLOAD", "RATE"), "OVERLOAD needs SPAN"),
    (("APBF.RESERVE", "f", 0.01, 10, "SPAN", 1000, "OVERLOAD", "BOTH"), "one of RATE, WINDOW"),
    (("APBF.RESERVE", "f", 0.01, 10, "SLACK", "0"), "a slack of 0 is not valid"),
    (("APBF.RESERVE", "f", 0.01, 1000, "SLACK", "1e-9"), "cannot be reached"),
    (("APBF.RESERVE", "f", 0.01, 10, "LAYOUT", "HEAP"), "one of SLICES, BLOCKS, ROWS, BINS"),
    (("APBF.RESERVE", "f", 0.01, 10, "SHAPE", 4), "SHAPE's l needs a value"),
    (("APBF.RESERVE", "f", 0.01, 10, "SHAPE", 0, 4), "SHAPE's k is '0'"),
    (("APBF.RESERVE", "f", 0.01, 10, "SHAPE", 1000, 1000), "at most 1024"),
    (("APBF.RESERVE", "f", 0.01, 10, "SHAPE", 4294967295, 4294967295), "at most 1024"),
    (("APBF.RESERVE", "f", 0.01, 10, "SEED", -1), "SEED is '-1'"),
    (("APBF.RESERVE", "f", 0.01, 10, "SEED", 1, "KEYED"), "SEED and KEYED are both given, but a filter has one hash"),
    (("APBF.INSERT", "f", "KEYED", "SEED", 1, "ITEMS", "a"), "SEED and KEYED are both given"),
    (("APBF.PLAN", 0.01, 10, "KEYED", "KEYED"), "KEYED is given twice"),
    (("APBF.INSERT", "f", "KEYED", "NOCREATE", "ITEMS", "a"), "NOCREATE creates no filter"),
    (("APBF.RESERVE", "f", 0.01, 10, "EXPANSION", 2), "'EXPANSION' is not an option"),
    (("APBF.RESERVE", "f", b"a\r\nb\xff" + b"x" * 1000, 10), r"error_rate is 'a\\r\\nb\\xff"),
    (("APBF.INSERT", "f", "ITEMS"), "wrong number of arguments"),
    (("APBF.INSERT", "f", "NX", "ITEMS"), "no items"),
    (("APBF.INSERT", "f", "a", "b"), "'a' is not an option: write ITEMS"),
    (("APBF.INSERT", "f", "NOCREATE", "WINDOW", 5, "ITEMS", "a"), "NOCREATE creates no filter"),
    (("APBF.INSERT", "f", "NOCREATE", "ITEMS", "a"), "no such key"),
    (("APBF.INSERT", "f", "WINDOW", "x", "ITEMS", "a"), "WINDOW is 'x'"),
    (("APBF.INSERT", "f", "ERROR", 7, "ITEMS", "a"), "rate of 7"),
    (("APBF.INSERT", "f", "WINDOW", 5, "WINDOW", 6, "ITEMS", "a"), "WINDOW is given twice"),
    (("APBF.INSERT", "f", "ERROR", 0.1, "error", 0.1, "ITEMS", "a"), "ERROR is given twice"),
    (("APBF.INFO", "f"), "no such key"),
    (("APBF.SNAPSHOT", "f"), "no such key"),
    (("APBF.LOAD", "f", ""), "cut off"),
    (("APBF.LOAD", "f", "CURSOR", -1, "x"), "CURSOR is '-1'"),
    (("APBF.LOAD", "f", "CURSOR", 0, ""), "cut off"),
    (("APBF.LOAD", "f", "CURSOR", 0, "something else"), "not a lately snapshot"),
    (("APBF.LOAD", "f", "PLACE", 0, "x"), "'PLACE' is not an option"),
    (("APBF.RESERVE", "f", 0.01, 10**14), "apbf.max-bytes-per-key"),
    (("APBF.LOAD", "f", "LATELY\r\n"), "cut off"),
    (("APBF.LOAD", "f", "something else"), "not a lately snapshot"),
    (("APBF.PLAN", 0.01), "wrong number of arguments"),
    (("APBF.PLAN", 0.01, "x"), "window is 'x'"),
    (("APBF.CREATE", "f", "x" * 500), "not a lately snapshot"),
    (("APBF.PATCH", "f", 0, "x" * 8), "no such key"),
    (("APBF.APPLY", "f", 5, "EVERY", "a"), "no such key"),
    (("APBF.APPLY", "f", "soon", "EVERY", "a"), "now-ms is 'soon'"),
    (("APBF.APPLY", "f", 5, "SOME", "a"), "one of EVERY, FIRST"),
    (("APBF.APPLY", "f", 5, "EVERY"), "no such key"),
    (("APBF.APPLY", "f", 5), "wrong number of arguments"),
])
def test_a_refused_command_names_its_argument_and_creates_nothing(client, command, expected):
    message = refused(client, *command)
    assert expected.replace("\\\\", "\\") in message
    assert client.dbsize() == 0


def test_every_command_checks_its_number_of_arguments(client):
    for command in ("RESERVE", "ADD", "MADD", "ADDNX", "MADDNX", "INSERT", "EXISTS", "MEXISTS", "AGE", "INFO", "CARD",
                    "PLAN", "SNAPSHOT", "LOAD", "CREATE", "PATCH", "APPLY"):
        assert "wrong number of arguments" in refused(client, f"APBF.{command}")
    for command in (("ADD", "f", "a", "b"), ("EXISTS", "f", "a", "b"), ("INFO", "f", "window", "span_ms"),
                    ("CARD", "f", "x"), ("LOAD", "f", "x", "y"), ("SNAPSHOT", "f", "CURSOR"), ("AGE", "f", "a", "b")):
        client.execute_command("APBF.ADD", "f", "a")
        assert "wrong number of arguments" in refused(client, f"APBF.{command[0]}", *command[1:])


def test_keys_of_other_types_are_refused_and_not_changed(client):
    client.set("s", "text")
    client.rpush("l", "element")
    for key in "sl":
        for command in (("ADD", key, "a"), ("MADD", key, "a"), ("ADDNX", key, "a"), ("MADDNX", key, "a"),
                        ("INSERT", key, "ITEMS", "a"), ("EXISTS", key, "a"), ("MEXISTS", key, "a"), ("AGE", key, "a"),
                        ("INFO", key), ("CARD", key), ("SNAPSHOT", key), ("RESERVE", key, 0.01, 10),
                        ("APPLY", key, 5, "EVERY", "a"), ("PATCH", key, 0, "x" * 8)):
            assert refused(client, f"APBF.{command[0]}", *command[1:]).startswith("WRONGTYPE") or \
                "wrong kind of value" in refused(client, f"APBF.{command[0]}", *command[1:])
    client.execute_command("APBF.ADD", "f", "a")
    assert "WRONGTYPE" in refused(client, "GET", "f") or "wrong kind" in refused(client, "GET", "f")
    assert client.get("s") == b"text" and client.lrange("l", 0, -1) == [b"element"]


def test_an_existing_key_is_not_replaced(client):
    client.execute_command("APBF.MADD", "f", "a", "b")
    snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    digest = client.execute_command("DEBUG", "DIGEST-VALUE", "f")
    assert "already exists" in refused(client, "APBF.RESERVE", "f", 0.01, 10)
    assert "already exists" in refused(client, "APBF.LOAD", "f", snapshot)
    assert "already exists" in refused(client, "APBF.CREATE", "f", snapshot)
    assert client.execute_command("DEBUG", "DIGEST-VALUE", "f") == digest


def test_a_damaged_snapshot_is_refused_wherever_it_is_damaged(client):
    client.execute_command("APBF.RESERVE", "f", 0.01, 50)
    client.execute_command("APBF.MADD", "f", "a", "b")
    snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    pipeline = client.pipeline(transaction=False)
    for place in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[place] ^= 0x10
        pipeline.execute_command("APBF.LOAD", "g", bytes(damaged))
        pipeline.execute_command("APBF.LOAD", "g", snapshot[:place])
    replies = pipeline.execute(raise_on_error=False)
    assert all(isinstance(reply, redis.ResponseError) for reply in replies)
    assert client.exists("g") == 0


def test_the_size_of_a_blueprint_is_checked_before_anything_is_allocated(client):
    client.execute_command("APBF.RESERVE", "f", 0.01, 50, "LAYOUT", "SLICES")
    snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    # Terabytes of cells.
    message = refused(client, "APBF.CREATE", "g", blueprint_of(with_number(snapshot, [40], 10**13)))
    assert "bytes, but apbf.max-bytes-per-key is 536870912" in message
    assert not client.exists("g")


def test_counters_that_leave_no_room_for_more_inserts_are_refused(client):
    """A snapshot can hold at most 2^62 inserts and 2^52 generations. With one more, the server could not load its own
    snapshot."""
    client.execute_command("APBF.RESERVE", "f", 0.01, 50)
    snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    for more in 0, 1:
        for name, changed, most in ("inserts", with_inserts, 2**61), ("generation", with_generation, 2**51):
            count, counted = most + more, changed(snapshot, most + more)
            if count == most:
                assert client.execute_command("APBF.LOAD", name, counted) == b"OK"
                assert client.execute_command("APBF.ADD", name, "a") == 1
            else:
                assert f"{name} is {count}" in refused(client, "APBF.LOAD", "g", counted)
    assert client.exists("g") == 0


def test_restore_refuses_the_counters_that_load_refuses(servers):
    client = servers("--rdbcompression", "no").client
    client.execute_command("APBF.RESERVE", "f", 0.01, 50)
    name, version, snapshot = parts_of(client.dump("f"))
    client.restore("most", 0, as_dump(name, version, with_inserts(snapshot, 2**61)))
    assert client.execute_command("APBF.ADD", "most", "a") == 1
    with pytest.raises(redis.ResponseError, match="Bad data format"):
        client.restore("g", 0, as_dump(name, version, with_inserts(snapshot, 2**61 + 1)))
    assert not client.exists("g")


@pytest.mark.parametrize("options", (("ROWS", "SHAPE", 3, 7), ("BINS",)), ids=("rows", "bins"))
def test_internal_commands_check_their_arguments_for_every_client(client, options):
    client.execute_command("APBF.RESERVE", "f", 0.01, 50, "LAYOUT", *options)
    client.execute_command("APBF.MADD", "f", "a", "b")
    digest = client.execute_command("DEBUG", "DIGEST-VALUE", "f")
    assert "follow the end" in refused(client, "APBF.PATCH", "f", 10**9, b"\0" * 8)
    assert "follow the end" in refused(client, "APBF.PATCH", "f", 2**64 - 1, b"\0" * 8)
    assert "multiple of 8" in refused(client, "APBF.PATCH", "f", 0, b"\0" * 7)
    assert "no filter sets" in refused(client, "APBF.PATCH", "f", 0, b"\xff" * 128)
    assert client.execute_command("DEBUG", "DIGEST-VALUE", "f") == digest
    assert client.execute_command("APBF.APPLY", "f", 2**62, "FIRST", "a", "c") == [0, 1], "count windows have no clock"
    assert client.execute_command("APBF.MEXISTS", "f", "a", "b", "c", "d") == [1, 1, 1, 0]


def test_a_snapshot_above_max_bytes_per_key_is_refused(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.01, 100_000)
    snapshot, dump = client.execute_command("APBF.SNAPSHOT", "f"), client.dump("f")
    client.config_set("apbf.max-bytes-per-key", 100_000)
    try:
        assert "apbf.max-bytes-per-key is 100000" in refused(client, "APBF.LOAD", "g", snapshot)
        assert "apbf.max-bytes-per-key is 100000" in refused(client, "APBF.ADD", "g", "a")
        assert "Bad data format" in refused(client, "RESTORE", "g", 0, dump)
        assert "the filter of the key 'g' cannot be loaded: the filter takes" in server.log()
        assert "apbf.max-bytes-per-key is 100000: ask for a smaller" in server.log()
        assert client.exists("g") == 0
        assert client.execute_command("APBF.ADD", "f", "a") == 1, "an existing filter still works"
    finally:
        client.config_set("apbf.max-bytes-per-key", 512 << 20)


@pytest.mark.parametrize("name, value", [
    ("default-window", "0"), ("default-window", "many"), ("default-error-rate", "0"), ("default-error-rate", "1"),
    ("default-error-rate", "nan"), ("default-error-rate", "x"), ("default-slack", "0"), ("default-slack", "-1"),
    ("default-slack", "some"), ("default-layout", "heap"), ("max-bytes-per-key", "-1"), ("default-slack", "1e-12"),
])
def test_invalid_configs_are_refused_and_change_nothing(client, name, value):
    before = client.config_get("apbf.*")
    refused(client, "CONFIG", "SET", f"apbf.{name}", value)
    assert client.config_get("apbf.*") == before
    assert client.execute_command("APBF.ADD", "f", "a") == 1


def test_a_filter_that_does_not_fit_into_memory_is_refused(server):
    client = server.client
    client.config_set("apbf.max-bytes-per-key", 2**62)
    try:
        message = refused(client, "APBF.RESERVE", "f", 0.001, 2**47)
        assert "which cannot be allocated: ask for a smaller window" in message and "snapshot" not in message
        assert client.exists("f") == 0 and client.ping()
    finally:
        client.config_set("apbf.max-bytes-per-key", 512 << 20)


def test_module_arguments_are_refused(kind, tmp_path):
    from conftest import BINARIES, MODULE, free_port
    import subprocess
    ended = subprocess.run(
        [BINARIES[kind], "--port", str(free_port()), "--dir", tmp_path, "--loadmodule", MODULE, "window", "5"],
        capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "takes no arguments" in ended.stdout
