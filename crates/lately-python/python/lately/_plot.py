"""Plans as a picture."""

from typing import Any, Unpack

from lately._native import plan
from lately._types import Promise


def plot_plans(*, ax: Any = None, **promise: Unpack[Promise]) -> Any:
    """Draws the plans of a promise as bars of memory, with the memory accesses of an insert, and returns matplotlib's Axes.

    ax: the Axes to draw on; by default new ones. The other keywords are those of plan. Needs matplotlib.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_plans needs matplotlib: pip install matplotlib") from error
    plans = plan(**promise)
    axes = pyplot.subplots(figsize=(7, 0.3 * len(plans) + 1))[1] if ax is None else ax
    names = [f"{found.layout} k={found.required_matches} l={found.window_generations}" for found in plans]
    places = range(len(plans), 0, -1)
    bars = axes.barh(places, [found.memory_bytes / 1e6 for found in plans], color=["C0"] + ["0.7"] * (len(plans) - 1))
    axes.bar_label(bars, [f" {found.accesses_per_insert} per insert" for found in plans], fontsize="small")
    axes.set_yticks(places, names, fontsize="small")
    axes.set_xlabel("memory in MB; the first plan is the one that Filter builds")
    axes.margins(x=0.2)
    return axes
