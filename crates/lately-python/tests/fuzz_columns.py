"""Random columns of Arrow, numpy, Polars and pandas, and other objects with memory, against their items read one by one.

fuzz_columns.py [SECONDS]     by default 600; each round takes another seed. `test_fuzz.py` runs a few rounds in every test.

A column is either refused with a TypeError or ValueError, and then nothing is added; or its items are, in order and byte by
byte, those that Python sees in it. In both cases it stays as it was, and so does the filter.
"""

import array
import ctypes
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import polars
import pyarrow

from lately import Filter, item_bytes
from lately._native import _grouped
from lately._types import Nulls

Random = random.Random

TEXTS = ["", "a", "17", "ä", "\U0001f600", "0", "-1", "long enough to lie outside of a view", "a\0b", "\0"]
INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


def values_of(draw: Random, kind: str, count: int) -> list[Any]:
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return [draw.choice([low, high, 0, draw.randint(low, high), draw.randint(max(low, -9), min(high, 9))]) for _ in range(count)]
    texts = [draw.choice(TEXTS) * draw.choice([1, 1, 1, 2, 9]) for _ in range(count)]
    return texts if kind == "text" else [text.encode() + draw.randbytes(draw.choice([0, 0, 3])) for text in texts]


# A column, and its items as Python sees them; None is a missing one. Without items, the column has to be refused.
Case = tuple[Any, list[Any] | None]


def arrow_type(draw: Random, depth: int = 0) -> pyarrow.DataType:
    simple: list[Any] = [getattr(pyarrow, name)() for name in INTEGERS]
    # pyarrow cannot make dictionaries of views.
    simple += [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()]
    simple += [pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view(), pyarrow.binary(draw.choice([1, 5])), pyarrow.null()]
    pick = draw.random()
    if pick < 0.15:
        return pyarrow.dictionary(draw.choice([pyarrow.int8(), pyarrow.uint16(), pyarrow.int32(), pyarrow.int64()]), draw.choice(simple[:10]))
    if pick < 0.3 and depth < 3:
        return pyarrow.struct([(f"f{i}", arrow_type(draw, depth + 1)) for i in range(draw.choice([1, 2, 3]))])
    if pick < 0.4:
        return draw.choice(
            [
                pyarrow.float32(), pyarrow.bool_(), pyarrow.date32(), pyarrow.timestamp("ms"), pyarrow.duration("s"),
                pyarrow.list_(pyarrow.int64()), pyarrow.list_view(pyarrow.int64()), pyarrow.decimal128(10, 2),
                pyarrow.map_(pyarrow.string(), pyarrow.int64()), pyarrow.list_(pyarrow.int8(), 2), pyarrow.time64("us"),
            ]
        )  # fmt: skip
    return draw.choice(simple)


def arrow_values(draw: Random, kind: pyarrow.DataType, count: int, has_nulls: bool) -> list[Any]:
    if pyarrow.types.is_null(kind):
        return [None] * count
    if pyarrow.types.is_dictionary(kind):
        few = arrow_values(draw, kind.value_type, draw.choice([1, 3, 9]), False)
        values = [draw.choice(few) for _ in range(count)]
    elif pyarrow.types.is_struct(kind):
        fields = [arrow_values(draw, field.type, count, has_nulls) for field in kind.fields]
        values = [{f"f{i}": field[row] for i, field in enumerate(fields)} for row in range(count)]
    elif pyarrow.types.is_fixed_size_binary(kind):
        values = [draw.randbytes(kind.byte_width) for _ in range(count)]
    elif str(kind) in INTEGERS:
        values = values_of(draw, str(kind), count)
    else:
        values = values_of(draw, "text" if "string" in str(kind) else "bytes", count)
    return [None if has_nulls and draw.random() < 0.2 else value for value in values]


def item_of(value: Any) -> Any:
    """Returns the item of a value of Arrow; None if one of its fields is missing."""
    if not isinstance(value, dict):
        return value
    fields = [item_of(field) for field in value.values()]
    return None if any(field is None for field in fields) else tuple(fields)


def is_item(kind: pyarrow.DataType) -> bool:
    if pyarrow.types.is_struct(kind):
        return all(is_item(field.type) for field in kind.fields)
    if pyarrow.types.is_dictionary(kind):
        return is_item(kind.value_type)
    names = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null", *INTEGERS]
    return str(kind) in names or pyarrow.types.is_fixed_size_binary(kind)


def arrow(draw: Random) -> Case:
    kind, count = arrow_type(draw), draw.choice([0, 1, 2, 9, 70])
    if not is_item(kind):
        return pyarrow.nulls(max(count, 1), kind), None
    has_nulls = draw.random() < 0.5
    chunks = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        before, after = draw.choice([0, 1, 9]), draw.choice([0, 1])
        values = arrow_values(draw, kind, before + count + after, has_nulls)
        chunks.append(pyarrow.array(values, kind).slice(before, count))
    column = chunks[0] if len(chunks) == 1 else pyarrow.chunked_array(chunks)
    if pyarrow.types.is_struct(kind) and draw.random() < 0.5 and column.null_count == 0:
        parts = [chunks[0]] if len(chunks) == 1 else chunks
        table = pyarrow.Table.from_batches([pyarrow.RecordBatch.from_struct_array(part) for part in parts])
        return table, [item_of(value) for value in column.to_pylist()]
    return column, [item_of(value) for value in column.to_pylist()]


def numpy_array(draw: Random) -> Case:
    count = draw.choice([0, 1, 2, 9, 70])
    dtype = draw.choice([*INTEGERS, "S", "U", "T", "O", "f8", "?", "M8[s]", "m8[s]", "c16", "V3", "i4,i4"])
    if dtype in INTEGERS:
        column = numpy.array(values_of(draw, dtype, count), dtype=dtype)
    elif dtype in ("U", "S", "T", "O"):
        # numpy's S and U cannot distinguish zeros at the end from padding.
        values = [value.rstrip("\0") for value in values_of(draw, "text", count)]
        stored = [value.encode() for value in values] if dtype == "S" else values
        column = numpy.array(stored, dtype=numpy.dtypes.StringDType() if dtype == "T" else dtype)
    else:
        return numpy.zeros(max(count, 1), dtype), None
    if draw.random() < 0.3 and dtype not in ("T", "O"):
        column = column.astype(column.dtype.newbyteorder(">" if draw.random() < 0.5 else "<"))
    column = column[:: draw.choice([1, 1, 2, 3, -1, -2])]
    if draw.random() < 0.2 and dtype in INTEGERS:
        # Elements at odd addresses.
        memory = numpy.zeros(column.nbytes + 1, "uint8")
        memory[1:] = numpy.frombuffer(column.tobytes(), "uint8")
        column = memory[1:].view(column.dtype) if len(column) else column
    if draw.random() < 0.3:
        column.flags.writeable = False
    if draw.random() < 0.1:
        return numpy.array([column, column]), None
    return column, column.tolist()


def polars_series(draw: Random) -> Case:
    kind = draw.choice(["Int8", "UInt32", "Int64", "UInt64", "String", "Binary", "Categorical", "Float64", "Duration", "Time", "Boolean"])
    count = draw.choice([0, 1, 9, 70])
    if kind in ("Float64", "Duration", "Time", "Boolean"):
        return polars.Series([1] * max(count, 1)).cast(getattr(polars, kind)), None
    name = kind.lower() if kind.lower() in INTEGERS else "bytes" if kind == "Binary" else "text"
    values = [None if draw.random() < 0.1 else value for value in values_of(draw, name, count)]
    series = polars.Series("x", values, dtype=getattr(polars, kind))
    series = series.slice(draw.choice([0, 1])) if draw.random() < 0.5 else series.append(series.clone())
    if draw.random() < 0.3:
        frame = polars.DataFrame({"a": series, "b": range(len(series))})
        return frame, [None if value is None else (value, i) for i, value in enumerate(series.to_list())]
    return series, series.to_list()


def pandas_series(draw: Random) -> Case:
    kind = draw.choice(["int16", "uint64", "Int64", "string", "str", "category", "object", "float64", "boolean", "datetime64[ns]"])
    count = draw.choice([0, 1, 9, 70])
    if kind in ("float64", "boolean", "datetime64[ns]"):
        return pandas.Series([1] * max(count, 1)).astype(kind), None
    name = kind.lower() if kind.lower() in INTEGERS else "text"
    values = values_of(draw, name, count)
    series = pandas.Series(values, dtype=kind, index=[draw.randint(0, 9) for _ in values])
    series = series[:: draw.choice([1, 2, -1])]
    return series, series.tolist()


def memory(draw: Random) -> Case:
    count = draw.choice([1, 2, 9])
    pick = draw.choice(["array", "ctypes", "memoryview", "bytes", "released"])
    code = draw.choice("bBhHiIlLqQfd")
    numbers = array.array(code, [draw.randint(0, 100) for _ in range(count)])
    items = None if code in "fd" else numbers.tolist()
    if pick == "array":
        return numbers, items
    if pick == "ctypes":
        size = f"c_{'int' if code in 'bhilq' else 'uint'}{8 * numbers.itemsize}"
        return (getattr(ctypes, size) * count)(*numbers.tolist()) if items else numbers, items
    view = memoryview(numbers)
    if pick == "released":
        view.release()
        return view, None
    if pick == "bytes":
        return view.cast("B"), None
    return view[:: draw.choice([1, 2, -1])], (None if numbers.itemsize == 1 or items is None else view.tolist())


MAKERS: list[Callable[[Random], Case]] = [arrow, numpy_array, polars_series, pandas_series, memory]


def one(seed: int) -> str:
    """Makes one column and checks it. Returns what happened."""
    draw = Random(seed)
    maker = draw.choice(MAKERS)
    column, items = maker(draw)
    words: list[Nulls] = ["fail", "pass", "drop"]
    nulls = draw.choice(words)
    seen = Filter(window=1000, false_positive_rate=1e-12)
    try:
        answers = seen.check_and_add_many(column, nulls=nulls)
    except (TypeError, ValueError) as error:
        assert seen.statistics().inserts == 0, f"seed {seed}: refused, but something was added"
        assert items is None or (nulls == "fail" and None in items), f"seed {seed}: {error}"
        assert "report this" not in str(error), f"seed {seed}: {error}"
        return f"{maker.__name__} refused"
    if maker is memory and items is not None and isinstance(column, memoryview):
        items = column.tolist()
    assert items is not None, f"seed {seed}: {column!r} was accepted"
    assert nulls != "fail" or None not in items, f"seed {seed}: a null was accepted"
    # One by one.
    single = Filter(window=1000, false_positive_rate=1e-12)
    expected = [nulls == "drop" if item is None else single.check_and_add(item) for item in items]
    assert list(answers) == expected, f"seed {seed}: {column!r}"
    assert seen == single, f"seed {seed}: {column!r}"
    count, missing, _, groups = _grouped(column, 1, nulls)
    assert count == len(items) and missing == [i for i, item in enumerate(items) if item is None], f"seed {seed}"
    found = [item for _, _, group in groups for item in group]
    assert found == [item_bytes(item) for item in items if item is not None], f"seed {seed}: {column!r}"
    return f"{maker.__name__} accepted"


def main(seconds: float = 600) -> None:
    start, done = time.monotonic(), dict[str, int]()
    seed = first = time.time_ns()
    while time.monotonic() - start < seconds:
        happened = one(seed)
        done[happened] = done.get(happened, 0) + 1
        seed += 1
    print(f"{seed - first} columns from seed {first} on: {dict(sorted(done.items()))}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
