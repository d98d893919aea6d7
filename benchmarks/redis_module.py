#!/usr/bin/env python3
"""Compares the module's commands with the server's own, on Redis and Valkey, one newly started server at a time.
   benchmarks/redis.sh > benchmarks/<architecture>/redis-<date>.json
Progress goes to standard error, the record to standard output. ROUNDS sets the number of rounds (default 5). QUICK=1
takes a tenth of the requests and ids, and 2 rounds. ONLY=worst_microseconds measures only how long commands take;
ONLY=race,memory_bytes the rest."""

import datetime
import itertools
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ["LATELY_PROFILE"] = "release"
sys.path.insert(0, str(ROOT / "crates/lately-redis/tests"))
from conftest import BINARIES, Server, eventually  # noqa: E402

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = int(os.environ.get("ROUNDS", 2 if QUICK else 5))
REQUESTS = 100_000 if QUICK else 1_000_000
# Number of connections, and commands in each connection's pipeline.
CONNECTIONS, PIPELINE = 50, 16
KEYS = 1_000_000
IDS = 100_000 if QUICK else 1_000_000
ITEMS = ["key:__rand_int__"] * 100


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def cpu_seconds(server):
    spent = server.client.info("cpu")
    return spent["used_cpu_user"] + spent["used_cpu_sys"]


def run(server, requests, *command):
    """Returns the requests per second, the 99.9th percentile of a client's waiting time in milliseconds, and the
    server's CPU time per request in microseconds, which does not depend on other work on the machine."""
    before = cpu_seconds(server)
    output = subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-n", str(requests), "-c", str(CONNECTIONS), "-P", str(PIPELINE),
         "-r", str(KEYS), *command], capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"throughput summary: ([\d.]+) requests per second", output)[1])
    cpu_micros = (cpu_seconds(server) - before) / requests * 1e6
    percentiles = re.findall(r"([\d.]+)% <= ([\d.]+) milliseconds", output)
    return rate, next(float(millis) for share, millis in percentiles if float(share) >= 99.9), cpu_micros


def race(server):
    """The commands take turns in each round, so that other work on the machine affects all equally. The filters are
    those that the planner chooses for a window of a million, and rows beside them."""
    client = server.client
    client.execute_command("APBF.RESERVE", "f", 0.001, 1_000_000)
    client.execute_command("APBF.RESERVE", "t", 0.001, 1_000_000, "SPAN", 3_600_000)
    client.execute_command("APBF.RESERVE", "rows", 0.001, 1_000_000, "LAYOUT", "ROWS")
    client.execute_command("APBF.RESERVE", "timed rows", 0.001, 1_000_000, "SPAN", 3_600_000, "LAYOUT", "ROWS")
    contenders = {
        "SET": ("SET", "key:__rand_int__", "1"),
        "SET NX EX": ("SET", "key:__rand_int__", "1", "NX", "EX", "3600"),
        "APBF.ADD": ("APBF.ADD", "f", "key:__rand_int__"),
        "APBF.ADDNX": ("APBF.ADDNX", "f", "key:__rand_int__"),
        "APBF.ADD, time": ("APBF.ADD", "t", "key:__rand_int__"),
        "APBF.ADD, rows": ("APBF.ADD", "rows", "key:__rand_int__"),
        "APBF.ADD, time, rows": ("APBF.ADD", "timed rows", "key:__rand_int__"),
        "APBF.EXISTS": ("APBF.EXISTS", "f", "key:__rand_int__"),
        "SADD": ("SADD", "set", "key:__rand_int__"),
        "SISMEMBER": ("SISMEMBER", "set", "key:__rand_int__"),
        "GET": ("GET", "key:__rand_int__"),
        "APBF.MADD of 100": ("APBF.MADD", "f", *ITEMS),
    }
    figures = {name: [] for name in contenders}
    for number in range(ROUNDS):
        for name, command in contenders.items():
            requests = REQUESTS // 20 if "100" in name else REQUESTS
            figures[name].append(run(server, requests, *command))
        say(server.kind, "round", number + 1, {name: round(found[-1][0]) for name, found in figures.items()})
    median = lambda name, place: statistics.median(figure[place] for figure in figures[name])
    # The median of the ratios of each round: other work on the machine affects both sides of a ratio equally.
    ratio = lambda a, b, of=1: round(statistics.median(of * x[0] / y[0] for x, y in zip(figures[a], figures[b])), 3)
    return {
        "requests_per_second": {name: round(median(name, 0)) for name in contenders},
        "p99.9_ms": {name: round(median(name, 1), 3) for name in contenders},
        "server_cpu_microseconds": {name: round(median(name, 2), 3) for name in contenders},
        "add_over_set": ratio("APBF.ADD", "SET"),
        "add_over_sadd": ratio("APBF.ADD", "SADD"),
        "timed_add_over_set": ratio("APBF.ADD, time", "SET"),
        "exists_over_get": ratio("APBF.EXISTS", "GET"),
        "madd_items_over_add_items": ratio("APBF.MADD of 100", "APBF.ADD", of=100),
    }


def server_times(client):
    """Returns the time of each command on filters in microseconds, as the server measured it."""
    found = {}
    for name, value in client.info("latencystats").items():
        command = name.removeprefix("latency_percentiles_usec_")
        if command.startswith("apbf") or command in ("copy", "dump", "restore", "del", "unlink"):
            found[command] = {share: float(micros) for share, micros in value.items()}
    return found


class Durations:
    """How long commands block all others. The best of several rounds, because other work on the machine can only make a
    command slower."""

    def __init__(self, server):
        self.server, self.client = server, server.client
        self.client.config_set("latency-tracking-info-percentiles", "50 99 99.9 100")
        self.found = {}
        self.numbers = itertools.count()

    def measured(self, name, work, prepare=lambda number: None, server=None):
        client = server.client if server else self.client
        for number in range(ROUNDS):
            prepare(number)
            client.execute_command("CONFIG", "RESETSTAT")
            work(number)
            for command, times in server_times(client).items():
                least = self.found.setdefault(f"{name}: {command}", times)
                self.found[f"{name}: {command}"] = {share: min(micros, least[share]) for share, micros in times.items()}

    def repeated(self, name, *command, times=20):
        """One command after another. `{}` in it stands for something new."""
        new = lambda: [str(word).format(next(self.numbers)) for word in command]
        self.measured(name, lambda _: [self.client.execute_command(*new()) for _ in range(times)])

    def reserve(self, key, window, *options):
        self.client.delete(key)
        self.client.execute_command("APBF.RESERVE", key, 0.001, window, *options)

    def load(self, *command):
        run(self.server, REQUESTS, *command)


def worst(server):
    """Returns how long one command blocks all others."""
    durations = Durations(server)
    shifts(durations)
    for window in (10_000_000, 100_000_000):
        large(durations, window)
    growth(durations)
    idle(durations)
    created_on_a_replica(durations)
    durations.measured("default filter", lambda number: server.client.execute_command("APBF.ADD", f"new{number}", "item"))
    return durations.found


def shifts(durations):
    for layout in ("BINS", "ROWS", "BLOCKS", "SLICES"):
        durations.reserve(layout, 100_000, "LAYOUT", layout)
        # A million inserts are ten windows, with dozens of shifts.
        for command in ("APBF.ADD", "APBF.ADDNX"):
            durations.measured(f"window 1e5 as {layout.lower()}, shifts included",
                               lambda _: durations.load(command, layout, "key:__rand_int__"))


def large(durations, window):
    """Commands on a filter of this window."""
    client, name = durations.client, f"window {window:.0e}"
    gone = lambda _: client.delete("filter")
    reserve = lambda more=0: client.execute_command("APBF.RESERVE", "filter", 0.001, window + more)
    durations.measured(f"{name}, planned anew", lambda number: reserve(number), prepare=gone)
    durations.measured(f"{name}, planned before", lambda _: reserve(), prepare=gone)
    durations.repeated(f"{name}, planned anew", "APBF.PLAN", 0.001, f"{str(window)[:-4]}{{:04}}")
    durations.repeated(f"{name}, planned before", "APBF.PLAN", 0.001, window)
    durations.measured(f"{name}, memory touched first", lambda _: durations.load("APBF.ADD", "filter", "key:__rand_int__"),
                       prepare=lambda _: durations.reserve("filter", window))
    hundred = [f"item-{{}}-{number}" for number in range(100)]
    for command in (("APBF.ADD", "filter", "item-{}"), ("APBF.ADDNX", "filter", "item-{}"), ("APBF.EXISTS", "filter", "item-{}"),
                    ("APBF.AGE", "filter", "item-{}"), ("APBF.CARD", "filter"), ("APBF.INFO", "filter")):
        durations.repeated(name, *command)
    for command in (("APBF.MADD", "filter"), ("APBF.MADDNX", "filter"), ("APBF.INSERT", "filter", "ITEMS"), ("APBF.MEXISTS", "filter")):
        durations.repeated(f"{name}, 100 items", *command, *hundred)
    for field in ("inserts", "error_rate", "estimated_error_rate"):
        durations.repeated(f"{name} {field}", "APBF.INFO", "filter", field)
    whole(durations, name)
    # As a rewritten append-only file does it: a mebibyte at a time.
    durations.reserve("copy", window)
    words = bytes(1 << 20)
    durations.measured(f"{name}, 1 MiB", lambda _: [client.execute_command("APBF.PATCH", "copy", number << 17, words) for number in range(16)])
    client.delete("filter", "copy")


def whole(durations, name):
    """Commands that read, write or free a whole filter, and pieces of it. A reply has at most 512 MB."""
    client, pieces = durations.client, {}

    def read():
        cursor = 0
        while True:
            following, pieces[cursor] = client.execute_command("APBF.SNAPSHOT", "filter", "CURSOR", cursor)
            if (cursor := following) == 0:
                return

    gone = lambda _: client.delete("copy")
    copied = lambda _: client.copy("filter", "copy", replace=True)
    load = lambda _: [client.execute_command("APBF.LOAD", "copy", "CURSOR", cursor, piece) for cursor, piece in pieces.items()]
    durations.measured(f"{name}, in pieces", lambda _: read())
    durations.measured(f"{name}, in pieces", load, prepare=gone)
    durations.measured(name, lambda _: client.copy("filter", "copy"), prepare=gone)
    durations.measured(name, gone, prepare=copied)
    durations.measured(name, lambda _: client.unlink("copy"), prepare=copied)
    snapshot = client.execute_command("APBF.SNAPSHOT", "filter")
    durations.measured(name, lambda _: client.execute_command("APBF.SNAPSHOT", "filter"))
    durations.measured(name, lambda _: client.execute_command("APBF.LOAD", "copy", snapshot), prepare=gone)
    dump = client.dump("filter")
    durations.measured(name, lambda _: client.dump("filter"))
    durations.measured(name, lambda _: client.restore("copy", 0, dump), prepare=gone)


def growth(durations):
    """The longest command while an elastic filter grows to its limit, from nothing."""
    client = durations.client
    for megabytes in (8, 64):
        client.config_set("apbf.max-bytes-per-key", megabytes << 20)
        items = [f"key:__rand_int__:{number}" for number in range(100)]
        fill = lambda _: subprocess.run(
            ["redis-benchmark", "-p", str(durations.server.port), "-n", str(megabytes * 4_000), "-P", "8", "-r", "1000000000", "-q",
             "APBF.MADD", "elastic", *items], capture_output=True, check=True)
        durations.measured(f"elastic, growing to {megabytes} MiB, 100 items", fill,
                           prepare=lambda _: durations.reserve("elastic", 0, "SPAN", 3_600_000))
    client.config_set("apbf.max-bytes-per-key", 512 << 20)
    client.delete("elastic")


def idle(durations):
    client = durations.client
    for layout in ("BINS", "ROWS", "BLOCKS", "SLICES"):
        # APBF.APPLY sets the time: each write comes a day after the one before, when all items have expired.
        apply = lambda day: client.execute_command("APBF.APPLY", "timed", day * 86_400_000, "EVERY", "item")
        durations.reserve("timed", 10_000_000, "SPAN", 3_600_000, "LAYOUT", layout)
        name = f"window 1e7 of time as {layout.lower()}"
        durations.measured(name, lambda _: durations.load("APBF.APPLY", "timed", "1", "EVERY", "key:__rand_int__"))
        durations.measured(f"{name}, first write after idle time", lambda number: apply(number + 1))
        client.delete("timed")


def created_on_a_replica(durations):
    """APBF.CREATE is what a replica receives for a new key."""
    with tempfile.TemporaryDirectory() as directory:
        replica = Server(durations.server.kind, directory).start()
        try:
            replica.client.config_set("latency-tracking-info-percentiles", "50 99 99.9 100")
            replica.client.replicaof("127.0.0.1", durations.server.port)
            eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")

            def create(_):
                durations.client.execute_command("APBF.RESERVE", "filter", 0.001, 100_000_000)
                eventually(lambda: replica.client.exists("filter"))

            def gone(_):
                durations.client.delete("filter")
                eventually(lambda: not replica.client.exists("filter"))

            durations.measured("window 1e+08, on a replica", create, prepare=gone, server=replica)
        finally:
            replica.stop()


def memory(server):
    """Returns the growth of used_memory for the same ids in keys, in a set, and in filters."""
    client, found = server.client, {}
    ids = [f"order-{number * 2654435761 % 2**32:010d}" for number in range(IDS)]

    def measured(name, prepare, command, size):
        client.flushall()
        while client.info("memory")["lazyfree_pending_objects"]:
            time.sleep(0.1)
        before = client.info("memory")["used_memory"]
        prepare()
        for first in range(0, len(ids), 10_000):
            pipeline = client.pipeline(transaction=False)
            for start in range(first, first + 10_000, size):
                pipeline.execute_command(*command(ids[start:start + size]))
            pipeline.execute()
        found[name] = client.info("memory")["used_memory"] - before

    reserve = lambda *promise: lambda: client.execute_command("APBF.RESERVE", "f", *promise)
    add = lambda some: ("APBF.MADD", "f", *some)
    measured("SET id 1 EX 86400", lambda: None, lambda some: ("SET", some[0], 1, "EX", 86400), 1)
    measured("SADD", lambda: None, lambda some: ("SADD", "s", *some), 1000)
    for rate in (0.01, 0.001, 0.0001, 0.000001):
        measured(f"APBF {rate:g}", reserve(rate, IDS), add, 1000)
    measured("APBF 0.001, SPAN", reserve(0.001, IDS, "SPAN", 86_400_000), add, 1000)
    measured("APBF 0.001, rows", reserve(0.001, IDS, "LAYOUT", "ROWS"), add, 1000)
    measured("APBF 0.001, SPAN, rows", reserve(0.001, IDS, "SPAN", 86_400_000, "LAYOUT", "ROWS"), add, 1000)
    measured("APBF 0.001, SPAN, slices", reserve(0.001, IDS, "SPAN", 86_400_000, "LAYOUT", "SLICES"), add, 1000)
    return found


def main():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    record = {
        "date": datetime.date.today().isoformat(), "machine": model and model[1], "cores": os.cpu_count(),
        "architecture": platform.machine(), "requests": REQUESTS, "rounds": ROUNDS, "connections": CONNECTIONS,
        "pipeline": PIPELINE, "ids": IDS, "load_average_before": os.getloadavg()[0], "servers": {},
    }
    for kind, binary in BINARIES.items():
        version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
        found = {"version": re.search(r"v=(\S+)", version)[1], "malloc": re.search(r"malloc=(\S+)", version)[1]}
        for name, measure in (("race", race), ("worst_microseconds", worst), ("memory_bytes", memory)):
            if name not in os.environ.get("ONLY", name).split(","):
                continue
            with tempfile.TemporaryDirectory() as directory:
                server = Server(kind, directory).start()
                try:
                    found[name] = measure(server)
                finally:
                    server.stop()
        record["servers"][kind] = found
        say(kind, "is done")
        if "race" not in found:
            continue
        lap = found["race"]
        say(f"{kind} {found['version']}: APBF.ADD {lap['add_over_set']:.2f}x the requests of SET (at least 0.85 wanted), "
            f"APBF.MADD of 100 {lap['madd_items_over_add_items']:.1f}x the items of APBF.ADD (at least 5 wanted)")
        say("  p99.9, ms:", lap["p99.9_ms"])
    record["load_average_after"] = os.getloadavg()[0]
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
