"""Snapshots in pieces: the same bytes, no long command, and a filter that is not complete is no filter."""

import struct
import time

import pytest
import redis

from conftest import eventually, items
from forgery import as_dump, head_length, parts_of, type_number
from test_compatibility import lately
from test_replication import caught_up, follow

PIECE = 1 << 20


def pieces_of(client, key):
    """Reads a snapshot as docs/redis.md describes it."""
    pieces, cursor = [], 0
    while True:
        following, piece = client.execute_command("APBF.SNAPSHOT", key, "CURSOR", cursor)
        pieces.append((cursor, piece))
        if (cursor := following) == 0:
            return pieces


def load(client, key, pieces):
    replies = [client.execute_command("APBF.LOAD", key, "CURSOR", cursor, piece) for cursor, piece in pieces]
    assert replies == [cursor for cursor, _ in pieces[1:]] + [0]


def create(client, key, *promise, count=20_000):
    client.execute_command("APBF.RESERVE", key, *promise)
    for first in range(0, count, 10_000):
        client.execute_command("APBF.MADD", key, *items(first, 10_000))


PROMISES = ((1e-3, 1_000_000), (1e-3, 1_000_000, "LAYOUT", "ROWS"), (1e-3, 500_000, "LAYOUT", "SLICES"), (1e-3, 100, "LAYOUT", "BLOCKS"),
            (1e-3, 1_000_000, "SPAN", 600_000), (1e-6, 0, "SPAN", 600_000))


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_pieces_are_the_snapshot_and_make_the_same_filter(server, promise):
    client = server.client
    create(client, "f", *promise)
    pieces = pieces_of(client, "f")
    whole = client.execute_command("APBF.SNAPSHOT", "f")
    assert b"".join(piece for _, piece in pieces) == whole
    assert all(len(piece) <= PIECE for _, piece in pieces)
    load(client, "g", pieces)
    assert server.digest("g") == server.digest("f") and client.type("g") == b"apbf-late"
    # Pieces of other sizes.
    load(client, "h", [(begin, whole[begin:begin + 100_001]) for begin in range(0, len(whole), 100_001)])
    assert server.digest("h") == server.digest("f")
    assert client.execute_command("APBF.ADDNX", "h", "item-19999") == 0


def test_a_file_of_the_command_line_can_be_loaded_in_pieces(server, tmp_path):
    state = tmp_path / "seen.lately"
    lately("dedup", "--window", 300_000, "--state", state, stdin="\n".join(items(0, 3_000)) + "\n")
    content = state.read_bytes()
    assert len(content) > 3 * 200_000
    load(server.client, "f", [(begin, content[begin:begin + 200_000]) for begin in range(0, len(content), 200_000)])
    assert server.client.execute_command("APBF.SNAPSHOT", "f") == content
    assert server.client.execute_command("APBF.MEXISTS", "f", *items(0, 3_000)) == [1] * 3_000


def test_a_filter_that_changes_in_between_must_begin_again(client):
    create(client, "f", 1e-3, 1_000_000)
    client.execute_command("APBF.RESERVE", "t", 1e-3, 1_000_000, "SPAN", 600_000)
    for key, write in (("f", ("ADD", "new")), ("t", ("ADDNX", "new"))):
        cursor, _ = client.execute_command("APBF.SNAPSHOT", key, "CURSOR", 0)
        client.execute_command("APBF.EXISTS", key, "item-0")
        cursor, _ = client.execute_command("APBF.SNAPSHOT", key, "CURSOR", cursor)
        client.execute_command(f"APBF.{write[0]}", key, write[1])
        with pytest.raises(redis.ResponseError, match=f"there is no piece at CURSOR {cursor}: the filter has changed"):
            client.execute_command("APBF.SNAPSHOT", key, "CURSOR", cursor)
        client.copy(key, "copy", replace=True)
        pieces_of(client, "copy")
    with pytest.raises(redis.ResponseError, match="there is no piece at CURSOR 8"):
        client.execute_command("APBF.SNAPSHOT", "f", "CURSOR", 8)
    with pytest.raises(redis.ResponseError, match="'CORSOR' is not an option"):
        client.execute_command("APBF.SNAPSHOT", "f", "CORSOR", 0)
    with pytest.raises(redis.ResponseError, match="no such key"):
        client.execute_command("APBF.SNAPSHOT", "missing", "CURSOR", 0)


def test_an_incomplete_filter_is_no_filter(client):
    create(client, "f", 1e-3, 1_000_000)
    pieces = pieces_of(client, "f")
    assert len(pieces) == 3
    with pytest.raises(redis.ResponseError, match="no such key: begin with CURSOR 0"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[1])
    client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[0])
    assert client.type("g") == b"apbf-load"
    assert client.memory_usage("g") > 2 << 20
    for command in (("ADD", "g", "a"), ("EXISTS", "g", "a"), ("INFO", "g"), ("RESERVE", "g", 0.1, 10), ("SNAPSHOT", "g"), ("CARD", "g")):
        with pytest.raises(redis.ResponseError, match="wrong kind of value|WRONGTYPE"):
            client.execute_command(f"APBF.{command[0]}", *command[1:])
    with pytest.raises(redis.ResponseError, match=f"CURSOR is {pieces[2][0]}, but the next piece begins at {pieces[1][0]}"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[2])
    with pytest.raises(redis.ResponseError, match="already exists"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[0])
    with pytest.raises(redis.ResponseError, match="already exists"):
        client.execute_command("APBF.LOAD", "f", "CURSOR", *pieces[0])
    load(client, "h", pieces)
    # One flipped bit in the last piece.
    damaged = bytearray(pieces[2][1])
    damaged[-20] ^= 1
    client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[1])
    with pytest.raises(redis.ResponseError, match="The key is deleted: begin again with CURSOR 0"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", pieces[2][0], bytes(damaged))
    assert not client.exists("g")
    with pytest.raises(redis.ResponseError, match="too few to tell what follows"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", 0, pieces[0][1][:300])
    with pytest.raises(redis.ResponseError, match="has 2097153 bytes, but can have at most 2097152"):
        client.execute_command("APBF.LOAD", "g", "CURSOR", 0, b"x" * 2_097_153)
    assert not client.exists("g")


def test_the_size_is_checked_before_the_first_piece_is_kept(server):
    client = server.client
    create(client, "f", 1e-3, 1_000_000)
    pieces = pieces_of(client, "f")
    client.config_set("apbf.max-bytes-per-key", "2mb")
    try:
        with pytest.raises(redis.ResponseError, match="apbf.max-bytes-per-key is 2097152"):
            client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[0])
    finally:
        client.config_set("apbf.max-bytes-per-key", 512 << 20)
    assert not client.exists("g")


def test_a_restored_head_may_ask_for_no_more_than_a_key_may_take(servers):
    """RESTORE takes pieces too, and what comes first says how much memory the others need."""
    client = servers("--rdbcompression", "no").client
    client.execute_command("APBF.RESERVE", "f", 0.01, 50, "LAYOUT", "SLICES")
    _, version, snapshot = parts_of(client.dump("f"))
    head, before = bytearray(snapshot[:head_length(snapshot)]), client.info("memory")["used_memory"]
    client.restore("usual", 0, as_dump(type_number("apbf-load"), version, bytes(head)))
    assert client.execute_command("APBF.LOAD", "usual", "CURSOR", len(head), snapshot[len(head):]) == 0
    for cells in (2**30, 2**33, 2**43):
        head[40:48] = struct.pack("<Q", cells)
        # Without its last bytes, the head does not yet say what follows.
        for end in (len(head), len(head) - 8):
            with pytest.raises(redis.ResponseError, match="Bad data format"):
                client.restore("g", 0, as_dump(type_number("apbf-load"), version, bytes(head[:end])))
            assert not client.exists("g")
    assert client.info("memory")["used_memory"] < before + (1 << 20)


def test_a_filter_in_the_middle_of_its_pieces_is_saved_and_replicated(servers):
    primary = servers("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", 0)
    replica = servers()
    client = primary.client
    create(client, "f", 1e-3, 1_000_000)
    pieces = pieces_of(client, "f")
    client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[0])
    follow(replica, primary)
    client.execute_command("APBF.LOAD", "g", "CURSOR", *pieces[1])
    caught_up(primary, replica)
    digest = primary.digest("g")
    assert replica.digest("g") == digest
    client.execute_command("DEBUG", "RELOAD")
    assert primary.digest("g") == digest
    client.bgrewriteaof()
    eventually(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    client.execute_command("DEBUG", "LOADAOF")
    assert primary.digest("g") == digest
    client.restore("restored", 0, client.dump("g"))
    client.copy("g", "copied")
    for key in ("g", "restored", "copied"):
        assert client.execute_command("APBF.LOAD", key, "CURSOR", *pieces[2]) == 0
        assert primary.digest(key) == primary.digest("f")
    caught_up(primary, replica)
    for key in ("f", "g", "restored", "copied"):
        assert replica.digest(key) == primary.digest(key)
    # A piece that is refused deletes the key everywhere.
    client.execute_command("APBF.LOAD", "bad", "CURSOR", *pieces[0])
    with pytest.raises(redis.ResponseError, match="The key is deleted"):
        client.execute_command("APBF.LOAD", "bad", "CURSOR", pieces[1][0], b"\xff" * 2_000_000)
    caught_up(primary, replica)
    assert not replica.client.exists("bad") and not client.exists("bad")
    # It is told to delete the key, not to load the same piece.
    assert "sending an error" not in replica.log()


def test_a_key_keeps_its_expiry_when_its_last_piece_comes(servers):
    primary, replica = servers(), servers()
    follow(replica, primary)
    client = primary.client
    create(client, "f", 1e-3, 1_000_000)
    first, *others = pieces_of(client, "f")
    client.execute_command("APBF.LOAD", "g", "CURSOR", *first)
    client.expire("g", 1000)
    for piece in others:
        client.execute_command("APBF.LOAD", "g", "CURSOR", *piece)
    caught_up(primary, replica)
    for server in (primary, replica):
        assert server.client.type("g") == b"apbf-late" and 900 < server.client.ttl("g") <= 1000
    load(client, "h", [first, *others])
    assert client.ttl("h") == -1


def test_event_times_that_the_server_s_clock_would_forget_are_refused(server, tmp_path):
    client, state = server.client, tmp_path / "events.lately"
    records = "".join(f'{{"id":{number},"at":{1_600_000_000_000 + number}}}\n' for number in range(1_000))
    lately("dedup", "--within", "1h", "--json", "id", "--time-field", "at", "--state", state, stdin=records)
    content = state.read_bytes()
    for command in (("APBF.LOAD", "f", content), ("APBF.LOAD", "f", "CURSOR", 0, content)):
        with pytest.raises(redis.ResponseError, match="lives on the times of events, the latest is 1600000000999"):
            client.execute_command(*command)
    assert not client.exists("f")


def test_times_that_the_server_s_clock_would_reach_only_later_are_refused(client):
    """Until then nothing would leave the window."""
    client.execute_command("APBF.RESERVE", "f", 1e-3, 100, "SPAN", 3_600_000)
    ahead = int(time.time() * 1000) + 3_000_000
    client.execute_command("APBF.APPLY", "f", ahead, "EVERY", "a")
    near = client.execute_command("APBF.SNAPSHOT", "f")
    assert client.execute_command("APBF.LOAD", "near", near) == b"OK", "clocks differ, by less than the span"
    client.execute_command("APBF.APPLY", "f", ahead + 3_600_000, "EVERY", "a")
    far = client.execute_command("APBF.SNAPSHOT", "f")
    for command in (("APBF.LOAD", "g", far), ("APBF.LOAD", "g", "CURSOR", 0, far)):
        with pytest.raises(redis.ResponseError, match=f"the latest time of the filter is {ahead + 3_600_000}.*until then nothing would be forgotten"):
            client.execute_command(*command)
    assert not client.exists("g")


def test_snapshots_of_the_server_say_that_they_live_on_the_system_s_clock(client):
    for key, promise in (("t", (1e-3, 100, "SPAN", 1_000)), ("e", (1e-3, 0, "SPAN", 1_000))):
        client.execute_command("APBF.RESERVE", key, *promise)
        # docs/format.md: the source of the times.
        assert client.execute_command("APBF.SNAPSHOT", key)[36] == 1
    client.execute_command("APBF.ADD", "c", "a")
    assert client.execute_command("APBF.SNAPSHOT", "c")[36] == 0
