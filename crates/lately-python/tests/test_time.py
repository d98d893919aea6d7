"""Time windows: clocks, expiry, and refused times."""

import copy
import pickle
import time
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import new
from lately import Filter, SharedFilter

MINUTE = 60_000
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NOON_MS = 1_767_268_800_000
BOTH = pytest.mark.parametrize("kind", [Filter, SharedFilter])


def recent(kind: type[Filter] = Filter, **options: object) -> Filter:
    promise = {"within": timedelta(minutes=10), "capacity": 1000, "false_positive_rate": 1e-6}
    return new(kind, **promise | options)


@BOTH
def test_an_item_stays_for_the_span(kind: type[Filter]) -> None:
    seen = recent(kind)
    seen.add("x", now=NOON)
    assert seen.contains("x", now=NOON + timedelta(minutes=10))
    assert not seen.contains("x", now=NOON + timedelta(minutes=30))
    assert seen.guaranteed_span == timedelta(minutes=10)


@BOTH
def test_datetimes_and_milliseconds_are_one_clock(kind: type[Filter]) -> None:
    by_datetime, by_ms = recent(kind), recent(kind)
    tokyo = timezone(timedelta(hours=9))
    by_datetime.add("x", now=NOON.astimezone(tokyo) + timedelta(microseconds=999))
    by_ms.add("x", now=NOON_MS)
    assert by_datetime == by_ms
    assert by_ms.statistics().latest_ms == NOON_MS


@BOTH
def test_every_method_takes_a_time(kind: type[Filter]) -> None:
    for word in ("add", "contains", "check_and_add", "check_or_add"):
        seen = recent(kind)
        getattr(seen, word)("x", now=7 * MINUTE)
        assert seen.statistics().latest_ms == 7 * MINUTE
        getattr(seen, word + "_many")(["x"], now=8 * MINUTE)
        assert seen.statistics().latest_ms == 8 * MINUTE
    seen.advance_to(9 * MINUTE)
    assert seen.statistics().latest_ms == 9 * MINUTE


@BOTH
def test_the_system_clock_is_used_until_a_time_is_given(kind: type[Filter]) -> None:
    seen = kind(within=timedelta(milliseconds=200), capacity=1000, false_positive_rate=1e-6)
    before = time.time_ns() // 1_000_000
    seen.add("x")
    after = time.time_ns() // 1_000_000
    latest = seen.statistics().latest_ms
    assert latest is not None and before <= latest <= after
    # An idle filter expires; a query is enough. A query within the span must find the item; on a slow machine this one
    # may come later.
    found = "x" in seen
    assert found or time.time_ns() // 1_000_000 - before >= 200
    time.sleep(0.7)
    assert "x" not in seen


@BOTH
def test_after_one_given_time_the_caller_owns_the_clock(kind: type[Filter]) -> None:
    """One call without a time does not expire last year's events."""
    seen = recent(kind)
    seen.add("x", now=NOON_MS)
    for clone in (seen, copy.copy(seen), pickle.loads(pickle.dumps(seen))):
        assert "x" in clone
        clone.add("y")
        assert clone.contains_many(["x", "y"]) == [True, True]
        assert clone.statistics().latest_ms == NOON_MS


def test_a_cleared_filter_has_no_clock() -> None:
    seen = recent()
    seen.add("x", now=NOON_MS)
    seen.clear()
    assert seen.statistics().latest_ms is None
    seen.add("x")
    latest = seen.statistics().latest_ms
    assert latest is not None and latest > NOON_MS


@BOTH
def test_time_does_not_run_backwards(kind: type[Filter]) -> None:
    seen = recent(kind)
    seen.add("x", now=20 * MINUTE)
    seen.add("late", now=5 * MINUTE)
    assert seen.contains("late", now=29 * MINUTE)
    assert seen.statistics().backward_steps == 1


@pytest.mark.parametrize(
    ("now", "error", "message"),
    [
        (datetime(2026, 1, 1, 12), ValueError, r"no time zone.*tzinfo=timezone\.utc"),
        (datetime(1969, 12, 31, tzinfo=timezone.utc), ValueError, "before 1970"),
        (-1, ValueError, "now = -1 ms is not possible"),
        (2**64, ValueError, "18446744073709551616 ms.*0 to 18446744073709551615"),
        (1.5, TypeError, "now cannot be of type float: .*milliseconds"),
        (True, TypeError, "now cannot be of type bool"),
        ("noon", TypeError, "now cannot be of type str"),
        (timedelta(minutes=1), TypeError, "now cannot be of type datetime.timedelta"),
    ],
)
def test_invalid_times_are_refused(now: object, error: type[Exception], message: str) -> None:
    for kind in (Filter, SharedFilter):
        seen = recent(kind)
        for ask in (seen.add, seen.check_and_add, seen.contains):
            with pytest.raises(error, match=message):
                ask("x", now=now)  # type: ignore[operator]
        with pytest.raises(error, match=message):
            seen.add_many(["x"], now=now)  # type: ignore[arg-type]
        with pytest.raises(error, match=message):
            seen.advance_to(now)  # type: ignore[arg-type]
        assert seen.statistics().inserts == 0 and seen.statistics().latest_ms is None


def test_a_count_window_has_no_clock() -> None:
    seen = Filter(window=100, false_positive_rate=1e-3)
    for ask in (lambda: seen.add("x", now=1), lambda: seen.add_many(["x"], now=1), lambda: seen.advance_to(1)):
        with pytest.raises(ValueError, match="a count window has no clock.*within"):
            ask()
    assert seen.statistics().inserts == 0
    assert seen.guaranteed_span is None


@BOTH
def test_the_longest_span(kind: type[Filter]) -> None:
    seen = kind(within=timedelta.max, capacity=1000, false_positive_rate=1e-3)
    assert seen.guaranteed_span == timedelta.max


def test_overload_is_counted_and_follows_the_policy() -> None:
    kept, shortened = recent(overload="keep_window"), recent(overload="keep_rate")
    for seen in (kept, shortened):
        seen.add_many(range(5000), now=NOON_MS)
        assert seen.statistics().overloaded_generations > 0
    assert kept.guaranteed_span == timedelta(minutes=10)
    assert shortened.guaranteed_span is not None and shortened.guaranteed_span < timedelta(minutes=10)
    assert all(kept.contains_many(list(range(5000))))


def test_a_burst_of_all_items_at_once_keeps_the_rate() -> None:
    """As many items as the capacity, all in one millisecond, at any phase of a generation. The bound is Chernoff's, as
    in test_window.py."""
    asked, rate = 500_000, 1e-3
    for phase in (0, 17_000):
        seen = recent(capacity=50_000, false_positive_rate=rate)
        seen.add_many(range(50_000), now=NOON_MS + phase)
        assert seen.plan().layout == "bins" and seen.statistics().overloaded_generations == 0
        mistaken = sum(seen.contains_many([f"stranger {i}" for i in range(asked)]))
        assert mistaken < rate * asked * (1 + (3 * 14 / (rate * asked)) ** 0.5)
        assert all(seen.contains_many(range(50_000), now=NOON_MS + phase + 10 * MINUTE))


@given(st.lists(st.tuples(st.integers(0, 40).map(str), st.integers(0, 400)), min_size=1, max_size=120))
def test_events_against_an_exact_span(events: list[tuple[str, int]]) -> None:
    span = 1000
    seen = new(within=timedelta(milliseconds=span), capacity=1000, false_positive_rate=1e-9, max_slack=10)
    plan = seen.plan()
    segments = plan.required_matches + plan.window_generations
    now, last = 0, dict[str, int]()
    for item, pause in events:
        now += pause
        reported = seen.check_and_add(item, now=now)
        age = now - last.get(item, -(10**9))
        if age <= span:
            assert reported, f"{item} came {age} ms ago"
        # After k + l generations of span / l, all segments of the item have been recycled.
        if age > span * segments / plan.window_generations:
            assert not reported, f"{item} came {age} ms ago"
        last[item] = now
