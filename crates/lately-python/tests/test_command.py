"""The command `lately` and Python share one format and one set of keys: each loads the files of the other."""

import json
import subprocess
from datetime import timedelta
from pathlib import Path

import numpy
import pandas

from lately import Filter, SharedFilter, plan

LINES = ["order-17", "17", "-4", "ünïcode", "", "with spaces and\ttabs", "18446744073709551615", *(f"line {i}" for i in range(500))]


def run(command: str, *arguments: str, lines: list[str] = LINES) -> list[str]:
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([command, *arguments], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def without_label(path: Path) -> bytes:
    """Returns a state without the fingerprint of the command's flags, and without the checksum."""
    state = path.read_bytes()
    return state[:144] + state[152:-8]


def test_python_loads_state_files_of_the_command(command: str, tmp_path: Path) -> None:
    state = str(tmp_path / "seen.lately")
    assert run(command, "dedup", "--window", "1000", "--fp", "1e-6", "--state", state) == LINES
    for kind in (Filter, SharedFilter):
        seen = kind.load(state)
        assert all(seen.contains_many(LINES))
        assert all(seen.contains_many([line.encode() for line in LINES]))
        assert seen.contains_many([17, -4, 2**64 - 1, 18]) == [True, True, True, False]
        assert seen.contains_many(numpy.array([17, 18])).tolist() == [True, False]
        assert not any(seen.contains_many([f"stranger {i}" for i in range(100)]))


def test_the_command_loads_files_saved_by_python(command: str, tmp_path: Path) -> None:
    state = tmp_path / "seen.lately"
    seen = Filter(window=1000, false_positive_rate=1e-6)
    seen.add_many([17, b"order-17", "ünïcode"])
    seen.save(state)
    asked = ["17", "order-17", "ünïcode", "18"]
    tags = run(command, "contains", "--state", str(state), lines=asked)
    assert tags == ["seen\t17", "seen\torder-17", "seen\tünïcode", "new\t18"]
    # The command continues with this state, and Python sees the items that it has added.
    assert run(command, "dedup", "--window", "1000", "--fp", "1e-6", "--state", str(state), lines=asked) == ["18"]
    assert 18 in Filter.load(state)


def test_several_columns_are_one_key(command: str, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    rows = [(f"user-{i * i % 13}", i % 7, i) for i in range(200)] + [("ü, quoted", -4, 200), ("", 0, 201), ("", 0, 202)]
    lines = ["user,page,n", *(f'"{user}",{page},{n}' for user, page, n in rows)]
    promise = ["--window", "500", "--fp", "1e-6", "--state", str(theirs)]
    passed = run(command, "dedup", "--csv", "--column", "user,page", *promise, lines=lines)
    frame = pandas.DataFrame(rows, columns=["user", "page", "n"])
    seen = Filter(window=500, false_positive_rate=1e-6)
    new = frame[~seen.check_and_add_many(frame[["user", "page"]])]
    assert [lines[0], *(lines[n + 1] for n in new["n"])] == passed
    seen.save(ours)
    assert without_label(ours) == without_label(theirs)
    assert all(row in Filter.load(theirs) for row in frame[["user", "page"]].itertuples(index=False))


def test_the_same_stream_gives_the_same_file(command: str, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    stream = [f"line {i * i % 701}" for i in range(3000)]
    passed = run(command, "dedup", "--window", "500", "--fp", "1e-4", "--state", str(theirs), lines=stream)
    seen = Filter(window=500, false_positive_rate=1e-4)
    assert [line for line, known in zip(stream, seen.check_and_add_many(stream), strict=True) if not known] == passed
    seen.save(ours)
    assert without_label(ours) == without_label(theirs)


def test_python_loads_time_windows_of_the_command(command: str, tmp_path: Path) -> None:
    state = tmp_path / "seen.lately"
    arguments = ["--within", "1h", "--capacity", "1000", "--fp", "1e-6", "--json", "id", "--time-field", "at"]
    events = [f'{{"id":"e{i}","at":{1_767_268_800_000 + i}}}' for i in range(50)]
    run(command, "dedup", *arguments, "--state", str(state), lines=events)
    seen = Filter.load(state)
    assert seen.guaranteed_span == timedelta(hours=1)
    assert seen.contains("e0", now=1_767_268_800_000 + 3_599_000)
    assert not seen.contains("e0", now=1_767_268_800_000 + 7_200_000)


def test_plans_agree(command: str) -> None:
    """The command prints only the best plans."""
    printed = json.loads("\n".join(run(command, "plan", "--window", "12345", "--fp", "1e-4", "--json", lines=[])))["plans"]
    assert len(printed) > 3
    ours = plan(window=12345, false_positive_rate=1e-4)[: len(printed)]
    assert [found["memory_bytes"] for found in printed] == [found.memory_bytes for found in ours]
    assert [found["false_positive_rate"] for found in printed] == [found.false_positive_rate for found in ours]
