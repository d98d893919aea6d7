"""Helpers that the tests share."""

import functools
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from lately import Filter, SharedFilter

# The same examples in every run: a test that passes today passes tomorrow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def command() -> str:
    """Path of the command `lately`, which tests/run builds."""
    found = os.environ.get("LATELY_COMMAND") or shutil.which("lately")
    if not found or not Path(found).exists():
        pytest.fail("the command `lately` is not built: run tests/run, or set LATELY_COMMAND to its path")
    return found


@functools.cache
def _empty(kind: type[Filter] | type[SharedFilter], options: tuple[tuple[str, Any], ...]) -> bytes:
    return kind(**dict(options)).to_bytes()


def new(kind: type[Any] = Filter, **options: Any) -> Any:
    """Returns a new filter. Planning takes a tenth of a second or two, so plans are cached."""
    return kind.from_bytes(_empty(kind, tuple(options.items())))


def check_refused(items: object, error: type[Exception], message: str) -> None:
    """Checks that every bulk call refuses these items, and that nothing is added."""
    for kind in (Filter, SharedFilter):
        seen = new(kind, window=100, false_positive_rate=1e-3)
        for ask in (seen.add_many, seen.contains_many, seen.check_and_add_many, seen.check_or_add_many):
            with pytest.raises(error, match=message):
                ask(items)
        assert seen.statistics().inserts == 0
