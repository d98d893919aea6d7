"""Every command and its replies, in both versions of the protocol."""

import tomllib

import pytest
import redis

from conftest import ROOT, info, items, named


def test_add_returns_1_for_new_items_and_every_sighting_refreshes(client):
    assert client.execute_command("APBF.RESERVE", "f", 0.001, 1000) == b"OK"
    assert client.execute_command("APBF.ADD", "f", "a") == 1
    assert client.execute_command("APBF.ADD", "f", "a") == 0
    assert client.execute_command("APBF.MADD", "f", "a", "b", "b", "c") == [0, 1, 0, 1]
    assert info(client, "f")["inserts"] == 6


def test_addnx_does_not_refresh(client):
    client.execute_command("APBF.RESERVE", "f", 0.001, 1000)
    assert client.execute_command("APBF.ADDNX", "f", "a") == 1
    assert client.execute_command("APBF.ADDNX", "f", "a") == 0
    assert client.execute_command("APBF.MADDNX", "f", "a", "b", "b", "c") == [0, 1, 0, 1]
    assert info(client, "f")["inserts"] == 3


def test_exists(client):
    assert client.execute_command("APBF.EXISTS", "missing", "a") == 0
    assert client.execute_command("APBF.MEXISTS", "missing", "a", "b") == [0, 0]
    client.execute_command("APBF.MADD", "f", "a", "b")
    assert client.execute_command("APBF.EXISTS", "f", "a") == 1
    assert client.execute_command("APBF.EXISTS", "f", "c") == 0
    assert client.execute_command("APBF.MEXISTS", "f", "a", "c", "b") == [1, 0, 1]
    assert client.exists("missing") == 0, "a read created the key"


def test_items_are_any_bytes(client):
    strange = [b"", b"\0", bytes(range(256)), b"\r\n", b"x" * 1_000_000]
    assert client.execute_command("APBF.MADD", "f", *strange) == [1] * 5
    assert client.execute_command("APBF.MEXISTS", "f", *strange) == [1] * 5
    assert client.execute_command("APBF.MEXISTS", "f", b"\0\0", b"\n") == [0, 0]
    client.execute_command("APBF.ADD", b"key \0 \xff", "a")
    assert client.execute_command("APBF.EXISTS", b"key \0 \xff", "a") == 1


def test_a_missing_key_is_created_with_the_defaults(client):
    client.execute_command("APBF.ADD", "f", "a")
    assert info(client, "f")["window"] == 100_000
    assert float(info(client, "f")["error_rate"]) <= 0.001
    assert client.type("f") == b"apbf-late"


def test_insert_creates_a_filter_with_the_given_options(client):
    add = lambda key, *rest: client.execute_command("APBF.INSERT", key, *rest)
    assert add("f", "ERROR", 0.01, "WINDOW", 500, "SPAN", 60_000, "SLACK", 0.5, "LAYOUT", "slices", "ITEMS", "a", "b", "a") == [1, 1, 0]
    made = info(client, "f")
    assert (made["window"], made["span_ms"], made["layout"]) == (500, 60_000, b"slices")
    assert float(made["error_rate"]) <= 0.01 and float(made["slack"]) <= 0.5
    assert add("f", "NX", "ITEMS", "a", "c") == [0, 1]
    assert info(client, "f")["inserts"] == 4
    assert add("f", "NOCREATE", "ITEMS", "d") == [1]
    assert add("f", "WINDOW", 9_000, "ITEMS", "e") == [1], "options do not change an existing filter"
    assert info(client, "f")["window"] == 500
    with pytest.raises(redis.ResponseError, match="no such key"):
        add("missing", "NOCREATE", "ITEMS", "a")
    assert add("items", "ITEMS", "ITEMS", "NX", "ERROR") == [1, 1, 1], "after ITEMS everything is an item"
    assert client.execute_command("APBF.MEXISTS", "items", "NX", "ERROR") == [1, 1]


def test_reserve_with_every_option(client):
    client.execute_command(
        "APBF.RESERVE", "f", "1e-3", 7000, "SPAN", 90_000, "OVERLOAD", "RATE", "SLACK", 0.3, "LAYOUT", "BLOCKS", "SEED", 5)
    made = info(client, "f")
    assert (made["window"], made["span_ms"], made["overload"], made["layout"]) == (7000, 90_000, b"rate", b"blocks")
    client.execute_command("APBF.RESERVE", "g", 0.01, 1000, "SHAPE", 4, 12, "LAYOUT", "ROWS")
    assert info(client, "g")["shape"].startswith(b"k=4 l=12, rows")
    client.execute_command("APBF.RESERVE", "h", 0.01, 1000, "SHAPE", 1, 12, "LAYOUT", "BINS")
    made = info(client, "h")
    assert made["layout"] == b"bins" and made["shape"].startswith(b"k=1 l=12, bins of ")


def test_the_seed_decides_the_bits(client):
    for key, seed in (("a", 1), ("b", 1), ("c", 2)):
        client.execute_command("APBF.RESERVE", key, 0.01, 100, "SEED", seed)
        client.execute_command("APBF.MADD", key, *items(0, 50))
    digests = [client.execute_command("DEBUG", "DIGEST-VALUE", key)[0] for key in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_age(client):
    client.execute_command("APBF.RESERVE", "f", 1e-6, 1000)
    client.execute_command("APBF.ADD", "f", "first")
    client.execute_command("APBF.MADD", "f", *items(0, 300))
    least, most = client.execute_command("APBF.AGE", "f", "first")
    assert least <= 300 <= most <= 600
    assert client.execute_command("APBF.AGE", "f", "never") is None
    assert client.execute_command("APBF.AGE", "missing", "a") is None
    client.execute_command("APBF.INSERT", "t", "SPAN", 60_000, "ITEMS", "a")
    age = client.execute_command("APBF.AGE", "t", "a")
    assert len(age) == 4 and age[:2] == [0, 0] and age[2] <= age[3] <= 60_000


def test_card_estimates_the_items_of_the_window(client):
    assert client.execute_command("APBF.CARD", "missing") == 0
    for window, inserted in ((10_000, 5_000), (1_000_000, 400_000)):
        client.execute_command("APBF.RESERVE", f"f{window}", 0.001, window)
        for first in range(0, inserted, 10_000):
            client.execute_command("APBF.MADD", f"f{window}", *items(first, min(10_000, inserted)))
        card = client.execute_command("APBF.CARD", f"f{window}")
        # The sample of the larger filter holds about 20 000 items: the standard error is 1 / sqrt(20 000) = 0.7%. Allow
        # five times that.
        assert abs(card - inserted) <= 0.04 * inserted


@pytest.mark.parametrize("window", ((10_000,), (3_000_000,), (10_000, "SPAN", 600_000), (0, "SPAN", 600_000)), ids=str)
def test_card_counts_an_item_once_however_often_it_is_added(client, window):
    client.execute_command("APBF.RESERVE", "one", 0.001, *window)
    for _ in range(10):
        client.execute_command("APBF.MADD", "one", *["item"] * 100)
        assert client.execute_command("APBF.CARD", "one") == 1
    client.execute_command("APBF.RESERVE", "many", 0.001, *window)
    for _ in range(100):
        client.execute_command("APBF.MADD", "many", *items(0, 1_000))
        # Some of them are mistaken for others.
        assert 950 <= client.execute_command("APBF.CARD", "many") <= 1_050
    assert info(client, "many")["estimated_items"] == client.execute_command("APBF.CARD", "many")


@pytest.mark.parametrize("layout", ("ROWS", "BLOCKS", "SLICES"))
def test_card_is_refused_where_repeats_count_again(client, layout):
    client.execute_command("APBF.RESERVE", "f", 0.001, 1_000, "LAYOUT", layout)
    client.execute_command("APBF.MADD", "f", *["item"] * 1_000)
    with pytest.raises(redis.ResponseError, match=f"in LAYOUT {layout} .* use LAYOUT BINS"):
        client.execute_command("APBF.CARD", "f")
    assert info(client, "f")["estimated_items"] is None


def test_info_has_all_fields_and_each_alone(client):
    client.execute_command("APBF.INSERT", "f", "WINDOW", 1000, "SPAN", 60_000, "ITEMS", *items(0, 100))
    fields = info(client, "f")
    assert list(fields) == [
        "window", "span_ms", "overload", "layout", "shape", "hash", "items_per_generation", "guaranteed_window", "most_memory_bytes",
        "bits_per_item", "error_rate", "slack", "memory_bytes", "peak_memory_bytes", "growths", "shrinks", "allocated_bytes", "inserts", "new_items", "repeats", "lookups",
        "misses", "generation", "latest_ms", "backward_steps", "overloaded_generations", "estimated_items", "fills",
        "estimated_error_rate", "estimated_spilled_items"]
    for name, value in fields.items():
        alone = client.execute_command("APBF.INFO", "f", name.upper())
        assert alone == value or isinstance(value, (list, float)), name
    with pytest.raises(redis.ResponseError, match="'much' is not a field: fields are window, .*, estimated_items, fills, .*"):
        client.execute_command("APBF.INFO", "f", "much")
    assert 90 <= fields["estimated_items"] <= 110
    assert 0 < max(map(float, fields["fills"])) < 1


def test_plan_describes_the_filter_that_reserve_creates(client):
    options = ("0.002", 5000, "SPAN", 30_000, "SLACK", "0.15")
    plan = named(client.execute_command("APBF.PLAN", *options))
    assert client.keys() == []
    client.execute_command("APBF.RESERVE", "f", *options)
    made = info(client, "f")
    for name, value in plan.items():
        assert made[name] == value
    assert float(plan["error_rate"]) <= 0.002 and float(plan["slack"]) <= 0.15


def test_both_versions_of_the_protocol(server):
    older, newer = server.connect(protocol=2), server.connect(protocol=3)
    older.execute_command("APBF.MADD", "f", "a", "b")
    assert isinstance(older.execute_command("APBF.INFO", "f"), list)
    described = newer.execute_command("APBF.INFO", "f")
    assert isinstance(described, dict) and isinstance(described[b"error_rate"], float)
    assert described[b"span_ms"] is None
    assert info(older, "f")["inserts"] == info(newer, "f")["inserts"] == 2
    assert newer.execute_command("APBF.MEXISTS", "f", "a", "c") == [1, 0]
    assert newer.execute_command("APBF.AGE", "f", "c") is None
    assert isinstance(newer.execute_command("APBF.PLAN", 0.01, 100), dict)


def test_transactions_and_scripts(client):
    transaction = client.pipeline(transaction=True)
    transaction.execute_command("APBF.RESERVE", "f", 0.01, 100)
    transaction.execute_command("APBF.ADD", "f", "a")
    transaction.execute_command("APBF.ADD", "f", "a")
    assert transaction.execute() == [b"OK", 1, 0]
    script = "return {redis.call('APBF.ADD', KEYS[1], 'b'), redis.call('APBF.EXISTS', KEYS[1], 'a')}"
    assert client.eval(script, 1, "f") == [1, 1]
    script = "redis.call('APBF.RESERVE', KEYS[1], '0.01', '200') return redis.call('APBF.ADD', KEYS[1], 'a')"
    assert client.eval(script, 1, "g") == 1


def test_watch_notices_changes_of_a_filter_and_nothing_else(server):
    client, watcher = server.client, server.connect()
    client.execute_command("APBF.ADDNX", "f", "a")

    def survives(command):
        with watcher.pipeline() as pipeline:
            pipeline.watch("f")
            client.execute_command(*command)
            pipeline.multi()
            pipeline.ping()
            try:
                return bool(pipeline.execute())
            except redis.WatchError:
                return False

    assert survives(("APBF.EXISTS", "f", "a"))
    assert survives(("APBF.ADDNX", "f", "a")), "a repeat changes nothing"
    assert not survives(("APBF.ADDNX", "f", "b"))
    assert not survives(("APBF.ADD", "f", "a"))


def test_keyspace_events(server):
    client = server.client
    client.config_set("notify-keyspace-events", "KEA")
    listener = server.connect().pubsub()
    listener.psubscribe("__keyspace@0__:f")
    listener.get_message(timeout=5)
    client.execute_command("APBF.RESERVE", "f", 0.01, 100)
    client.execute_command("APBF.ADD", "f", "a")
    client.execute_command("APBF.ADDNX", "f", "a")
    snapshot = client.execute_command("APBF.SNAPSHOT", "f")
    client.delete("f")
    client.execute_command("APBF.LOAD", "f", snapshot)
    heard = [listener.get_message(timeout=5)["data"] for _ in range(4)]
    client.config_set("notify-keyspace-events", "")
    assert heard == [b"apbf.reserve", b"apbf.add", b"del", b"apbf.load"]


def test_a_filter_can_be_renamed_copied_expired_and_moved_like_any_key(client):
    client.execute_command("APBF.MADD", "f", "a", "b")
    client.rename("f", "g")
    assert client.execute_command("APBF.EXISTS", "g", "a") == 1
    assert client.copy("g", "h")
    client.execute_command("APBF.ADD", "h", "c")
    assert client.execute_command("APBF.MEXISTS", "g", "b", "c") == [1, 0], "the copy is independent"
    client.pexpire("g", 1)
    while client.exists("g"):
        pass
    assert client.execute_command("APBF.EXISTS", "g", "a") == 0
    assert client.execute_command("APBF.ADD", "g", "a") == 1
    client.move("h", 1)
    assert client.exists("h") == 0
    assert client.object("encoding", "g") is not None


def test_defaults_are_configs(server):
    client = server.client
    before = client.config_get("apbf.*")
    assert before == {
        "apbf.default-window": "100000", "apbf.default-error-rate": "0.001", "apbf.default-slack": "auto",
        "apbf.default-layout": "auto", "apbf.default-keyed": "no", "apbf.max-bytes-per-key": str(512 << 20), "apbf.auto-create": "yes", "apbf.template": ""}
    changed = {
        "apbf.default-window": 2000, "apbf.default-error-rate": "0.02", "apbf.default-slack": "0.4",
        "apbf.default-layout": "blocks"}
    client.config_set("apbf.max-bytes-per-key", "100mb")
    for name, value in changed.items():
        client.config_set(name, value)
    assert client.config_get("apbf.max-bytes-per-key") == {"apbf.max-bytes-per-key": str(100 << 20)}
    client.execute_command("APBF.ADD", "f", "a")
    made = info(client, "f")
    for name, value in before.items():
        client.config_set(name, value)
    assert (made["window"], made["layout"]) == (2000, b"blocks")
    assert 0.001 < float(made["error_rate"]) <= 0.02 and float(made["slack"]) <= 0.4


@pytest.mark.parametrize("layout", ("slices", "blocks", "rows", "bins"))
def test_every_layout_can_be_the_default(server, layout):
    client = server.client
    client.config_set("apbf.default-layout", layout)
    try:
        client.execute_command("APBF.ADD", "f", "a")
        assert info(client, "f")["layout"] == layout.encode()
    finally:
        client.config_set("apbf.default-layout", "auto")


def test_configs_come_from_the_command_line_and_survive_a_rewrite(servers, tmp_path):
    file = tmp_path / "server.conf"
    file.write_text("")
    server = servers("--apbf.default-window", 1234, "--apbf.default-error-rate", "0.05")
    server.client.execute_command("APBF.ADD", "f", "a")
    assert info(server.client, "f")["window"] == 1234
    assert 0.01 < float(info(server.client, "f")["error_rate"]) <= 0.05


def test_module_list_shows_the_version_of_the_workspace(client):
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    major, minor, patch = map(int, workspace["package"]["version"].split("."))
    (module,) = (module for module in client.module_list() if module[b"name"] == b"apbf")
    assert module[b"ver"] == major * 10_000 + minor * 100 + patch


def test_the_info_section(server):
    client = server.client
    read = lambda: {name: value for name, value in client.info("apbf").items() if name.startswith("apbf_")}
    before = read()
    assert (before["apbf_keys"], before["apbf_memory_bytes"]) == (0, 0)
    client.execute_command("APBF.MADD", "f", "a", "b", "a")
    client.execute_command("APBF.EXISTS", "f", "a")
    client.execute_command("APBF.ADD", "g", "a")
    after = read()
    assert after["apbf_keys"] == 2
    assert after["apbf_memory_bytes"] == sum(info(client, key)["allocated_bytes"] for key in "fg")
    assert after["apbf_inserts"] - before["apbf_inserts"] == 4
    assert after["apbf_hits"] - before["apbf_hits"] == 2
    client.execute_command("APBF.MEXISTS", "f", "a", "c", "d")
    client.execute_command("APBF.MADDNX", "f", "b", "c")
    client.execute_command("APBF.MADDNX", "f", "b", "c")
    counted = lambda names, of: tuple(of[name] for name in names.split())
    assert counted("new_items repeats lookups misses", info(client, "f")) == (3, 4, 4, 2)
    assert counted("new_items repeats lookups misses", info(client, "g")) == (1, 0, 0, 0)
    for name, count in (("new_items", 4), ("repeats", 4), ("lookups", 4), ("misses", 2), ("hits", 6)):
        assert read()[f"apbf_{name}"] - before[f"apbf_{name}"] == count, name
    assert {"apbf_overloaded_generations", "apbf_backward_steps"} <= set(after)
    assert any(key == "apbf_keys" for key in client.info("everything"))
