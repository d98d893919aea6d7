#!/usr/bin/env python3
"""Writes the measured tables of choosing.md, and its links to their records.

    docs/tables.py           replaces them by those of the newest records in benchmarks/x86_64
    docs/tables.py --check   exits with 1 if choosing.md has others

A table is found by the first cell of its header.
"""

import re
from pathlib import Path

from drawing import write_or_check
from records import BENCH, ELASTIC, RACE, WINDOW, Bench, at_rate, raced, rate_of, read

REFERENCE = "rows of 64 bytes"
TASKS = {
    "batch": "check_and_insert_batch",
    "new": "contains, one by one, of new keys",
    "known": "contains, one by one, of known keys",
}
SHARED = {"bins": "Bins", "rows of 64 bytes": "Rows"}
OPERATIONS = ["contains, new", "check_and_insert", "check_or_insert"]
OURS = {"Rows", "Rows, for memory", "Bins", "Blocks", "Slices"}
BITS = (16, 24, 32, 48)
MOST_BITS, MOST_RATE = 40, 1e-2  # of a filter in the table: bits for 1e-3, and the rate with 32 bits


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def power(window):
    return f"{window:.0e}".replace("e+0", "e")


def scientific(rate):
    return f"{rate:.1e}".replace("e-0", "e-")


def times():
    bench = Bench()
    columns = [(window, task) for window in bench.windows for task in TASKS]
    names = list(dict.fromkeys(name for _, window, name in bench.figures if not name.startswith("bins,")))
    shown = [REFERENCE] + [name for name in names if name != REFERENCE and not name.endswith((", b=1", ", insert alone"))]

    def cell(window, task, name):
        reference, figure = (bench.figure(TASKS[task], window, each) for each in (REFERENCE, name))
        if not figure:
            return ""
        return f"**{figure['ns']:.1f} ns**" if name == REFERENCE else f"{reference['ratio_to_peers'][name]['median']:.1f}"

    def row(name):
        figure = next(figure for (_, _, other), figure in bench.figures.items() if other == name)
        bits = figure["memory_bytes"] * 8 / figure["window"]
        return [name, f"{bits:.1f}", *(cell(*column, name) for column in columns)]

    return table(["at 1e-3", "bits per item", *(f"{task}, {power(window)}" for window, task in columns)], map(row, shown))


def rivals():
    contenders = raced()
    rows_times = contenders["Rows"][32]

    def row(name, results):
        rates = [results[bits] for bits in BITS]
        rates = [scientific(rate_of(each)) if each.get("false_positives") else "none" if "false_positives" in each else "" for each in rates]
        place, at_32 = at_rate(results, 1e-3), results[32]
        never_forgets = at_32["family"].startswith("static")
        factors = (f"{at_32[f'{operation}_ns'] / rows_times[f'{operation}_ns']:.1f}" for operation in ("insert", "query"))
        slack = "never forgets" if never_forgets else f"{at_32['peak_npws']:.2f}"
        return [f"**{name}**" if name in OURS else name, f"{place[0]:.1f}" if place else "", *rates, slack, *factors]

    def is_useful(results):
        bits, _ = at_rate(results, 1e-3) or (0, 0)
        return bits < MOST_BITS and "false_positives" in results[32] and rate_of(results[32]) < MOST_RATE and results[32]["family"] != "exact"

    useful = {name: results for name, results in contenders.items() if is_useful(results)}
    by_memory = sorted(useful, key=lambda name: (at_rate(useful[name], 1e-3) or (0,))[0])
    header = ["in the race", "bits for 1e-3", *(f"rate at {bits}" for bits in BITS), "peak slack", "insert", "query"]
    return table(header, [row(name, useful[name]) for name in by_memory])


def threads():
    figures = {(each["layout"], each["operation"], each["window"]): each for each in Bench().alone["threads"]}
    columns = [("", WINDOW), (", batched", WINDOW), (", batched", 10 * WINDOW)]

    def row(layout, operation):
        of = lambda batched, window: figures[layout, operation + batched, window]
        costs = [f"{of(*column)['one_thread_over_filter']['median']:.1f}" for column in columns]
        gains = [f"{of(batched, WINDOW)['two_threads_speedup']['median']:.1f}" for batched in (", batched", "")]
        return [f"{SHARED[layout]}, {operation.replace('_', ' ')}", *costs, *gains]

    header = ["`SharedFilter`", "one by one, 1e6", "batch, 1e6", "batch, 1e7", "two threads, batch, 1e6", "two threads, one by one, 1e6"]
    return table(header, [row(layout, operation) for layout in SHARED for operation in OPERATIONS])


def pauses():
    measured = Bench().alone["pauses"]

    def row(name):
        alone, once = measured[name]["shortest of replays"], measured[name]["once"]
        return [name, *(f"{nanos / 1e3:.2f} µs" for nanos in (alone["median_ns"], alone["p99.99_ns"], alone["longest_ns"], once["p99.99_ns"]))]

    names = [name for name, each in measured.items() if isinstance(each, dict)]
    header = [f"single inserts, window {power(measured['window'])}", "median", "99.99% are within", "longest", "99.99% with interruptions"]
    return table(header, map(row, names))


def bursts():
    measured = {each["layout"]: each["burst_rate"] for each in Bench().alone["bursts"]["layouts"]}
    return table(["burst, at 1e-3"] + [name.capitalize() for name in measured], [["rate"] + [f"{rate:.2g}" for rate in measured.values()]])


def elastic():
    def row(traffic):
        memory = (f"{traffic[name]:.2f}" for name in ("mean_over_fixed", "peak_over_fixed", "peak_over_fixed_for_busiest_minute"))
        return [traffic["traffic"], *memory, scientific(traffic["worst_measured_rate"])]

    header = ["elastic window, at 1e-3", "mean memory", "most memory", "most memory, busiest minute", "worst rate"]
    return table(header, map(row, read(ELASTIC)["traffics"]))


def with_tables(document):
    for made in (times(), rivals(), threads(), pauses(), bursts(), elastic()):
        key = made.split("|")[1].split(",")[0].strip()
        document, count = re.subn(rf"^\| {re.escape(key)}[ ,].*\n(\|.*\n)*", lambda _: made, document, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"choosing.md has {count} tables that begin with {key!r}, not one")
    ratio = read(ELASTIC)["steady_batches"]["elastic_over_fixed"]
    times_longer = "takes {median:.1f} times ({low:.1f} to {high:.1f})".format(**ratio)
    document = re.sub(r"takes [\d.]+\s+times \([\d.]+ to [\d.]+\)", times_longer, document)
    document = re.sub(r"x86_64/elastic-[\d-]+\.json", f"x86_64/{ELASTIC}", document)
    document = re.sub(r"x86_64/race-[\d-]+(-quick)?\.json", f"x86_64/{RACE}", document)
    return re.sub(r"x86_64/\d[\d-]+(-quick)?\.json", f"x86_64/{BENCH}", document)


if __name__ == "__main__":
    choosing = Path(__file__).with_name("choosing.md")
    write_or_check("tables.py", {choosing: with_tables(choosing.read_text())})
