"""One snapshot format: the module and the command line load each other's filters, and so do Redis and Valkey."""

import json
import subprocess

from conftest import BINARIES, LATELY, info, items


def lately(*arguments, stdin=""):
    return subprocess.run([LATELY, *map(str, arguments)], input=stdin, capture_output=True, text=True, check=True).stdout


def without_label(state):
    """Returns a state without the fingerprint of the command's flags, and without the checksum."""
    return state[:144] + state[152:-8]


def test_a_state_of_the_command_line_can_be_loaded_into_the_server(server, tmp_path):
    client, state = server.client, tmp_path / "seen.lately"
    lines = items(0, 3000)
    lately("dedup", "--window", 1000, "--state", state, stdin="\n".join(lines) + "\n")
    assert client.execute_command("APBF.LOAD", "f", state.read_bytes()) == b"OK"
    assert client.execute_command("APBF.MEXISTS", "f", *lines[-1000:]) == [1] * 1000
    assert info(client, "f")["inserts"] == 3000
    assert client.execute_command("APBF.SNAPSHOT", "f") == state.read_bytes()


def test_a_snapshot_of_the_server_can_be_used_on_the_command_line(server, tmp_path):
    client, state = server.client, tmp_path / "from-server.lately"
    client.execute_command("APBF.RESERVE", "f", 1e-6, 500)
    client.execute_command("APBF.MADD", "f", *items(0, 700))
    state.write_bytes(client.execute_command("APBF.SNAPSHOT", "f"))
    described = json.loads(lately("inspect", "--json", state))
    assert described["statistics"]["inserts"] == 700
    let_through = lately("dedup", "--window", 500, "--fp", "1e-6", "--state", state,
                         stdin="item-650\nitem-999\nitem-699\nitem-1000\n")
    assert let_through.split() == ["item-999", "item-1000"]
    client.execute_command("APBF.LOAD", "back", state.read_bytes())
    assert client.execute_command("APBF.MEXISTS", "back", "item-999", "item-650", "item-5000") == [1, 1, 0]
    assert info(client, "back")["inserts"] == 704


def test_server_and_command_line_make_the_same_bytes_from_the_same_stream(server, tmp_path):
    client, state = server.client, tmp_path / "seen.lately"
    lines = [f"{number * 7919 % 2500}" for number in range(6000)]
    lately("dedup", "--window", 800, "--fp", "0.001", "--state", state, stdin="\n".join(lines) + "\n")
    client.execute_command("APBF.RESERVE", "f", 0.001, 800)
    client.execute_command("APBF.MADD", "f", *lines)
    assert without_label(client.execute_command("APBF.SNAPSHOT", "f")) == without_label(state.read_bytes())


def test_several_values_are_the_same_item_on_the_command_line_and_in_the_server(server, tmp_path):
    client, state = server.client, tmp_path / "visits.lately"
    dedup = ("dedup", "--window", 1000, "--fp", "1e-6", "--csv", "--column", "user,page", "--state", state)
    lately(*dedup, stdin="page,user\n17,user-5\n,Zoë\n")
    client.execute_command("APBF.LOAD", "f", state.read_bytes())
    assert client.execute_command("APBF.MEXISTS", "f", "6:user-5,2:17,", "4:Zoë,0:,") == [1, 1]
    assert client.execute_command("APBF.MEXISTS", "f", "2:17,6:user-5,", "user-5,17", "user-5", 17) == [0] * 4
    client.execute_command("APBF.ADD", "f", "6:user-6,2:18,")
    state.write_bytes(client.execute_command("APBF.SNAPSHOT", "f"))
    assert lately(*dedup, stdin="user,page\nuser-6,18\nuser-6,19\n") == "user,page\nuser-6,19\n"


def test_one_value_is_its_own_bytes_and_an_integer_its_decimal_text(server, tmp_path):
    client, state = server.client, tmp_path / "pages.lately"
    lately("dedup", "--window", 1000, "--fp", "1e-6", "--csv", "--column", "page", "--state", state,
           stdin="user,page\nuser-5,17\n")
    client.execute_command("APBF.LOAD", "f", state.read_bytes())
    assert client.execute_command("APBF.MEXISTS", "f", 17, "17", "2:17,") == [1, 1, 0]


def test_a_time_window_of_the_server_can_be_used_on_the_command_line(server, tmp_path):
    client, state = server.client, tmp_path / "time.lately"
    client.execute_command("APBF.RESERVE", "f", 1e-6, 500, "SPAN", 3_600_000)
    client.execute_command("APBF.MADD", "f", *items(0, 400))
    state.write_bytes(client.execute_command("APBF.SNAPSHOT", "f"))
    described = json.loads(lately("inspect", "--json", state))
    assert described["guaranteed_span_ms"] == 3_600_000
    let_through = lately("dedup", "--within", "1h", "--capacity", 500, "--fp", "1e-6", "--state", state,
                         stdin="item-1\nitem-400\nitem-399\n")
    assert let_through.split() == ["item-400"]


def test_a_snapshot_of_redis_loads_into_valkey_and_the_other_way_round(server, servers):
    other = servers(of=next(kind for kind in BINARIES if kind != server.kind))
    client = server.client
    client.execute_command("APBF.RESERVE", "count", 0.001, 1000, "LAYOUT", "BLOCKS")
    client.execute_command("APBF.RESERVE", "time", 0.001, 1000, "SPAN", 60_000)
    for key in ("count", "time"):
        client.execute_command("APBF.MADD", key, *items(0, 800))
        other.client.execute_command("APBF.LOAD", key, client.execute_command("APBF.SNAPSHOT", key))
        assert other.digest(key) == server.digest(key)
        client.execute_command("APBF.APPLY", key, 2**45, "EVERY", "more")
        other.client.execute_command("APBF.APPLY", key, 2**45, "EVERY", "more")
        assert other.digest(key) == server.digest(key)
