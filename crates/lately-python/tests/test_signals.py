"""Ctrl-C and other signals during a bulk call: it ends soon, and says how far it got."""

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import pytest

from lately import Filter, SharedFilter

BOTH = pytest.mark.parametrize("kind", [Filter, SharedFilter])


@contextmanager
def signalled(after: float, number: signal.Signals = signal.SIGINT) -> Iterator[float]:
    """Sends a signal to this process after some seconds; gives the time when it will be sent. Another process does so: a
    thread would have to wait until the call lets it run."""
    sender = subprocess.Popen(["sh", "-c", f"sleep {after}; kill -{number.value} {os.getpid()}"])
    try:
        yield time.monotonic() + after
    finally:
        sender.wait()


@BOTH
@pytest.mark.parametrize("column", [True, False])
def test_an_interrupted_call_says_how_far_it_got(kind: type[Filter], column: bool) -> None:
    seen = kind(window=40_000_000, false_positive_rate=1e-2)
    numbers = numpy.arange(30_000_000)
    items = numbers if column else numbers[:6_000_000].tolist()
    expected: list[bool] = []
    with signalled(0.3 if column else 0.6) as sent, pytest.raises(KeyboardInterrupt) as stopped:
        seen.check_and_add_many(items)
        if not column:
            # The list may have been read before the signal came.
            seen.check_and_add_many(numbers)
            expected = [True]
    assert time.monotonic() - sent < 3
    if not column and not hasattr(stopped.value, "items_done"):
        assert seen.statistics().inserts == 0, "stopped while the items were read"
        return
    done = stopped.value.items_done  # type: ignore[attr-defined]
    answers = stopped.value.answers  # type: ignore[attr-defined]
    assert 0 < done < len(numbers) and len(answers) == done
    assert f"after the first {done} of" in stopped.value.__notes__[0]
    if not expected and column:
        assert seen.statistics().inserts == done
        assert seen.contains_many(numbers[:done]).all()


@BOTH
def test_endless_iterators_can_be_stopped(kind: type[Filter]) -> None:
    seen = kind(window=1000, false_positive_rate=1e-6)
    with signalled(0.2) as sent, pytest.raises(KeyboardInterrupt):
        seen.add_many(itertools.count())
    assert time.monotonic() - sent < 3 and seen.statistics().inserts == 0


@BOTH
def test_other_threads_run_while_an_iterator_is_read(kind: type[Filter]) -> None:
    """Even if it is written in C and never lets go of Python's lock."""
    seen = kind(window=1000, false_positive_rate=1e-6)
    begun = threading.Event()

    def beginning() -> Iterator[str]:
        begun.set()
        yield "x"

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        # The end bounds a failure.
        seen.add_many(itertools.chain(beginning(), itertools.repeat("x", 100_000_000)))
    thread.join()
    assert seen.statistics().inserts == 0


def test_a_signal_handler_may_use_the_filter() -> None:
    """The filter is not locked while handlers run."""
    seen = Filter(window=40_000_000, false_positive_rate=1e-2)
    saved, numbers = list[bytes](), numpy.arange(30_000_000)
    before = signal.signal(signal.SIGUSR1, lambda *_: saved.append(seen.to_bytes()))
    try:
        with signalled(0.3, signal.SIGUSR1):
            answers = seen.check_and_add_many(numbers)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(saved) == 1 and len(answers) == len(numbers)
    assert 0 < Filter.from_bytes(saved[0]).statistics().inserts <= len(numbers)


def test_other_threads_are_not_interrupted() -> None:
    seen, answers = Filter(window=40_000_000, false_positive_rate=1e-2), []
    worker = threading.Thread(target=lambda: answers.append(len(seen.check_and_add_many(numpy.arange(10_000_000)))))
    with signalled(0.1), pytest.raises(KeyboardInterrupt):
        worker.start()
        while worker.is_alive():
            time.sleep(0.01)
    worker.join()
    assert answers == [10_000_000]
