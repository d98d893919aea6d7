"""Plans, ages and statistics of filters. The fields have the same names as in the Rust crate."""

from dataclasses import dataclass

from lately._types import Layout, Overload


@dataclass(frozen=True, slots=True)
class QueryAccesses:
    """Predicted number of memory accesses per query."""

    window: float
    """For an item in the window."""
    false_positive: float
    """For an item that was never added but is reported."""
    absent: float
    """For an item that was never added and is not reported."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A filter that can be built: its shape, its size, and the predictions of the exact model."""

    window: int
    """The requested window, in inserts; for a time window, its capacity; for one without a capacity, the number of items
    that it has room for once it has grown to its limit."""
    is_elastic: bool
    """True for a time window without a capacity: its memory follows the traffic."""
    span_ms: int | None
    """The span of a time window in milliseconds; None for a count window."""
    overload: Overload | None
    """What a time window keeps if more inserts arrive than its capacity; None for a count window."""
    layout: Layout
    """How segments are arranged in memory."""
    required_matches: int
    """k: how many of the newest segments an insert writes, and how many consecutive matches a query needs."""
    window_generations: int
    """l: number of generations that are guaranteed."""
    parts: int
    """b: number of bits that an item sets in each segment it is written to; 1, a fingerprint, for the layout "bins"."""
    block_bits: int | None
    """B: bits per block. Only for the layout "blocks"."""
    row_bytes: int | None
    """Bytes per row. Only for the layout "rows"."""
    fingerprint_bits: int | None
    """Bits per fingerprint. Only for the layout "bins"."""
    items_per_generation: int
    """g: number of inserts between two shifts."""
    cells: int
    """Cells per segment: bits per part (slices), or blocks (blocks). All segments share the rows (rows) and the cache
    lines (bins)."""
    memory_bytes: int
    """Memory of the filter in bytes; for a time window without a capacity, the most that it grows to."""
    bits_per_item: float
    """Bits of memory per item of the window."""
    false_positive_rate: float
    """Predicted false positive rate at the worst moment."""
    npws: float
    """Peak slack: items that have left the window but are still reported, divided by the window."""
    efficiency: float
    """Memory of a plain Bloom filter with the same rate and capacity, divided by the memory of this filter."""
    accesses_per_insert: int
    """Memory accesses per insert."""
    accesses: QueryAccesses
    """Memory accesses per query."""

    @property
    def guaranteed_items(self) -> int:
        """Number of items in the window, rounded up to whole generations."""
        return self.items_per_generation * self.window_generations


@dataclass(frozen=True, slots=True)
class AgeRange:
    """How long ago an item was last added."""

    inserts: range
    """Number of inserts after it; 0 for the last item added."""
    millis: range | None
    """Milliseconds since then, for time windows whose time has been set; otherwise None."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters of a filter, and estimates from its current bits."""

    inserts: int
    """Number of inserts since the filter was built or cleared."""
    generation: int
    """Number of shifts since the filter was built or cleared."""
    fill_by_age: tuple[float, ...]
    """Fraction of set bits in each segment, newest segment first. For the layout "bins": the fraction of the room for
    fingerprints that each generation takes, newest generation first."""
    items_by_age: tuple[AgeRange, ...]
    """How long ago the items of each segment were added, newest segment first."""
    estimated_false_positive_rate: float
    """Probability that an item that was never added is reported, with the current bits."""
    estimated_distinct_items: float
    """Approximate number of distinct items in the window."""
    backward_steps: int
    """How often a call gave a time earlier than the latest one. Such an item counts at the latest time."""
    refused_times: int
    """How often a call gave a time further ahead of the latest one than its max_jump, since this object was made or
    cleared. Such an item counts at the latest time."""
    overloaded_generations: int
    """Number of generations of a time window that received more inserts than their share of the capacity. For the layout
    "bins" (unless it has to keep its rate): generations at whose end the span had more inserts than the capacity."""
    latest_ms: int | None
    """The latest time of a time window, in milliseconds; None if no time has been set."""
    memory_bytes: int
    """Memory in bytes. It is fixed, except for a time window without a capacity."""
    peak_memory_bytes: int
    """The most memory it had, in bytes."""
    growths: int
    """How often the memory of a time window without a capacity grew."""
    shrinks: int
    """How often the memory of a time window without a capacity shrank."""
