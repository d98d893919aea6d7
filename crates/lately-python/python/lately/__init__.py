"""Have I seen this lately? Sliding-window Bloom filters with an exact promise, in fixed memory.

>>> from lately import Filter
>>> seen = Filter(window=1_000_000, false_positive_rate=1e-4)
>>> seen.add("order-17")
>>> "order-17" in seen
True
>>> seen.check_and_add("order-18")  # seen lately? also adds it
False
>>> seen.check_and_add_many(["order-17", "order-18", "order-19"])
[True, True, False]
"""

from lately._dedup import adedup, dedup
from lately._native import (
    AllocationError,
    BaseFilter,
    ConfigError,
    Filter,
    JumpError,
    SharedFilter,
    SnapshotError,
    item_bytes,
    plan,
    shard_of,
    shard_window,
)
from lately._native import __version__ as __version__
from lately._plot import plot_plans
from lately._report import AgeRange, Plan, QueryAccesses, Statistics

__all__ = [
    "AllocationError",
    "AgeRange",
    "BaseFilter",
    "ConfigError",
    "Filter",
    "JumpError",
    "Plan",
    "QueryAccesses",
    "SharedFilter",
    "SnapshotError",
    "Statistics",
    "adedup",
    "dedup",
    "item_bytes",
    "plan",
    "plot_plans",
    "shard_of",
    "shard_window",
]
