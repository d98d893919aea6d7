"""The programs in examples/redis do what their comments say."""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import pytest

from conftest import FULL, ROOT, eventually

EXAMPLES = ROOT / "examples/redis"


# In Go's way from before modules, so that the library can come from a package of the distribution.
GO = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}


def handles_each_order_once(server, program, *command, directory=None, environment={}):
    def run():
        done = subprocess.run([*command, f"redis://127.0.0.1:{server.port}"], cwd=directory, env=os.environ | environment,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = (line.lstrip("/").strip() for line in program.read_text().splitlines())
    promised = "".join(f"{line}\n" for line in said if line.startswith(("handle order", "seen 1")))
    assert run() == promised and promised.count("\n") == 3
    assert run() == "seen 3 order-17 order-18 order-17 again\n"


def test_the_client_in_python_handles_each_order_once(server):
    program = EXAMPLES / "client.py"
    handles_each_order_once(server, program, sys.executable, program)


@pytest.mark.skipif(not FULL, reason="the client of Node is installed by ./test --full")
@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm: install Node")
def test_the_client_in_node_handles_each_order_once(server, tmp_path):
    program = EXAMPLES / "client.mjs"
    shutil.copy(program, tmp_path)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "redis@5"], cwd=tmp_path, check=True)
    handles_each_order_once(server, program, "node", "client.mjs", directory=tmp_path)


@pytest.mark.skipif(not FULL, reason="Go is installed by ./test --full")
@pytest.mark.skipif(not shutil.which("apt-get"), reason="there is no apt-get to install Go with")
def test_the_client_in_go_handles_each_order_once(server, tmp_path):
    if not (shutil.which("go") and pathlib.Path(GO["GOPATH"], "src/github.com/gomodule/redigo").exists()):
        subprocess.run([ROOT / "tests/packages", "golang-go", "golang-github-gomodule-redigo-dev"], check=True)
    program = EXAMPLES / "client.go"
    handles_each_order_once(server, program, "go", "run", program, environment=GO | {"GOCACHE": str(tmp_path)})


def test_each_payment_is_booked_once_although_it_is_sent_again_and_consumers_are_killed(server):
    client, chosen = server.client, random.Random(3)
    client.xgroup_create("payments", "workers", 0, mkstream=True)
    client.execute_command("APBF.RESERVE", "payments:seen", "1e-9", 0, "SPAN", 86_400_000)
    payments = [(f"pay-{number}", f"account-{number % 7}", chosen.randrange(1, 1000)) for number in range(3_000)]
    sent = payments + chosen.sample(payments, 1_000)
    chosen.shuffle(sent)
    expected = {}
    for _, account, cents in payments:
        expected[account.encode()] = expected.get(account.encode(), 0) + cents

    def start():
        command = [sys.executable, EXAMPLES / "streams.py", f"redis://127.0.0.1:{server.port}", "worker-1"]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    consumer = start()
    try:
        for first in range(0, len(sent), 500):
            pipeline = client.pipeline(transaction=False)
            for number, account, cents in sent[first:first + 500]:
                pipeline.xadd("payments", {"id": number, "account": account, "cents": cents})
            pipeline.execute()
            time.sleep(chosen.random() * 0.3)
            consumer.kill()
            consumer.wait()
            consumer = start()
        group = lambda: client.xinfo_groups("payments")[0]
        eventually(lambda: group()["pending"] == 0 and group()["lag"] == 0, seconds=60)
    finally:
        consumer.kill()
        consumer.wait()
    assert {account: int(cents) for account, cents in client.hgetall("balances").items()} == expected
    assert client.execute_command("APBF.INFO", "payments:seen", "repeats") == 1_000
