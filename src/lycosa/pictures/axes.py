"""Axes and legends: ticks at round numbers, the scale from data to the figure, error bars, positions in legends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .svg import FAINT, GRID, PAPER, element, text

LEGEND_ROW = 20.0  # height of a row of a legend
NAME_LIMIT = 40  # characters of a name in a legend


def is_drawable(value: float) -> bool:
    """Whether a number can be drawn on an axis: finite, and not so large that sums overflow."""
    return abs(value) < 1e300


def nice_ticks(low: float, high: float, count: int = 6) -> list[float]:
    """About `count` round numbers, evenly spaced, within low..high.

    >>> nice_ticks(0, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    if not (is_drawable(low) and is_drawable(high)) or count < 1 or high - low < 1e-290:
        return []
    step = _nice_step((high - low) / count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, min(last, first + 4 * count) + 1)]


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= rough * (1 - 1e-9)), 10 * power)


def number_label(value: float, *, percent: bool = False) -> str:
    """A number as an axis shows it: 12 000, 1.5M, 0.25 or 25%."""
    if percent:
        return f"{_short(value * 100)}%"
    if abs(value) >= 1e15:
        return f"{value:.2g}"
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return _short(value / size) + letter
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1000 else _short(value)


def _short(value: float) -> str:
    return f"{round(value, 10):.4g}"


@dataclass(frozen=True)
class Scale:
    """A linear map from low..high to start..end; values beyond are clipped."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def value_range(values: list[float], *, zero: bool = False) -> tuple[float, float]:
    """Minimum and maximum of the drawable values, never equal; with `zero`, from 0 where nothing is negative."""
    drawn = [value for value in values if is_drawable(value)]
    low, high = (min(drawn), max(drawn)) if drawn else (0.0, 1.0)
    if zero and low > 0:
        low = 0.0
    if high - low < 1e-12 * max(1e-200, abs(low)):
        high = low + (abs(low) or 1.0)
    return low, high


def horizontal_grid(scale: Scale, left: float, right: float, *, percent: bool, title: str) -> list[str]:
    """Horizontal grid lines with their numbers at the left, and the title of the axis above them."""
    parts = []
    for tick in nice_ticks(scale.low, scale.high, 5):
        y = scale(tick)
        parts.append(element("line", x1=left, y1=y, x2=right, y2=y, stroke=GRID))
        parts.append(text(left - 8, y + 4.5, number_label(tick, percent=percent), fill=FAINT, text_anchor="end"))
    if title:
        parts.append(text(8.0, scale.end - 14, title, fill=FAINT))
    return parts


def x_axis(scale: Scale, y: float, *, title: str) -> list[str]:
    """The horizontal axis: a line, ticks with their numbers, and the title of the axis."""
    parts = [element("line", x1=scale.start, y1=y, x2=scale.end, y2=y, stroke=FAINT)]
    for tick in nice_ticks(scale.low, scale.high, 8):
        x = scale(tick)
        parts.append(element("line", x1=x, y1=y, x2=x, y2=y + 5, stroke=FAINT))
        parts.append(text(x, y + 19, number_label(tick), fill=FAINT, text_anchor="middle"))
    if title:
        parts.append(text((scale.start + scale.end) / 2, y + 38, title, fill=FAINT, text_anchor="middle"))
    return parts


def error_bar(x: float, low: float, high: float, colour: str, *, cap: float = 3.5) -> list[str]:
    """A vertical line with a cap at each end, outlined so that it shows on dark and on light."""
    strokes = ((x, low, x, high), (x - cap, low, x + cap, low), (x - cap, high, x + cap, high))
    return [
        element("line", x1=a, y1=b, x2=c, y2=d, stroke=stroke, stroke_width=width)
        for stroke, width in ((PAPER, 3.3), (colour, 1.3))
        for a, b, c, d in strokes
    ]


def legend_positions(
    names: Sequence[str], *, left: float, right: float, swatch: float
) -> tuple[list[tuple[float, float]], float]:
    """The position of each entry, in as many rows as needed, and their height; `swatch` is the width of a sample."""
    positions, x, row = [], left, 0
    for name in names:
        needed = swatch + 18 + 7.5 * min(len(name), NAME_LIMIT)
        if x > left and x + needed > right:
            x, row = left, row + 1
        positions.append((x, LEGEND_ROW * row))
        x += needed
    return positions, LEGEND_ROW * (row + 1)
