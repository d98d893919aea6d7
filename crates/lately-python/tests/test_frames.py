"""`lately.frames`: rows that were not seen lately, for tables of every library, in one piece, in chunks and lazily."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from lately import Filter, SharedFilter
from lately.frames import Passed, unseen, unseen_parquet

PROMISE: dict[str, Any] = {"window": 1_000_000, "false_positive_rate": 1e-9}
COLUMNS = {"n": list(range(6)), "user": ["u", "v", "u", "u", None, "v"], "page": [1, 1, 1, 2, 1, 1]}


def numbers_of(frame: Any) -> list[int]:
    if isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pyarrow.RecordBatchReader):
        frame = frame.read_all()
    return [int(n) for n in (frame["n"].to_pylist() if hasattr(frame["n"], "to_pylist") else frame["n"])]


TABLES = {
    "pandas": pandas.DataFrame(COLUMNS),
    "polars": polars.DataFrame(COLUMNS),
    "lazy": polars.LazyFrame(COLUMNS),
    "table": pyarrow.table(COLUMNS),
    "batch": pyarrow.record_batch(COLUMNS),
}


@pytest.mark.parametrize("frame", TABLES.values(), ids=TABLES.keys())
def test_rows_of_a_table(frame: Any) -> None:
    for nulls, passing in (("pass", [0, 1, 3, 4]), ("drop", [0, 1, 3])):
        found = unseen(frame, ("user", "page"), nulls=nulls, **PROMISE)
        assert type(found) is type(frame) and numbers_of(found) == passing
    assert numbers_of(unseen(frame, "page", **PROMISE)) == [0, 3]
    with pytest.raises(Exception, match="item 4 is null"):
        numbers_of(unseen(frame, "user", **PROMISE))


def test_streams_of_tables() -> None:
    whole = pyarrow.table(COLUMNS)
    reader = unseen(whole.to_reader(max_chunksize=2), "page", **PROMISE)
    assert isinstance(reader, pyarrow.RecordBatchReader) and numbers_of(reader) == [0, 3]
    chunks = unseen((whole[i : i + 2].to_pandas() for i in range(0, 6, 2)), "page", **PROMISE)
    assert [numbers_of(chunk) for chunk in chunks] == [[0], [3], []]


@pytest.mark.parametrize("kind", [Filter, SharedFilter])
def test_an_existing_filter_and_both_ways_to_refresh(kind: type[Filter]) -> None:
    seen = kind(**PROMISE)
    frame = pandas.DataFrame({"n": [1, 2, 1]})
    assert numbers_of(unseen(frame, "n", filter=seen)) == [1, 2]
    assert numbers_of(unseen(polars.LazyFrame({"n": [2, 3]}), "n", filter=seen, refresh="first")) == [3]
    assert seen.statistics().inserts == 4 and 3 in seen


def test_times_of_rows() -> None:
    times = pandas.to_datetime(["2026-01-01 12:00", "2026-01-01 12:05", "2026-01-01 14:00", "2103-01-01 00:00", "2026-01-01 14:01"])
    columns = {"n": range(5), "id": ["a", "a", "a", "a", "a"], "at": times}
    promise: dict[str, Any] = {"within": timedelta(minutes=10), "false_positive_rate": 1e-6}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(pandas.DataFrame(columns)), polars.LazyFrame(pandas.DataFrame(columns)), pyarrow.table(columns)):
        assert numbers_of(unseen(frame, "id", time="at", **promise)) == [0, 2, 3]
        assert numbers_of(unseen(frame, "id", time="at", max_jump=timedelta(days=1), **promise)) == [0, 2]


def test_a_lazy_frame_streams_and_starts_anew_for_each_collection() -> None:
    numbers = numpy.random.default_rng(5).integers(0, 30_000, 200_000)
    frame = polars.LazyFrame({"id": numbers, "n": numpy.arange(len(numbers))})
    lazy = unseen(frame, "id", **PROMISE)
    expected = pandas.Series(numbers).drop_duplicates().index.tolist()
    for _ in range(2):
        assert lazy.collect()["n"].to_list() == expected
    assert lazy.collect(engine="streaming")["n"].to_list() == expected
    # What comes after it must not change which rows pass.
    assert lazy.filter(polars.col("n") % 2 == 1).select("n").collect()["n"].to_list() == [n for n in expected if n % 2]
    assert lazy.head(5).collect()["n"].to_list() == expected[:5]
    assert lazy.select("n").tail(3).collect()["n"].to_list() == expected[-3:]


def test_parquet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    numbers = numpy.random.default_rng(6).integers(0, 30_000, 100_000)
    halves = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for half, path in zip(numpy.split(numbers, 2), halves, strict=True):
        pyarrow.parquet.write_table(pyarrow.table({"id": half}), path)
    target = tmp_path / "unique.parquet"
    expected = list(dict.fromkeys(numbers.tolist()))
    assert unseen_parquet(halves, target, "id", batch_size=1000, progress=True, **PROMISE) == Passed(100_000, len(expected))
    assert pyarrow.parquet.read_table(target)["id"].to_pylist() == expected
    assert f"100%  100000 rows, {len(expected)} new\n" in capfd.readouterr().err
    # A failure leaves the old file, and nothing else.
    with pytest.raises(KeyError, match="nowhere"):
        unseen_parquet(halves[0], target, "nowhere", **PROMISE)
    assert pyarrow.parquet.read_table(target).num_rows == len(expected)
    assert len(list(tmp_path.iterdir())) == 3 and capfd.readouterr().err == ""


def test_what_is_no_table_is_refused() -> None:
    for wrong in ("file.parquet", 5, None, Path("file.csv")):
        with pytest.raises(TypeError, match="frames cannot be of type .*: give a table"):
            unseen(wrong, "id", **PROMISE)
    with pytest.raises(TypeError, match="filter was given, so these keywords have no effect: window"):
        unseen(pandas.DataFrame(), "id", filter=Filter(**PROMISE), window=5)
    with pytest.raises(ValueError, match='refresh = "always"|refresh = .always. is not possible'):
        unseen(pandas.DataFrame(), "id", refresh="always", **PROMISE)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="time was given, but a SimpleNamespace lives on the clock of its servers"):
        unseen(pandas.DataFrame(), "id", filter=SimpleNamespace(), time="at")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no sources"):
        unseen_parquet([], "target", "id", **PROMISE)
