"""Time windows: clocks, expiry, and refused times."""

import array
import copy
import pickle
import time
import zoneinfo
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lately
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


@pytest.mark.parametrize("size", [{"capacity": 1000}, {}], ids=["fixed", "elastic"])
@given(events=st.lists(st.tuples(st.integers(0, 40).map(str), st.integers(0, 400)), min_size=1, max_size=120))
def test_events_against_an_exact_span(size: dict[str, int], events: list[tuple[str, int]]) -> None:
    span = 1000
    seen = new(within=timedelta(milliseconds=span), false_positive_rate=1e-9, max_slack=10, **size)
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


def test_a_time_window_without_capacity_is_elastic() -> None:
    seen = Filter(within=timedelta(minutes=10), false_positive_rate=1e-3)
    at_first = seen.memory_bytes
    assert at_first < 20_000 and seen.plan().is_elastic and seen.plan().span_ms == 10 * MINUTE
    assert "memory as needed" in repr(seen) and f"{at_first} bytes" in repr(seen)
    for minute in range(10):
        items = [f"{minute}-{i}" for i in range(20_000)]
        assert sum(seen.check_and_add_many(items, now=NOON_MS + minute * MINUTE)) < 60
    grown = seen.memory_bytes
    assert grown > 10 * at_first and seen.statistics().memory_bytes == grown
    assert all(seen.contains_many([f"{minute}-{i}" for minute in range(10) for i in range(20_000)]))
    # Quiet hours: the memory follows.
    for minute in range(10, 60):
        seen.add(minute, now=NOON_MS + minute * MINUTE)
    assert seen.memory_bytes < grown / 10
    told = seen.statistics()
    assert told.growths >= 3 and told.shrinks >= 3 and told.peak_memory_bytes >= grown
    restored = Filter.from_bytes(seen.to_bytes())
    assert restored == seen and pickle.loads(pickle.dumps(seen)) == seen and copy.copy(seen) == seen
    limited = Filter(within=timedelta(minutes=10), false_positive_rate=1e-3, max_memory=100_000)
    limited.add_many(range(200_000), now=NOON_MS)
    assert limited.memory_bytes <= 100_000 and limited.statistics().overloaded_generations > 0


def test_an_elastic_window_cannot_be_shared() -> None:
    with pytest.raises(lately.ConfigError, match="cannot share a time window without a capacity: give capacity"):
        SharedFilter(within=timedelta(minutes=10), false_positive_rate=1e-3)
    elastic = Filter(within=timedelta(minutes=10), false_positive_rate=1e-3)
    with pytest.raises(lately.SnapshotError, match="open it as a Filter"):
        SharedFilter.from_bytes(elastic.to_bytes())


@BOTH
def test_whatever_answers_about_time_knows_the_time(kind: type[Filter]) -> None:
    """An idle time window on the system clock: no call asks `in` first."""
    kept, asks = timedelta(milliseconds=200), []
    for ask in (
        lambda seen: seen.age_of("x") is None,
        lambda seen: seen.guaranteed_window == 0,
        lambda seen: seen.statistics().estimated_distinct_items == 0,
        lambda seen: seen.statistics().latest_ms > before + 200,
        lambda seen: seen.statistics().items_by_age[0].millis is not None,
    ):
        seen = kind(within=kept, capacity=1000, false_positive_rate=1e-6)
        seen.add("x")
        assert seen.guaranteed_window == 1
        asks.append((ask, seen))
    before = time.time_ns() // 1_000_000
    time.sleep(0.7)
    for ask, seen in asks:
        assert ask(seen)


def test_the_memory_of_an_idle_elastic_window_is_freed_when_asked_for() -> None:
    seen = Filter(within=timedelta(milliseconds=200), false_positive_rate=1e-3)
    seen.add_many(range(100_000))
    grown = seen.memory_bytes
    time.sleep(0.7)
    assert seen.memory_bytes < grown / 5


@BOTH
def test_a_query_does_not_start_the_system_clock(kind: type[Filter]) -> None:
    """Otherwise the clock would be years ahead of the events that are added next."""
    seen = recent(kind)
    assert "x" not in seen and seen.age_of("x") is None and not seen.contains_many(["x"])[0]
    assert seen.statistics().latest_ms is None
    seen.add("x", now=NOON_MS)
    assert seen.statistics().latest_ms == NOON_MS and seen.statistics().backward_steps == 0


@BOTH
def test_a_restored_event_time_filter_is_not_wiped(kind: type[Filter], tmp_path: Path) -> None:
    seen = recent(kind)
    seen.add("x", now=NOON_MS)
    seen.save(tmp_path / "seen.lately")
    for restored in (kind.from_bytes(seen.to_bytes()), kind.load(tmp_path / "seen.lately"), pickle.loads(pickle.dumps(seen))):
        assert "x" in restored and restored.age_of("x") is not None
        assert restored.statistics().latest_ms == NOON_MS
        restored.add("y")
        assert restored.statistics().latest_ms == NOON_MS


@BOTH
def test_a_restored_filter_on_the_system_clock_goes_on(kind: type[Filter], tmp_path: Path) -> None:
    seen = kind(within=timedelta(milliseconds=200), capacity=1000, false_positive_rate=1e-6)
    seen.add("x")
    seen.save(tmp_path / "seen.lately")
    pickled, snapshot = pickle.dumps(seen), seen.to_bytes()
    time.sleep(0.7)
    for restored in (kind.from_bytes(snapshot), kind.load(tmp_path / "seen.lately"), pickle.loads(pickled), copy.copy(seen)):
        assert "x" not in restored and restored.guaranteed_window == 0


ONE_TIME = [
    NOON,
    NOON.astimezone(timezone(timedelta(hours=-5), "here")),
    NOON + timedelta(microseconds=999),
    NOON.astimezone(zoneinfo.ZoneInfo("Europe/Berlin")),
    NOON_MS,
    numpy.int64(NOON_MS),
    numpy.uint64(NOON_MS),
    numpy.datetime64("2026-01-01T12:00:00"),
    numpy.datetime64("2026-01-01T12"),
    numpy.datetime64("2026-01-01T12:00:00.000999999"),
    pandas.Timestamp(NOON),
    pandas.Timestamp("2026-01-01T12:00:00.000999999Z"),
    pandas.Timestamp("2026-01-01T21:00:00+09:00"),
]


@pytest.mark.parametrize("now", ONE_TIME, ids=repr)
def test_one_time_of_any_type(now: object) -> None:
    seen = recent()
    seen.add("x", now=now)  # type: ignore[arg-type]
    assert seen.statistics().latest_ms == NOON_MS
    seen = recent()
    seen.add_many(["x"], now=now)  # type: ignore[arg-type]
    assert seen.statistics().latest_ms == NOON_MS


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)), st.timezones())
def test_datetimes_are_exact(naive: datetime, zone: zoneinfo.ZoneInfo) -> None:
    now = naive.replace(tzinfo=zone)
    expected = (now - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    seen = recent()
    seen.advance_to(now)
    assert seen.statistics().latest_ms == expected


@given(st.data())
def test_datetimes_are_exact_around_changes_of_the_clocks(data: st.DataObject) -> None:
    """Also in the hours that a zone has twice or not at all, and if the zone changes from call to call."""
    changes = [
        ("Europe/Berlin", datetime(2026, 3, 29, 2)),
        ("Europe/Berlin", datetime(2026, 10, 25, 2)),
        ("America/St_Johns", datetime(2006, 10, 29, 0, 1)),
        ("Africa/Monrovia", datetime(1972, 1, 7)),
        ("Pacific/Apia", datetime(2011, 12, 30)),
        ("Australia/Lord_Howe", datetime(2026, 4, 5, 1, 30)),
    ]
    near = st.timedeltas(timedelta(hours=-2), timedelta(hours=2))
    for _ in range(3):
        name, change = data.draw(st.sampled_from(changes))
        zone = data.draw(st.sampled_from([zoneinfo.ZoneInfo(name), timezone(data.draw(near)), timezone.utc]))
        now = (change + data.draw(near)).replace(tzinfo=zone, fold=data.draw(st.integers(0, 1)))
        seen = recent()
        seen.advance_to(now)
        assert seen.statistics().latest_ms == (now - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def test_datetimes_next_to_1970() -> None:
    for offset in (timedelta(hours=-11, minutes=-30), timedelta(0), timedelta(hours=14)):
        first = datetime(1970, 1, 1, tzinfo=timezone.utc).astimezone(timezone(offset))
        seen = recent()
        seen.add("x", now=first)
        assert seen.statistics().latest_ms == 0
        with pytest.raises(ValueError, match="is before 1970"):
            seen.add("x", now=first - timedelta(microseconds=1))


def test_a_zone_of_the_callers_own() -> None:
    class Odd(tzinfo):
        """Changes its mind, and has no offset for some times."""

        offset: timedelta | None = timedelta(minutes=7)

        def utcoffset(self, when: datetime | None) -> timedelta | None:
            return self.offset

    zone = Odd()
    seen = recent()
    seen.add("x", now=datetime(2026, 1, 1, 12, tzinfo=zone))
    assert seen.statistics().latest_ms == NOON_MS - 7 * MINUTE
    zone.offset = timedelta(minutes=-7)
    seen.add("x", now=datetime(2026, 1, 1, 12, tzinfo=zone))
    assert seen.statistics().latest_ms == NOON_MS + 7 * MINUTE
    zone.offset = None
    with pytest.raises(ValueError, match="has no time zone"):
        seen.add("x", now=datetime(2026, 1, 1, 12, tzinfo=zone))


NAIVE = pandas.to_datetime([NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE], unit="ms")
COLUMNS = {
    "list of int": [NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE],
    "tuple of datetimes": (NOON, NOON + timedelta(milliseconds=1500), NOON + timedelta(minutes=1)),
    "array.array": array.array("q", [NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE]),
    "int64": numpy.array([NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE]),
    "uint64 strided": numpy.array([NOON_MS, 0, NOON_MS + 1500, 0, NOON_MS + MINUTE, 0], dtype="uint64")[::2],
    "big endian": numpy.array([NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE], dtype=">i8"),
    "datetime64[ns]": NAIVE.to_numpy().astype("M8[ns]"),
    "datetime64[ms]": NAIVE.to_numpy().astype("M8[ms]"),
    "object": numpy.array([NOON, NOON_MS + 1500, NOON + timedelta(minutes=1)], dtype=object),
    "DatetimeIndex": NAIVE,
    "Series": pandas.Series(NAIVE),
    "Series with zone": pandas.Series(NAIVE).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "Series of Int64": pandas.Series([NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE], dtype="Int64"),
    "Series of Arrow": pandas.Series(NAIVE).astype("timestamp[us, tz=UTC][pyarrow]"),
    "arrow ms": pyarrow.array(NAIVE, pyarrow.timestamp("ms")),
    "arrow ns with zone": pyarrow.array(NAIVE.tz_localize("UTC"), pyarrow.timestamp("ns", "Europe/Berlin")),
    "arrow int64": pyarrow.chunked_array([[NOON_MS], [], [NOON_MS + 1500, NOON_MS + MINUTE]]),
    "arrow slice": pyarrow.array([0, NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE, None])[1:4],
    "polars": polars.Series(NAIVE.to_numpy().astype("M8[us]")),
    "polars with zone": polars.Series(NAIVE.to_numpy().astype("M8[us]")).dt.replace_time_zone("UTC"),
    "polars int": polars.Series([NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE]),
}


@BOTH
@pytest.mark.parametrize("times", COLUMNS.values(), ids=COLUMNS.keys())
def test_a_column_of_times(kind: type[Filter], times: object) -> None:
    seen, singly = recent(kind), recent(kind)
    seen.add_many(["a", "b", "c"], now=times)  # type: ignore[arg-type]
    for item, now in zip("abc", (NOON_MS, NOON_MS + 1500, NOON_MS + MINUTE)):
        singly.add(item, now=now)
    assert seen == singly


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        ([NOON_MS], ValueError, "now has 1 times for 3 items: give one time for each item"),
        (numpy.arange(4), ValueError, "now has 4 times for 3 items"),
        ([], ValueError, "now has 0 times for 3 items"),
        ([1, None, 2], TypeError, "item 1: now cannot be of type NoneType"),
        ([1, -5, 2], ValueError, "item 1: now = -5 ms"),
        ([1, datetime(2026, 1, 1), 2], ValueError, "item 1: .*no time zone"),
        (numpy.array([1, -5, 2]), ValueError, "now = -5 ms for item 1 is not possible"),
        (numpy.array(["2026", "NaT", "2027"], dtype="M8[s]"), ValueError, "no time for item 1"),
        (numpy.array([1.0, 2.0, 3.0]), TypeError, "now cannot be a column of float64"),
        (numpy.array([[1, 2, 3]]), ValueError, "now has 2 dimensions"),
        (pandas.Series([NOON, pandas.NaT, NOON]), ValueError, "no time for item 1"),
        (pandas.Series([1, None, 2], dtype="Int64"), ValueError, "drop or fill missing times"),
        (pyarrow.array([1, None, 3]), ValueError, "no time for item 1"),
        (pyarrow.array([1, -7, 3], pyarrow.timestamp("s")), ValueError, "now = -7000 ms for item 1"),
        (pyarrow.array([1.5, 2, 3]), TypeError, "the Arrow type `g`"),
        (polars.Series(["a", "b", "c"]), TypeError, "now cannot be a column of"),
        ("abc", TypeError, "now cannot be of type str"),
        (pandas.NaT, ValueError, "now is NaT"),
        (numpy.datetime64("NaT"), ValueError, "now is NaT"),
        (numpy.bool_(True), TypeError, "now cannot be of type numpy.bool"),
        (numpy.float64(1.5), TypeError, "now cannot be of type numpy.float64"),
        (pandas.Timestamp("2026-01-01"), ValueError, "no time zone"),
    ],
    ids=repr,
)
def test_invalid_columns_of_times_add_nothing(times: object, error: type[Exception], message: str) -> None:
    for kind in (Filter, SharedFilter):
        seen = recent(kind)
        for ask in (seen.add_many, seen.check_and_add_many, seen.check_or_add_many, seen.contains_many):
            with pytest.raises(error, match=message):
                ask(["a", "b", "c"], now=times)  # type: ignore[operator]
        assert seen.statistics().inserts == 0 and seen.statistics().latest_ms is None


@pytest.mark.parametrize("policy", ["keep_window", "keep_rate"])
@pytest.mark.parametrize("elastic", [False, True])
@pytest.mark.parametrize("max_jump", [None, timedelta(milliseconds=300)])
@BOTH
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-300, 400)), min_size=1, max_size=300))
def test_a_column_of_times_equals_single_calls(
    kind: type[Filter], max_jump: timedelta | None, elastic: bool, policy: str, events: list[tuple[int, int]]
) -> None:
    """Bit for bit, with late times and refused ones."""
    if elastic and kind is SharedFilter:
        return
    size = {"max_memory": 10_500} if elastic else {"capacity": 100}
    many, singly = (
        new(kind, within=timedelta(milliseconds=1000), false_positive_rate=1e-3, overload=policy, **size) for _ in range(2)
    )
    now, items, times = 1_000_000, [], []
    for item, pause in events:
        now += pause
        items.append(item)
        times.append(now)
    for word in ("check_and_add", "check_or_add"):
        answers = [getattr(singly, word)(item, now=now, max_jump=max_jump) for item, now in zip(items, times)]
        assert getattr(many, word + "_many")(items, now=times, max_jump=max_jump) == answers
        assert many == singly
        assert many.statistics() == singly.statistics()


@BOTH
def test_one_time_in_the_far_future_does_not_empty_the_window(kind: type[Filter]) -> None:
    seen, hour = recent(kind), timedelta(hours=1)
    far = datetime(2103, 1, 1, tzinfo=timezone.utc)
    seen.advance_to(NOON, max_jump=hour)
    seen.add("x")
    with pytest.raises(lately.JumpError, match="max_jump is 3600000 ms: check the time, or give a longer max_jump"):
        seen.advance_to(far, max_jump=hour)
    assert seen.statistics().latest_ms == NOON_MS and seen.statistics().refused_times == 1
    # An item whose time is not believed counts at the latest time.
    assert seen.check_and_add("x", now=far, max_jump=hour)
    assert seen.check_and_add_many(["x", "y", "y"], now=[NOON, far, NOON], max_jump=hour) == [True, False, True]
    assert seen.statistics().latest_ms == NOON_MS and seen.statistics().refused_times == 3
    seen.advance_to(far)
    assert "x" not in seen
    with pytest.raises(TypeError, match="max_jump cannot be of type int: give a timedelta"):
        seen.add("x", now=NOON, max_jump=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_jump was given without now"):
        seen.add("x", max_jump=hour)
