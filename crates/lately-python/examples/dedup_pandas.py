"""Removes rows from a CSV file larger than memory if their id is among the ids of the last million rows.

python dedup_pandas.py INPUT.csv OUTPUT.csv
"""

import sys

import pandas

from lately.frames import unseen


def main(source: str, target: str) -> None:
    chunks = pandas.read_csv(source, chunksize=100_000)
    for number, chunk in enumerate(unseen(chunks, "id", window=1_000_000, false_positive_rate=1e-6)):
        chunk.to_csv(target, mode="w" if number == 0 else "a", header=number == 0, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
