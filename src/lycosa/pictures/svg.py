"""Elements of SVG as text: every attribute and every label is escaped; numbers must be finite."""

from html import escape

from lycosa.vocabulary.text import printable

INK, FAINT, GRID, PAPER = "#1f2933", "#5b6670", "#dfe3e8", "#ffffff"  # text, secondary text, grid lines, background
COLOURS = ("#0b5394", "#c2570c", "#2e7d32", "#7b3f98", "#8a6d00", "#4a4a4a")  # contrast with white 4.5 : 1 or more
PALE = "#c3d3e4"  # of bars that are not emphasised
DASHES = ("", "7 4", "2 3", "10 4 2 4", "5 2", "1 5")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
TEXT_SIZE = 13  # user units


def element(name: str, content: str = "", **attributes: object) -> str:
    """One element; underscores within attribute names stand for hyphens (a last one is dropped), `content` is SVG."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{attribute_text}>{content}</{name}>" if content else f"<{name}{attribute_text}/>"


def text(x: float, y: float, label: str, *, limit: int = 80, **attributes: object) -> str:
    """A label, escaped and cut to `limit` characters."""
    attributes.setdefault("fill", INK)
    return element("text", escape(printable(label, limit)), x=x, y=y, **attributes)


def figure(width: float, height: float, parts: list[str], *, title: str) -> str:
    """The whole figure; `title` is for screen readers."""
    return element(
        "svg",
        element("title", escape(printable(title)) or "chart") + "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        role="img",
        font_family=FONT,
        font_size=TEXT_SIZE,
    )


def empty_figure(width: float, height: float, *, title: str) -> str:
    """The figure of a chart without data."""
    frame = element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, fill=PAPER, stroke=GRID)
    note = text(width / 2, height / 2, "no data yet", fill=FAINT, text_anchor="middle")
    return figure(width, height, [frame, note], title=title)


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))
