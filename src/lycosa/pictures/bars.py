"""Horizontal bars with their names and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from .axes import Scale, drawable, number_label
from .svg import COLOURS, FAINT, PALE, PAPER, drawing, element, empty_drawing, text

ROW = 24.0
CHARACTER = 7.2  # width of an average character
LONGEST_ENDING = 48  # characters behind a bar


@dataclass(frozen=True)
class Bar:
    """A named amount; `part` is how much of it is drawn dark, all of it where that is None."""

    label: str
    value: float
    part: float | None = None
    note: str = ""  # stands behind the number


def bar_chart(bars: Sequence[Bar], *, title: str = "", x_title: str = "", width: float = 760.0) -> str:
    """One bar a row, in the order given; amounts that cannot be drawn are left out, negative ones have no length."""
    shown = [bar for bar in bars if drawable(bar.value)]
    if not shown:
        return empty_drawing(width, 120.0, title=title)
    left = 16 + CHARACTER * min(38, max(len(bar.label) for bar in shown))
    endings = [f"{number_label(bar.value)} {bar.note}".strip() for bar in shown]
    right = width - 16 - CHARACTER * min(LONGEST_ENDING, max(map(len, endings)))
    across = Scale(0.0, max(1e-9, *(bar.value for bar in shown)), left, max(right, left + 60))
    height = ROW * len(shown) + (30 if x_title else 8)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    for row, (bar, ending) in enumerate(zip(shown, endings, strict=True)):
        y = 4 + ROW * row
        end = across(bar.value)
        part = bar.value if bar.part is None or not drawable(bar.part) else min(bar.part, bar.value)
        parts.append(text(left - 8, y + 15.5, bar.label, limit=38, text_anchor="end"))
        parts.append(element("rect", x=left, y=y + 2, width=max(1.0, end - left), height=ROW - 7, fill=PALE))
        if part > 0:
            dark = max(1.0, across(part) - left)
            parts.append(element("rect", x=left, y=y + 2, width=dark, height=ROW - 7, fill=COLOURS[0]))
        parts.append(text(end + 7, y + 15.5, ending, limit=LONGEST_ENDING, fill=FAINT))
    if x_title:
        parts.append(text(left, height - 8, x_title, fill=FAINT))
    return drawing(width, height, parts, title=title or x_title)
