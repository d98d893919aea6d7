"""A smoke of the fuzzer: a few of its columns, the same in every run."""

import fuzz_columns


def test_random_columns() -> None:
    happened = {fuzz_columns.one(seed) for seed in range(1500)}
    makers = {maker.__name__ for maker in fuzz_columns.MAKERS}
    assert happened == {f"{maker} {end}" for maker in makers for end in ("accepted", "refused")}
