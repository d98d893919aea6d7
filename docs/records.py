"""The newest records of the race and of the bench, in benchmarks/x86_64, and what the documents take from them."""

import json
import math
import re
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[1] / "benchmarks/x86_64"
WINDOW = 1_000_000


def newest(prefix):
    """Returns the file name of the newest record; of two of one day, a full one before a quick one."""
    names = [re.fullmatch(rf"{prefix}(\d{{4}}-\d\d-\d\d)(-quick)?\.json", file.name) for file in DIRECTORY.iterdir()]
    return max((match[1], match[2] is None, match[0]) for match in names if match)[2]


RACE, BENCH, ELASTIC = newest("race-"), newest(""), newest("elastic-")


def read(name):
    return json.loads((DIRECTORY / name).read_text())


def raced():
    """Returns the results of each contender in the race of a million different items, by the bits per item it was given."""
    found = {}
    for result in read(RACE)["results"]:
        if (result["window"], result["stream"]) == (WINDOW, "distinct"):
            found.setdefault(result["contender"], {})[result["bits_per_item"]] = result
    return found


class Bench:
    def __init__(self):
        record = read(BENCH)
        self.figures = {(figure["operation"], figure["window"], figure["name"]): figure for figure in record["figures"]}
        self.windows = sorted({window for _, window, _ in self.figures})
        self.alone = record["alone"]

    def figure(self, operation, window, name):
        return self.figures.get((operation, window, name))


def rate_of(result):
    """Returns the false positive rate; if no stranger was reported, the rate if one had been."""
    return max(result["false_positives"], 1) / result["stranger_queries"]


def at_rate(results, rate):
    """Returns the bits per item and the nanoseconds of an insert and a query at which a contender has a rate, or None.

    Both are interpolated between measured points: along the logarithm of the rate.
    """
    points = sorted(
        (result["bits_per_item_used"], log, result["insert_ns"] + result["query_ns"])
        for result in results.values() if "false_positives" in result
        for log in [math.log(rate_of(result))]
    )
    for (bits, log, ns), (more_bits, lower_log, other_ns) in zip(points, points[1:]):
        if log >= math.log(rate) >= lower_log:
            share = (log - math.log(rate)) / (log - lower_log)
            return bits + share * (more_bits - bits), ns + share * (other_ns - ns)
    return None
