"""Several values as one item: tuples."""

from collections import namedtuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import new
from lately import Filter, SharedFilter, item_bytes, shard_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
Row = namedtuple("Row", ["user", "page"])


def netstrings(values: tuple[object, ...]) -> bytes:
    """The encoding of docs/format.md, written once more."""
    parts = [value if isinstance(value, bytes) else str(value).encode() for value in values]
    return b"".join(b"%d:%s," % (len(part), part) for part in parts)


def test_a_tuple_is_the_key_of_its_values() -> None:
    assert item_bytes(("user-5", 17)) == b"6:user-5,2:17,"
    forms = [("user-5", 17), ("user-5", "17"), (b"user-5", numpy.int64(17)), (bytearray(b"user-5"), numpy.uint8(17)),
             Row("user-5", 17), b"6:user-5,2:17,"]  # fmt: skip
    for form in forms:
        seen = new(window=100, false_positive_rate=1e-12)
        seen.add(form)
        assert [other for other in forms if other not in seen] == []
        assert shard_of(form, 1 << 31) == shard_of(forms[0], 1 << 31)


@given(st.lists(TEXT | st.integers() | st.binary(), min_size=2, max_size=9).map(tuple))
def test_a_key_is_its_netstrings(values: tuple[str | int | bytes, ...]) -> None:
    assert item_bytes(values) == netstrings(values)


def test_different_tuples_are_different() -> None:
    different = [("ab", "c"), ("a", "bc"), ("c", "ab"), ("ab", "c", ""), ("", "ab", "c"), "abc", ("ab", ("c", "")), ("1:a", "")]
    for item in different:
        seen = new(window=100, false_positive_rate=1e-12)
        seen.add(item)
        assert [other for other in different if other in seen] == [item]


def test_one_value_alone_is_itself() -> None:
    assert item_bytes(("user-5",)) == b"user-5"
    assert item_bytes((17,)) == b"17"


def test_tuples_inside_tuples() -> None:
    assert item_bytes(("a", ("b", 1))) == netstrings(("a", netstrings(("b", 1))))
    deep: tuple[object, ...] = ("a", "b")
    for _ in range(200_000):
        deep = (deep, "c")
    with pytest.raises(RecursionError, match="while reading a tuple"):
        item_bytes(deep)  # type: ignore[arg-type]
    while len(deep) == 2 and isinstance(deep[0], tuple):
        deep = deep[0]  # otherwise some versions of Python recurse to free it


def test_tuples_in_bulk_calls() -> None:
    rows = [("user-5", 17), ("user-5", 18), ("user-5", 17)]
    seen = new(window=100, false_positive_rate=1e-12)
    assert seen.check_and_add_many(rows) == [False, False, True]
    assert seen.contains_many(iter(rows)) == [True] * 3
    assert seen.contains_many([netstrings(row) for row in rows]) == [True] * 3
    objects = numpy.empty(3, dtype=object)
    objects[:] = rows
    assert seen.contains_many(objects).tolist() == [True] * 3
    # A tuple that is the whole argument is many items, as a list is.
    assert seen.check_and_add_many(("user-5", 17)) == [False, False]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (("a", None), "value 1: an item must be .*, not NoneType: leave it out"),
        ((1.5, "a"), "value 0: an item must be .*, not float: .*repr"),
        (("a", "b", True), "value 2: .*int"),
        (("a", ["b"]), "value 1: .*pass a tuple"),
        (("a", ("b", None)), "value 1: value 1: .*leave it out"),
        ((None,), "an item must be .*, not NoneType: leave it out"),
        ((), "an empty tuple is not an item"),
        (("a", ()), "value 1: an empty tuple is not an item"),
    ],
)
def test_invalid_values_are_refused(item: tuple[object, ...], message: str) -> None:
    for kind in (Filter, SharedFilter):
        seen = new(kind, window=100, false_positive_rate=1e-3)
        for ask in (seen.add, seen.contains, seen.check_and_add, seen.check_or_add, seen.age_of, seen.__contains__):
            with pytest.raises(TypeError, match="^" + message):
                ask(item)
        with pytest.raises(TypeError, match="^item 1: " + message):
            seen.add_many([("fine", 1), item])
        with pytest.raises(UnicodeEncodeError):
            seen.add(("fine", "\ud800"))
        assert seen.statistics().inserts == 0
