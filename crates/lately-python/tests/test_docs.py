"""Every example in a docstring, in docs/python.md and in both READMEs gives the printed output."""

import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest

import lately
import lately._dedup
import lately._report
import lately.frames
import lately.redis

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("module", [lately, lately._dedup, lately._report, lately.frames, lately.redis], ids=lambda module: module.__name__)
def test_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_docstrings_are_found() -> None:
    """Docstrings written in Rust are searched, too: no example passes because it was overlooked."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {test.name for test in finder.find(lately) + finder.find(lately._dedup) if test.examples}
    for word in ("add", "contains", "check_and_add", "check_or_add", "add_many", "contains_many", "check_and_add_many",
                 "check_or_add_many", "age_of", "advance_to", "plan", "statistics", "save"):  # fmt: skip
        assert f"lately.BaseFilter.{word}" in found
    for name in ("lately", "lately.Filter", "lately.SharedFilter", "lately.SharedFilter.to_filter", "lately._dedup.dedup"):
        assert name in found


@pytest.mark.parametrize(
    "thing",
    [
        lately.plan,
        lately.shard_of,
        lately.shard_window,
        lately.item_bytes,
        lately.Filter.from_bytes,
        lately.BaseFilter.guaranteed_window,
    ],
    ids=lambda thing: thing.__name__,
)
def test_docstrings_that_doctest_does_not_find(thing: object) -> None:
    """Objects that do not name their module are tested by name."""
    examples = doctest.DocTestParser().get_doctest(thing.__doc__ or "", {}, repr(thing), None, 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize("document", ["docs/python.md", "README.md", "crates/lately-python/README.md"])
def test_documents(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a document are one session."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, document, document, 0)
    assert session.examples
    assert doctest.DocTestRunner().run(session).failed == 0
