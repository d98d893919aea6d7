"""Counters and estimates of a filter with shards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ShardedStatistics:
    """Counters of all shards together, and estimates from samples. The fields have the same names as in Statistics."""

    shards: int
    """Number of shards."""
    inserts: int
    """Number of inserts since the shards were created."""
    estimated_false_positive_rate: float
    """Probability that an item that was never added is reported, with the current bits."""
    estimated_distinct_items: float
    """Approximate number of distinct items in the windows of the shards."""
    backward_steps: int
    """How often a server's clock went back."""
    overloaded_generations: int
    """Number of generations of time windows that received more than their shard had room for."""
    latest_ms: int | None
    """The latest time of a shard in milliseconds; None for count windows."""
    memory_bytes: int
    """Memory of the filters in bytes, without what the servers need around them."""


def together(shards: Sequence[dict[str, Any]]) -> ShardedStatistics:
    """Adds up the replies of APBF.INFO."""

    def total(field: str) -> Any:
        return sum(shard[field] for shard in shards)

    times = [shard["latest_ms"] for shard in shards if shard.get("latest_ms") is not None]
    return ShardedStatistics(
        shards=len(shards),
        inserts=total("inserts"),
        # An item that was never added belongs to any of the shards with the same probability.
        estimated_false_positive_rate=sum(float(shard["estimated_error_rate"]) for shard in shards) / len(shards),
        estimated_distinct_items=float(total("estimated_items")),
        backward_steps=total("backward_steps"),
        overloaded_generations=total("overloaded_generations"),
        latest_ms=max(times, default=None),
        memory_bytes=total("memory_bytes"),
    )
