#!/usr/bin/env python3
"""Writes the measured tables and sentences of redis.md, and its links to their records.

    docs/redis_tables.py           replaces them by those of the newest records in benchmarks/x86_64
    docs/redis_tables.py --check   exits with 1 if redis.md has others

A table is found by its header, a sentence by its first words.
"""

import math
import re
import textwrap
from pathlib import Path

from drawing import write_or_check
from records import newest, read

RACE, DURATIONS = newest("redis-"), newest("redis-durations-")
LARGE, SMALL, ELASTIC = "window 1e+08", "window 1e5 as {}, shifts included", "elastic, growing to {} MiB, 100 items"
# What is shown, its name in the record, and the percentile.
DURATION_ROWS = [
    ("`APBF.ADD`, window 1e5, 99.9th percentile of a million calls with dozens of shifts, bins", f"{SMALL.format('bins')}: apbf.add", "p99.9"),
    *((f"the same, {layout}", f"{SMALL.format(layout)}: apbf.add", "p99.9") for layout in ("rows", "blocks", "slices")),
    ("`APBF.ADDNX`, the same, bins", f"{SMALL.format('bins')}: apbf.addnx", "p99.9"),
    ("`APBF.ADD`, window 1e8, each memory page touched for the first time, 99.9th percentile", f"{LARGE}, memory touched first: apbf.add", "p99.9"),
    ("`APBF.ADD` to a missing key (default filter)", "default filter: apbf.add", "p100"),
    ("`APBF.EXISTS`, window 1e8", f"{LARGE}: apbf.exists", "p100"),
    ("`APBF.AGE`", f"{LARGE}: apbf.age", "p100"),
    ("`APBF.MADD` of 100", f"{LARGE}, 100 items: apbf.madd", "p100"),
    ("`APBF.MADDNX` of 100", f"{LARGE}, 100 items: apbf.maddnx", "p100"),
    ("`APBF.INSERT` of 100", f"{LARGE}, 100 items: apbf.insert", "p100"),
    ("`APBF.MEXISTS` of 100", f"{LARGE}, 100 items: apbf.mexists", "p100"),
    ("`APBF.CARD`", f"{LARGE}: apbf.card", "p100"),
    ("`APBF.INFO`, all fields", f"{LARGE}: apbf.info", "p100"),
    ("`APBF.INFO` of one counted field", f"{LARGE} inserts: apbf.info", "p100"),
    ("`APBF.PLAN`, a new plan", f"{LARGE}, planned anew: apbf.plan", "p100"),
    ("`APBF.RESERVE` of 1e8 items, with a new plan", f"{LARGE}, planned anew: apbf.reserve", "p100"),
    ("the same with the remembered plan (see below)", f"{LARGE}, planned before: apbf.reserve", "p100"),
    ("`APBF.CREATE` on a replica, the same filter", f"{LARGE}, on a replica: apbf.create", "p100"),
    ("`APBF.APPLY`, time window of 1e7, 99.9th percentile", "window 1e7 of time as bins: apbf.apply", "p99.9"),
    ("the same, the first after all items have expired", "window 1e7 of time as bins, first write after idle time: apbf.apply", "p100"),
    ("the same as rows", "window 1e7 of time as rows, first write after idle time: apbf.apply", "p100"),
    ("`APBF.MADD` of 100 while an elastic filter grows to 64 MiB, 99.9th percentile", f"{ELASTIC.format(64)}: apbf.madd", "p99.9"),
    ("the longest of them, which adds a third", f"{ELASTIC.format(64)}: apbf.madd", "p100"),
    ("the same up to 8 MiB", f"{ELASTIC.format(8)}: apbf.madd", "p100"),
    ("`APBF.SNAPSHOT CURSOR`, window 1e8, a piece of 1 MiB", f"{LARGE}, in pieces: apbf.snapshot", "p100"),
    ("`APBF.LOAD CURSOR`, the same piece", f"{LARGE}, in pieces: apbf.load", "p100"),
    ("`APBF.PATCH` of 1 MiB", f"{LARGE}, 1 MiB: apbf.patch", "p100"),
    ("`APBF.SNAPSHOT`, window 1e8 (256 MiB)", f"{LARGE}: apbf.snapshot", "p100"),
    *((f"{command}, the same", f"{LARGE}: {command.strip('`').lower()}", "p100") for command in ("`APBF.LOAD`", "`COPY`", "`DUMP`", "`RESTORE`", "`DEL`", "`UNLINK`")),
]
COMMANDS = {
    "SET": "`SET`", "SADD": "`SADD`", "APBF.ADD": "`APBF.ADD`", "APBF.ADDNX": "`APBF.ADDNX`", "APBF.ADD, time": "`APBF.ADD`, `SPAN`",
    "APBF.ADD, rows": "`APBF.ADD`, `LAYOUT ROWS`", "SET NX EX": "`SET NX EX`", "GET": "`GET`", "SISMEMBER": "`SISMEMBER`",
    "APBF.EXISTS": "`APBF.EXISTS`", "APBF.MADD of 100": "`APBF.MADD`, 100 items",
}
WAYS = {
    "SET id 1 EX 86400": "`SET id 1 EX 86400`", "SADD": "one set, `SADD`", "APBF 0.01": "`APBF`, 1e-2", "APBF 0.001": "`APBF`, 1e-3",
    "APBF 0.0001": "`APBF`, 1e-4", "APBF 1e-06": "`APBF`, 1e-6", "APBF 0.001, SPAN": "`APBF`, 1e-3, `SPAN`",
    "APBF 0.001, rows": "`APBF`, 1e-3, `LAYOUT ROWS`", "APBF 0.001, SPAN, slices": "`APBF`, 1e-3, `SPAN`, `LAYOUT SLICES`",
}


def servers(record):
    """Returns the headers of the servers' columns, and what was found on each."""
    found = read(record)["servers"]
    return [f"{kind.capitalize()} {found[kind]['version']}" for kind in found], list(found.values())


def table(header, rows):
    first, *others = (f"| {' | '.join(line)} |\n" for line in (header, *rows))
    return "".join([first, "|" + "---|" * len(header) + "\n", *others])


def duration(micros):
    if micros < 1000:
        return f"{math.ceil(micros - 0.01) or 1} µs"
    return f"{micros / 1000:.1f} ms" if micros < 10_000 else f"{micros / 1000:.0f} ms"


def durations():
    names, found = servers(DURATIONS)
    rows = [[label, *(duration(each["worst_microseconds"][name][share]) for each in found)] for label, name, share in DURATION_ROWS]
    return table(["how long it can take", *names], rows)


def race():
    _, found = servers(RACE)
    header = ["command"]
    for name in ("Redis", "Valkey"):
        header += [f"{name}: requests/s", "p99.9", "server CPU"]

    def cells(lap, name):
        rate, wait, cpu = lap["requests_per_second"][name], lap["p99.9_ms"][name], lap["server_cpu_microseconds"][name]
        return [f"{rate:,}".replace(",", " "), f"{wait:.1f} ms", f"{cpu:.2f} µs"]

    # Older records have fewer commands.
    shown = {name: label for name, label in COMMANDS.items() if all(name in each["race"]["p99.9_ms"] for each in found)}
    return table(header, [[label, *(cell for each in found for cell in cells(each["race"], name))] for name, label in shown.items()])


def compared():
    laps = [each["race"] for each in servers(RACE)[1]]
    both = lambda name, digits: " (Redis) and ".join(f"{lap[name]:.{digits}f}" for lap in laps) + " (Valkey)"
    cpu = lambda name: (lap["server_cpu_microseconds"][name] / lap["server_cpu_microseconds"]["APBF.ADD"] for lap in laps)
    costs = " and ".join(f"{ratio:.1f}" for ratio in cpu("APBF.ADD, time"))
    of_sadd = f", and {both('add_over_sadd', 2)} times those of `SADD`" if "add_over_sadd" in laps[0] else ""
    return textwrap.fill(
        f"Compared round by round, `APBF.ADD` reaches {both('add_over_set', 2)} times the requests per second of "
        f"`SET`{of_sadd}. `APBF.MADD` with 100 items adds {both('madd_items_over_add_items', 1)} "
        f"times as many items per second as single `APBF.ADD`s. A time window takes {costs} times the processor time, because the "
        "module writes a separate command for replicas, which contains the time.", 120) + "\n"


def memory():
    names, found = servers(RACE)
    rows = [[shown, *(f"{each['memory_bytes'][name] / 2**20:.1f} MiB" for each in found)] for name, shown in WAYS.items()]
    return table(["way", *names], rows)


def saved():
    found = [each["memory_bytes"] for each in servers(RACE)[1]]
    spread = lambda name: " to ".join(f"1/{ratio}" for ratio in sorted({round(each[name] / each["APBF 0.001"]) for each in found}))
    return textwrap.fill(
        f"At an error rate of 1e-3, the filter takes {spread('SET id 1 EX 86400')} of the memory of the keys, and {spread('SADD')} of the "
        "memory of the set, which never forgets. Longer ids take more memory as keys or in a set, but not in a filter.", 120) + "\n"


def with_tables(document):
    def replaced(pattern, made):
        nonlocal document
        document, count = re.subn(pattern, lambda _: made, document, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"redis.md has {count} places that begin with {pattern!r}, not one")

    for made in (durations(), race(), memory()):
        replaced(rf"^\| {made.split('|')[1].strip()} \| Redis.*\n(\|.*\n)*", made)
    replaced(r"^Compared round by round(.+\n)+", compared())
    replaced(r"^At an error rate of 1e-3, the filter(.+\n)+", saved())
    document = re.sub(r"x86_64/redis-durations-[\d-]+\.json", f"x86_64/{DURATIONS}", document)
    return re.sub(r"x86_64/redis-\d[\d-]+\.json", f"x86_64/{RACE}", document)


if __name__ == "__main__":
    document = Path(__file__).with_name("redis.md")
    write_or_check("redis_tables.py", {document: with_tables(document.read_text())})
