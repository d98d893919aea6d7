"""What `valgrind` runs: calls of every path that reads or writes memory of others. With --read FILE: reads its report."""

import copy
import pickle
import sys
import threading
from datetime import datetime, timedelta, timezone
from typing import Any
from xml.etree import ElementTree

EXTENSION = "_native"


def errors_of_the_extension(report: str) -> list[str]:
    """Returns the errors with a function of the extension in their stack."""
    found = []
    for error in ElementTree.parse(report).getroot().iter("error"):
        # The extension makes its classes once, and Python never frees them.
        if any("create_type_object" in (frame.findtext("fn") or "") for frame in error.iter("frame")):
            continue
        objects = [frame.findtext("obj") or "" for frame in error.iter("frame")]
        if any(EXTENSION in object for object in objects):
            what = error.findtext("what") or error.findtext("xwhat/text")
            frames = [frame.findtext("fn") or frame.findtext("ip") for frame in error.iter("frame")]
            found.append(f"{error.findtext('kind')}: {what}\n    " + "\n    ".join(map(str, frames)))
    return found


def calls() -> None:
    import numpy
    import pyarrow

    from lately import ConfigError, Filter, SharedFilter, SnapshotError, dedup, item_bytes, plan, shard_of
    from lately._native import _grouped

    texts = [f"order-{number}" * (number % 4) for number in range(300)]
    numbers = numpy.arange(-150, 150)
    times = (numpy.arange(300) + 1_767_268_800_000).astype("M8[ms]")
    strings = pyarrow.array([*texts, None], pyarrow.string())
    columns: list[Any] = [
        texts, tuple(texts), iter(texts), [*map(str.encode, texts)], [(text, 17) for text in texts], [bytearray(b"x"), 10**40],
        numbers, numbers.astype(">i2"), numbers[::-3], numbers.astype("u1"), numpy.array(texts), numpy.array(texts).astype(">U9"),
        numpy.array(texts, dtype="S"), numpy.array(texts, dtype=object), numpy.array(texts, dtype=numpy.dtypes.StringDType()),
        strings, strings[3:].cast(pyarrow.large_string()), strings.cast(pyarrow.string_view()), strings.dictionary_encode()[5:],
        pyarrow.chunked_array([strings, strings[:0], strings[7:]]), pyarrow.nulls(5), pyarrow.array([b"12345"] * 3, pyarrow.binary(5)),
        pyarrow.table({"a": texts, "b": numbers, "c": strings[:300].dictionary_encode()}), pyarrow.array([1, None, 3], pyarrow.uint8()),
    ]  # fmt: skip
    refused: list[Any] = [
        [1, None], [1.5], ["\ud800"], numpy.zeros(3), numpy.array(["\ud800"]), numpy.zeros((2, 2), int), pyarrow.array([True]),
        pyarrow.array([[1]]), memoryview(b"abc"), 17, None, "text", pyarrow.table({"a": [1.5]}),
    ]  # fmt: skip
    promises: list[dict[str, Any]] = [
        {"window": 500, "false_positive_rate": 1e-4, "layout": layout} for layout in ("slices", "blocks", "rows", "bins")
    ]
    promises += [{"window": 500, "false_positive_rate": 1e-4, "key": bytes(16)}]
    promises += [{"within": timedelta(minutes=1), "false_positive_rate": 1e-4}]
    promises += [{"within": timedelta(minutes=1), "capacity": 500, "false_positive_rate": 1e-4}]
    for promise in promises:
        kinds = [Filter] if promise.get("within") and "capacity" not in promise else [Filter, SharedFilter]
        for kind in kinds:
            seen: Any = kind(**promise)
            for column in columns:
                for word in ("add_many", "contains_many", "check_and_add_many", "check_or_add_many"):
                    getattr(seen, word)(column, nulls="drop")
            for items in refused:
                try:
                    seen.add_many(items)
                except (TypeError, ValueError):
                    continue
                raise AssertionError(items)
            if "within" in promise:
                for now in (datetime.now(timezone.utc), datetime.now(timezone(timedelta(hours=2))), times, times.tolist()[0].replace(tzinfo=timezone.utc)):
                    seen.check_and_add_many(texts, now=now)
                seen.add_many(texts, now=pyarrow.array(times))
            threads = [threading.Thread(target=seen.check_and_add_many, args=(numbers,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seen.add("x")
            assert "x" in seen and seen.age_of("x") is not None
            for other in (copy.copy(seen), pickle.loads(pickle.dumps(seen)), kind.from_bytes(bytearray(seen.to_bytes()))):
                assert other == seen
            seen.statistics(), seen.plan(), repr(seen), seen._repr_html_()
            try:
                kind.from_bytes(seen.to_bytes()[:-1])
            except SnapshotError:
                pass
    for column in columns[3:]:
        _grouped(column, 7, "pass")
    list(dedup(texts, window=500, false_positive_rate=1e-4)), plan(window=9, false_positive_rate=0.1), shard_of(17, 3), item_bytes((1, "x"))
    try:
        Filter(window=1 << 47, false_positive_rate=1e-9)
    except (ConfigError, MemoryError):
        pass
    print("all calls done")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        errors = errors_of_the_extension(sys.argv[2])
        print("\n".join(errors), f"{len(errors)} errors of the extension")
        sys.exit(bool(errors))
    calls()
