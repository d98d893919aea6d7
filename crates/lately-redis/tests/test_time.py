"""Time windows, by the server's clock. The tests note the time before and after each call, and assert only what holds
for every moment in between. So on a machine that stalls they assert less, but nothing wrong."""

import time

import pytest

from conftest import eventually, info, items, most_successes

SPAN = 1500
# The server may have read its clock up to this many milliseconds before it ran the command.
STALE = 30


def now():
    return time.time() * 1000


class Timed:
    """A client whose calls return the reply and the times at which the call began and ended."""

    def __init__(self, client):
        self.client = client

    def __call__(self, *command):
        before = now()
        reply = self.client.execute_command(*command)
        return reply, before - STALE, now()


def longest_memory(client, key):
    """Returns the age in milliseconds above which no item is kept: the span and k + 1 generations."""
    made = info(client, key)
    k, l = (int(part.split("=")[1]) for part in made["shape"].decode().split(",")[0].split())
    return made["span_ms"] * (1 + (k + 1) / l)


@pytest.mark.parametrize("layout", ("SLICES", "BLOCKS", "ROWS", "BINS"))
def test_items_are_kept_for_the_span_and_then_expire_without_a_write(client, layout):
    # If the machine stalls for a whole span, nothing was asserted within it: then try again.
    assert any(kept_and_expired(client, layout) for _ in range(5))


def kept_and_expired(client, layout):
    """Returns how often something was asserted within the span."""
    call = Timed(client)
    client.delete("f")
    client.execute_command("APBF.RESERVE", "f", 1e-6, 1000, "SPAN", SPAN, "LAYOUT", layout)
    client.execute_command("APBF.ADD", "f", "to set the clock")
    most = longest_memory(client, "f")
    (_, added_from, added_to) = call("APBF.MADD", "f", *items(0, 100))
    digest = client.execute_command("DEBUG", "DIGEST-VALUE", "f")
    kept = expired = 0
    while expired < 3:
        reply, asked_from, asked_to = call("APBF.MEXISTS", "f", *items(0, 100))
        if asked_to - added_from <= SPAN:
            kept += 1
            assert all(reply), f"lost after at most {asked_to - added_from} ms"
            age = client.execute_command("APBF.AGE", "f", "item-5")
            assert age[2] <= now() - added_from
        if asked_from - added_to > most:
            expired += 1
            assert not any(reply), f"still there after at least {asked_from - added_to} ms"
            assert client.execute_command("APBF.AGE", "f", "item-5") is None
            assert layout != "BINS" or client.execute_command("APBF.CARD", "f") == 0
            assert not any(map(float, info(client, "f")["fills"]))
        time.sleep(0.02)
    assert client.execute_command("DEBUG", "DIGEST-VALUE", "f") == digest, "reads change nothing"
    assert client.execute_command("APBF.MADD", "f", *items(0, 100)) == [1] * 100
    return kept


@pytest.mark.parametrize("nx", (False, True), ids=("every", "first"))
def test_an_item_is_new_again_after_the_span(client, nx):
    """An alert that fires all the time passes once per span, or only after it was silent for one span."""
    call = Timed(client)
    client.execute_command("APBF.RESERVE", "f", 1e-6, 10_000, "SPAN", 300)
    most = longest_memory(client, "f")
    last_from = last_to = None
    let_through = claims = 0
    begin = now()
    while now() - begin < 2500 or claims <= 10:
        is_new, asked_from, asked_to = call("APBF.ADDNX" if nx else "APBF.ADD", "f", "alert")
        if last_from is not None:
            if asked_to - last_from <= 300:
                claims += 1
                assert not is_new
            if asked_from - last_to > most:
                claims += 1
                assert is_new
        if is_new or not nx:
            last_from, last_to = asked_from, asked_to
        let_through += is_new
        time.sleep(0.005)
    assert 1 <= let_through <= (now() - begin) / 300 + 2


def test_a_repeat_that_is_not_added_does_not_change_the_filter_s_time(server):
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 1e-6, 1000, "SPAN", 60_000)
    client.execute_command("APBF.MADDNX", "f", "a", "b")
    digest, changes = server.digest("f"), client.info("persistence")["rdb_changes_since_last_save"]
    time.sleep(0.01)
    assert client.execute_command("APBF.ADDNX", "f", "a") == 0
    assert client.execute_command("APBF.MADDNX", "f", "b", "a") == [0, 0]
    assert server.digest("f") == digest
    assert client.info("persistence")["rdb_changes_since_last_save"] == changes
    assert client.execute_command("APBF.MADDNX", "f", "b", "c") == [0, 1]
    assert server.digest("f") != digest


def test_overload_is_counted_and_keeps_the_window_or_the_rate(client):
    before = client.info("apbf")["apbf_overloaded_generations"]
    for key, keeps in (("window", "WINDOW"), ("rate", "RATE")):
        client.execute_command("APBF.RESERVE", key, 0.001, 1000, "SPAN", 3_600_000, "OVERLOAD", keeps)
        client.execute_command("APBF.MADD", key, *items(0, 5000))
        assert info(client, key)["overloaded_generations"] > 0
        kept = sum(client.execute_command("APBF.MEXISTS", key, *items(0, 5000)))
        assert kept == 5000 if keeps == "WINDOW" else 1000 <= kept < 4000
    assert float(info(client, "window")["estimated_error_rate"]) > 0.001
    assert float(info(client, "rate")["estimated_error_rate"]) <= 0.001 * 1.5
    assert client.info("apbf")["apbf_overloaded_generations"] > before


def test_a_burst_of_all_items_at_once_keeps_the_rate(client):
    """The filter of the alerts in docs/redis.md, and as many different items as it has room for, within seconds."""
    capacity, rate, strangers = 50_000, 0.001, 500_000
    client.execute_command("APBF.RESERVE", "alerts", rate, capacity, "SPAN", 600_000)
    for first in range(0, capacity, 10_000):
        client.execute_command("APBF.MADDNX", "alerts", *items(first, 10_000))
    made = info(client, "alerts")
    assert (made["layout"], made["overloaded_generations"]) == (b"bins", 0)
    assert float(made["estimated_error_rate"]) <= rate
    mistaken = 0
    for first in range(0, strangers, 10_000):
        mistaken += sum(client.execute_command("APBF.MEXISTS", "alerts", *(f"never-{i}" for i in range(first, first + 10_000))))
    assert mistaken <= most_successes(strangers, rate)
    for first in range(0, capacity, 10_000):
        assert all(client.execute_command("APBF.MEXISTS", "alerts", *items(first, 10_000)))


def test_when_the_clock_goes_back_the_latest_time_is_used_and_the_step_is_counted(client):
    client.execute_command("APBF.RESERVE", "f", 1e-6, 1000, "SPAN", 60_000)
    client.execute_command("APBF.APPLY", "f", int(now()) + 3_600_000, "EVERY", "from the future")
    before = client.info("apbf")["apbf_backward_steps"]
    assert client.execute_command("APBF.ADD", "f", "now") == 1
    assert client.execute_command("APBF.MEXISTS", "f", "from the future", "now") == [1, 1]
    assert info(client, "f")["backward_steps"] == 1
    assert client.info("apbf")["apbf_backward_steps"] == before + 1


def test_a_time_window_keeps_its_items_across_a_restart_and_ages_while_the_server_is_down(servers):
    server = servers("--appendonly", "yes", "--appendfsync", "always")
    call = Timed(server.client)
    server.client.execute_command("APBF.RESERVE", "long", 1e-6, 1000, "SPAN", 600_000)
    server.client.execute_command("APBF.RESERVE", "short", 1e-6, 1000, "SPAN", 200)
    for key in ("long", "short"):
        server.client.execute_command("APBF.MADD", key, *items(0, 100))
    most, added = longest_memory(server.client, "short"), now()
    server.kill()
    eventually(lambda: now() - added > most + STALE)
    server.start()
    assert server.client.execute_command("APBF.MEXISTS", "long", *items(0, 100)) == [1] * 100
    assert server.client.execute_command("APBF.MEXISTS", "short", *items(0, 100)) == [0] * 100
    age = server.client.execute_command("APBF.AGE", "long", "item-0")
    assert age[3] >= most
    assert call("APBF.ADD", "short", "item-0")[0] == 1


def test_transactions_and_scripts_use_the_clock(client):
    client.execute_command("APBF.RESERVE", "f", 1e-6, 1000, "SPAN", 60_000)
    transaction = client.pipeline(transaction=True)
    for number in range(5):
        transaction.execute_command("APBF.ADD", "f", number)
    assert transaction.execute() == [1] * 5
    assert client.eval("return redis.call('APBF.MADD', KEYS[1], '1', 'x')", 1, "f") == [0, 1]
    assert abs(info(client, "f")["latest_ms"] - now()) < 60_000
