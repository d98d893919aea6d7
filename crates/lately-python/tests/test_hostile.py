"""Objects that misuse the interfaces: none crashes the interpreter, is read as something else, or adds a part of its items."""

import array
import ctypes
import mmap
import pickle
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy
import pyarrow
import pytest

from conftest import check_refused, new
from lately import BaseFilter, Filter, SharedFilter


@pytest.mark.parametrize("nulls", ["fail", "pass", "drop"])
def test_tuples_nested_too_deeply(nulls: Any) -> None:
    deep: tuple[Any, ...] = ()
    for _ in range(200_000):
        deep = (deep,)
    seen = new(window=100, false_positive_rate=1e-3)
    with pytest.raises(RecursionError):
        seen.add_many([deep], nulls=nulls)
    assert seen.statistics().inserts == 0


def one_buffer() -> Iterator[Any]:
    mapped = mmap.mmap(-1, 3)
    mapped[:] = b"aba"
    yield mapped
    yield pyarrow.py_buffer(b"aba")
    yield pickle.PickleBuffer(b"aba")
    yield memoryview(b"aba")
    yield memoryview(array.array("i", [1, 2])).cast("B")


@pytest.mark.parametrize("items", list(one_buffer()), ids=lambda items: type(items).__name__)
def test_a_buffer_of_bytes_is_one_text_and_not_numbers(items: Any) -> None:
    check_refused(items, TypeError, r"not one buffer of bytes \(.*\): call the method without _many on its bytes, or pass a list")


@pytest.mark.parametrize(
    "items", [numpy.array([97, 98, 97], "u1"), array.array("B", b"aba"), (ctypes.c_ubyte * 3)(97, 98, 97)], ids=lambda items: type(items).__name__
)
def test_arrays_of_small_numbers_are_numbers(items: Any) -> None:
    seen = new(window=100, false_positive_rate=1e-9)
    assert list(seen.check_and_add_many(items)) == [False, False, True]
    assert 97 in seen and "a" not in seen


def test_a_released_buffer() -> None:
    view = memoryview(array.array("i", [1, 2]))
    view.release()
    check_refused(view, ValueError, "released memoryview")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_of_a_length_is_passed_on(error: type[BaseException]) -> None:
    class Items:
        def __len__(self) -> int:
            raise error("in __len__")

        def __iter__(self) -> Iterator[str]:
            return iter(["a"])

    seen = new(window=100, false_positive_rate=1e-3)
    with pytest.raises(error, match="in __len__"):
        seen.add_many(Items())
    assert seen.statistics().inserts == 0


@pytest.mark.parametrize("length", [0, 1 << 62])
def test_a_length_may_be_wrong(length: int) -> None:
    class Items:
        def __len__(self) -> int:
            return length

        def __iter__(self) -> Iterator[str]:
            return iter(["a", "b"])

    assert new(window=100, false_positive_rate=1e-9).check_and_add_many(Items()) == [False, False]


def test_an_item_that_uses_the_filter_while_it_is_read() -> None:
    seen = new(window=100, false_positive_rate=1e-9)

    class Item:
        def __index__(self) -> int:
            seen.add("from inside")
            return 17

    assert seen.check_and_add_many([Item(), 17, "from inside"]) == [False, True, True]
    assert seen.check_and_add(Item())


def test_an_item_that_raises() -> None:
    class Item:
        def __index__(self) -> int:
            raise ZeroDivisionError("in __index__")

    seen = new(window=100, false_positive_rate=1e-3)
    with pytest.raises(ZeroDivisionError, match="in __index__") as caught:
        seen.add_many(["a", "b", Item()])
    assert caught.value.__notes__ == ["item 2"]
    assert seen.statistics().inserts == 0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (pyarrow.list_(pyarrow.int64()), "lists"),
        (pyarrow.large_list(pyarrow.int64()), "lists"),
        (pyarrow.list_view(pyarrow.int64()), "lists"),
        (pyarrow.list_(pyarrow.int64(), 2), "lists"),
        (pyarrow.map_(pyarrow.string(), pyarrow.int64()), "maps"),
        (pyarrow.run_end_encoded(pyarrow.int32(), pyarrow.string()), "run-end encoded values: decode the column"),
        (pyarrow.dense_union([pyarrow.field("a", pyarrow.int64())]), "unions"),
        (pyarrow.decimal128(5, 1), "decimals"),
        (pyarrow.decimal256(50, 1), "decimals"),
        (pyarrow.duration("s"), "dates or times"),
        (pyarrow.month_day_nano_interval(), "dates or times"),
    ],
    ids=str,
)
def test_types_of_arrow_that_are_no_items(kind: pyarrow.DataType, words: str) -> None:
    check_refused(pyarrow.nulls(2, kind), TypeError, f"not {words}")


@pytest.mark.parametrize(("nulls", "answer"), [("pass", False), ("drop", True)])
def test_columns_without_values(nulls: Any, answer: bool) -> None:
    nothing = pyarrow.nulls(2)
    of_nothing = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, None], pyarrow.int8()), pyarrow.nulls(1))
    # The numbers of a null's fields have no meaning.
    field = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 0], pyarrow.int8()), pyarrow.array([], pyarrow.string()), safe=False)
    structure = pyarrow.StructArray.from_arrays([field, pyarrow.array([1, 2])], names=["a", "b"], mask=pyarrow.array([True, True]))
    for column in (nothing, of_nothing, structure):
        for kind in (Filter, SharedFilter):
            seen = new(kind, window=100, false_positive_rate=1e-3)
            assert seen.check_and_add_many(column, nulls=nulls).tolist() == [answer, answer]
            assert seen.statistics().inserts == 0
        check_refused(column, ValueError, "item 0 is null")


class Exporter:
    """An Arrow array that says something wrong about itself."""

    def __init__(self, place: int, value: int) -> None:
        self.place, self.value = place, value

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        schema, exported = pyarrow.array([1, 2, 3]).__arrow_c_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        fields = ctypes.cast(pointer(exported, b"arrow_array"), ctypes.POINTER(ctypes.c_int64))
        fields[self.place] = self.value
        return schema, exported


@pytest.mark.parametrize(("place", "value"), [(0, -1), (2, -1), (0, -(2**63))])
def test_arrow_arrays_of_a_negative_length_or_offset(place: int, value: int) -> None:
    check_refused(Exporter(place, value), ValueError, "the Arrow array has .* elements from .* on: report this")


@pytest.mark.parametrize("number", [0, -1])
def test_arrow_arrays_that_lack_a_buffer(number: int) -> None:
    check_refused(Exporter(3, number), ValueError, "the Arrow array lacks its buffer 1: report this")


def test_several_values_in_one_element() -> None:
    pair = numpy.zeros(3, numpy.dtype([("pair", "i4", (2,))]))
    for items in (pair, numpy.zeros(3, "c16"), numpy.zeros(3, "V8")):
        check_refused(items, TypeError, "elements of the format")


def recent() -> Filter:
    return new(within=timedelta(minutes=10), capacity=1000, false_positive_rate=1e-6)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "now",
    [
        numpy.datetime64(2**62, "s"),
        numpy.datetime64(-(2**62), "D"),
        numpy.array([0, 2**62], "M8[s]"),
        numpy.array([2**40], "M8[Y]"),
        numpy.array([2**62], ">M8[h]"),
    ],
    ids=lambda now: str(getattr(now, "dtype", now)),
)
def test_times_that_numpy_would_change(now: Any) -> None:
    seen = recent()
    with pytest.raises(ValueError, match="now is too far away to be counted in milliseconds"):
        seen.add_many(["a"] * (len(now) if now.shape else 1), now=now)
    assert seen.statistics().inserts == 0 and seen.statistics().latest_ms is None


def test_far_times_that_fit() -> None:
    seen = recent()
    seen.add_many(["a", "b"], now=numpy.array(["1970-01-01", "9999-12-31"], "M8[Y]"))
    assert seen.statistics().latest_ms == 253_370_764_800_000
    seen.add("c", now=numpy.datetime64("12000-01-01"))
    assert seen.statistics().inserts == 3


@pytest.mark.parametrize("now", [{5}, {5: 1}, frozenset([5])], ids=lambda now: type(now).__name__)
def test_times_without_positions(now: Any) -> None:
    with pytest.raises(TypeError, match="which has no positions: give a list"):
        recent().add_many(["a"], now=now)


def test_restoring_by_class() -> None:
    own = new(window=100, false_positive_rate=1e-3)
    own.add("x")
    for kind, expected in ((Filter, Filter), (SharedFilter, SharedFilter), (BaseFilter, Filter)):
        restored = kind.from_bytes(own.to_bytes())
        assert type(restored) is expected and "x" in restored
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(restored, protocol))
            assert type(again) is expected and again == restored
