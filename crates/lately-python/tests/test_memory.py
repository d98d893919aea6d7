"""If memory runs out, MemoryError is raised: the process continues, and the filter is unchanged."""

import subprocess
import sys

import pytest

from conftest import new
from lately import Filter, SharedFilter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the address space relative to the usage in /proc")

MEGABYTE = 1 << 20

# Each case runs in its own process, which calls `allow` to limit how much more memory it may take.
PREAMBLE = """
import copy, pickle, resource
from lately import Filter, SharedFilter

def allow(extra):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, used + extra))

def refused(call):
    try:
        call()
    except MemoryError as error:
        return str(error)
    raise AssertionError("no allocation failed")
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", PREAMBLE + program + "\nprint('done')"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("kind", ["Filter", "SharedFilter"])
@pytest.mark.parametrize(
    "call",
    [
        "copy.copy(seen)",
        "copy.deepcopy(seen)",
        "seen.to_bytes()",
        "pickle.dumps(seen)",
        "type(seen).from_bytes(snapshot)",
        "pickle.loads(pickled)",
    ],
)
def test_no_room_for_another_filter(kind: str, call: str) -> None:
    run(f"""
seen = {kind}(window=20_000_000, false_positive_rate=1e-3)
seen.add("kept")
snapshot, pickled = seen.to_bytes(), pickle.dumps(seen)
allow({16 * MEGABYTE})
refused(lambda: {call})
assert "kept" in seen and not seen.check_and_add("new") and "new" in seen
""")


@pytest.mark.parametrize("call", ["seen.to_filter()", "seen.statistics()", "seen == other"])
def test_no_room_for_the_copy_of_a_shared_filter(call: str) -> None:
    run(f"""
seen = SharedFilter(window=20_000_000, false_positive_rate=1e-3)
other = copy.copy(seen)
allow({16 * MEGABYTE})
assert "bytes for another filter: free a filter" in refused(lambda: {call})
""")


@pytest.mark.parametrize(("kind", "call"), [("Filter", "copy.copy"), ("Filter", "Filter.to_bytes"), ("SharedFilter", "SharedFilter.to_filter")])
def test_room_for_one_copy_is_enough(kind: str, call: str) -> None:
    run(f"""
seen = {kind}(window=20_000_000, false_positive_rate=1e-3)
size = seen.plan().memory_bytes
assert size > {32 * MEGABYTE}
allow(size + {16 * MEGABYTE})
{call}(seen)
""")


def test_no_room_for_many_items() -> None:
    run(f"""
seen = Filter(window=1000, false_positive_rate=1e-6)
allow({64 * MEGABYTE})
assert "pass them in smaller parts" in refused(lambda: seen.add_many(range(10**13)))
assert seen.statistics().inserts == 0
""")


def test_no_room_for_the_answers() -> None:
    """Hashes take 8 bytes per item, and so does the list. If the answers do not fit, nothing is added."""
    run(f"""
seen = Filter(window=1000, false_positive_rate=1e-6)
allow({48 * MEGABYTE})
refused(lambda: seen.check_and_add_many(iter(range(4_000_000))))
assert seen.statistics().inserts == 0
""")


def test_no_room_for_the_answers() -> None:
    """Nothing else is written to standard error, either."""
    run(f"""
import numpy
seen = Filter(window=1000, false_positive_rate=1e-6)
many = numpy.broadcast_to(numpy.int64(5), (10**9,))
allow({16 * MEGABYTE})
refused(lambda: seen.check_and_add_many(many))
assert seen.statistics().inserts == 0

class Hint:
    def __iter__(self):
        return self
    def __next__(self):
        raise StopIteration
    def __length_hint__(self):
        raise ValueError("hint")

seen.add_many(Hint())
""")


def test_no_room_for_the_hashes_of_an_array() -> None:
    run(f"""
import numpy
seen = Filter(window=1000, false_positive_rate=1e-6)
texts = numpy.full(4_000_000, "x", dtype=object)
allow({16 * MEGABYTE})
assert "pass them in smaller parts" in refused(lambda: seen.add_many(texts))
assert seen.statistics().inserts == 0
""")


@pytest.mark.parametrize("hint", [0, 3, 2**40, 2**60, 2**63 - 1])
@pytest.mark.parametrize("kind", [Filter, SharedFilter])
def test_length_hints_are_not_trusted(kind: type[Filter], hint: int) -> None:
    class Hinting:
        def __init__(self) -> None:
            self.left = 3

        def __iter__(self) -> "Hinting":
            return self

        def __next__(self) -> int:
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return self.left

        def __length_hint__(self) -> int:
            return hint

    assert new(kind, window=1000, false_positive_rate=1e-6).check_and_add_many(Hinting()) == [False] * 3
