"""Passes the rows of a stream whose id was not seen lately. Spark keeps the filters as state, across micro-batches and
restarts, so the same id is found again in a later batch.

spark-submit dedup_spark_streaming.py INPUT_DIRECTORY OUTPUT_DIRECTORY CHECKPOINT_DIRECTORY
"""

import sys
from collections.abc import Iterator

import pandas
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming.state import GroupState

from lately import Filter, shard_window

SHARDS = 16


def without_repeats(rows: DataFrame, column: str, empty: Filter) -> DataFrame:
    """Returns the rows whose value in the column was not seen lately. `empty` is the filter of one shard."""

    def unseen(_: tuple[int], batches: Iterator[pandas.DataFrame], state: GroupState) -> Iterator[pandas.DataFrame]:
        seen = Filter.from_bytes(bytes(state.get[0]) if state.exists else snapshot)
        for batch in batches:
            yield batch.loc[~seen.check_and_add_many(batch[column]), columns]
        state.update((seen.to_bytes(),))

    snapshot, columns = empty.to_bytes(), rows.columns
    # All rows with one id belong to one shard, which has one filter.
    sharded = rows.withColumn("_shard", expr(f"pmod(xxhash64({column}), {SHARDS})"))
    return sharded.groupBy("_shard").applyInPandasWithState(unseen, rows.schema, "snapshot binary", "append", "NoTimeout")


def main(source: str, target: str, checkpoint: str) -> None:
    spark = SparkSession.builder.appName("dedup").getOrCreate()
    rows = spark.readStream.schema("id string, n long").json(source)
    empty = Filter(window=shard_window(1_000_000, SHARDS), false_positive_rate=1e-6)
    stream = without_repeats(rows, "id", empty).writeStream.option("checkpointLocation", checkpoint)
    # A stream of files that ends; leave out the trigger to wait for more.
    stream.trigger(availableNow=True).start(target, format="parquet").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
