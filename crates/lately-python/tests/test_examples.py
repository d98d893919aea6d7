"""The examples, compared with exact answers."""

import os
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def test_pandas(tmp_path: Path) -> None:
    import dedup_pandas

    rows = pandas.DataFrame({"id": [i * i % 70_001 for i in range(250_000)], "n": range(250_000)})
    rows.to_csv(tmp_path / "in.csv", index=False)
    dedup_pandas.main(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"))
    expected = rows.drop_duplicates("id")
    pandas.testing.assert_frame_equal(pandas.read_csv(tmp_path / "out.csv"), expected.reset_index(drop=True))


def test_polars(tmp_path: Path) -> None:
    import dedup_polars

    frames = []
    for part in range(3):
        numbers = range(part * 20_000, (part + 1) * 20_000)
        frames.append(
            polars.DataFrame({"user": [f"u{i % 251}" for i in numbers], "page": [f"p{i % 97}" for i in numbers], "n": numbers})
        )
        frames[-1].write_parquet(tmp_path / f"{part}.parquet")
    dedup_polars.main(str(tmp_path / "out.parquet"), *(str(tmp_path / f"{part}.parquet") for part in range(3)))
    expected = polars.concat(frames).unique(["user", "page"], keep="first", maintain_order=True)
    assert expected.height == 251 * 97
    assert polars.read_parquet(tmp_path / "out.parquet").equals(expected)


@pytest.mark.skipif(not os.environ.get("LATELY_FULL"), reason="Spark is run by ./test --full")
@pytest.mark.filterwarnings("default")
def test_spark(tmp_path: Path) -> None:
    import dedup_spark
    from pyspark.sql import SparkSession

    from lately import Filter

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        rows = pandas.DataFrame({"id": [f"order-{i * i % 9_001}" for i in range(40_000)], "n": range(40_000)})
        frame = spark.createDataFrame(rows)
        empty = Filter(window=100_000, false_positive_rate=1e-9)
        for way in (dedup_spark.without_repeats, dedup_spark.without_repeats_by_row):
            found: Any = way(frame, "id", 7, empty).toPandas()
            assert len(found) == rows["id"].nunique() == found["id"].nunique()
            assert set(zip(found["id"], found["n"], strict=True)) <= set(zip(rows["id"], rows["n"], strict=True))
        frame.write.parquet(str(tmp_path / "in.parquet"))
        dedup_spark.main(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))
        assert spark.read.parquet(str(tmp_path / "out.parquet")).count() == rows["id"].nunique()
    finally:
        spark.stop()
