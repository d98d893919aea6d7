"""Compares `check_and_add_many` with Bloom filters from PyPI, an exact window and the Rust batch call, in one process.

python.py LATELY_LAB [NUMBERS] > record.json; `benchmarks/python.sh` prepares the inputs.

Answers are checked before anything is timed. In each round every contender has one turn, so that a noisy moment affects
all; the medians of the rounds are compared. Neither building a filter nor converting numbers to lists is timed.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy
import pyarrow
import xxhash
from numpy.typing import NDArray

from lately import Filter

RATE = 1e-4
WINDOW = 1_000_000
ROUNDS = 5
HEAT = 300_000
SINGLES = 1_000_000

Check = Callable[[Any], Any]
"""Takes numbers; returns for each whether it was seen, and adds it."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stream(length: int) -> NDArray[numpy.uint64]:
    """Returns random numbers; one in five repeats one of the 500 000 numbers before it."""
    random = numpy.random.default_rng(17)
    numbers = random.integers(0, 2**64, length, dtype="uint64")
    source = numpy.arange(length)
    repeats = random.random(length) < 0.2
    repeats[0] = False
    reach = numpy.minimum(source, 500_000)
    source[repeats] -= 1 + (random.random(length)[repeats] * reach[repeats]).astype(int)
    # The source of a repeat may be a repeat itself.
    while True:
        further = source[source]
        if (further == source).all():
            return numbers[source]
        source = further


# Each peer uses its fastest calls. It checks a whole batch and then adds it, so it misses repeats within the batch that
# single calls would find. The benchmark accepts that.


def updating(bloom: Any) -> Check:
    """For a filter with a bulk insert but only single queries."""

    def check_and_add(numbers: list[int]) -> object:
        seen = [number in bloom for number in numbers]
        bloom.update(numbers)
        return seen

    return check_and_add


def rbloom(capacity: int) -> Check:
    return updating(import_module("rbloom").Bloom(capacity, RATE))


def abloom(capacity: int) -> Check:
    return updating(import_module("abloom").BloomFilter(capacity, RATE))


def fastbloom_rs(capacity: int) -> Check:
    bloom = import_module("fastbloom_rs").FilterBuilder(capacity, RATE).build_bloom_filter()

    def check_and_add(numbers: list[int]) -> object:
        # It takes signed numbers only; the numbers for peers fit.
        seen = bloom.contains_int_batch(numbers)
        bloom.add_int_batch(numbers)
        return seen

    return check_and_add


def pybloomfiltermmap3(capacity: int) -> Check:
    # Its `add` returns whether the item was there.
    bloom = import_module("pybloomfilter").BloomFilter(capacity, RATE)
    return lambda numbers: list(map(bloom.add, numbers))


def pybloom_live(capacity: int) -> Check:
    bloom = import_module("pybloom_live").BloomFilter(capacity, RATE)
    return lambda numbers: list(map(bloom.add, numbers))


def preshed(capacity: int) -> Check:
    bloom = import_module("preshed.bloom").BloomFilter.from_error_rate(capacity, RATE)
    return lambda numbers: [(number in bloom, bloom.add(number))[0] for number in numbers]


def bloomlib(capacity: int) -> Check:
    bloom = import_module("bloomlib").BloomFilter(capacity, RATE)
    return lambda numbers: [(bloom.contains(number), bloom.add(number))[0] for number in numbers]


def name_of(peer: Callable[[int], Check]) -> str:
    """Returns the name of the peer on PyPI."""
    return peer.__name__.replace("_", "-")


PEERS = (rbloom, abloom, fastbloom_rs, pybloomfiltermmap3, pybloom_live, preshed, bloomlib)


def ordered_dict(window: int) -> Check:
    """A hand-written exact window: the last `window` distinct numbers."""
    known: OrderedDict[int, None] = OrderedDict()

    def check_and_add(numbers: list[int]) -> list[bool]:
        seen = []
        for number in numbers:
            if number in known:
                known.move_to_end(number)
                seen.append(True)
            else:
                known[number] = None
                if len(known) > window:
                    known.popitem(last=False)
                seen.append(False)
        return seen

    return check_and_add


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def judge(numbers: NDArray[numpy.uint64], seen: NDArray[numpy.bool_], window: int) -> dict[str, float]:
    """Checks that no repeat within the window is missed, and that the rate of false positives is kept."""
    order = numpy.argsort(numbers, kind="stable")
    same = numbers[order][1:] == numbers[order][:-1]
    never = numpy.iinfo(numpy.int64).max
    since = numpy.full(len(numbers), never)
    since[order[1:][same]] = (order[1:] - order[:-1])[same]
    missed = int((~seen[since <= window]).sum())
    mistaken = float(seen[since == never].mean())
    assert missed == 0, f"{missed} repeats within the window were missed"
    assert mistaken <= RATE * 1.5, f"a fraction of {mistaken} of the new numbers was reported as seen"
    return {"missed": missed, "repeats_within_window": int((since <= window).sum()), "mistaken_share": mistaken}


def main(lab: str, length: int = 10_000_000) -> None:
    load = os.getloadavg()[0]
    numbers = stream(length)
    # Some peers take signed numbers only, so peers get the numbers halved; about as many are distinct.
    listed = (numbers >> numpy.uint64(1)).tolist()
    empty = {window: Filter(window=window, false_positive_rate=RATE).to_bytes() for window in (WINDOW, length)}

    say("checking answers")
    directory = tempfile.TemporaryDirectory()
    file = os.path.join(directory.name, "numbers")
    numbers.tofile(file)

    def in_rust(window: int) -> dict[str, Any]:
        run = subprocess.run([lab, "numbers", file, str(window), str(RATE)], check=True, capture_output=True, text=True)
        answer: dict[str, Any] = json.loads(run.stdout)
        return answer

    agreement = {}
    for window, snapshot in empty.items():
        seen = Filter.from_bytes(snapshot).check_and_add_many(numbers)
        agreement[str(window)] = judge(numbers, seen, window)
        rust = in_rust(window)
        assert rust["seen"] == int(seen.sum()) and rust["digest"] == f"{xxhash.xxh3_64_intdigest(seen.tobytes()):016x}"
    exact = ordered_dict(WINDOW)(listed)
    judge(numbers, numpy.array(exact), WINDOW)
    say(f"compared with an exact window: {agreement}; Rust gives the same answers")

    heat, versions = {}, {}
    for peer in PEERS:
        name = name_of(peer)
        try:
            check_and_add = peer(HEAT)
        except ImportError:
            say(f"{name} is not installed")
            continue
        some = list(dict.fromkeys(listed[:HEAT]))
        assert sum(check_and_add(some)) <= RATE * 10 * len(some), f"{name} reports too many new numbers as seen"
        assert all(check_and_add(some)), f"{name} forgets numbers"
        rounds = []
        for _ in range(3):
            check_and_add = peer(HEAT)
            rounds.append(timed(lambda: check_and_add(some)))
        heat[peer] = statistics.median(rounds) / len(some)
        versions[name] = version(name)
        say(f"{name}: {heat[peer] * 1e9:.0f} ns")
    finalists = sorted(heat, key=lambda peer: heat[peer])[:3]
    if rbloom not in finalists:
        finalists.append(rbloom)

    def ours(window: int) -> Check:
        return Filter.from_bytes(empty[window]).check_and_add_many

    contenders: dict[str, Callable[[], float]] = {}

    def enter(name: str, make: Callable[[], Check], given: object) -> None:
        def turn() -> float:
            check_and_add = make()
            return timed(lambda: check_and_add(given))

        contenders[name] = turn

    enter("lately", partial(ours, WINDOW), numbers)
    contenders["Rust batch call"] = lambda: in_rust(WINDOW)["seconds"]
    enter("lately, window of all numbers", partial(ours, length), numbers)
    contenders["Rust batch call, window of all numbers"] = lambda: in_rust(length)["seconds"]
    for peer in finalists:
        enter(name_of(peer), partial(peer, length), listed)
    enter("OrderedDict", partial(ordered_dict, WINDOW), listed)

    texts = [f"order-{number}" for number in listed[:SINGLES]]
    # One column of texts in three forms; their answers are compared before they are timed.
    columns: dict[str, Any] = {
        "Arrow strings": pyarrow.array(texts),
        "numpy U": numpy.array(texts),
        "numpy StringDType": numpy.array(texts, dtype=numpy.dtypes.StringDType()),
    }
    answers = [ours(WINDOW)(column).tolist() for column in columns.values()]
    assert answers[0] == answers[1] == answers[2] == ours(WINDOW)(texts)

    def of_column(column: Any) -> Callable[[], float]:
        def turn() -> float:
            check_and_add = ours(WINDOW)
            return timed(lambda: check_and_add(column))

        return turn

    def at_a_time(now: Any) -> Callable[[], float]:
        def turn() -> float:
            seen = Filter(within=timedelta(minutes=10), capacity=1000, false_positive_rate=RATE)
            seen.add("x", now=now)

            def loop() -> None:
                for _ in range(SINGLES):
                    seen.contains("x", now=now)

            return timed(loop)

        return turn

    def built() -> float:
        """As many filters as singles, so that a nanosecond is one of building a filter."""
        promise = {"window": 1000, "false_positive_rate": 1e-5, "layout": "slices"}
        Filter(**promise)  # type: ignore[arg-type]
        return SINGLES / 1000 * timed(lambda: [Filter(**promise) for _ in range(1000)])  # type: ignore[arg-type]

    def single_lately() -> float:
        seen = Filter.from_bytes(empty[WINDOW])

        def loop() -> None:
            for text in texts:
                seen.check_and_add(text)

        return timed(loop)

    def single_rbloom() -> float:
        bloom = import_module("rbloom").Bloom(SINGLES, RATE)

        def loop() -> None:
            for text in texts:
                text in bloom
                bloom.add(text)

        return timed(loop)

    singles = {
        "lately check_and_add(str)": single_lately,
        "rbloom contains and add(str)": single_rbloom,
        "lately contains(str, now=int)": at_a_time(1_767_268_800_000),
        "lately contains(str, now=datetime)": at_a_time(datetime(2026, 1, 1, 12, tzinfo=timezone.utc)),
        "a filter of a promise that was built before": built,
    } | {f"lately, {name}": of_column(column) for name, column in columns.items()}

    seconds: dict[str, list[float]] = {name: [] for name in [*contenders, *singles]}
    for number in range(ROUNDS):
        for name, turn in [*contenders.items(), *singles.items()]:
            seconds[name].append(turn())
        say(f"round {number + 1} of {ROUNDS}: " + ", ".join(f"{name} {times[-1]:.2f}" for name, times in seconds.items()))

    median = {name: statistics.median(times) for name, times in seconds.items()}
    peers = [name_of(peer) for peer in finalists]
    fastest = min(peers, key=lambda name: median[name])
    everything = "lately, window of all numbers"
    record = {
        "date": date.today().isoformat(),
        "machine": {"cores": os.cpu_count(), "load_before_and_after": [load, os.getloadavg()[0]], "python": platform.python_version()},
        "numbers": length,
        "window": WINDOW,
        "false_positive_rate": RATE,
        "agreement": agreement,
        "versions": versions,
        "heat_ns": {name_of(peer): round(nanos * 1e9, 1) for peer, nanos in heat.items()},
        "rounds_seconds": {name: [round(value, 4) for value in times] for name, times in seconds.items()},
        "median_ns": {
            name: round(value / (len(texts) if name in singles else length) * 1e9, 1) for name, value in median.items()
        },
        "ratios": {
            "fastest_bloom_filter": fastest,
            "times_as_fast_as_fastest_bloom_filter": round(median[fastest] / median["lately"], 2),
            "the_same_with_window_of_all_numbers": round(median[fastest] / median[everything], 2),
            "times_as_fast_as_rbloom": round(median["rbloom"] / median["lately"], 2),
            "times_as_fast_as_ordered_dict": round(median["OrderedDict"] / median["lately"], 2),
            "over_rust_batch_call": round(median["lately"] / median["Rust batch call"], 2),
            "over_rust_batch_call_with_window_of_all_numbers": round(
                median[everything] / median["Rust batch call, window of all numbers"], 2
            ),
            "numpy_u_over_arrow_strings": round(median["lately, numpy U"] / median["lately, Arrow strings"], 2),
            "numpy_stringdtype_over_arrow_strings": round(
                median["lately, numpy StringDType"] / median["lately, Arrow strings"], 2
            ),
            "single_over_rbloom_add_and_contains": round(
                median["lately check_and_add(str)"] / median["rbloom contains and add(str)"], 2
            ),
        },
    }
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
