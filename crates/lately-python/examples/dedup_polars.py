"""Merges Parquet files into one, without the rows whose pair of user and page was seen lately.

python dedup_polars.py OUTPUT.parquet INPUT.parquet...
"""

import sys

import polars

from lately import BaseFilter, Filter


def unseen(frame: polars.DataFrame, columns: list[str], seen: BaseFilter) -> polars.DataFrame:
    """Returns the frame without the rows whose combination of values in these columns was seen lately."""
    return frame.filter(~polars.Series(seen.check_and_add_many(frame.select(columns))))


def main(target: str, *sources: str) -> None:
    seen = Filter(window=1_000_000, false_positive_rate=1e-6)
    frames = [unseen(polars.read_parquet(source), ["user", "page"], seen) for source in sources]
    polars.concat(frames).write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
