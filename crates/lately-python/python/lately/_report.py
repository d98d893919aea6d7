"""What filters say about themselves. The fields are those of the Rust crate, under the same names."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class QueryAccesses:
    """Memory accesses of a query, predicted."""

    window: float
    """For an item of the window."""
    false_positive: float
    """For one that was never added and is reported."""
    absent: float
    """For one that was never added and is not."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A filter that could be built: its shape, its size, and what the exact model predicts of it."""

    window: int
    """The window asked for, in inserts; for a time window, its capacity."""
    span_ms: int | None
    """The span of a time window, in milliseconds."""
    overload: Literal["keep_window", "keep_rate"] | None
    """What a time window keeps when more comes than its capacity."""
    layout: Literal["slices", "blocks", "rows"]
    """How segments lie in memory."""
    required_matches: int
    """k: the newest segments an insert writes, and the consecutive matches a query needs."""
    window_generations: int
    """l: the generations that are guaranteed."""
    parts: int
    """b: the bits that an item sets in each segment it is written to."""
    block_bits: int | None
    """B, of blocks."""
    row_bytes: int | None
    """Bytes in a row, of rows."""
    items_per_generation: int
    """g: inserts between two shifts."""
    cells: int
    """Cells in each segment: bits of a part, or blocks; of rows, the rows."""
    memory_bytes: int
    """All the memory the filter will ever have."""
    bits_per_item: float
    """Memory for each item of the window, in bits."""
    false_positive_rate: float
    """Predicted, at the worst moment."""
    npws: float
    """Slack at its peak: items beyond the window that are still reported, over the window."""
    efficiency: float
    """Memory of a plain Bloom filter of the same rate and capacity, over this."""
    accesses_per_insert: int
    """Memory accesses of an insert."""
    accesses: QueryAccesses
    """Memory accesses of a query."""

    @property
    def guaranteed_items(self) -> int:
        """The items of the window, rounded up to whole generations."""
        return self.items_per_generation * self.window_generations


@dataclass(frozen=True, slots=True)
class AgeRange:
    """How long ago an item was last added."""

    inserts: range
    """Inserts that came after it; 0 for the last item added."""
    millis: range | None
    """Milliseconds since, for time windows whose clock has been set."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """A filter's counters, and estimates from its real bits."""

    inserts: int
    """Inserts since the filter was built or cleared."""
    generation: int
    """Shifts since then."""
    fill_by_age: tuple[float, ...]
    """Share of set bits in each segment, newest first."""
    items_by_age: tuple[AgeRange, ...]
    """How long ago the items of each segment were added, newest first."""
    estimated_false_positive_rate: float
    """Probability, for the bits as they are, that an item never added is reported."""
    estimated_distinct_items: float
    """About how many different items the window holds."""
    backward_steps: int
    """Times the clock was told to go backwards."""
    overloaded_generations: int
    """Generations of a time window that brought more than their share of the capacity."""
    latest_ms: int | None
    """The latest time told, for time windows."""
    memory_bytes: int
    """Bytes of memory; fixed since construction."""
