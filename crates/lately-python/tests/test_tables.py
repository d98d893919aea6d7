"""Tables: each row is one item, the tuple of its values."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import check_refused, new

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
PAIRS = st.lists(st.tuples(TEXT, st.integers(-(2**63), 2**63 - 1)), max_size=40)


def same_filters(rows: list[tuple[object, ...]], *tables: object) -> None:
    """Every table gives the same answers and the same filter as the tuples of its rows, bit for bit."""
    expected = new(window=64, false_positive_rate=1e-6)
    answers = expected.check_and_add_many(rows)
    for table in tables:
        seen = new(window=64, false_positive_rate=1e-6)
        found = seen.check_and_add_many(table)
        assert isinstance(found, numpy.ndarray) and found.tolist() == answers, type(table)
        assert seen == expected, type(table)


@given(PAIRS)
def test_tables_of_two_columns(rows: list[tuple[str, int]]) -> None:
    texts, numbers = [text for text, _ in rows], [number for _, number in rows]
    schema = pyarrow.schema({"user": pyarrow.string(), "page": pyarrow.int64()})
    table = pyarrow.table({"user": texts, "page": numbers}, schema)
    longer = pyarrow.table({"user": ["before", *texts, "after"], "page": [1, *numbers, 2]}, schema)
    frame = pandas.DataFrame({"user": pandas.Series(texts, dtype="str"), "page": pandas.Series(numbers, dtype="int64")})
    series = polars.DataFrame({"user": texts, "page": numbers}, {"user": polars.String, "page": polars.Int64})
    fields = [pyarrow.array(texts, pyarrow.string()), pyarrow.array(numbers, pyarrow.int64())]
    same_filters(
        rows,  # type: ignore[arg-type]
        table,
        pyarrow.concat_tables([table[:3], table[3:3], table[3:]]),
        longer[1:-1],
        pyarrow.RecordBatch.from_arrays(fields, schema=schema),
        pyarrow.RecordBatchReader.from_batches(schema, table.to_batches()),
        longer.to_struct_array().combine_chunks()[1:-1],
        frame,
        frame.set_index(frame.index + 17),
        frame.set_index("user", drop=False),
        frame.astype({"user": object}),
        series,
        series.select(polars.struct("user", "page")).to_series(),
    )


def test_tables_of_every_kind_of_column() -> None:
    """More rows than are hashed at a time, and values of every length around the end of a short key."""
    rows = [(f"{'ü' * (i % 130)}{i}", i % 200, -i, b"%016d" % i, "x" * (i % 251)) for i in range(3000)]
    texts, bytes_, shorts, digests, longs = (list(column) for column in zip(*rows, strict=True))
    columns = {
        "texts": pyarrow.array(texts, pyarrow.large_string()),
        "bytes": pyarrow.array(bytes_, pyarrow.uint8()),
        "shorts": pyarrow.array(shorts, pyarrow.int16()),
        "digests": pyarrow.array(digests, pyarrow.binary(16)),
        "longs": pyarrow.array(longs, pyarrow.string_view()),
    }
    table = pyarrow.table(columns)
    same_filters(rows, table, table.to_batches()[0], pyarrow.concat_tables([table[:100], table[100:]]))  # type: ignore[arg-type]
    nested = table.select(["texts"]).append_column("pair", table.select(["bytes", "shorts"]).to_struct_array())
    same_filters([(text, (byte, short)) for text, byte, short, *_ in rows], nested)


def test_a_table_of_one_column_is_that_column() -> None:
    for values in (["a", "b", "a"], [1, 2, 1]):
        tables = [pyarrow.table({"id": values}), pyarrow.record_batch({"id": values}), polars.DataFrame({"id": values}),
                  pandas.DataFrame({"id": values}), pandas.DataFrame({"id": values}, index=[7, 8, 9])]  # fmt: skip
        same_filters(values, *tables)  # type: ignore[arg-type]


def test_names_of_columns_are_not_items() -> None:
    columns = {"user": ["a", "b"], "page": [1, 2]}
    for table in (pyarrow.table(columns), polars.DataFrame(columns), pandas.DataFrame(columns, index=["user", "page"])):
        seen = new(window=100, false_positive_rate=1e-12)
        seen.add_many(table)
        assert seen.statistics().inserts == 2
        assert seen.contains_many(["user", "page", "a", 1, ("user", "page"), ("a", 1, "user")]) == [False] * 6
        assert seen.contains_many([("a", 1), ("b", "2")]) == [True, True]


class NamesOnly:
    """A table that offers nothing but its names."""

    columns = ("user", "page")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (NamesOnly(), TypeError, "not tables without Arrow's PyCapsule interface: pass one column, or a list of tuples"),
        (pyarrow.table({}), TypeError, "not tables without columns"),
        (polars.DataFrame(), TypeError, "not tables without columns"),
        (pandas.DataFrame(), TypeError, "not tables without columns"),
        (pandas.DataFrame(index=[1, 2]), TypeError, "not tables without columns"),
        (pandas.DataFrame({"user": ["a"], "score": [1.5]}), TypeError, '^column "score": .*not floats'),
        (polars.DataFrame({"user": ["a"], "flag": [True]}), TypeError, '^column "flag": .*not booleans'),
        (pandas.DataFrame({"mixed": ["a", 17], "n": [1, 2]}), TypeError, "mixed"),
        (pyarrow.table({"user": pyarrow.array([1.5]).dictionary_encode(), "n": [1]}), TypeError, '^column "user": .*floats'),
        (pyarrow.table({"user": ["a", "b", "c"], "page": [1, 2, None]}), ValueError, '^item 2 is null in the column "page": drop'),
        (pyarrow.table({"user": ["a", None], "page": [None, 2]}), ValueError, '^item 0 is null in the column "page"'),
        (pyarrow.table({"user": ["a"], "page": pyarrow.nulls(1)}), ValueError, '^item 0 is null in the column "page"'),
        (pyarrow.table({"user": ["a", None, None]})[:2], ValueError, '^item 1 is null in the column "user"'),
        (
            pyarrow.concat_tables([pyarrow.table({"user": ["a", "b"], "page": [1, 2]}), pyarrow.table({"user": ["c", None], "page": [3, 4]})]),
            ValueError,
            '^item 3 is null in the column "user"',
        ),
        (pyarrow.array([{"a": 1, "b": 2}, None]), ValueError, "^item 1 is null: drop"),
        (polars.DataFrame({"user": ["a", None], "page": [1, 2]}), ValueError, '^item 1 is null in the column "user"'),
        (pandas.DataFrame({"user": ["a", None], "page": [1, 2]}), ValueError, '^item 1 is null in the column "user"'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_invalid_tables_are_refused(table: object, error: type[Exception], message: str) -> None:
    check_refused(table, error, message)


def test_a_null_outside_of_a_slice_is_not_seen() -> None:
    array = pyarrow.array([{"a": None, "b": 2}, {"a": 3, "b": 4}, None])
    assert new(window=100, false_positive_rate=1e-3).check_and_add_many(array[1:2]).tolist() == [False]


def test_tables_are_released() -> None:
    seen = new(window=100, false_positive_rate=1e-3)
    before = pyarrow.total_allocated_bytes()
    for _ in range(50):
        table = pyarrow.table({"user": ["x" * 1000] * 1000, "page": range(1000)})
        seen.check_and_add_many(table)
        with pytest.raises(ValueError, match="null"):
            seen.check_and_add_many(table.append_column("hole", pyarrow.array([1] * 999 + [None])))
    del table
    assert pyarrow.total_allocated_bytes() == before


def test_pandas_without_pyarrow(tmp_path: Path) -> None:
    """pandas exports tables with pyarrow. Without it, the call fails instead of reading something else."""
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')\n")
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import pandas\n"
        "from lately import Filter\n"
        "seen = Filter(window=100, false_positive_rate=1e-6)\n"
        "try:\n"
        "    seen.add_many(pandas.DataFrame({'user': ['a'], 'page': [1]}))\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "assert seen.statistics().inserts == 0\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pyarrow" in run.stdout


def test_key_names_the_columns_that_identify_a_row() -> None:
    columns = {"n": [1, 2, 3], "user": ["u", "v", "u"], "page": ["p", "p", "p"]}
    expected = new(window=100, false_positive_rate=1e-9)
    assert expected.check_and_add_many([("u", "p"), ("v", "p"), ("u", "p")]) == [False, False, True]
    for table in (pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns), pyarrow.record_batch(columns)):
        seen = new(window=100, false_positive_rate=1e-9)
        assert seen.check_and_add_many(table, key=("user", "page")).tolist() == [False, False, True]
        assert seen == expected and "page" not in seen
        assert seen.contains_many(table, key=["user", "page"]).all()
        assert seen.check_or_add_many(table, key="user").tolist() == [False, False, True]
        assert "u" in seen
        with pytest.raises(TypeError, match="key cannot be of type int: give the name of a column"):
            seen.add_many(table, key=5)
    with pytest.raises(TypeError, match="key names columns, but items of type list are not a table"):
        seen.add_many(["a"], key="user")
