"""Items: the same bytes in every form, and clear errors for invalid items."""

import array
import enum
import subprocess
import sys
from typing import Any
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import check_refused, new
from lately import Filter, SharedFilter, shard_of


def hashing_alike(*forms: object) -> None:
    """Adds one form and finds all others. The rate is so low that false positives do not occur."""
    for form in forms:
        seen = new(window=100, false_positive_rate=1e-12)
        seen.add(form)  # type: ignore[arg-type]
        assert [other for other in forms if other not in seen] == []  # type: ignore[operator]
    assert len({shard_of(form, 1 << 31) for form in forms}) == 1  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_its_utf8(text: str) -> None:
    encoded = text.encode()
    hashing_alike(text, encoded, bytearray(encoded), memoryview(encoded))


@given(st.integers())
def test_an_integer_is_its_decimal_text(number: int) -> None:
    hashing_alike(number, str(number), str(number).encode())


@pytest.mark.parametrize("number", [0, 1, -1, 9, 10, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40])
def test_integers_at_the_edges(number: int) -> None:
    hashing_alike(number, str(number))


def test_integer_types() -> None:
    class Colour(enum.IntEnum):
        RED = 17

    class Loud(int):
        def __str__(self) -> str:
            return "LOUD"

        __repr__ = __str__

    hashing_alike(17, "17", Colour.RED, Loud(17), numpy.uint8(17), numpy.int64(17), numpy.uint64(17))
    hashing_alike(10**30, Loud(10**30), str(10**30))
    hashing_alike("x", numpy.str_("x"), numpy.bytes_(b"x"), b"x")


def test_different_items_are_different() -> None:
    different = ["", " ", "0", "00", "-0", "1", "1.0", "a", "A", "ä", "a\0", "\0"]
    for item in different:
        seen = new(window=100, false_positive_rate=1e-12)
        seen.add(item)
        assert [other for other in different if other in seen] == [item]


@pytest.mark.parametrize(
    ("item", "remedy"),
    [
        (True, r"str\(item\) or int\(item\)"),
        (numpy.True_, r"str\(item\) or int\(item\)"),
        (None, "leave it out"),
        (1.5, "repr"),
        (numpy.float64(1.5), "repr"),
        (Decimal("1.5"), "repr"),
        (["a"], "_many"),
        (numpy.array([1, 2]), "_many"),
        (object(), r"str\(item\)"),
        (Path("x"), r"str\(item\)"),
    ],
)
def test_invalid_items_are_refused(item: object, remedy: str) -> None:
    for kind in (Filter, SharedFilter):
        seen = new(kind, window=100, false_positive_rate=1e-3)
        for ask in (seen.add, seen.contains, seen.check_and_add, seen.check_or_add, seen.age_of, seen.__contains__):
            with pytest.raises(TypeError, match="an item must be a str, bytes, bytearray, memoryview, int, or a tuple of these, not .*: .*" + remedy):
                ask(item)  # type: ignore[operator]
        with pytest.raises(TypeError, match="^item 2: .*" + remedy):
            seen.add_many(["fine", 1, item])  # type: ignore[list-item]
        assert seen.statistics().inserts == 0, "a bulk call adds all of its items or none"


def test_texts_without_a_utf8_encoding_are_refused() -> None:
    seen = new(window=100, false_positive_rate=1e-3)
    for ask in (seen.add, seen.contains):
        with pytest.raises(UnicodeEncodeError):
            ask("\ud800")
    with pytest.raises(UnicodeEncodeError):
        seen.add_many(["fine", "\ud800"])
    with pytest.raises(ValueError, match="item 1 has the code point U\\+D800"):
        seen.add_many(numpy.array(["fine", "\ud800"]))
    assert seen.statistics().inserts == 0


INTEGERS = st.lists(st.integers(0, 2**64 - 1), max_size=50)
SIGNED = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50)
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=50)


def same_filters(reference: list[str] | list[int] | list[bytes], *forms: object) -> None:
    """Every form of the same items gives the same answers and the same filter, bit for bit."""
    expected = new(window=64, false_positive_rate=1e-6)
    answers = expected.check_and_add_many(reference)
    assert isinstance(answers, list)
    for form in forms:
        seen = new(window=64, false_positive_rate=1e-6)
        assert list(seen.check_and_add_many(form)) == answers, type(form)  # type: ignore[call-overload]
        assert seen == expected, type(form)


@given(INTEGERS)
def test_unsigned_integers_in_every_form(numbers: list[int]) -> None:
    native = numpy.array(numbers, dtype="uint64")
    same_filters(
        numbers,
        tuple(numbers),
        iter(numbers),
        [str(number) for number in numbers],
        native,
        native.astype(">u8"),
        numpy.repeat(native, 3)[::3],
        native[::-1].copy()[::-1],
        native.astype(object),
        array.array("Q", numbers),
        memoryview(native),
        pyarrow.array(numbers, pyarrow.uint64()),
        pyarrow.chunked_array([numbers[:7], numbers[7:]], pyarrow.uint64()),
        pyarrow.array([0, *numbers], pyarrow.uint64())[1:],
        polars.Series(numbers, dtype=polars.UInt64),
        pandas.Series(numbers, dtype="uint64"),
        pandas.Series(numbers, dtype="uint64[pyarrow]"),
    )


@given(SIGNED)
def test_signed_integers_in_every_form(numbers: list[int]) -> None:
    native = numpy.array(numbers, dtype="int64")
    same_filters(
        numbers,
        native,
        native.astype(">i8"),
        array.array("q", numbers),
        pyarrow.array(numbers, pyarrow.int64()),
        polars.Series(numbers, dtype=polars.Int64),
        pandas.Series(numbers, dtype="int64"),
    )


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("signed", [False, True])
def test_integers_of_every_width(width: int, signed: bool) -> None:
    bits = 8 * width
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    numbers = [low, low + 1, 0, 1, 9, 10, 99, 100, high - 1, high]
    name = f"{'' if signed else 'u'}int{bits}"
    native = numpy.array(numbers, dtype=name)
    same_filters(
        numbers, native, native.astype(native.dtype.newbyteorder(">")), pyarrow.array(numbers, getattr(pyarrow, name)())
    )


def test_integers_of_every_length() -> None:
    powers = [10**exponent for exponent in range(20)]
    numbers = sorted({number for power in powers for number in (power - 1, power, power + 1, 2 * power)} - {2 * 10**19})
    assert {len(str(number)) for number in numbers} == set(range(1, 21))
    same_filters([str(number) for number in numbers], numbers, numpy.array(numbers, dtype="uint64"))
    negative = [-number for number in numbers if number <= 2**63]
    same_filters([str(number) for number in negative], negative, numpy.array(negative, dtype="int64"))


@given(TEXTS)
def test_texts_in_every_form(texts: list[str]) -> None:
    large = pyarrow.array(texts, pyarrow.large_string())
    same_filters(
        texts,
        [text.encode() for text in texts],
        numpy.array(texts, dtype=object),
        pyarrow.array(texts, pyarrow.string()),
        large,
        pyarrow.array(texts, pyarrow.string_view()),
        pyarrow.array([text.encode() for text in texts], pyarrow.binary()),
        pyarrow.array([text.encode() for text in texts], pyarrow.large_binary()),
        pyarrow.array([text.encode() for text in texts], pyarrow.binary_view()),
        pyarrow.array(["before", *texts, "after"])[1:-1],
        pyarrow.chunked_array([texts[:3], [], texts[3:]], pyarrow.string()),
        polars.Series(texts, dtype=polars.String),
        polars.Series([text.encode() for text in texts], dtype=polars.Binary),
        pandas.Series(texts, dtype="str"),
        pandas.Series(texts, dtype=object),
        pandas.Index(texts, dtype=object),
    )


@given(TEXTS)
def test_padding_is_not_part_of_numpy_texts(texts: list[str]) -> None:
    """numpy pads texts with zeros and cannot distinguish them from zeros at the end of a text."""
    texts = [text.rstrip("\0") for text in texts]
    wide = numpy.array(texts, dtype=str)
    narrow = numpy.array([text.encode() for text in texts], dtype=bytes)
    same_filters(texts, wide, wide.astype(wide.dtype.newbyteorder(">")), narrow, numpy.repeat(wide, 2)[::2])


def test_numpy_string_dtype() -> None:
    texts = ["", "a", "long enough not to be kept in place", "ü"]
    same_filters(texts, numpy.array(texts, dtype=numpy.dtypes.StringDType()))


def test_pandas_series_that_arrow_cannot_convert() -> None:
    mixed = ["a", 17, b"c"]
    same_filters(mixed, pandas.Series(mixed, dtype=object))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="item 2: .*repr"):
        new(window=64, false_positive_rate=1e-6).add_many(pandas.Series(["a", 17, 1.5], dtype=object))


def test_extension_types_of_strings_and_bytes_are_read_as_their_storage() -> None:
    digests = [b"0123456789abcdef", bytes(16)]
    storage = pyarrow.array(digests, pyarrow.binary(16))
    same_filters(digests, pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), storage))


def test_bytes_of_a_fixed_width() -> None:
    digests = [b"0123456789abcdef", bytes(16), b"fedcba9876543210"]
    same_filters(digests, pyarrow.array(digests, pyarrow.binary(16)), pyarrow.array([b"x" * 16, *digests], pyarrow.binary(16))[1:])


def test_answers_for_columns_are_arrays() -> None:
    seen = new(window=100, false_positive_rate=1e-6)
    for column in (
        numpy.array([1, 2, 1]),
        array.array("i", [1, 2, 1]),
        pyarrow.array([1, 2, 1]),
        polars.Series([1, 2, 1]),
        pandas.Series([1, 2, 1]),
        numpy.array([1, "2", 1], dtype=object),
        numpy.array(["1", "2", "1"], dtype=numpy.dtypes.StringDType()),
        pandas.Index([1, 2, 1]),
        memoryview(numpy.array([1, 2, 1])),
    ):
        seen.clear()
        answers = seen.check_and_add_many(column)
        assert isinstance(answers, numpy.ndarray) and answers.dtype == bool
        assert answers.tolist() == [False, False, True]
        answers[0] = True  # the caller may write to them
    assert seen.contains_many(numpy.array([], dtype="uint64")).shape == (0,)
    assert seen.contains_many(numpy.array([], dtype=numpy.dtypes.StringDType())).shape == (0,)


def test_answers_select_from_their_array() -> None:
    for dtype in ("U", "S", object, numpy.dtypes.StringDType()):
        texts = numpy.array(["a", "b", "a"], dtype=dtype)
        assert texts[~new(window=100, false_positive_rate=1e-6).check_and_add_many(texts)].tolist() == texts[:2].tolist()


NULL = "item {} is null.*drop"
BOOL8 = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([1, 0], pyarrow.int8()))


class Masked(numpy.ma.MaskedArray):  # type: ignore[type-arg]
    """A subclass of MaskedArray is a masked array, too."""


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ("one text", TypeError, "one item, not many"),
        (b"bytes", TypeError, "one item, not many"),
        (bytearray(b"bytes"), TypeError, "one item, not many"),
        (memoryview(b"bytes"), TypeError, "without _many"),
        (17, TypeError, "expected many items"),
        (None, TypeError, "expected many items"),
        (numpy.array([1.5]), TypeError, "not floats: .*int64"),
        (numpy.array([True]), TypeError, "not booleans: .*uint8"),
        (numpy.array(["2026-01-01"], dtype="datetime64[ms]"), TypeError, "not dates or times"),
        (numpy.array([(1, 2)], dtype="i4,i4"), TypeError, "not elements of the format"),
        (numpy.array([1 + 2j]), TypeError, "not elements of the format"),
        (numpy.ma.array([1, 2], mask=[False, True]), TypeError, "masked array.*compressed"),
        (Masked([1, 2], mask=[False, True]), TypeError, "masked array.*compressed"),
        (numpy.array([[1, 2], [3, 4]]), ValueError, "2 dimensions.*ravel"),
        (numpy.array(7), TypeError, "expected many items"),
        (numpy.array([1, None], dtype=object), TypeError, "item 1: .*leave it out"),
        (pyarrow.array([1.5]), TypeError, "not floats: .*int64"),
        (pyarrow.array([True]), TypeError, "not booleans"),
        (BOOL8, TypeError, "not booleans"),
        (pyarrow.chunked_array([BOOL8]), TypeError, "not booleans"),
        (pyarrow.array([1], pyarrow.timestamp("ms")), TypeError, "not dates or times"),
        (pyarrow.array([1], pyarrow.date32()), TypeError, "not dates or times"),
        (pyarrow.array([[1]]), TypeError, "not lists"),
        (pyarrow.array([1.5]).dictionary_encode(), TypeError, "floats"),
        (pyarrow.DictionaryArray.from_arrays([0], pyarrow.array([{"a": 1, "b": 2}])), TypeError, "categories that are structures"),
        (pandas.Series(pandas.period_range("2020", periods=3)), TypeError, "extension type `pandas.period`.*cast the column to strings"),
        (pandas.period_range("2020", periods=3), TypeError, "item 0: .*Period"),
        (pandas.Series(pandas.interval_range(0, 3)), TypeError, "extension type `pandas.interval`"),
        (polars.DataFrame({"o": polars.Series(["ab"], dtype=polars.Object)}), TypeError, 'column "o": .*Python objects'),
        (pyarrow.array(["a", None]).dictionary_encode(), ValueError, "item 1 is null"),
        (pyarrow.DictionaryArray.from_arrays([0, 1], ["a", None]), ValueError, "item 1 is null"),
        (pyarrow.array(["a", None, "b"]), ValueError, NULL.format(1)),
        (pyarrow.array([1, 2, 3, None])[2:], ValueError, NULL.format(1)),
        (pyarrow.chunked_array([["a", "b"], ["c", None]]), ValueError, NULL.format(3)),
        (pyarrow.nulls(2), ValueError, NULL.format(0)),
        (polars.Series([1, None]), ValueError, NULL.format(1)),
        (polars.Series(["a" * 50, None]), ValueError, NULL.format(1)),
        (pandas.Series(["a", None], dtype="str"), ValueError, NULL.format(1)),
        (pandas.Series([1.5]), TypeError, "not floats"),
        (pandas.Series(pandas.to_datetime(["2026-01-01"])), TypeError, "not dates or times"),
        ([1, [2]], TypeError, "item 1: .*_many"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_invalid_bulk_arguments_are_refused(items: object, error: type[Exception], message: str) -> None:
    check_refused(items, error, message)


def test_errors_of_an_iterator_are_passed_on() -> None:
    def failing() -> object:
        yield "a"
        raise RuntimeError("no more")

    seen = new(window=100, false_positive_rate=1e-3)
    with pytest.raises(RuntimeError, match="no more"):
        seen.add_many(failing())  # type: ignore[arg-type]
    assert "a" not in seen


class Exported:
    """Returns the same capsules every time, although the first reader empties them."""

    def __init__(self, column: pyarrow.Array, new_schema: bool = False) -> None:
        self.column, self.new_schema = column, new_schema
        self.capsules = column.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        schema, array = self.capsules
        return self.column.__arrow_c_array__()[0] if self.new_schema else schema, array


class Streamed:
    """The same with a stream."""

    def __init__(self, column: pyarrow.ChunkedArray) -> None:
        self.capsule = column.__arrow_c_stream__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


@pytest.mark.parametrize(
    ("items", "capsule"),
    [
        (lambda: Exported(pyarrow.array([1, 2])), "arrow_schema"),
        (lambda: Exported(pyarrow.array([1, 2]), new_schema=True), "arrow_array"),
        (lambda: Streamed(pyarrow.chunked_array([[1], [2]])), "arrow_array_stream"),
    ],
    ids=["schema", "array", "stream"],
)
def test_a_consumed_capsule_is_refused(items: Callable[[], object], capsule: str) -> None:
    seen, column = new(window=100, false_positive_rate=1e-6), items()
    assert seen.check_and_add_many(column).tolist() == [False, False]
    for ask in (seen.add_many, seen.contains_many, seen.check_and_add_many):
        with pytest.raises(ValueError, match=f"`{capsule}` was released already.*pass the column itself"):
            ask(column)
    assert seen.statistics().inserts == 2


def test_columns_are_released() -> None:
    """After a call, Arrow's memory is freed, and an array can be resized again."""
    seen = new(window=100, false_positive_rate=1e-3)
    before = pyarrow.total_allocated_bytes()
    for _ in range(50):
        seen.check_and_add_many(pyarrow.array(["x" * 1000] * 1000))
        seen.check_and_add_many(pyarrow.chunked_array([["x" * 1000] * 500, ["y" * 1000] * 500]))
        with pytest.raises(ValueError, match="null"):
            seen.check_and_add_many(pyarrow.array(["x" * 1000] * 1000 + [None]))
    assert pyarrow.total_allocated_bytes() == before
    numbers = array.array("Q", range(10))
    seen.add_many(numbers)
    numbers.append(1)  # fails as long as a buffer of it is exported


def test_without_numpy(tmp_path: Path) -> None:
    """numpy is optional: without it, answers are lists."""
    (tmp_path / "numpy.py").write_text("raise ImportError('not here')\n")
    program = (
        "import array, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from lately import Filter\n"
        "seen = Filter(window=100, false_positive_rate=1e-6)\n"
        "assert seen.check_and_add_many(array.array('Q', [1, 2, 1])) == [False, False, True]\n"
        "assert seen.check_and_add_many([1, 3]) == [True, False]\n"
        "print('done')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "done\n"


def test_objects_of_polars_are_read_as_objects() -> None:
    """Polars exports their addresses."""
    seen = new(window=1000, false_positive_rate=1e-9)
    assert seen.check_and_add_many(polars.Series(["ab", 17, "ab"], dtype=polars.Object)).tolist() == [False, False, True]
    assert "ab" in seen and 17 in seen
    check_refused(polars.Series(["ab", 1.5], dtype=polars.Object), TypeError, "item 1: .*not float")


CATEGORIES = {
    "pandas": pandas.Series(["a", "b", "", "a"], dtype="category"),
    "pandas slice": pandas.Series(["x", "a", "b", "", "a", "y"], dtype="category")[1:5],
    "pandas Arrow": pandas.Series(pyarrow.array(["a", "b", "", "a"]).dictionary_encode().to_pandas()),
    "Categorical": polars.Series(["a", "b", "", "a"], dtype=polars.Categorical),
    "Enum": polars.Series(["a", "b", "", "a"], dtype=polars.Enum(["", "b", "a", "never"])),
    "sliced Categorical": polars.Series([*map(str, range(500)), "a", "b", "", "a"], dtype=polars.Categorical)[500:],
    "two chunks": polars.concat([polars.Series(["a"], dtype=polars.Categorical), polars.Series(["b", "", "a"], dtype=polars.Categorical)], rechunk=False),
    "Arrow": pyarrow.array(["a", "b", "", "a"]).dictionary_encode(),
    "Arrow int8": pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0, 1, 2], "int8"), ["b", "", "a"]),
    "Arrow uint16": pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0, 1, 2], "uint16"), ["b", "", "a"]),
    "Arrow int64": pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0, 1, 2], "int64"), ["b", "", "a"]),
    "Arrow slice": pyarrow.DictionaryArray.from_arrays(pyarrow.array([9, 3, 1, 2, 3], "uint32"), pyarrow.array(["no", *"b", "", "a", *"123456"])[:])[1:],
    "unused null": pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0, 1, 2]), ["b", "", "a", None]),
    "views": pyarrow.DictionaryArray.from_arrays(pyarrow.array([2, 0, 1, 2]), pyarrow.array(["b", "", "a"], pyarrow.string_view())),
    "bytes": pyarrow.array([b"a", b"b", b"", b"a"]).dictionary_encode(),
}  # fmt: skip


@pytest.mark.parametrize("column", CATEGORIES.values(), ids=CATEGORIES.keys())
def test_categories_are_their_values(column: Any) -> None:
    seen = new(window=1000, false_positive_rate=1e-9)
    assert seen.check_and_add_many(column).tolist() == [False, False, False, True]
    expected = new(window=1000, false_positive_rate=1e-9)
    expected.add_many(["a", "b", "", "a"])
    assert seen == expected


def test_categories_of_numbers_and_in_tables() -> None:
    numbers = pyarrow.array([17, 300, 17]).dictionary_encode()
    seen, expected = (new(window=1000, false_positive_rate=1e-9) for _ in range(2))
    seen.add_many(numbers)
    seen.add_many(pyarrow.table({"user": pyarrow.array(["u", "v", "u"]).dictionary_encode(), "n": numbers}))
    seen.add_many(pandas.DataFrame({"user": pandas.Series(["u", "v"], dtype="category"), "n": [1, 2]}))
    expected.add_many([17, 300, 17, ("u", 17), ("v", 300), ("u", 17), ("u", 1), ("v", 2)])
    assert seen == expected


def test_a_broken_dictionary_is_refused() -> None:
    broken = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 7, 0]), ["a", "b"], safe=False)
    check_refused(broken, ValueError, "element 1 of the Arrow dictionary array is value 7, but the dictionary has 2 values")
    negative = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, -1], "int8"), ["a", "b"], safe=False)
    check_refused(negative, ValueError, "element 1 of the Arrow dictionary array is value 255")


def test_empty_columns_of_any_type_are_no_mistake() -> None:
    seen = new(window=100, false_positive_rate=1e-3)
    for empty in (
        numpy.array([]),
        numpy.array([], dtype="bool"),
        numpy.array([], dtype="M8[s]"),
        numpy.array([], dtype="U3"),
        numpy.array([], dtype=object),
        array.array("d"),
        pandas.Series([], dtype=float),
        pandas.Series([], dtype="datetime64[ns, UTC]"),
        pandas.Series([]),
        polars.Series([], dtype=polars.Float64),
        polars.Series([], dtype=polars.Object),
        pyarrow.array([], pyarrow.float64()),
        pyarrow.chunked_array([], pyarrow.bool_()),
        polars.DataFrame({"a": [], "b": []}),
        pandas.DataFrame({"a": [1.5], "b": ["x"]})[:0],
    ):
        assert len(seen.check_and_add_many(empty)) == 0, repr(empty)
        seen.add_many(empty)
    assert seen.statistics().inserts == 0


MISSING: dict[str, Any] = {
    "list": ["a", None, "b", float("nan"), "a", pandas.NA, pandas.NaT],
    "iterator": iter(["a", None, "b", None, "a", None, None]),
    "object": numpy.array(["a", None, "b", float("nan"), "a", pandas.NA, None], dtype=object),
    "pandas": pandas.Series(["a", None, "b", None, "a", None, None]),
    "pandas object": pandas.Series(["a", None, "b", float("nan"), "a", None, None], dtype=object),
    "polars": polars.Series(["a", None, "b", None, "a", None, None]),
    "arrow": pyarrow.array(["a", None, "b", None, "a", None, None]),
    "large": pyarrow.array(["a", None, "b", None, "a", None, None], pyarrow.large_string()),
    "views": pyarrow.array(["a", None, "b", None, "a", None, None], pyarrow.string_view()),
    "chunks": pyarrow.chunked_array([["a", None], [], ["b"], [None, "a", None, None]]),
    "slice": pyarrow.array([None, "x", "a", None, "b", None, "a", None, None, "y"])[2:9],
    "categories": pyarrow.array(["a", None, "b", None, "a", None, None]).dictionary_encode(),
    "null category": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, None, 0, 1, 1]), ["a", None, "b"]),
    "Enum": polars.Series(["a", None, "b", None, "a", None, None], dtype=polars.Enum(["a", "b"])),
}


@pytest.mark.parametrize("items", MISSING.values(), ids=MISSING.keys())
def test_missing_items_are_passed_or_dropped(items: Any) -> None:
    items = items if hasattr(items, "__len__") else list(items)
    expected = new(window=100, false_positive_rate=1e-9)
    expected.add_many(["a", "b", "a"])
    for nulls, missing in (("pass", False), ("drop", True)):
        for word in ("check_and_add_many", "check_or_add_many"):
            seen = new(window=100, false_positive_rate=1e-9)
            answers = list(getattr(seen, word)(items, nulls=nulls))
            assert answers == [False, missing, False, missing, True, missing, missing]
        assert list(seen.contains_many(items, nulls=nulls)) == [True, missing, True, missing, True, missing, missing]
        seen = new(window=100, false_positive_rate=1e-9)
        seen.add_many(items, nulls=nulls)
        assert seen == expected
    for nulls in (None, "fail"):
        with pytest.raises((TypeError, ValueError), match="null|NoneType"):
            seen.add_many(items, nulls=nulls)


def test_missing_values_of_keys() -> None:
    columns = {"user": ["u", None, "u", "u", "v"], "n": [1, 1, None, 1, 1]}
    rows = list(zip(*columns.values(), strict=True))
    for table in (rows, pyarrow.table(columns), polars.DataFrame(columns), pandas.DataFrame(columns).astype({"n": "Int64"})):
        seen = new(window=100, false_positive_rate=1e-9)
        assert list(seen.check_and_add_many(table, nulls="pass")) == [False, False, False, True, False]
        assert seen.statistics().inserts == 3


def test_many_missing_items_and_times() -> None:
    numbers = numpy.arange(10_000)
    column = pyarrow.array(numbers, mask=numbers % 3 == 0)
    seen, expected = (
        Filter(within=timedelta(seconds=60), capacity=10_000, false_positive_rate=1e-6) for _ in range(2)
    )
    seen.add_many(column, now=numbers, nulls="drop")
    expected.add_many(numbers[numbers % 3 != 0], now=numbers[numbers % 3 != 0])
    # The times of missing items are not looked at.
    assert seen == expected


def test_impossible_words_for_nulls() -> None:
    seen = new(window=100, false_positive_rate=1e-9)
    for wrong in ("Pass", "skip", 3, True):
        with pytest.raises(ValueError, match='nulls = .* is not possible: give "fail" or "pass" or "drop"'):
            seen.add_many(["a"], nulls=wrong)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=50), st.sampled_from("<>"))
def test_texts_of_numpy(texts: list[str], order: str) -> None:
    texts = [text.rstrip("\0") for text in texts]
    longest = max(map(len, texts), default=0) + 1
    same_filters(texts, numpy.array(texts, dtype=f"{order}U{longest}"))
    wide = numpy.array([["x", text] for text in texts] or [["x", "x"]][:0], dtype=f"{order}U{longest}").reshape(-1, 2)
    same_filters(texts, wide[:, 1])


def test_strings_of_numpy() -> None:
    texts = ["a", "ü" * 40, "", "z\0", "x" * 3000, "short", "\U0001f600"] * 700
    T = numpy.dtypes.StringDType
    array = numpy.array(texts, dtype=T())
    same_filters(texts, array, array[::-1][::-1], numpy.array([["no", text] for text in texts], dtype=T())[:, 1])
    same_filters(texts[::-3], array[::-3])
    for missing in (None, float("nan")):
        with_missing = numpy.array(["a", missing, "b"], dtype=T(na_object=missing))
        check_refused(with_missing, TypeError, "item 1: it is missing")
        seen = new(window=100, false_positive_rate=1e-9)
        assert seen.check_and_add_many(with_missing, nulls="drop").tolist() == [False, True, False]
        assert "a" in seen and "b" in seen
    check_refused(numpy.array([["a"]], dtype=T()), TypeError, "item 0")
