"""Threads: a Filter runs one call at a time, a SharedFilter runs them in parallel, and bulk calls release the GIL."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import numpy
import pytest

from lately import Filter, SharedFilter
from lately._types import Layout

BOTH = pytest.mark.parametrize("kind", [Filter, SharedFilter])


@BOTH
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("layout", [None, "rows", "bins"])
def test_exactly_one_thread_is_told_that_an_item_is_new(kind: type[Filter], layout: Layout | None, many: bool) -> None:
    threads, items = 4, 20_000
    seen = kind(window=10 * items * threads, false_positive_rate=1e-9, layout=layout)
    numbers = numpy.arange(items, dtype="uint64")
    start = threading.Barrier(threads)

    def work(_: int) -> numpy.ndarray:  # type: ignore[type-arg]
        start.wait()
        if many:
            return seen.check_and_add_many(numbers)
        return numpy.array([seen.check_and_add(i) for i in range(items)])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(work, range(threads)))
    finally:
        sys.setswitchinterval(interval)
    new = sum((~answer).astype(int) for answer in answers)
    assert (new == 1).all()
    assert seen.statistics().inserts == items * threads


@BOTH
def test_no_false_negatives_while_others_write(kind: type[Filter]) -> None:
    seen = kind(window=1_000_000, false_positive_rate=1e-6)
    stop = threading.Event()

    def noise() -> None:
        numbers = numpy.arange(1000, dtype="uint64")
        while not stop.is_set():
            seen.contains_many(numbers)
            seen.to_bytes()
            repr(seen)
            seen == seen

    threads = [threading.Thread(target=noise) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for first in range(0, 50_000, 500):
            items = [f"item {i}" for i in range(first, first + 500)]
            seen.add_many(items)
            assert all(seen.contains_many(items))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def no_forced_switches() -> Iterator[None]:
    """A thread keeps the GIL until it releases it voluntarily."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    yield
    sys.setswitchinterval(interval)


@contextmanager
def another_thread(call: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Runs a call in another thread. Once the call has begun, yields a function that returns True while the call is
    running. Between begin and end only the call itself can release the GIL, so this thread can see it running only if the
    call releases the GIL."""
    begun, done = [], []

    def run() -> None:
        begun.append(True)
        call()
        done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    while not begun:
        time.sleep(0)
    yield lambda: not done
    thread.join()


def bulk_call(seen: Filter) -> Callable[[], object]:
    numbers = numpy.arange(5_000_000, dtype="uint64")
    # Work of the first call is done here, so that it cannot be the reason for a released GIL.
    seen.check_and_add_many(numbers[:1])
    return lambda: seen.check_and_add_many(numbers)


def some_time(attempt: Callable[[], bool]) -> bool:
    """On a busy machine this thread may not run in time, but not twenty times in a row."""
    return any(attempt() for _ in range(20))


@BOTH
def test_bulk_calls_release_the_gil(kind: type[Filter], no_forced_switches: None) -> None:
    seen = kind(window=1_000_000, false_positive_rate=1e-4)

    def attempt() -> bool:
        with another_thread(bulk_call(seen)) as is_under_way:
            return is_under_way()

    assert some_time(attempt)


def test_a_thread_that_waits_for_a_bulk_call_releases_the_gil(no_forced_switches: None) -> None:
    seen = Filter(window=1_000_000, false_positive_rate=1e-4)

    def attempt() -> bool:
        with another_thread(bulk_call(seen)), another_thread(lambda: seen.check_and_add("x")) as is_waiting:
            return is_waiting()

    assert some_time(attempt)


def test_comparing_filters_in_both_orders_does_not_deadlock() -> None:
    left, right = (Filter(window=1000, false_positive_rate=1e-3) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda i: left == right if i % 2 else right == left, range(2000), timeout=60)
        assert all(answers)


@BOTH
def test_a_call_that_waited_does_not_set_the_clock_back(kind: type[Filter]) -> None:
    """Bulk calls wait for each other for some milliseconds; each uses the time at which its turn came."""
    seen = kind(within=timedelta(minutes=1), capacity=10_000_000, false_positive_rate=1e-3)
    numbers = numpy.arange(200_000, dtype="uint64")

    def work(_: int) -> None:
        for _ in range(10):
            seen.add_many(numbers)
            seen.add("x")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert seen.statistics().backward_steps == 0


SUBINTERPRETER = """
import sys
if "first" in sys.argv:
    import lately
try:
    import _interpreters as interpreters
    new = lambda isolated: interpreters.create("isolated" if isolated else "legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    new = lambda isolated: interpreters.create(isolated=isolated)
for isolated in (False, True):
    number = new(isolated)
    try:
        print(interpreters.run_string(number, "import lately"))
    except interpreters.RunFailedError as error:
        print(error)
    interpreters.destroy(number)
"""


@pytest.mark.parametrize("order", ["first", "only"])
def test_a_sub_interpreter_is_refused(order: str) -> None:
    run = subprocess.run([sys.executable, "-c", SUBINTERPRETER, order], capture_output=True, text=True, check=True)
    told = run.stdout.splitlines()
    assert len(told) == 2 and all("ImportError" in line or "sub-interpreter" in line for line in told), run.stdout
    assert "lately cannot be loaded in a sub-interpreter" in told[0]
