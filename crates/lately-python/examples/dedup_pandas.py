"""Removes rows from a CSV file larger than memory if their id is among the ids of the last million rows.

python dedup_pandas.py INPUT.csv OUTPUT.csv
"""

import sys
from collections.abc import Iterable, Iterator

import pandas

from lately import BaseFilter, Filter


def unseen(chunks: Iterable[pandas.DataFrame], column: str, seen: BaseFilter) -> Iterator[pandas.DataFrame]:
    """Yields each chunk without the rows whose value in the column was seen lately."""
    for chunk in chunks:
        yield chunk[~seen.check_and_add_many(chunk[column])]


def main(source: str, target: str) -> None:
    seen = Filter(window=1_000_000, false_positive_rate=1e-6)
    chunks = pandas.read_csv(source, chunksize=100_000)
    for number, chunk in enumerate(unseen(chunks, "id", seen)):
        chunk.to_csv(target, mode="w" if number == 0 else "a", header=number == 0, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
