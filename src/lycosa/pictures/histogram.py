"""How often values fall where."""

import math
from collections.abc import Iterable, Sequence

from .axes import Scale, grid_across, ticks_below
from .svg import COLOURS, FAINT, INK, PALE, PAPER, drawing, element, empty_drawing, text


def counts_of(values: Iterable[float], *, bins: int = 20, low: float = 0.0, high: float = 1.0) -> list[int]:
    """How many values fall into each of `bins` equal parts of low..high; what lies outside counts at the ends.

    >>> counts_of([0.0, 0.1, 0.9, 1.0], bins=2)
    [2, 2]
    """
    counts = [0] * bins
    for value in values:
        if not math.isnan(value):
            share = (min(max(value, low), high) - low) / (high - low)
            counts[min(bins - 1, int(share * bins))] += 1
    return counts


def histogram(
    counts: Sequence[int],
    *,
    low: float = 0.0,
    high: float = 1.0,
    split: float | None = None,
    split_label: str = "",
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    width: float = 760.0,
    height: float = 280.0,
) -> str:
    """Equal bins from low to high; those from `split` on are drawn dark, with a line where they begin."""
    if not any(counts):
        return empty_drawing(width, height, title=title)
    top, bottom = (34.0 if y_title else 12.0), height - (48 if x_title else 30)
    across = Scale(low, high, 60.0, width - 16)
    upward = Scale(0.0, float(max(counts)), bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    parts += grid_across(upward, across.start, across.end, percent=False, title=y_title)
    size = (across.end - across.start) / len(counts)
    for order, count in enumerate(counts):
        begins = low + (high - low) * order / len(counts)
        dark = split is None or begins >= split - 1e-9
        y = upward(float(count))
        if count:
            fill = COLOURS[0] if dark else PALE
            x = across.start + size * order + 1
            parts.append(element("rect", x=x, y=y, width=max(1.0, size - 2), height=max(1.0, bottom - y), fill=fill))
    if split is not None and low <= split <= high:
        x = across(split)
        parts.append(element("line", x1=x, y1=top - 6, x2=x, y2=bottom, stroke=INK, stroke_dasharray="3 3"))
        parts.append(text(x + 6, top + 4, split_label, fill=FAINT))
    parts += ticks_below(across, bottom, title=x_title)
    return drawing(width, height, parts, title=title or x_title)
