"""Bar charts: horizontal bars, bars in groups, and histograms."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .axes import (
    NAME_LIMIT,
    Scale,
    error_bar,
    horizontal_grid,
    is_drawable,
    legend_positions,
    number_label,
    value_range,
    x_axis,
)
from .svg import COLOURS, FAINT, INK, PALE, PAPER, element, empty_figure, figure, text

BAR_ROW = 24.0  # height of a row of a horizontal bar
CHARACTER_WIDTH = 7.2  # of an average character
MAX_ENDING_LENGTH = 48  # characters of the number and note after a bar
MIN_LABEL_LENGTH, MAX_LABEL_LENGTH = 12, 38  # characters before a bar
MIN_BAR_WIDTH = 60.0  # of the longest bar
SWATCH = 16.0  # width of the sample of a bar in the legend
MAX_BAR_WIDTH = 64.0
MIN_PLOT_HEIGHT = 150.0  # below a long legend
LABEL_HEIGHT = 20.0  # of the number on the highest bar
OPACITIES = (1.0, 0.0, 0.45, 0.15, 0.7)  # of the bars, so that they can be distinguished in greyscale


@dataclass(frozen=True)
class Bar:
    """A named value; the first `part` of it is drawn dark, or all of it if that is None."""

    label: str
    value: float
    part: float | None = None
    note: str = ""  # after the number


def bar_chart(bars: Sequence[Bar], *, title: str = "", x_title: str = "", width: float = 760.0) -> str:
    """One horizontal bar a row, in the order given; values that cannot be drawn are left out."""
    shown = [bar for bar in bars if is_drawable(bar.value)]
    if not shown:
        return empty_figure(width, 120.0, title=title)
    endings = [f"{number_label(bar.value)} {bar.note}".strip() for bar in shown]
    ending_length = min(MAX_ENDING_LENGTH, int(width / 2 / CHARACTER_WIDTH), max(map(len, endings)))
    right = width - 16 - CHARACTER_WIDTH * ending_length
    label_room = int((right - MIN_BAR_WIDTH - 16) / CHARACTER_WIDTH)  # for labels, in characters
    label_length = min(MAX_LABEL_LENGTH, max(MIN_LABEL_LENGTH, label_room), max(len(bar.label) for bar in shown))
    left = 16 + CHARACTER_WIDTH * label_length
    x_scale = Scale(0.0, max(1e-9, *(bar.value for bar in shown)), left, max(right, left + MIN_BAR_WIDTH))
    height = BAR_ROW * len(shown) + (30 if x_title else 8)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    for row, (bar, ending) in enumerate(zip(shown, endings, strict=True)):
        y = 4 + BAR_ROW * row
        end = x_scale(bar.value)
        part = bar.value if bar.part is None or not is_drawable(bar.part) else min(bar.part, bar.value)
        parts.append(text(left - 8, y + 15.5, bar.label, limit=label_length, text_anchor="end"))
        parts.append(element("rect", x=left, y=y + 2, width=max(1.0, end - left), height=BAR_ROW - 7, fill=PALE))
        if part > 0:
            dark_width = max(1.0, x_scale(part) - left)
            parts.append(element("rect", x=left, y=y + 2, width=dark_width, height=BAR_ROW - 7, fill=COLOURS[0]))
        parts.append(text(end + 7, y + 15.5, ending, limit=ending_length, fill=FAINT))
    if x_title:
        parts.append(text(left, height - 8, x_title, fill=FAINT))
    return figure(width, height, parts, title=title or x_title)


@dataclass(frozen=True)
class GroupedBar:
    """A bar of a group; the same name looks the same in every group."""

    name: str
    value: float
    error: float = 0.0  # half the length of its error bar; NaN: unknown


def grouped_bars(
    groups: Mapping[str, Sequence[GroupedBar]],
    *,
    title: str = "",
    y_title: str = "",
    percent: bool = False,
    width: float = 760.0,
    height: float = 330.0,
) -> str:
    """Groups of vertical bars, distinguished by colour and shade, with a legend and error bars.

    Values are written on the bars where there is room; bars that cannot be drawn (NaN) leave a gap.
    """
    drawn = [bar for bars in groups.values() for bar in bars if is_drawable(bar.value)]
    if not drawn:
        return empty_figure(width, height, title=title)
    names = list(dict.fromkeys(bar.name for bars in groups.values() for bar in bars))
    left, right = 60.0, width - 16
    positions, legend_height = legend_positions(names, left=left, right=right, swatch=SWATCH)
    top = 12.0 + legend_height + (22 if y_title else 6)
    height = max(height, top + MIN_PLOT_HEIGHT)
    bottom = height - 30
    extremes = [end for bar in drawn for end in (0.0, bar.value - _error(bar), bar.value + _error(bar))]
    low, high = value_range(extremes)
    y_scale = Scale(low, high + (high - low) * LABEL_HEIGHT / (bottom - top - LABEL_HEIGHT), bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    for order, (name, (x, y)) in enumerate(zip(names, positions, strict=True)):
        parts.append(_rectangle(x, y + 6, SWATCH, 12.0, order))
        parts.append(text(x + SWATCH + 6, y + 16.5, name, limit=NAME_LIMIT, fill=FAINT))
    parts += horizontal_grid(y_scale, left, right, percent=percent, title=y_title)
    group_width = (right - left) / len(groups)
    bar_width = min(MAX_BAR_WIDTH, 0.84 * group_width / len(names))
    for number, (label, bars) in enumerate(groups.items()):
        middle = left + group_width * (number + 0.5)
        parts.append(
            text(middle, bottom + 19, label, limit=max(3, int(group_width / CHARACTER_WIDTH)), text_anchor="middle")
        )
        for bar in bars:
            order = names.index(bar.name)
            x = middle + bar_width * (order - len(names) / 2)
            parts += _bar(bar, order, x, bar_width, y_scale, percent=percent)
    zero = y_scale(0.0)
    parts.append(element("line", x1=left, y1=zero, x2=right, y2=zero, stroke=FAINT))
    return figure(width, height, parts, title=title or y_title)


def _bar(bar: GroupedBar, order: int, x: float, bar_width: float, y_scale: Scale, *, percent: bool) -> list[str]:
    if not is_drawable(bar.value):
        return []
    value, zero, error = y_scale(bar.value), y_scale(0.0), _error(bar)
    high, low = y_scale(bar.value + error), y_scale(bar.value - error)
    parts = [_rectangle(x + 1, min(value, zero), max(1.0, bar_width - 2), abs(value - zero), order)]
    if error:
        parts += error_bar(x + bar_width / 2, low, high, INK, cap=min(5.0, bar_width / 4))
    label = number_label(float(f"{bar.value:.3g}"), percent=percent)
    if len(label) * CHARACTER_WIDTH <= bar_width + 4:
        y = high - 5 if bar.value >= 0 else low + 14
        parts.append(text(x + bar_width / 2, y, label, text_anchor="middle"))
    return parts


def _rectangle(x: float, y: float, width: float, height: float, order: int) -> str:
    colour, shade = COLOURS[order % len(COLOURS)], OPACITIES[order % len(OPACITIES)]
    return element(
        "rect", x=x, y=y, width=width, height=height, fill=colour, fill_opacity=shade, stroke=colour, stroke_width=1.6
    )


def _error(bar: GroupedBar) -> float:
    return bar.error if is_drawable(bar.error) and bar.error > 0 else 0.0


def bin_counts(values: Iterable[float], *, bins: int = 20, low: float = 0.0, high: float = 1.0) -> list[int]:
    """The number of values in each of `bins` equal parts of low..high; values outside count in the first or last.

    >>> bin_counts([0.0, 0.1, 0.9, 1.0], bins=2)
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
    """Equal bins from low to high; those above `split` are drawn dark, with a line at the split."""
    if not any(counts):
        return empty_figure(width, height, title=title)
    top, bottom = (34.0 if y_title else 12.0), height - (48 if x_title else 30)
    x_scale = Scale(low, high, 60.0, width - 16)
    y_scale = Scale(0.0, float(max(counts)), bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    parts += horizontal_grid(y_scale, x_scale.start, x_scale.end, percent=False, title=y_title)
    bar_width = (x_scale.end - x_scale.start) / len(counts)
    for order, count in enumerate(counts):
        bin_start = low + (high - low) * order / len(counts)
        is_dark = split is None or bin_start >= split - 1e-9
        y = y_scale(float(count))
        if count:
            fill = COLOURS[0] if is_dark else PALE
            x = x_scale.start + bar_width * order + 1
            parts.append(
                element("rect", x=x, y=y, width=max(1.0, bar_width - 2), height=max(1.0, bottom - y), fill=fill)
            )
    if split is not None and low <= split <= high:
        x = x_scale(split)
        parts.append(element("line", x1=x, y1=top - 6, x2=x, y2=bottom, stroke=INK, stroke_dasharray="3 3"))
        parts.append(text(x + 6, top + 4, split_label, fill=FAINT))
    parts += x_axis(x_scale, bottom, title=x_title)
    return figure(width, height, parts, title=title or x_title)
