"""The stubs are correct: mypy infers the types of calls, and then the calls are made."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import array
from typing import Any, assert_type

import numpy
from numpy.typing import NDArray

from lately import Filter


class Index:
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array([1, 2])

    def __iter__(self) -> Any:
        return iter([1, 2])


numbers, words = numpy.array([1, 2], dtype=numpy.int64), array.array("Q", [1, 2])
seen = Filter(window=100, false_positive_rate=1e-3)
assert_type(seen.contains_many([1, 2]), list[bool])
assert_type(seen.contains_many(str(i) for i in range(2)), list[bool])
assert_type(seen.check_and_add_many(numbers), NDArray[numpy.bool_])
assert_type(seen.check_and_add_many(words), NDArray[numpy.bool_])
assert_type(seen.check_or_add_many(memoryview(words)), NDArray[numpy.bool_])
assert_type(seen.contains_many(Index()), NDArray[numpy.bool_])
seen.add_many(Index())
pair = ("user-5", numpy.int64(17))
seen.add(pair)
assert pair in seen and ("user-5", 17) in seen
assert_type(seen.check_and_add_many([pair, ("a", ("b", b"c"))]), list[bool])

for column in (numbers, words, memoryview(words), Index()):
    assert isinstance(seen.contains_many(column), numpy.ndarray)
assert isinstance(seen.contains_many([1, 2]), list)
"""


def test_answers_have_the_types_of_the_stubs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, program], check=True)
    asked = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    found = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout
