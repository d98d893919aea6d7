"""Filters and plans in notebooks."""

import xml.etree.ElementTree
from datetime import timedelta

import pytest

import lately
from conftest import new
from lately import Filter, SharedFilter


@pytest.mark.parametrize("kind", [Filter, SharedFilter])
def test_a_filter_as_html(kind: type[Filter]) -> None:
    seen = new(kind, window=1000, false_positive_rate=1e-6)
    seen.add_many(range(700))
    page = seen._repr_html_()
    # Attributes without quotes are the only thing that is not XML.
    xml.etree.ElementTree.fromstring(page.replace("colspan=2", "colspan='2'"))
    assert f"lately.{kind.__name__}" in page and "700 inserts in all" in page
    assert page.count("linear-gradient") == len(seen.statistics().fill_by_age)


def test_time_windows_as_html() -> None:
    for options in ({}, {"capacity": 1000}):
        seen = Filter(within=timedelta(minutes=10), false_positive_rate=1e-3, **options)  # type: ignore[arg-type]
        assert "600 s" in seen._repr_html_()
        seen.add("x")
        assert "1 inserts in all" in seen._repr_html_() and ("at most" in seen._repr_html_()) == (not options)


def test_plans_as_a_picture() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = lately.plot_plans(window=1_000_000, false_positive_rate=1e-4)
    names = [label.get_text() for label in axes.get_yticklabels()]
    best, *_ = plans = lately.plan(window=1_000_000, false_positive_rate=1e-4)
    assert len(names) == len(plans) and names[0].startswith(best.layout)
    assert lately.plot_plans(window=1000, false_positive_rate=1e-4, ax=axes) is axes
    with pytest.raises(lately.ConfigError, match="no window"):
        lately.plot_plans(false_positive_rate=1e-4)
