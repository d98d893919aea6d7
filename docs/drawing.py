"""What the pictures of docs/ share: elements of an SVG, colours for light and dark, the page, and the command line."""

import sys

WIDTH, MARGIN = 800, 24  # in pixels
TEXT, TITLE_TEXT = 14, 20
TO_BASELINE = 0.35 * TEXT  # from the middle of a text
LINE = 1.8 * TEXT  # from the middle of the title to that of the line below it

COLOURS = {  # in light mode, in dark mode
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#f0f6fc"),
    "quiet": ("#59636e", "#9198a1"),
    "faint": ("#d1d9e0", "#3d444d"),
}
BLUE, AMBER, GREY = ("#0969da", "#58a6ff"), ("#9a6700", "#d29922"), ("#6e7781", "#848d97")
RULE = ".{0} {{ fill: {1} }} .{0}-line {{ stroke: {1}; fill: none }}"


def style(colours):
    light, dark = ("\n".join(RULE.format(name, modes[mode]) for name, modes in colours.items()) for mode in (0, 1))
    return f"""
text {{ font: {TEXT}px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }}
.bold {{ font-weight: 600 }} .title {{ font-size: {TITLE_TEXT}px }} path, .thick {{ stroke-width: 1.5 }}
{light}
@media (prefers-color-scheme: dark) {{
{dark}
}}
"""


def tag(name, look, content="", **attributes):
    """Returns an element; `_` in the name of an attribute stands for `-`."""
    pairs = {"class": look, **{key.replace("_", "-"): value for key, value in attributes.items()}}
    words = [f'{key}="{round(value, 1) if isinstance(value, float) else value}"' for key, value in pairs.items()]
    return f"<{name} {' '.join(words)}>{content}</{name}>"


def text(x, y, words, look="quiet", anchor="start", **attributes):
    return tag("text", look, words, x=x, y=y, text_anchor=anchor, **attributes)


def page(height, title, subtitle, description, colours, parts):
    """Returns a picture; `colours` are those that it needs besides the common ones."""
    sheet = dict(x=1, y=1, width=WIDTH - 2, height=height - 2, rx=8)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-labelledby="title description">',
        f'<title id="title">{title}</title>',
        f'<desc id="description">{description}</desc>',
        f"<style>{style(COLOURS | colours)}</style>",
        '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L8 4L0 8z" class="quiet"/></marker>',
        tag("rect", "paper", **sheet),
        tag("rect", "faint-line", **sheet),
        text(MARGIN, MARGIN + TITLE_TEXT / 2, title, "ink bold title"),
        text(MARGIN, MARGIN + TITLE_TEXT / 2 + LINE, subtitle),
        *parts,
        "</svg>",
        "",
    ])


def write_or_check(script, made):
    """Writes files, a content for each path; with --check, exits with 1 if one of them has another content."""
    match sys.argv[1:]:
        case []:
            for file, content in made.items():
                file.write_text(content)
        case ["--check"]:
            for file, content in made.items():
                if not file.exists() or file.read_text() != content:
                    sys.exit(f"{file} is not what docs/{script} makes: run docs/{script}")
        case _:
            sys.exit(f"usage: docs/{script} [--check]")
