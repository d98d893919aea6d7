#!/usr/bin/env python3
"""Draws memory.svg: memory against time of every sliding-window filter of the race, at one false positive rate.

    docs/memory.py           writes docs/memory.svg
    docs/memory.py --check   exits with 1 if docs/memory.svg is not what this script would write

The picture is computed from the newest records of the race and of the bench in benchmarks/x86_64.
"""

import math
from pathlib import Path

from drawing import AMBER, BLUE, GREY, MARGIN, WIDTH, page, tag, text, write_or_check
from records import BENCH, RACE, WINDOW, Bench, at_rate, raced, rate_of

RATE, SLACK = 1e-3, 0.2  # the slack that contenders of the race aim at, if they can choose
BOUND = math.log2(1 / RATE) + max(math.log2(math.log2(1 / RATE)), math.log2(1 / SLACK))
LARGE_SLACK = 0.5
BATCHES = {"Rows, batch": "rows of 64 bytes", "Rows of 128 bytes, batch": "rows of 128 bytes", "Bins, batch": "bins"}

TITLE = f"Memory and time at a false positive rate of 1 in {1 / RATE:.0f}"
SUBTITLE = f"Sliding-window filters, a window of {WINDOW // 10**6} million different items, one thread, logarithmic axes."
LEGEND = [
    ("ours", "dot", "lately: a single insert and a single query together"),
    ("ours", "ring", "lately: check and insert in one batch call, which the others do not have (from the bench)"),
    ("rival", "dot", "other filters: a single insert and a single query together"),
    ("slack", "dot", f"the same, but items are reported for up to {{slack:.1f}} windows after they have left it"),
]

# The page, in pixels.
LEFT, RIGHT, TOP, PLOT_HEIGHT = MARGIN + 44, WIDTH - MARGIN, 124, 430
BOTTOM = TOP + PLOT_HEIGHT
SMALL = 12  # text of labels and notes
RADIUS, CHARACTER, NOTE_LINE = 4.5, 0.56 * SMALL, 1.5 * SMALL  # CHARACTER: the width of one, on average
LEGEND_TOP = BOTTOM + 64
BITS, BITS_TICKS = (12, 46), [12, 14, 16, 20, 24, 28, 32, 40]
MOST_BITS = 44  # filters that need more are only named
NS_TICKS = [factor * 10**power for power in range(4) for factor in (1, 2, 5)]
COLOURS = {"ours": BLUE, "slack": AMBER, "rival": GREY}


class Axes:
    def __init__(self, times):
        self.ns = min(times) / 1.3, max(times) * 1.3

    def x(self, bits):
        return LEFT + (RIGHT - LEFT) * math.log(bits / BITS[0]) / math.log(BITS[1] / BITS[0])

    def y(self, ns):
        return BOTTOM - PLOT_HEIGHT * math.log(ns / self.ns[0]) / math.log(self.ns[1] / self.ns[0])

    def draw(self):
        for bits in BITS_TICKS:
            yield tag("path", "faint-line", d=f"M{self.x(bits):.1f} {TOP}V{BOTTOM}")
            yield text(self.x(bits), BOTTOM + 18, bits, "quiet small", "middle")
        for ns in NS_TICKS:
            if self.ns[0] < ns < self.ns[1]:
                yield tag("path", "faint-line", d=f"M{LEFT} {self.y(ns):.1f}H{RIGHT}")
                yield text(LEFT - 8, self.y(ns) + 0.35 * SMALL, ns, "quiet small", "end")
        yield tag("path", "quiet-line", d=f"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}")
        yield text((LEFT + RIGHT) / 2, BOTTOM + 38, "bits of memory per item of the window", "ink", "middle")
        yield text(MARGIN, TOP - 14, "nanoseconds per item", "ink")
        yield tag("path", "ink-line", d=f"M{self.x(BOUND):.1f} {TOP}V{BOTTOM}", stroke_dasharray="6 4")
        for line, words in enumerate([f"lower bound: {BOUND:.1f} bits", "(Naor and Yogev, 2015)"]):
            yield text(self.x(BOUND) + 8, TOP + SMALL + line * NOTE_LINE, words, "ink small")


class Box:
    def __init__(self, left, top, width, height):
        self.left, self.top, self.right, self.bottom = left, top, left + width, top + height

    def overlap(self, other):
        """Returns the area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0) * max(height, 0)


def box_of(x, y, words, anchor):
    width = len(words) * CHARACTER
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return Box(left - 1, y - SMALL, width + 2, SMALL * 1.25)


def places(x, y):
    """Yields where a label may stand, the best places first: at its dot, then further away."""
    for distance in (0, 14, 28, 42):
        yield x + RADIUS + 3 + distance, y + 0.35 * SMALL, "start"
        yield x - RADIUS - 3 - distance, y + 0.35 * SMALL, "end"
        for side, anchor in ((0, "middle"), (1, "start"), (-1, "end")):
            yield x + side * (RADIUS + distance), y - RADIUS - 4 - distance, anchor
            yield x + side * (RADIUS + distance), y + RADIUS + 13 + distance, anchor


def place_labels(dots, taken):
    """Returns the place of each dot's label: labels of dots with close neighbours are placed first."""
    sheet = Box(LEFT + 4, TOP, RIGHT - LEFT - 4, PLOT_HEIGHT - 4)
    taken = taken + [Box(x - RADIUS - 1, y - RADIUS - 1, 2 * RADIUS + 2, 2 * RADIUS + 2) for _, x, y, _, _ in dots]
    crowded = lambda dot: min(math.hypot(dot[1] - other[1], dot[2] - other[2]) for other in dots if other is not dot)
    chosen = {}
    for name, x, y, _, _ in sorted(dots, key=crowded):
        def cost(place):
            box = box_of(*place[:2], name, place[2])
            outside = (box.right - box.left) * (box.bottom - box.top) - box.overlap(sheet)
            return outside + sum(box.overlap(other) for other in taken)
        chosen[name] = min(places(x, y), key=cost)  # the first of equal ones
        taken.append(box_of(*chosen[name][:2], name, chosen[name][2]))
    return chosen


def draw_dot(dot, place):
    name, x, y, kind, form = dot
    label_x, label_y, anchor = place
    middle = label_y - 0.35 * SMALL
    if math.hypot(label_x - x, middle - y) > RADIUS + 16:
        yield tag("path", f"{kind}-line thin", d=f"M{x:.1f} {y:.1f}L{label_x:.1f} {middle:.1f}")
    yield draw_mark(x, y, kind, form)
    yield text(label_x, label_y, name, f"{'ink bold' if kind == 'ours' else 'ink'} small", anchor)


def draw_mark(x, y, kind, form):
    if form == "ring":
        return tag("circle", f"{kind}-line ring", cx=x, cy=y, r=RADIUS)
    return tag("circle", kind, cx=x, cy=y, r=RADIUS)


def wrapped(words, width):
    """Breaks words into lines of a width in pixels."""
    lines = [""]
    for word in words.split(" "):
        if len(lines[-1]) + len(word) > width / CHARACTER:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def picture():
    found, better, beyond, not_reached, losing, slacks = {}, [], [], [], [], []
    for name, results in raced().items():
        measured = [result for result in results.values() if "false_positives" in result]
        family = measured[0]["family"] if measured else None
        if not measured or family == "exact":
            continue
        place = at_rate(results, RATE)
        if all(result["false_negatives"] for result in measured):
            losing.append(name)
        elif place and place[0] > MOST_BITS:
            beyond.append(name)
        elif place:
            slack = max(result["peak_npws"] or 0 for result in measured)
            is_large = family != "lately" and slack > LARGE_SLACK
            slacks += [slack] if is_large else []
            kind = "ours" if family == "lately" else "slack" if is_large else "rival"
            found[f"{name} (never forgets)" if family.startswith("static") else name] = (*place, kind, "dot")
        elif min(rate_of(result) for result in measured) > RATE:
            not_reached.append(name)
        else:
            better.append(name)
    bench = Bench()
    for name, contender in BATCHES.items():
        figure = bench.figure("check_and_insert_batch", WINDOW, contender)
        found[name] = (figure["memory_bytes"] * 8 / WINDOW, figure["ns"], "ours", "ring")
    axes = Axes([ns for _, ns, _, _ in found.values()])
    dots = [(name, axes.x(bits), axes.y(ns), kind, form) for name, (bits, ns, kind, form) in found.items()]
    bound = Box(axes.x(BOUND) - 2, TOP, 4, PLOT_HEIGHT), box_of(axes.x(BOUND) + 8, TOP + SMALL, "(Naor and Yogev, 2015)", "start")
    chosen = place_labels(dots, [*bound, Box(bound[1].left, bound[1].bottom, 160, NOTE_LINE)])
    notes = [
        f"Times and rates: race ({RACE}); batches: bench ({BENCH}). The race measures each filter with 16, 24, 32 and 48 bits "
        "per item; bits and times between two of these sizes are interpolated along the logarithm of the rate.",
        f"Lower bound: that of large windows at a slack of {SLACK}, without terms of lower order.",
        f"Not shown, because they lose items of the window: {'; '.join(losing)}. "
        f"Between {MOST_BITS} and 48 bits: {'; '.join(beyond)}. "
        f"Above the rate even with 48 bits: {'; '.join(not_reached)}. "
        f"Below it with 16 bits already, but never forgets: {'; '.join(better)}.",
    ]
    parts, y = list(axes.draw()), LEGEND_TOP
    for dot in dots:
        parts += draw_dot(dot, chosen[dot[0]])
    for kind, form, words in LEGEND:
        if kind != "slack" or slacks:
            parts.append(draw_mark(LEFT, y - 0.35 * SMALL, kind, form))
            parts.append(text(LEFT + 14, y, words.format(slack=max(slacks, default=0)), "ink small"))
            y += NOTE_LINE
    for note in notes:
        y += 6
        for line in wrapped(note, WIDTH - 2 * MARGIN):
            parts.append(text(MARGIN, y, line, "quiet small"))
            y += NOTE_LINE
    parts.insert(0, f"<style>.small {{ font-size: {SMALL}px }} .ring {{ stroke-width: 2 }} path.thin, .faint-line {{ stroke-width: 1 }}</style>")
    listed = "; ".join(f"{name}: {bits:.1f} bits, {ns:.1f} ns" for name, (bits, ns, _, _) in found.items())
    return page(round(y + MARGIN / 2), TITLE, SUBTITLE, f"{SUBTITLE} {listed}. {' '.join(notes)}", COLOURS, parts)


if __name__ == "__main__":
    write_or_check("memory.py", {Path(__file__).with_suffix(".svg"): picture()})
