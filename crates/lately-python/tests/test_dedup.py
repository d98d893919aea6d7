"""`dedup` handles each element when it arrives, not before and not after."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import new
from lately import ConfigError, Filter, SharedFilter, dedup

SMALL = {"window": 1000, "false_positive_rate": 1e-9}


@given(st.lists(st.integers(0, 30)))
def test_dedup_agrees_with_an_exact_set(numbers: list[int]) -> None:
    assert list(dedup(numbers, filter=new(**SMALL))) == list(dict.fromkeys(numbers))


def test_dedup_yields_each_element_as_it_arrives() -> None:
    asked_for = []

    def endless() -> Iterator[int]:
        n = 0
        while True:
            asked_for.append(n)
            yield n // 2
            n += 1

    unseen = dedup(endless(), window=1000, false_positive_rate=1e-9)
    assert asked_for == []
    assert next(unseen) == 0 and asked_for == [0]
    assert next(unseen) == 1 and asked_for == [0, 1, 2]


def test_keys_identify_elements() -> None:
    words = ["Apple", "apple", "Pear", "APPLE"]
    assert list(dedup(words, str.lower, **SMALL)) == ["Apple", "Pear"]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an item must be"):
        list(dedup([{"id": 1}], **SMALL))  # type: ignore[arg-type]


def test_refresh_every_sighting_or_only_the_first() -> None:
    events = [("x", minute * 60_000) for minute in (0, 9, 18, 27)]
    options = {"within": timedelta(minutes=10), "capacity": 1000, "false_positive_rate": 1e-9}
    key, time = (lambda event: event[0]), (lambda event: event[1])
    every = list(dedup(events, key, time=time, **options))  # type: ignore[arg-type]
    first = list(dedup(events, key, time=time, refresh="first", **options))  # type: ignore[arg-type]
    assert every == events[:1]
    assert first == [events[0], events[2]]


@pytest.mark.parametrize("kind", [Filter, SharedFilter])
def test_an_existing_filter_keeps_its_items(kind: type[Filter]) -> None:
    seen = kind(window=1000, false_positive_rate=1e-9)
    assert list(dedup(["a", "b"], filter=seen)) == ["a", "b"]
    assert list(dedup(["b", "c"], filter=seen)) == ["c"]
    only_one = dedup(["d", "e"], filter=seen)
    assert next(only_one) == "d"
    assert "d" in seen and "e" not in seen, "elements that were not requested are not added"


def test_wrong_arguments_fail_at_the_call() -> None:
    with pytest.raises(ConfigError, match="no window"):
        dedup(["a"])
    with pytest.raises(ValueError, match='refresh = \'always\' is not possible: give "every" or "first"'):
        dedup(["a"], refresh="always", **SMALL)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="filter was given, so these keywords have no effect: window"):
        dedup(["a"], filter=Filter(window=10, false_positive_rate=0.1), window=10)
    with pytest.raises(TypeError, match="unexpected keyword argument 'windw'"):
        dedup(["a"], windw=10)  # type: ignore[call-arg]
