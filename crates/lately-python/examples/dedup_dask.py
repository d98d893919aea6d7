"""Writes the rows of Parquet files whose id was not seen lately, with Dask. The filters live in workers, as actors: they
remember from partition to partition and from run to run.

dedup_dask.py STATE_DIRECTORY OUTPUT INPUT...

The state is saved after the output is complete. If a run fails, start it again: it continues from the last state, so it
handles the rows of the failed run again, and loses none.
"""

import sys
from pathlib import Path
from typing import Any

import dask
import dask.dataframe
import pandas
from distributed import Client

from lately import Filter, shard_of, shard_window

SHARDS = 4
WINDOW = 1_000_000

# By default, Dask runs a task again after it lost a worker. The filters would know the rows of its first try.
dask.config.set({"distributed.scheduler.allowed-failures": 0})


class Shard:
    """A filter in a worker. It does one call after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists():
            self.seen = Filter.load(path)
        else:
            self.seen = Filter(window=shard_window(WINDOW, SHARDS), false_positive_rate=1e-6)

    def check_and_add_many(self, ids: list[str]) -> list[bool]:
        return self.seen.check_and_add_many(ids)

    def save(self) -> None:
        self.seen.save(self.path)


def unseen(frame: pandas.DataFrame, shards: list[Any]) -> pandas.DataFrame:
    """Returns the new rows of a partition. All rows with one id ask one shard."""
    ids = frame["id"].reset_index(drop=True)
    groups = ids.groupby([shard_of(id, SHARDS) for id in ids])
    asked = [(rows.index, shards[shard].check_and_add_many(rows.tolist())) for shard, rows in groups]
    is_new = pandas.Series(True, index=ids.index)
    for index, answers in asked:
        is_new[index] = [not seen for seen in answers.result()]
    return frame[is_new.to_numpy()]


def run(client: Client, state: Path, output: Path, inputs: list[Path]) -> None:
    state.mkdir(exist_ok=True)
    shards = [client.submit(Shard, state / f"{shard}.lately", actor=True, pure=False).result() for shard in range(SHARDS)]
    frame = dask.dataframe.read_parquet([str(path) for path in inputs])
    frame.map_partitions(unseen, shards, meta=frame._meta).to_parquet(str(output))
    for saving in [shard.save() for shard in shards]:
        saving.result()


if __name__ == "__main__":
    state, output, *inputs = map(Path, sys.argv[1:])
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        run(client, state, output, inputs)
