"""The examples in docs/redis.md work, and it names every command and config."""

import re
import shlex
import subprocess

from conftest import LATELY, ROOT

DOCUMENT = (ROOT / "docs/redis.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def test_commands_print_the_replies_that_the_document_shows(server):
    shown = [command for block in blocks("console") for command in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE)]
    assert len(shown) >= 9
    for command, expected in shown:
        if command.startswith("redis-cli "):
            arguments = shlex.split(command)
            run = [arguments[0], "-p", str(server.port), "--no-raw", *arguments[1:]]
            printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        else:
            plan, field = command.removeprefix("lately ").split(" | jq .")
            printed = subprocess.run([LATELY, *plan.split()], capture_output=True, text=True, check=True).stdout
            printed = re.search(rf'"{field}": (\d+)', printed)[1] + "\n"
        assert printed == expected, command


def test_the_document_and_the_tests_choose_the_same_shards():
    import shards
    (code,) = (block for block in blocks("python") if "SHARDS" in block)
    names = {}
    exec(code.split("cluster =")[0].replace("from redis.cluster import RedisCluster", ""), names)
    items = [f"item-{number}".encode() for number in range(1000)]
    assert [names["shard_of"](item) for item in items] == [shards.shard_of(item, 48) for item in items]
    assert shards.shard_key("seen", 7) == f"{{seen:{7}}}"


def test_the_document_s_loop_copies_a_filter_in_pieces(server):
    (code,) = (block for block in blocks("python") if "CURSOR" in block)
    server.client.execute_command("APBF.RESERVE", "seen", 0.001, 1_000_000)
    server.client.execute_command("APBF.MADD", "seen", "a", "b")
    target = server.connect(db=1)
    exec(code, {"source": server.client, "target": target})
    assert target.execute_command("DEBUG", "DIGEST-VALUE", "seen")[0] == server.digest("seen")


def test_every_command_and_config_is_in_the_document(client):
    names = [name.decode() for name in client.command_list() if name.lower().startswith(b"apbf.")]
    assert len(names) == 17
    for name in names:
        assert name.upper() in DOCUMENT, name
    for name in client.config_get("apbf.*"):
        assert name in DOCUMENT, name
