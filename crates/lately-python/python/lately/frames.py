"""Tables of pandas, Polars and pyarrow without the rows that were seen lately: whole, in chunks, lazily, and from Parquet
to Parquet in constant memory. None of these libraries is imported before it is used."""

import os
import sys
import time as clock
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, Unpack

from lately._native import BaseFilter, Filter
from lately._types import Key, Nulls, Promise

__all__ = ["Passed", "unseen", "unseen_parquet"]

Refresh = Literal["every", "first"]


class Seen(Protocol):
    """A Filter, a SharedFilter or a lately.redis.ShardedFilter."""

    def check_and_add_many(self, items: Any, /, *, nulls: Nulls | None = ..., key: Key | None = ...) -> Any: ...

    def check_or_add_many(self, items: Any, /, *, nulls: Nulls | None = ..., key: Key | None = ...) -> Any: ...


def unseen(
    frames: Any,
    key: Key,
    *,
    refresh: Refresh = "every",
    time: str | None = None,
    max_jump: timedelta | None = None,
    nulls: Nulls = "fail",
    filter: Seen | None = None,
    **promise: Unpack[Promise],
) -> Any:
    """Returns the rows whose key was not seen lately.

    frames: a DataFrame of pandas or Polars, or a Table or RecordBatch of pyarrow: the result is of the same type. A
        LazyFrame of Polars: the result is a LazyFrame, which streams. A RecordBatchReader of pyarrow: the result is one,
        too. Any other iterable of tables, for example pandas.read_csv(..., chunksize=100_000): the result is an iterator.
    key: the column that identifies a row, or several columns.
    refresh: with "every", every sighting refreshes a row; with "first", a row passes about once per window.
    time: the column with the times of the rows, for time windows on event time.
    max_jump: a time that is further ahead of the latest one than this is not believed.
    nulls: what to do with rows whose key has a null: "fail", "pass" or "drop".
    filter: an existing filter, which keeps the rows that it knows. Without it, a new Filter is built from the other
        keywords, which are those of plan: for a LazyFrame, one for each collection.

    >>> import pandas
    >>> from lately.frames import unseen
    >>> frame = pandas.DataFrame({"user": ["u", "v", "u"], "page": [1, 1, 1]})
    >>> unseen(frame, key=("user", "page"), window=1000, false_positive_rate=1e-6)
      user  page
    0    u     1
    1    v     1
    """
    if refresh not in ("every", "first"):
        raise ValueError(f'refresh = {refresh!r} is not possible: give "every" or "first"')
    if filter is not None and promise:
        keywords = ", ".join(promise)
        raise TypeError(f"filter was given, so these keywords have no effect: {keywords}; leave out filter or the keywords")
    # Also checks the promise, before the first row is read.
    own = Filter(**promise) if filter is None else None
    sieve = _Sieve(filter or own, key, refresh, time, max_jump, nulls)
    kind = f"{type(frames).__module__.partition('.')[0]}.{type(frames).__name__}"
    match kind:
        case "pandas.DataFrame" | "polars.DataFrame" | "pyarrow.Table" | "pyarrow.RecordBatch":
            return sieve.rows(frames)
        case "polars.LazyFrame":
            return _lazily(frames, sieve, None if own is None else own.to_bytes())
        case "pyarrow.RecordBatchReader":
            import pyarrow

            return pyarrow.RecordBatchReader.from_batches(frames.schema, map(sieve.rows, frames))
    if isinstance(frames, (str, bytes, os.PathLike)) or not isinstance(frames, Iterable):
        raise TypeError(
            f"frames cannot be of type {type(frames).__name__}: give a table, or an iterable of tables; for Parquet files use "
            "unseen_parquet"
        )
    return map(sieve.rows, frames)


@dataclass(frozen=True, slots=True)
class Passed:
    """How many rows were read and written."""

    records: int
    """Rows that were read."""
    unique: int
    """Rows that were written."""


def unseen_parquet(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    key: Key,
    *,
    batch_size: int = 1 << 16,
    progress: bool = False,
    **options: Any,
) -> Passed:
    """Writes the rows of Parquet files whose key was not seen lately to another Parquet file, batch by batch, so that the
    files may be larger than memory. The target appears when it is complete.

    sources: one file, or several, which are read one after the other and have the same columns.
    progress: draw a bar on standard error.
    The other options are those of unseen.
    """
    import pyarrow
    from pyarrow import parquet

    files = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not files:
        raise ValueError("there are no sources: give at least one file")
    readers = [parquet.ParquetFile(file) for file in files]
    schema = readers[0].schema_arrow
    bar = _Bar(sum(reader.metadata.num_rows for reader in readers), progress)
    records = unique = 0

    def batches() -> Iterator[Any]:
        nonlocal records
        for reader in readers:
            for batch in reader.iter_batches(batch_size):
                records += batch.num_rows
                yield batch.cast(schema) if batch.schema != schema else batch
                bar.draw(records, unique)

    passing = unseen(pyarrow.RecordBatchReader.from_batches(schema, batches()), key, **options)
    unfinished = f"{os.fspath(target)}.{os.getpid()}.tmp"
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            for batch in passing:
                unique += batch.num_rows
                writer.write_batch(batch)
        os.replace(unfinished, target)
    except BaseException:
        if os.path.exists(unfinished):
            os.remove(unfinished)
        raise
    finally:
        bar.end()
    return Passed(records, unique)


class _Sieve:
    """Selects rows of tables."""

    def __init__(
        self, seen: Any, key: Key, refresh: Refresh, time: str | None, max_jump: timedelta | None, nulls: Nulls
    ) -> None:
        self.seen, self._key, self._refresh, self._time, self._nulls = seen, key, refresh, time, nulls
        if max_jump is not None and time is None:
            raise ValueError("max_jump was given without time: leave it out, or give time")
        if time is not None and not isinstance(seen, BaseFilter):
            raise TypeError(
                f"time was given, but a {type(seen).__name__} lives on the clock of its servers: leave out time, or use a "
                "Filter"
            )
        self._max_jump = {} if max_jump is None else {"max_jump": max_jump}

    def over(self, seen: Any) -> "_Sieve":
        """The same with another filter."""
        return _Sieve(seen, self._key, self._refresh, self._time, self._max_jump.get("max_jump"), self._nulls)

    def rows(self, frame: Any) -> Any:
        """Returns the rows of a table that were not seen lately."""
        ask = self.seen.check_and_add_many if self._refresh == "every" else self.seen.check_or_add_many
        options = {} if self._time is None else {"now": frame[self._time], **self._max_jump}
        keep = ~ask(frame, key=self._key, nulls=self._nulls, **options)
        library = type(frame).__module__.partition(".")[0]
        if library == "polars":
            import polars

            return frame.filter(polars.Series(keep))
        if library == "pyarrow":
            import pyarrow

            return frame.filter(pyarrow.array(keep))
        return frame[keep]


def _lazily(frame: Any, sieve: _Sieve, empty: bytes | None) -> Any:
    """A LazyFrame that asks for the rows of another one in order, batch by batch."""
    from polars.io.plugins import register_io_source

    def batches(columns: list[str] | None, predicate: Any, rows: int | None, _size: int | None) -> Iterator[Any]:
        ours = sieve if empty is None else sieve.over(Filter.from_bytes(empty))
        for batch in frame.collect_batches(maintain_order=True):
            batch = ours.rows(batch)
            if predicate is not None:
                batch = batch.filter(predicate)
            if columns is not None:
                batch = batch.select(columns)
            if rows is not None:
                batch = batch.head(rows)
                rows -= batch.height
            yield batch
            if rows == 0:
                return

    return register_io_source(batches, schema=frame.collect_schema, explain_name="unseen lately")


class _Bar:
    """A progress bar on standard error."""

    def __init__(self, rows: int, is_drawn: bool) -> None:
        self._rows, self._is_drawn, self._drawn_at = rows, is_drawn, 0.0

    def draw(self, done: int, unique: int) -> None:
        if not self._is_drawn or (clock.monotonic() - self._drawn_at < 0.1 and done < self._rows):
            return
        self._drawn_at = clock.monotonic()
        share = done / self._rows if self._rows else 1.0
        bar = "#" * int(30 * share)
        print(f"\r[{bar:<30}] {share:4.0%}  {done} rows, {unique} new", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._drawn_at:
            print(file=sys.stderr)
