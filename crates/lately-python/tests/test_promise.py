"""Promises of filters: plans, keywords and refusals."""

from dataclasses import FrozenInstanceError, asdict
from datetime import timedelta

import numpy
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from lately import ConfigError, Filter, Plan, SharedFilter, plan, shard_of, shard_window


def test_plans_are_ranked_and_the_first_is_built() -> None:
    plans = plan(window=100_000, false_positive_rate=1e-4)
    assert len(plans) > 3 and all(type(found) is Plan for found in plans)
    assert Filter(window=100_000, false_positive_rate=1e-4).plan() == plans[0]
    others = [found.memory_bytes for found in plans[1:]]
    assert others == sorted(others)
    assert all(found.false_positive_rate <= 1e-4 for found in plans)
    assert {found.layout for found in plans} == {"slices", "blocks", "rows", "bins"}
    with pytest.raises(FrozenInstanceError):
        plans[0].window = 1  # type: ignore[misc]
    assert asdict(plans[0])["accesses"]["absent"] == plans[0].accesses.absent


def test_a_plan_describes_its_filter() -> None:
    count = plan(window=1000, false_positive_rate=1e-3, layout="slices")[0]
    assert (count.window, count.span_ms, count.overload, count.layout) == (1000, None, None, "slices")
    assert count.block_bits is None and count.row_bytes is None and count.fingerprint_bits is None
    assert count.guaranteed_items == count.items_per_generation * count.window_generations >= 1000
    timed = plan(within=timedelta(seconds=5), capacity=700, false_positive_rate=1e-3, overload="keep_rate")[0]
    assert (timed.window, timed.span_ms, timed.overload) == (700, 5000, "keep_rate")
    assert plan(window=1000, false_positive_rate=1e-3, layout="blocks")[0].block_bits in (64, 512)
    assert plan(window=1000, false_positive_rate=1e-3, layout="rows")[0].row_bytes in (64, 128)
    bins = plan(window=1000, false_positive_rate=1e-3, layout="bins")[0]
    assert bins.fingerprint_bits is not None and 8 <= bins.fingerprint_bits <= 56
    assert (bins.required_matches, bins.parts, bins.block_bits, bins.row_bytes) == (1, 1, None, None)


def test_every_keyword_reaches_the_planner() -> None:
    promise = {"window": 100_000, "false_positive_rate": 1e-3}
    default = plan(**promise)[0]  # type: ignore[arg-type]
    assert plan(**promise, prefer="memory")[0].memory_bytes <= default.memory_bytes  # type: ignore[arg-type]
    assert plan(**promise, prefer="balanced")[0] == default  # type: ignore[arg-type]
    fast = plan(**promise, prefer="speed")[0]  # type: ignore[arg-type]
    assert fast.row_bytes == 64 and fast.accesses.absent < default.accesses.absent
    assert plan(**promise, max_slack=0.04)[0].npws <= 0.04 < default.npws  # type: ignore[arg-type]
    paper = plan(window=100_000, shape=(12, 14))[0]
    assert (paper.required_matches, paper.window_generations) == (12, 14)
    assert abs(paper.false_positive_rate - 0.00105) < 0.00001
    by_memory = plan(window=100_000, max_memory=1 << 18)[0]
    assert by_memory.memory_bytes <= 1 << 18
    assert plan(false_positive_rate=1e-3, max_memory=1 << 18)[0].window > 10_000


def test_numpy_numbers_are_accepted() -> None:
    seen = Filter(window=numpy.int64(1000), false_positive_rate=numpy.float64(1e-3))  # type: ignore[arg-type]
    assert seen == Filter(window=1000, false_positive_rate=1e-3)


def test_none_means_not_given() -> None:
    assert Filter(window=1000, within=None, false_positive_rate=1e-3, key=None) == Filter(window=1000, false_positive_rate=1e-3)


def test_seeds_and_keys_change_the_hash() -> None:
    promise = {"window": 1000, "false_positive_rate": 1e-6}
    kinds = [{}, {"seed": 1}, {"seed": 2**64 - 1}, {"key": b"sixteen secret b"}, {"key": bytes(16)}]
    filters = [Filter(**promise, **kind) for kind in kinds]  # type: ignore[arg-type]
    for seen in filters:
        seen.add_many(["a", 17, b"c"])
        assert seen.contains_many(["a", "17", "c", "d"]) == [True, True, True, False]
    assert len({seen.to_bytes() for seen in filters}) == len(filters)
    assert Filter(**promise, seed=0) == Filter(**promise)  # type: ignore[arg-type]
    assert "sixteen" not in repr(filters[3])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ConfigError, "no window was asked for: give window=inserts, or within=timedelta"),
        ({"window": 10}, ConfigError, "no false positive rate was asked for: give false_positive_rate"),
        ({"window": 0}, ConfigError, None),
        ({"window": 0, "false_positive_rate": 0.1}, ConfigError, "a window of 0 inserts cannot be kept: ask for 1 to"),
        ({"window": -1}, ConfigError, "window = -1 is not possible: give 0 to"),
        ({"window": 2**64}, ConfigError, "window = 18446744073709551616 is not possible"),
        ({"window": 1e6}, TypeError, r"window cannot be of type float: .*int\(1e6\)"),
        ({"window": True}, TypeError, "window cannot be of type bool"),
        ({"window": "many"}, TypeError, "window cannot be of type str"),
        ({"window": 10, "false_positive_rate": 0}, ConfigError, "rate of 0 cannot be promised"),
        ({"window": 10, "false_positive_rate": 1.0}, ConfigError, "less than 1"),
        ({"window": 10, "false_positive_rate": float("nan")}, ConfigError, "rate of NaN"),
        ({"window": 10, "false_positive_rate": "1e-3"}, TypeError, "false_positive_rate cannot be of type str"),
        ({"window": 10, "false_positive_rate": 0.1, "max_slack": 0}, ConfigError, "slack of 0"),
        ({"window": 10, "within": timedelta(1)}, ConfigError, "window and within were both given"),
        ({"within": timedelta(1)}, ConfigError, "no false positive rate was asked for"),
        ({"within": timedelta(1), "false_positive_rate": 0.1, "layout": "rows"}, ConfigError, "give capacity, or leave out layout"),
        ({"window": 10, "capacity": 5}, ConfigError, "capacity was given without within"),
        ({"within": 600, "capacity": 5}, TypeError, r"within cannot be of type int: give a timedelta"),
        ({"within": timedelta(0), "capacity": 5, "false_positive_rate": 0.1}, ConfigError, "time window of 0 ms"),
        ({"within": timedelta(-1), "capacity": 5}, ConfigError, "within = -1 day, 0:00:00 is not possible"),
        ({"window": 10, "false_positive_rate": 0.1, "overload": "keep_rate"}, ConfigError, "overload policy.*within"),
        ({"within": timedelta(1), "capacity": 5, "overload": "drop"}, ConfigError, 'overload = drop .*"keep_window" or "keep_rate"'),
        ({"window": 10, "layout": "Rows"}, ConfigError, 'layout = Rows is not possible: give "slices" or "blocks" or "rows" or "bins"'),
        ({"window": 10, "layout": 3}, TypeError, "layout cannot be of type int"),
        ({"window": 10, "prefer": "space"}, ConfigError, '"speed" or "memory"'),
        ({"window": 10, "shape": (0, 3)}, ConfigError, "k=0 l=3 cannot be built"),
        ({"window": 10, "shape": (1, -3)}, ConfigError, "shape = -3 is not possible"),
        ({"window": 10, "shape": 3}, TypeError, r"shape cannot be of type int: give the pair"),
        ({"window": 10**6, "false_positive_rate": 1e-3, "max_memory": 10}, ConfigError, "bytes are needed, but max_memory is 10"),
        ({"window": 2**48, "false_positive_rate": 1e-3}, ConfigError, "cannot be allocated"),
        ({"windows": 10}, TypeError, "got an unexpected keyword argument 'windows'"),
    ],
)
def test_impossible_promises_are_refused(options: dict[str, object], error: type[Exception], message: str | None) -> None:
    for call in (Filter, SharedFilter, plan):
        if call is plan and message == "cannot be allocated":
            continue  # planning allocates nothing
        with pytest.raises(error, match=message):
            call(**options)  # type: ignore[operator]
    assert issubclass(ConfigError, ValueError)


def test_keys_are_refused_without_being_shown() -> None:
    promise = {"window": 10, "false_positive_rate": 0.1}
    with pytest.raises(ConfigError, match="a key of 6 bytes is not possible: give exactly 16") as refused:
        Filter(**promise, key=b"secret")  # type: ignore[arg-type]
    assert "secret" not in str(refused.value)
    with pytest.raises(TypeError, match="16 secret bytes"):
        Filter(**promise, key="sixteen secret b")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="both given"):
        Filter(**promise, key=bytes(16), seed=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no seed and no key"):
        plan(**promise, seed=1)  # type: ignore[arg-type,call-arg]


def test_shards() -> None:
    assert shard_window(1_000_000, 8) == 127_427
    with pytest.raises(ValueError, match=f"{2**48 + 1}.*give at most {2**48}"):
        shard_window(2**48 + 1, 7)
    assert shard_of("x", 1) == 0
    counts = [0] * 7
    for i in range(70_000):
        counts[shard_of(i, 7)] += 1
    # Binomial: 10 000 each, within five standard deviations.
    assert all(abs(count - 10_000) < 5 * (10_000 * 6 / 7) ** 0.5 for count in counts)
    for shards in (0, -1, 2**32, 1.5, "8"):
        with pytest.raises(ValueError, match="shards are not possible: give a whole number from 1 to"):
            shard_of("x", shards)  # type: ignore[arg-type]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 2**32 - 1))
def test_shard_of_never_changes(item: str, shards: int) -> None:
    """Compared with another implementation of the hash. If the assignment changed, shards would lose their items."""
    expected = xxhash.xxh3_64_intdigest(item.encode(), seed=0x6C6174656C79) * shards >> 64
    assert shard_of(item, shards) == expected
