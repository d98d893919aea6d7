"""Removes rows from a partitioned data set if their id was seen lately. Memory does not grow with the data.

spark-submit dedup_spark.py INPUT.parquet OUTPUT.parquet
"""

import sys
from collections.abc import Iterable, Iterator

import pandas
from pyspark.sql import DataFrame, Row, SparkSession

from lately import Filter


def without_repeats(frame: DataFrame, column: str, partitions: int, empty: Filter) -> DataFrame:
    """Returns the rows whose value in the column was not seen lately in their partition.

    All rows with the same value go to one partition, so each partition can use its own filter. The driver plans `empty`
    once. Spark sends its snapshot with the function, and every partition starts with a copy.
    """

    def unseen(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        seen = Filter.from_bytes(snapshot)
        for batch in batches:
            yield batch[~seen.check_and_add_many(batch[column])]

    snapshot = empty.to_bytes()
    return frame.repartition(partitions, column).mapInPandas(unseen, frame.schema)


def without_repeats_by_row(frame: DataFrame, column: str, partitions: int, empty: Filter) -> DataFrame:
    """Does the same row by row, without pandas."""

    def unseen(rows: Iterable[Row]) -> Iterator[Row]:
        seen = Filter.from_bytes(snapshot)
        return (row for row in rows if not seen.check_and_add(row[column]))

    snapshot = empty.to_bytes()
    return frame.repartition(partitions, column).rdd.mapPartitions(unseen).toDF(frame.schema)


def main(source: str, target: str) -> None:
    spark = SparkSession.builder.appName("dedup").getOrCreate()
    frame = spark.read.parquet(source)
    # The window of one partition: two rows with the same id may be this many rows apart in their partition.
    empty = Filter(window=1_000_000, false_positive_rate=1e-6)
    without_repeats(frame, "id", 200, empty).write.parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
