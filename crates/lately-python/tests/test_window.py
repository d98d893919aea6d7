"""The promise, compared with an exact window, for every operation, at every phase."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import new
from lately import BaseFilter, Filter, SharedFilter
from lately._types import Layout


@dataclass
class ExactWindow:
    """Knows when each item was last added, and so which items a filter must report and which it must have forgotten."""

    certain: int
    """How many of the last inserts must be reported."""
    forgotten: int
    """Items older than this many inserts have no segment left."""
    inserts: int = 0
    last: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, filter: BaseFilter) -> "ExactWindow":
        plan = filter.plan()
        segments = plan.required_matches + plan.window_generations
        return cls(filter.guaranteed_window, segments * plan.items_per_generation)

    def check(self, item: str, reported: bool) -> None:
        age = self.inserts - self.last.get(item, -(10**9))
        if age <= self.certain:
            assert reported, f"{item}, {age} inserts ago, must be reported"
        if age > self.forgotten:
            assert not reported, f"{item}, {age} inserts ago, must be forgotten"

    def add(self, item: str) -> None:
        self.last[item] = self.inserts
        self.inserts += 1


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "contains", "check_and_add", "check_or_add", "many", "restore"]),
        st.lists(st.integers(0, 120).map(str), min_size=1, max_size=60),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("kind", [Filter, SharedFilter])
@pytest.mark.parametrize("layout", ["slices", "blocks", "rows", "bins"])
@given(operations=OPERATIONS, window=st.sampled_from([1, 2, 7, 30, 90]))
def test_any_operations_against_an_exact_window(
    kind: type[Filter], layout: str, operations: list[tuple[str, list[str]]], window: int
) -> None:
    # At this rate, false positives practically never occur in this test. Plans for tiny windows need this much slack.
    seen = new(kind, window=window, false_positive_rate=1e-9, max_slack=10, layout=layout)
    exact = ExactWindow.of(seen)
    assert exact.certain >= window
    for operation, items in operations:
        match operation:
            case "restore":
                seen = kind.from_bytes(seen.to_bytes())
            case "many":
                # A bulk call must agree with an exact window that checks and adds one by one.
                for item, reported in zip(items, seen.check_and_add_many(items), strict=True):
                    exact.check(item, reported)
                    exact.add(item)
            case "add":
                seen.add_many(items)
                for item in items:
                    exact.add(item)
            case _:
                for item in items:
                    reported = getattr(seen, operation)(item)
                    exact.check(item, reported)
                    if operation == "check_and_add" or (operation == "check_or_add" and not reported):
                        exact.add(item)


@pytest.mark.parametrize("layout", ["slices", "blocks", "rows", "bins"])
def test_the_rate_is_kept(layout: Layout) -> None:
    """A full filter is queried for a million items that were never added. The rate is that of the plan, within a
    Chernoff bound that fails once in a million."""
    asked = 1_000_000
    seen = Filter(window=50_000, false_positive_rate=1e-3, layout=layout)
    plan = seen.plan()
    # The worst moment is just before a shift.
    seen.add_many(range(plan.items_per_generation * (plan.window_generations + plan.required_matches)))
    mistaken = sum(seen.contains_many([f"stranger {i}" for i in range(asked)]))
    expected = plan.false_positive_rate * asked
    assert plan.false_positive_rate <= 1e-3
    # P(X > (1 + d) m) <= exp(-m d^2 / 3), and likewise below: 14 is about -ln(1e-6). The bits of this filter vary, too.
    scatter = (3 * 14 / expected) ** 0.5 + 0.05
    assert expected * (1 - scatter) < mistaken < expected * (1 + scatter)
