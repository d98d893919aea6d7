#!/usr/bin/env python3
"""Draws window.svg: how the window of a filter slides over generations of items.

    docs/window.py           writes docs/window.svg
    docs/window.py --check   exits with 1 if docs/window.svg is not what this script would write

The picture shows k = 1: each generation of items has a segment to itself. For each frame, the zone of every item and
the bits of every segment are computed from the rules of the filter; only the sentences are written by hand.
"""

import zlib
from pathlib import Path

from drawing import AMBER, BLUE, GREY, MARGIN, TEXT, TITLE_TEXT, TO_BASELINE, WIDTH, page, tag, text, write_or_check

# The filter.
GENERATION = 4  # items between two shifts
WINDOW_GENERATIONS = 3  # that are guaranteed; there is one segment more, the newest, which is being filled
WINDOW = WINDOW_GENERATIONS * GENERATION
BITS, BITS_PER_ITEM = 20, 3  # of a segment; set by an item
SEED = 133  # of the hash: one with which no forgotten item of the picture is a false positive

# The story. Items are numbered in order of arrival; FIRST begins a generation, FOLLOWED is the one to watch.
FIRST, FOLLOWED = 15, 17
FRAMES = [  # the latest item, and what has happened
    (28, f"order-28 arrives. {{}} is still one of the last {WINDOW} items, so it is reported."),
    (30, "order-30 fills the newest segment. {} has left the window, but is still reported."),
    (31, "order-31 needs a segment: the oldest is cleared, and {} is forgotten with its generation."),
]
ZONES = {
    "window": f"the last {WINDOW} items: always reported",
    "slack": "still reported",
    "forgotten": "forgotten",
}
TITLE = "The window slides over generations"
SUBTITLE = f"Each generation of {GENERATION} items sets bits in a segment of its own, a small Bloom filter."
REUSE = "cleared and used again: memory stays the same"
FOOTNOTE = "Drawn small: a real window has up to millions of items, and an item may set bits in several segments."
LAST_GENERATION = (FRAMES[-1][0] - FIRST) // GENERATION

# The page, in pixels.
ROW_NAMES = 52
LEFT = MARGIN + ROW_NAMES
SLOT = (WIDTH - MARGIN - LEFT) / (GENERATION * (LAST_GENERATION + 1))  # the width of an item
RADIUS, RING = 0.38 * SLOT, 0.48 * SLOT
GAP, SPACE = 3, 6  # at both ends of a bracket or segment; between a line and its words
SEGMENT_HEIGHT, BIT_HEIGHT, BIT_SHARE = 24, 14, 0.6  # BIT_SHARE: a bit's width; the rest is space
HEADER = MARGIN + TITLE_TEXT + 4 * TEXT  # down to the first sentence
# From a frame's sentence down to its rows, to the way back of a cleared segment, and to the next frame.
BRACKETS, ITEMS, SEGMENTS, NAMES, WAY_BACK, NEXT_FRAME = 32, 58, 80, 122, 140, 160
FOOTER = HEADER + (len(FRAMES) - 1) * NEXT_FRAME + WAY_BACK + 4 * TEXT
HEIGHT = FOOTER + MARGIN

COLOURS = {"window": BLUE, "slack": AMBER, "forgotten": GREY}


def generation_of(item):
    return (item - FIRST) // GENERATION


def bits_of(item):
    return {zlib.crc32(f"order-{item}/{i}".encode(), SEED) % BITS for i in range(BITS_PER_ITEM)}


def zone_of(item, latest):
    """Returns the zone of an item when `latest` has just been inserted."""
    if item > latest - WINDOW:
        return "window"
    oldest = generation_of(latest) - WINDOW_GENERATIONS
    return "slack" if generation_of(item) >= oldest else "forgotten"


def left_of(item):
    return LEFT + (item - FIRST) * SLOT


def middle_of(generation):
    return LEFT + (generation + 0.5) * GENERATION * SLOT


def arrow(path):
    return tag("path", "quiet-line", d=path, marker_end="url(#arrow)")


def draw_bracket(zone, items, y):
    """Draws a line over the items of a zone, and the zone's name if there is more than one."""
    start, end = left_of(items[0]) + GAP, left_of(items[-1]) + SLOT - GAP
    yield tag("path", f"{zone}-line", d=f"M{start:.1f} {y + SPACE}V{y}H{end:.1f}V{y + SPACE}")
    if len(items) >= GENERATION:
        yield text((start + end) / 2, y - SPACE, ZONES[zone], f"{zone} bold", "middle")
    elif len(items) > 1:
        yield text(end, y - SPACE, ZONES[zone], f"{zone} bold", "end")


def draw_item(item, latest, y):
    x, zone = left_of(item) + SLOT / 2, zone_of(item, latest)
    if item > latest:
        yield tag("circle", "forgotten-line", cx=x, cy=y, r=RADIUS, stroke_dasharray="1 4")
        return
    body, number = ("forgotten-line", "forgotten") if zone == "forgotten" else (zone, "paper bold")
    yield tag("circle", body, cx=x, cy=y, r=RADIUS)
    yield text(x, y + TO_BASELINE, item, number, "middle")
    if item == FOLLOWED:
        yield tag("circle", "ink-line thick", cx=x, cy=y, r=RING)


def draw_segment(generation, latest, y):
    items = range(FIRST + generation * GENERATION, FIRST + (generation + 1) * GENERATION)
    box = dict(x=left_of(items[0]) + GAP, y=y, width=GENERATION * SLOT - 2 * GAP, height=SEGMENT_HEIGHT, rx=4)
    if zone_of(items[-1], latest) == "forgotten":
        yield tag("rect", "forgotten-line", **box, stroke_dasharray="4 4")
        return
    yield tag("rect", "quiet-line thick", **box)
    bits = set().union(*(bits_of(item) for item in items if item <= latest))
    pitch = (box["width"] - 2 * GAP) / BITS
    for bit in range(BITS):
        x = box["x"] + GAP + (bit + (1 - BIT_SHARE) / 2) * pitch
        top, look = y + (SEGMENT_HEIGHT - BIT_HEIGHT) // 2, "ink" if bit in bits else "faint"
        yield tag("rect", look, x=x, y=top, width=BIT_SHARE * pitch, height=BIT_HEIGHT)


def draw_frame(number, latest, sentence, top):
    newest, oldest = generation_of(latest), generation_of(latest) - WINDOW_GENERATIONS
    followed = tag("tspan", f"{zone_of(FOLLOWED, latest)} bold", f"order-{FOLLOWED}")
    yield text(MARGIN, top, f"{tag('tspan', 'bold', f'{number}.')} {sentence.format(followed)}", "ink")
    yield text(LEFT - GAP, top + ITEMS + TO_BASELINE, "order-", anchor="end")
    yield text(LEFT - GAP, top + SEGMENTS + SEGMENT_HEIGHT / 2 + TO_BASELINE, "filter", anchor="end")
    for zone in ZONES:
        if items := [item for item in range(FIRST, latest + 1) if zone_of(item, latest) == zone]:
            yield from draw_bracket(zone, items, top + BRACKETS)
    for item in range(FIRST, FIRST + (newest + 1) * GENERATION):
        yield from draw_item(item, latest, top + ITEMS)
    for generation in range(newest + 1):
        yield from draw_segment(generation, latest, top + SEGMENTS)
    yield text(middle_of(oldest), top + NAMES, "oldest", anchor="middle")
    yield text(middle_of(newest), top + NAMES, "newest", anchor="middle")
    if newest < LAST_GENERATION:
        yield text(middle_of(newest + 1), top + ITEMS - 2 * SPACE, "new items", anchor="middle")
        yield arrow(f"M{WIDTH - MARGIN} {top + ITEMS}H{middle_of(newest + 0.5) + RING:.1f}")
    if oldest > 0:
        start, end, bottom = middle_of(oldest - 1), middle_of(newest), top + SEGMENTS + SEGMENT_HEIGHT
        yield arrow(f"M{start:.1f} {bottom + SPACE}V{top + WAY_BACK}H{end:.1f}V{top + NAMES + SPACE}")
        yield text((start + end) / 2, top + WAY_BACK + SPACE + TEXT, REUSE, anchor="middle")


def picture():
    description = " ".join([SUBTITLE, *(sentence.format(f"order-{FOLLOWED}") for _, sentence in FRAMES), FOOTNOTE])
    parts = [text(MARGIN, FOOTER, FOOTNOTE)]
    for index, (latest, sentence) in enumerate(FRAMES):
        parts += draw_frame(index + 1, latest, sentence, HEADER + index * NEXT_FRAME)
    return page(HEIGHT, TITLE, SUBTITLE, description, COLOURS, parts)


if __name__ == "__main__":
    write_or_check("window.py", {Path(__file__).with_suffix(".svg"): picture()})
