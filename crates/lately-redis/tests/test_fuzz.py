"""Some steps of `fuzz_commands.py`, the same in every run."""

import pytest

from conftest import FULL
from fuzz_commands import run

STEPS = 20_000 if FULL else 1_500


@pytest.mark.parametrize("seed", range(1, 3 if FULL else 2))
def test_no_command_breaks_a_promise_a_replica_or_the_server(kind, tmp_path, seed):
    counts = run(kind, tmp_path, seed, lambda steps: steps == STEPS)
    # Otherwise the commands were too harmless, or were all refused.
    assert counts["items"] > 10 * STEPS and counts["probes"] > 2 * STEPS, counts
    assert STEPS / 10 < counts["refused"] < counts["commands"], counts
