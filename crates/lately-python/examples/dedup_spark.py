"""A partitioned data set without the rows whose id came before, in memory that does not grow with the data.

spark-submit dedup_spark.py INPUT.parquet OUTPUT.parquet
"""

import sys
from collections.abc import Iterable, Iterator

import pandas
from pyspark.sql import DataFrame, Row, SparkSession

from lately import Filter


def without_repeats(frame: DataFrame, column: str, partitions: int, empty: Filter) -> DataFrame:
    """The rows whose value in the column was not seen lately in their partition.

    All rows of one value go to one partition, so each partition can do with a filter of its own. `empty` is planned once, on
    the driver; it travels with the function, and every partition begins with a copy of it.
    """

    def unseen(batches: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        seen = Filter.from_bytes(snapshot)
        for batch in batches:
            yield batch[~seen.check_and_add_many(batch[column])]

    snapshot = empty.to_bytes()
    return frame.repartition(partitions, column).mapInPandas(unseen, frame.schema)


def without_repeats_by_row(frame: DataFrame, column: str, partitions: int, empty: Filter) -> DataFrame:
    """The same without pandas, row by row."""

    def unseen(rows: Iterable[Row]) -> Iterator[Row]:
        seen = Filter.from_bytes(snapshot)
        return (row for row in rows if not seen.check_and_add(row[column]))

    snapshot = empty.to_bytes()
    return frame.repartition(partitions, column).rdd.mapPartitions(unseen).toDF(frame.schema)


def main(source: str, target: str) -> None:
    spark = SparkSession.builder.appName("dedup").getOrCreate()
    frame = spark.read.parquet(source)
    # The window is a partition's: what it may be sent between two rows of one id.
    empty = Filter(window=1_000_000, false_positive_rate=1e-6)
    without_repeats(frame, "id", 200, empty).write.parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
