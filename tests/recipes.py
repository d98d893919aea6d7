#!/usr/bin/env python3
"""Runs the recipes of docs/recipes.md as they are written, with the real programs.

    tests/recipes.py [BINARY]     the command `lately` to test; target/release/lately by default

A recipe whose programs are not installed is skipped with one line: curl, jq, kcat, systemd; and confluent-kafka from PyPI,
whose library brings a broker for tests.
"""

import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60


class Skipped(Exception):
    pass


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Skipped(f"{', '.join(missing)} is not installed")


def recipes():
    """The first script under each heading."""
    text = (ROOT / "docs/recipes.md").read_text()
    found = re.findall(r"^## (.*?)\n.*?^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return dict(found)


def run(script, directory, environment, **more):
    done = subprocess.run(
        ["bash", "-c", "set -o pipefail; " + script], cwd=directory, env=environment, capture_output=True, text=True, timeout=PATIENCE,
        stdin=subprocess.DEVNULL, **more,
    )
    assert done.returncode == 0, f"exits with {done.returncode}: {done.stderr}"
    return done.stdout


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited a minute for {what}"
        time.sleep(0.02)


def stop(process):
    """Ends a script that was started in a session of its own, and waits for all its processes."""
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(PATIENCE)

    def is_gone():
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_until("the script's processes to end", is_gone)


def webhook(script, directory, environment):
    need("curl")
    received = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    alerts = directory / "alerts.jsonl"
    alert = lambda host, check, n: json.dumps({"host": host, "check": check, "n": n}) + "\n"
    alerts.write_text(alert("a", "disk", 1) + alert("b", "disk", 2) + alert("a", "disk", 3))
    environment["WEBHOOK"] = f"http://127.0.0.1:{server.server_port}/"
    sent = lambda: sorted(alert["n"] for alert in received)
    for expected, more in (([1, 2], []), ([1, 2, 6], [alert("b", "disk", 4), alert("a", "disk", 5), alert("a", "load", 6)])):
        process = subprocess.Popen(["bash", "-c", script], cwd=directory, env=environment, start_new_session=True)
        try:
            if more:
                # The file is rotated.
                alerts.rename(directory / "alerts.jsonl.1")
                alerts.write_text("".join(more))
            wait_until("the webhook", lambda: len(received) >= len(expected))
            time.sleep(0.3)
        finally:
            stop(process)
        assert sent() == expected, received
    server.shutdown()


def kafka(script, directory, environment):
    need("kcat")
    try:
        from confluent_kafka import Consumer, Producer
    except ImportError:
        raise Skipped("confluent-kafka is not installed: pip install confluent-kafka") from None
    producer = Producer({"bootstrap.servers": "ignored:1", "test.mock.num.brokers": 1})
    brokers = producer.list_topics(timeout=PATIENCE).brokers.values()
    environment |= {"BROKER": ",".join(f"{broker.host}:{broker.port}" for broker in brokers), "KCAT_UNTIL": "-e"}
    for start in (0, 5):
        for number in [*range(start, start + 5), start]:
            producer.produce("events", json.dumps({"id": f"e{number}"}))
        producer.flush(PATIENCE)
        run(script, directory, environment)
    consumer = Consumer({"bootstrap.servers": environment["BROKER"], "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.subscribe(["events.once"])
    found = []
    end = time.monotonic() + PATIENCE
    while len(found) < 10 and time.monotonic() < end:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            found.append(json.loads(message.value())["id"])
    message = consumer.poll(1)
    assert message is None or message.error(), f"{message.value()} came again"
    consumer.close()
    assert sorted(found) == [f"e{number}" for number in range(10)], found


def web_server(script, directory, environment):
    line = lambda address, minute, page: f'{address} - - [10/Oct/2000:13:{minute:02}:36 -0700] "GET {page} HTTP/1.1" 200 2326 "-" "x"\n'
    with gzip.open(directory / "access.log.1.gz", "wt") as old:
        old.write(line("1.2.3.4", 1, "/a?q=1") + line("1.2.3.4", 2, "/a?q=2"))
    (directory / "access.log").write_text(line("1.2.3.4", 5, "/b") + line("1.2.3.4", 6, "/a") + line("5.6.7.8", 6, "/a"))
    run(script, directory, environment)
    pages = [(line.split()[0], line.split()[6]) for line in (directory / "visits.log").read_text().splitlines()]
    assert pages == [("1.2.3.4", "/a?q=1"), ("1.2.3.4", "/b"), ("5.6.7.8", "/a")], pages


def orders(script, directory, environment):
    rows = ["order_id,line,sku", '1,1,"a, b"', "1,2,c", '"1",1,d']
    (directory / "orders.csv").write_text("\n".join(rows) + "\n")
    run(script, directory, environment)
    assert (directory / "orders-once.csv").read_text().splitlines() == rows[:3]
    assert (directory / "orders-repeated.csv").read_text().splitlines() == [rows[0], rows[3]]
    assert json.loads((directory / "stats.json").read_text())["duplicates"] == 1


def with_jq(script, directory, environment):
    need("jq")
    record = lambda number: {"messageId": f"m{number}", "body": f"body {number}"}
    for name, numbers in (("1", (1, 2)), ("2", (2, 3))):
        (directory / f"delivery-{name}.json").write_text(json.dumps({"Records": [record(number) for number in numbers]}, indent=2))
    assert run(script, directory, environment).splitlines() == ["body 1", "body 2", "body 3"]


def errors(script, directory, environment):
    line = lambda minute, code: f"2024-05-01T12:{minute:02}:00Z ERROR {code} at {minute}\n"
    (directory / "app.log").write_text(line(0, "E1") + "2024-05-01T12:01:00Z INFO x\n" + line(2, "E1") + line(3, "E2") + line(9, "E1"))
    found = run(script, directory, environment).splitlines()
    assert found[2:] == ["lately: 2 repeats from 2024-05-01T12:02:00Z to 2024-05-01T12:09:00Z: 2024-05-01T12:02:00Z ERROR E1 at 2"], found


def cron(script, directory, environment):
    command = script.strip().split(" ", 5)[5].replace("/usr/local/bin/check-disks", "cat disks")
    environment["HOME"] = str(directory)
    (directory / "disks").write_text("sda is nearly full\n")
    assert run(command, directory, environment) == "sda is nearly full\n"
    (directory / "disks").write_text("sda is nearly full\nsdb is nearly full\n")
    assert run(command, directory, environment) == "sdb is nearly full\n"


def unit(script, directory, environment):
    need("systemd-analyze")
    path = directory / "events.service"
    path.write_text(script.replace("/usr/bin/lately", shutil.which("lately", path=environment["PATH"])))
    done = subprocess.run(["systemd-analyze", "verify", str(path)], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    complaints = [line for line in done.stderr.splitlines() if "events.service" in line]
    assert not complaints, complaints
    # What it starts, with other directories.
    command = re.search(r"ExecStart=/usr/bin/(lately .*?[^\\])$", script, re.DOTALL | re.MULTILINE)[1].replace("\\\n", "")
    command = command.replace("/var/log/", f"{directory}/")
    environment["STATE_DIRECTORY"] = str(directory)
    events, once = directory / "events.jsonl", directory / "events-once.jsonl"
    for expected in (2, 3):
        # The service was stopped while the file grew.
        with events.open("a") as file:
            file.writelines(json.dumps({"id": number % expected}) + "\n" for number in range(6))
        process = subprocess.Popen(["/bin/sh", "-c", f"exec {command}"], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            wait_until("the output", lambda: once.exists() and len(once.read_text().splitlines()) == expected)
            process.send_signal(signal.SIGUSR1)
            assert json.loads(process.stderr.readline())["records"] == 6
        finally:
            stop(process)
        assert (directory / "seen.lately").exists() and "lately_records_total" in (directory / "lately.prom").read_text()


def journal(script, directory, environment):
    need("jq", "journalctl")
    environment["JOURNAL_FLAGS"] = "--lines 1000"
    if not subprocess.run(["journalctl", "--lines", "1", "--quiet"], capture_output=True, timeout=PATIENCE).stdout:
        raise Skipped("the machine has no journal")
    run(script, directory, environment)


TESTS = {
    "Alerts": webhook, "Kafka": kafka, "Web server": web_server, "Orders": orders, "JSON": with_jq, "How often": errors, "cron": cron,
    "systemd": unit, "The journal": journal,
}


def main():
    binary = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/lately").resolve()
    outcomes = {"ok": 0, "FAILED": 0, "skipped": 0}
    for heading, script in recipes().items():
        test = next((test for start, test in TESTS.items() if heading.startswith(start)), None)
        with tempfile.TemporaryDirectory() as directory:
            environment = os.environ | {"PATH": f"{binary.parent}:{os.environ['PATH']}"}
            try:
                assert test is not None, "tests/recipes.py does not know this recipe"
                test(script, Path(directory), environment)
                outcome, why = "ok", ""
            except Skipped as skipped:
                outcome, why = "skipped", f": {skipped}"
            except (AssertionError, subprocess.SubprocessError, OSError) as error:
                outcome, why = "FAILED", f": {error}"
        outcomes[outcome] += 1
        print(f"test recipe: {heading} ... {outcome}{why}", flush=True)
    result = "FAILED" if outcomes["FAILED"] else "ok"
    print(f"\ntest result: {result}. {outcomes['ok']} passed; {outcomes['FAILED']} failed; {outcomes['skipped']} ignored; recipes")
    sys.exit(outcomes["FAILED"] > 0)


main()
