"""The programs in examples/redis do what their comments say."""

import random
import subprocess
import sys
import time

from conftest import ROOT, eventually

EXAMPLES = ROOT / "examples/redis"


def test_the_client_handles_each_order_once(server):
    program = EXAMPLES / "client.py"
    run = lambda: subprocess.run([sys.executable, program, f"redis://127.0.0.1:{server.port}"], capture_output=True, text=True, check=True).stdout
    promised = "".join(f"{line.strip()}\n" for line in program.read_text().splitlines() if line.startswith(("    handle", "    seen 1")))
    assert run() == promised != ""
    assert run() == "seen 3 order-17 order-18 order-17 again\n"


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
