"""The methods of a filter, and its copies, pickles, files and bytes."""

import copy
import gc
import inspect
import os
import pickle
import sys
import weakref
from pathlib import Path

import numpy
import pytest

import lately
from conftest import new
from lately import BaseFilter, Filter, SharedFilter, SnapshotError

BOTH = pytest.mark.parametrize("kind", [Filter, SharedFilter])


def small(kind: type[Filter] | type[SharedFilter] = Filter, **options: object) -> BaseFilter:
    return new(kind, **{"window": 1000, "false_positive_rate": 1e-6} | options)


@BOTH
def test_methods(kind: type[Filter]) -> None:
    seen = small(kind)
    assert seen.add("order-17") is None
    assert "order-17" in seen and "order-18" not in seen
    assert seen.contains("order-17") is True and seen.contains("order-18") is False
    assert seen.check_and_add(b"order-18") is False
    assert seen.check_and_add(b"order-18") is True
    assert seen.check_or_add("order-19") is False
    assert seen.check_or_add("order-19") is True
    assert seen.add_many(["a", "b"]) is None
    assert seen.contains_many(["a", "c"]) == [True, False]
    assert seen.check_and_add_many(["a", "c", "c"]) == [True, False, True]
    assert seen.check_or_add_many(["d", "d"]) == [False, True]
    assert isinstance(seen, BaseFilter)


def test_check_and_add_refreshes_and_check_or_add_does_not() -> None:
    """With check_and_add, every sighting is an insert; with check_or_add, only new items are."""
    every, first = small(), small()
    for _ in range(50):
        every.check_and_add("again")
        first.check_or_add("again")
    assert every.statistics().inserts == 50
    assert first.statistics().inserts == 1


@BOTH
def test_bulk_calls_equal_single_calls(kind: type[Filter]) -> None:
    items = [str(i * i % 997) for i in range(5000)]
    for one, many in [("check_and_add", "check_and_add_many"), ("check_or_add", "check_or_add_many")]:
        left, right = small(kind), small(kind)
        singly = [getattr(left, one)(item) for item in items]
        assert getattr(right, many)(items) == singly
        assert left == right
        assert left.contains_many(items) == [item in left for item in items]


@BOTH
def test_bulk_calls_accept_empty_iterables(kind: type[Filter]) -> None:
    seen = small(kind)
    assert seen.check_and_add_many([]) == []
    assert seen.contains_many(iter(())) == []
    seen.add_many(())
    assert seen == small(kind)


@BOTH
def test_equality_is_bit_for_bit(kind: type[Filter]) -> None:
    left, right = small(kind), small(kind)
    assert left == right
    left.add("x")
    assert left != right
    right.add("x")
    assert left == right and left == left
    assert small(kind, seed=1) != small(kind, seed=2)
    assert left != "a filter" and not left == None  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(left)


def test_the_two_kinds_are_not_equal_but_have_one_format() -> None:
    own, shared = small(Filter), small(SharedFilter)
    for seen in (own, shared):
        seen.add_many(range(2500))
    assert own != shared
    assert own.to_bytes() == shared.to_bytes()
    assert SharedFilter.from_bytes(own.to_bytes()) == shared
    assert isinstance(shared, SharedFilter) and shared.to_filter() == own


@BOTH
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(kind: type[Filter], protocol: int) -> None:
    seen = small(kind)
    seen.add_many(range(1234))
    restored = pickle.loads(pickle.dumps(seen, protocol))
    assert type(restored) is kind and restored == seen
    assert restored.check_and_add_many(list(range(2000))) == seen.check_and_add_many(list(range(2000)))


@BOTH
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_independent(kind: type[Filter], duplicate: object) -> None:
    seen = small(kind)
    seen.add("both")
    other = duplicate(seen)  # type: ignore[operator]
    assert type(other) is kind and other == seen
    other.add("one")
    assert "both" in other and "one" in other and "one" not in seen


@BOTH
def test_files(kind: type[Filter], tmp_path: Path) -> None:
    seen = small(kind)
    seen.add("kept")
    for path in (tmp_path / "seen.lately", str(tmp_path / "text.lately")):
        seen.save(path)
        assert kind.load(path) == seen
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["seen.lately", "text.lately"]


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Filter.load(tmp_path / "nowhere.lately")
    assert missing.value.filename == str(tmp_path / "nowhere.lately") and missing.value.strerror == "No such file or directory"
    with pytest.raises(FileNotFoundError):
        small().save(tmp_path / "no" / "directory.lately")
    with pytest.raises(IsADirectoryError):
        SharedFilter.load(tmp_path)


def test_damaged_snapshots() -> None:
    snapshot = small().to_bytes()
    for damaged, message in [
        (b"", "cut off"),
        (b"something else entirely", "not a lately snapshot"),
        (snapshot[:-1], "cut off"),
        (snapshot + b"x", "1 bytes follow"),
        (snapshot[:-9] + bytes([snapshot[-9] ^ 1]) + snapshot[-8:], "checksum"),
        (snapshot[:8] + b"\x09" + snapshot[9:], "format version 9"),
    ]:
        for kind in (Filter, SharedFilter):
            with pytest.raises(SnapshotError, match=message):
                kind.from_bytes(damaged)
    assert issubclass(SnapshotError, ValueError)
    with pytest.raises(TypeError):
        Filter.from_bytes("text")  # type: ignore[arg-type]


def test_clear() -> None:
    seen = Filter(window=1000, false_positive_rate=1e-6)
    fresh = seen.to_bytes()
    seen.add_many(range(10_000))
    seen.clear()
    assert seen.to_bytes() == fresh and 9_999 not in seen


def test_age_of() -> None:
    seen = small()
    seen.add("first")
    seen.add_many(range(300))
    age = seen.age_of("first")
    assert age is not None and 300 in age.inserts and age.millis is None
    assert seen.age_of("never") is None


def test_statistics() -> None:
    seen = small()
    seen.add_many(range(700))
    statistics, plan = seen.statistics(), seen.plan()
    assert statistics.inserts == 700
    assert statistics.memory_bytes == plan.memory_bytes
    assert len(statistics.fill_by_age) == len(statistics.items_by_age) == plan.required_matches + plan.window_generations
    assert all(0 <= fill <= 1 for fill in statistics.fill_by_age) and statistics.fill_by_age[0] > 0
    # An estimate from the bits; for 700 items it varies by some percent.
    assert 600 < statistics.estimated_distinct_items < 800
    assert 0 < statistics.estimated_false_positive_rate < 1e-4
    assert statistics.latest_ms is None and statistics.overloaded_generations == statistics.backward_steps == 0
    with pytest.raises(AttributeError):
        statistics.inserts = 0  # type: ignore[misc]


@BOTH
def test_repr_describes_the_filter(kind: type[Filter]) -> None:
    text = repr(small(kind))
    assert text.startswith(f"<lately.{kind.__name__}: the last 1000 inserts, ") and "bytes" in text


def test_a_filter_is_not_a_collection() -> None:
    seen = small()
    for operation in (len, iter, list):
        with pytest.raises(TypeError):
            operation(seen)  # type: ignore[operator]


def test_filters_are_built_from_keywords_only() -> None:
    with pytest.raises(TypeError):
        BaseFilter()
    with pytest.raises(TypeError):
        Filter(1000, 1e-3)  # type: ignore[misc]


def test_every_public_name_has_a_docstring() -> None:
    for name in lately.__all__:
        thing = getattr(lately, name)
        assert inspect.getdoc(thing), name
        if name in ("Filter", "SharedFilter", "BaseFilter"):
            for word, member in inspect.getmembers(thing):
                if not word.startswith("_"):
                    assert inspect.getdoc(member), f"{name}.{word}"
    assert "false_positive_rate=None" in str(inspect.signature(Filter))


def test_objects_are_released() -> None:
    item = "an item of its own"
    before = sys.getrefcount(item)
    seen = small()
    for _ in range(1000):
        seen.check_and_add(item)
        seen.check_and_add_many([item])
    assert sys.getrefcount(item) == before


@BOTH
def test_what_python_programs_expect_of_an_object(kind: type[Filter]) -> None:
    seen = small(kind)
    seen.update(["a", "b"])
    duplicate = seen.copy()
    assert duplicate == seen and duplicate is not seen and "a" in duplicate
    assert sys.getsizeof(seen) > seen.memory_bytes == seen.plan().memory_bytes
    reference = weakref.ref(seen)
    assert reference() is seen
    del seen
    gc.collect()
    assert reference() is None
    assert lately.__version__.count(".") == 2


@BOTH
def test_snapshots_and_paths_of_any_type(kind: type[Filter], tmp_path: Path) -> None:
    seen = small(kind)
    seen.add("a")
    snapshot = seen.to_bytes()
    for given in (snapshot, bytearray(snapshot), memoryview(snapshot), numpy.frombuffer(snapshot, dtype="uint8")):
        assert kind.from_bytes(given) == seen
    for wrong in ("text", 17, None, [1, 2]):
        with pytest.raises(TypeError, match="a snapshot cannot be of type .*: give the bytes from to_bytes, or use load"):
            kind.from_bytes(wrong)  # type: ignore[arg-type]
    for path in (tmp_path / "a", str(tmp_path / "b"), os.fsencode(tmp_path / "c"), os.fsencode(tmp_path) + b"/\xff"):
        seen.save(path)
        assert kind.load(path) == seen
    with pytest.raises(TypeError, match="str, bytes or os.PathLike"):
        seen.save(5)  # type: ignore[arg-type]


def test_a_filter_too_large_for_this_machine() -> None:
    for kind in (Filter, SharedFilter):
        with pytest.raises(lately.AllocationError, match="bytes cannot be allocated here: .* or give max_memory=bytes") as refused:
            kind(window=2**46, false_positive_rate=1e-3)
        assert isinstance(refused.value, MemoryError) and isinstance(refused.value, lately.ConfigError)


def test_a_shared_filter_keeps_the_promise_to_threads_or_refuses() -> None:
    """Only in bins and rows is exactly one thread told that an item is new."""
    demanding = {"window": 100_000, "false_positive_rate": 1e-3, "max_slack": 0.01}
    assert Filter(**demanding).plan().layout in ("slices", "blocks")  # type: ignore[arg-type]
    with pytest.raises(lately.ConfigError, match="several threads may be told that the same item is new: .* or name the layout"):
        SharedFilter(**demanding)  # type: ignore[arg-type]
    assert SharedFilter(**demanding, layout="slices").plan().layout == "slices"  # type: ignore[arg-type]
    for promise in (
        {"window": 100_000, "false_positive_rate": 1e-3},
        {"window": 100_000, "false_positive_rate": 1e-3, "prefer": "memory"},
        {"window": 100_000, "false_positive_rate": 1e-3, "shape": (3, 6)},
        {"max_memory": 100_000, "false_positive_rate": 1e-3},
        {"max_memory": 100_000, "window": 10_000},
    ):
        assert SharedFilter(**promise).plan().layout in ("bins", "rows")  # type: ignore[arg-type]


def test_a_promise_is_planned_once() -> None:
    promise = {"window": 123_457, "false_positive_rate": 1.7e-5, "layout": "slices"}
    first = Filter(**promise)  # type: ignore[arg-type]
    first.add("x")
    again = Filter(**promise)  # type: ignore[arg-type]
    assert "x" not in again and again.plan() == first.plan()
    assert Filter(**promise, seed=5) != again  # type: ignore[arg-type]


def test_errors_of_texts_without_utf8_name_the_item() -> None:
    seen = small()
    with pytest.raises(UnicodeEncodeError, match='item 1 has no UTF-8 encoding: pass bytes'):
        seen.add_many(["a", "\ud800"])
    with pytest.raises(ValueError, match="item 2: Exceeds the limit"):
        seen.add_many(["a", "b", 10**5000])
    assert seen.statistics().inserts == 0
