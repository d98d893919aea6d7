"""Merges Parquet files into one, without the rows whose pair of user and page was seen lately. The files may be larger
than memory: Polars streams.

python dedup_polars.py OUTPUT.parquet INPUT.parquet...
"""

import sys

import polars

from lately.frames import unseen


def main(target: str, *sources: str) -> None:
    rows = polars.scan_parquet(list(sources))
    unseen(rows, ("user", "page"), window=1_000_000, false_positive_rate=1e-6).sink_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
