"""How a filter looks in a notebook."""

from html import escape
from typing import Any

BAR = "background:linear-gradient(to right,#4c78a8 {share:.1%},#eee {share:.1%});width:12em;height:.8em"


def of(filter: Any) -> str:
    """Returns a table of what a filter is, and a bar for each segment: how full it is, and how old its items are."""
    statistics, plan = filter.statistics(), filter.plan()
    inserts = f"{filter.guaranteed_window:,} inserts"
    facts = {
        "keeps": inserts if plan.span_ms is None else f"{plan.span_ms / 1000:,g} s, now {inserts}",
        "memory": f"{statistics.memory_bytes:,} bytes" + (f", at most {plan.memory_bytes:,}" if plan.is_elastic else ""),
        "rate": f"{statistics.estimated_false_positive_rate:.2e} now, {plan.false_positive_rate:.2e} at the worst moment",
        "items": f"about {statistics.estimated_distinct_items:,.0f} different, {statistics.inserts:,} inserts in all",
    }
    head = "<tr><th style='text-align:left'>{}</th><td colspan=2>{}</td></tr>"
    rows = [head.format(name, escape(text)) for name, text in facts.items()]
    # The fullest segment has the longest bar: fills are often small.
    fullest = max(max(statistics.fill_by_age, default=0.0), 1e-9)
    for fill, age in zip(statistics.fill_by_age, statistics.items_by_age, strict=True):
        old = f"{age.inserts.start:,} to {age.inserts.stop - 1:,} inserts ago"
        bar = BAR.format(share=fill / fullest)
        rows.append(f"<tr><td>{fill:.1%}</td><td><div style='{bar}'></div></td><td>{old}</td></tr>")
    return f"<div><b>lately.{type(filter).__name__}</b>, {plan.layout}<table>{''.join(rows)}</table></div>"
