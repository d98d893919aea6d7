"""Access control, and the descriptions of the commands."""

import pytest
import redis

COMMANDS = {
    "reserve": ({"write", "denyoom"}, {"OW", "insert"}),
    "add": ({"write", "fast"}, {"RW", "access", "insert"}),
    "addnx": ({"write", "fast"}, {"RW", "access", "insert"}),
    "madd": ({"write"}, {"RW", "access", "insert"}),
    "maddnx": ({"write"}, {"RW", "access", "insert"}),
    "insert": ({"write"}, {"RW", "access", "insert"}),
    "exists": ({"readonly", "fast"}, {"RO", "access"}),
    "mexists": ({"readonly"}, {"RO", "access"}),
    "age": ({"readonly", "fast"}, {"RO", "access"}),
    "info": ({"readonly"}, {"RO", "access"}),
    "card": ({"readonly"}, {"RO", "access"}),
    "snapshot": ({"readonly"}, {"RO", "access"}),
    "load": ({"write", "denyoom"}, {"OW", "insert"}),
    "create": ({"write", "denyoom"}, {"OW", "insert"}),
    "patch": ({"write"}, {"RW", "access", "insert"}),
    "apply": ({"write"}, {"RW", "access", "insert"}),
}


def words(flags):
    return {flag.decode() if isinstance(flag, bytes) else flag for flag in flags}


@pytest.fixture
def ask(server):
    """Sends a command and returns the raw reply, which the client library has not converted."""
    connection = server.connect(protocol=2).connection_pool.get_connection()

    def ask(*command):
        connection.send_command(*command)
        return connection.read_response()

    yield ask
    connection.disconnect()


def test_command_and_key_flags(ask):
    for name, (flags, key_flags) in COMMANDS.items():
        described = ask("COMMAND", "INFO", f"apbf.{name}")[0]
        assert words(described[2]) - {"module"} == flags, name
        assert described[3:6] == [1, 1, 1], name
        assert words(described[8][0][1]) == key_flags, name


def test_key_positions(ask):
    for name in COMMANDS:
        arguments = {"reserve": ("0.01", "10"), "patch": ("0", "x"), "apply": ("5", "EVERY", "x"),
                     "insert": ("ITEMS", "x")}.get(name, ("x",))
        if name in ("info", "card", "snapshot"):
            arguments = ()
        assert ask("COMMAND", "GETKEYS", f"apbf.{name}", "the-key", *arguments) == [b"the-key"]


def test_command_docs(ask):
    for name in COMMANDS | {"plan": None}:
        docs = ask("COMMAND", "DOCS", f"apbf.{name}")
        text = str(docs)
        assert "summary" in text and "complexity" in text and "arguments" in text, name
    text = str(ask("COMMAND", "DOCS", "apbf.reserve"))
    for word in ("error-rate", "window", "SPAN", "OVERLOAD", "SLACK", "LAYOUT", "BINS", "SHAPE", "SEED", "KEYED", "pure-token"):
        assert word in text, word


def test_the_category(server):
    client = server.client
    if b"apbf" not in client.execute_command("ACL", "CAT"):
        assert server.kind == "redis", "Redis 7.0 has no ACL categories for modules, but every Valkey has"
        pytest.skip("this server has no ACL categories for modules")
    members = {name.decode() for name in client.execute_command("ACL", "CAT", "apbf")}
    # Valkey 8.0 has the category, but does not list commands of modules.
    assert members in ({f"apbf.{name}" for name in [*COMMANDS, "plan"]}, set())
    client.execute_command("ACL", "SETUSER", "dedup", "reset", "on", ">pw", "~f*", "+@apbf")
    user = server.connect(username="dedup", password="pw")
    assert user.execute_command("APBF.ADD", "f1", "a") == 1
    with pytest.raises(redis.exceptions.NoPermissionError):
        user.get("f1")
    client.execute_command("ACL", "SETUSER", "writer", "reset", "on", ">pw", "%RW~f*", "+@write")
    writer = server.connect(username="writer", password="pw")
    assert writer.execute_command("APBF.ADD", "f1", "b") == 1
    with pytest.raises(redis.exceptions.NoPermissionError):
        writer.execute_command("APBF.EXISTS", "f1", "b")


def test_commands_and_keys_can_be_allowed_one_by_one(server):
    client = server.client
    client.execute_command("APBF.ADD", "f1", "a")
    client.execute_command("ACL", "SETUSER", "reader", "reset", "on", ">pw", "%R~f*", "+apbf.exists", "+apbf.add")
    user = server.connect(username="reader", password="pw")
    assert user.execute_command("APBF.EXISTS", "f1", "a") == 1
    for command in (("APBF.ADD", "f1", "b"), ("APBF.EXISTS", "g", "a"), ("APBF.CARD", "f1")):
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.execute_command(*command)
