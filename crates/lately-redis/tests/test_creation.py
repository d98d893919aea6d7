"""Which filter a missing key gets: the defaults, a template, or none."""

import pytest
import redis

from conftest import Server, eventually, info

TEMPLATES = "alerts:* 0.001 0 SPAN 600000; orders 0.01 5000 LAYOUT ROWS; alerts:old:* 0.1 10"
ADDITIONS = (("ADD", "a"), ("ADDNX", "a"), ("MADD", "a", "b"), ("MADDNX", "a", "b"), ("INSERT", "ITEMS", "a"))


@pytest.fixture
def configured(client):
    before = {name: client.config_get(name)[name] for name in ("apbf.auto-create", "apbf.template")}
    yield client
    for name, value in before.items():
        client.config_set(name, value)


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition[0])
def test_the_beginning_of_a_key_chooses_its_template(configured, addition):
    client, (command, *rest) = configured, addition
    client.config_set("apbf.template", TEMPLATES)
    for auto_create in ("yes", "template"):
        client.config_set("apbf.auto-create", auto_create)
        client.delete("orders2")
        for key, expected in (("alerts:disk", (600_000, b"bins")), ("alerts:old:x", (600_000, b"bins")), ("orders", (None, b"rows"))):
            client.delete(key)
            client.execute_command(f"APBF.{command}", key, *rest)
            made = info(client, key)
            assert (made["span_ms"], made["layout"]) == expected
        if auto_create == "template":
            with pytest.raises(redis.ResponseError, match="no such key"):
                client.execute_command(f"APBF.{command}", "orders2", *rest)
            assert not client.exists("orders2")
        else:
            client.execute_command(f"APBF.{command}", "orders2", *rest)
            assert info(client, "orders2")["window"] == 100_000


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition[0])
def test_no_key_is_created_by_itself_if_that_is_off(configured, addition):
    client, (command, *rest) = configured, addition
    client.config_set("apbf.template", TEMPLATES)
    client.config_set("apbf.auto-create", "no")
    with pytest.raises(redis.ResponseError, match="no such key: create a filter with APBF.RESERVE"):
        client.execute_command(f"APBF.{command}", "orders", *rest)
    assert client.dbsize() == 0
    # Commands that say what to create do so.
    assert client.execute_command("APBF.INSERT", "f", "WINDOW", 500, "ITEMS", "a") == [1]
    assert client.execute_command("APBF.RESERVE", "g", 0.01, 100) == b"OK"
    assert client.execute_command("APBF.ADD", "g", "a") == 1


def test_an_expired_or_deleted_key_comes_back_as_its_template_says(configured):
    client = configured
    client.config_set("apbf.template", "alerts:* 0.001 0 SPAN 600000")
    client.execute_command("APBF.RESERVE", "alerts:a", 0.001, 0, "SPAN", 600_000)
    client.pexpire("alerts:a", 1)
    eventually(lambda: not client.exists("alerts:a"))
    client.execute_command("APBF.ADD", "alerts:a", "x")
    client.execute_command("FLUSHALL", "SYNC")
    client.execute_command("APBF.ADD", "alerts:b", "x")
    assert info(client, "alerts:b")["span_ms"] == 600_000


def test_a_template_that_is_not_possible_is_refused(configured):
    client = configured
    client.config_set("apbf.template", TEMPLATES)
    for text, why in (("a*b 0.01 10", "can only be the last character"), ("a* 0.01 0", "needs SPAN"), ("a* 7 10", "rate of 7"),
                      ("ok 0.1 10; b* 0.1", "the template 'b\\* 0.1': window needs a value")):
        with pytest.raises(redis.ResponseError, match=why):
            client.config_set("apbf.template", text)
    assert client.config_get("apbf.template") == {"apbf.template": TEMPLATES}
    with pytest.raises(redis.ResponseError):
        client.config_set("apbf.auto-create", "maybe")


def test_templates_come_from_a_file(kind, servers, tmp_path):
    file = tmp_path / "server.conf"
    file.write_text(f'apbf.template "{TEMPLATES}"\napbf.auto-create template\n')
    server = Server(kind, tmp_path / "configured")
    server.file = file
    try:
        server.start()
        server.client.execute_command("APBF.ADD", "orders", "a")
        assert info(server.client, "orders")["window"] == 5000
        server.client.config_rewrite()
        # The module is given on the command line.
        file.write_text("".join(line for line in file.open() if not line.startswith("loadmodule")))
        server.restart()
        assert server.client.config_get("apbf.template") == {"apbf.template": TEMPLATES}
    finally:
        server.stop("kill")


def test_replicas_follow_the_primary_s_templates(servers):
    from test_replication import caught_up, follow

    primary = servers("--apbf.template", "alerts:* 0.001 0 SPAN 600000", "--apbf.auto-create", "template")
    replica = servers("--apbf.auto-create", "no")
    follow(replica, primary)
    primary.client.execute_command("APBF.ADD", "alerts:a", "x")
    caught_up(primary, replica)
    assert primary.digest("alerts:a") == replica.digest("alerts:a")
