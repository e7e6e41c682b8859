"""Heat maps: counts in the cells of a grid."""

import math
from collections.abc import Sequence

from .axes import Scale, nice_ticks, number_label, x_axis
from .svg import FAINT, PAPER, TEXT_SIZE, element, empty_figure, figure, text

DARK = (11, 32, 64)  # of the largest count; linear in between, so that greyscale shows the same
LIGHT = (222, 232, 243)  # of a count of 1; empty cells are white
BAR_WIDTH, BAR_SHADES = 12.0, 24  # of the colour bar
DIGIT_WIDTH = 0.6 * TEXT_SIZE  # upper bound
NAMES_LEFT, NAMES_BELOW = 130.0, 112.0  # room for the names of rows and columns
_FRAME = {"fill": "none", "stroke": FAINT}


def heat_map(
    counts: Sequence[Sequence[int]],
    *,
    x_range: tuple[float, float] = (0.0, 1.0),
    y_range: tuple[float, float] = (0.0, 1.0),
    names: Sequence[str] = (),
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    width: float = 470.0,
    height: float = 360.0,
) -> str:
    """Cells shaded by ln(count) / ln(largest count); rows from the bottom up, columns from the left.

    A colour bar is at the right. With `names`, these label rows and columns instead of the ranges.
    """
    maximum = max((count for row in counts for count in row), default=0)
    if maximum <= 0 or not (x_range[0] < x_range[1] and y_range[0] < y_range[1]):
        return empty_figure(width, height, title=title)
    left, space_below = (NAMES_LEFT, NAMES_BELOW) if names else (60.0, 30.0)
    top, bottom = (34.0 if y_title else 16.0), height - space_below - (18.0 if x_title else 0.0)
    bar_x = width - BAR_WIDTH - 10 - DIGIT_WIDTH * max(4, len(number_label(float(maximum))))
    x_scale = Scale(*x_range, left, bar_x - 14)
    y_scale = Scale(*y_range, bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    cell_height = (bottom - top) / len(counts)
    for row, cells in enumerate(counts):
        cell_width = (x_scale.end - x_scale.start) / max(1, len(cells))
        for column, count in enumerate(cells):
            if count > 0:
                x, y = x_scale.start + column * cell_width, bottom - (row + 1) * cell_height
                parts.append(
                    element("rect", x=x, y=y, width=cell_width, height=cell_height, fill=_shade(count, maximum))
                )
    parts.append(
        element("rect", x=x_scale.start, y=top, width=x_scale.end - x_scale.start, height=bottom - top, **_FRAME)
    )
    if names:
        parts += _row_and_column_names(names, x_scale, y_scale, titles=(x_title, y_title))
    else:
        parts += _y_ticks(y_scale, x_scale.start, title=y_title)
        parts += x_axis(x_scale, bottom, title=x_title)
    parts += _colour_bar(maximum, x=bar_x, top=top, bottom=bottom)
    return figure(width, height, parts, title=title or f"{y_title} by {x_title}")


def citations_heat_map(links: Sequence[Sequence[int]], *, topics: Sequence[str]) -> str:
    """The links between topics; rows cite columns."""
    return heat_map(
        links,
        names=topics,
        title="links between topics",
        x_title="cited topic",
        y_title="citing topic",
        width=640,
        height=560,
    )


def _share(count: float, maximum: float) -> float:
    """The position of a count on the logarithmic scale from 1 to the maximum: 0 to 1."""
    return math.log(count) / math.log(maximum) if maximum > 1 else 1.0


def _shade(count: float, maximum: float) -> str:
    share = _share(count, maximum)
    mixed = (round(light + share * (dark - light)) for light, dark in zip(LIGHT, DARK, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _y_ticks(scale: Scale, x: float, *, title: str) -> list[str]:
    """Ticks with their numbers at the left of `x`, and the title of the axis above them."""
    parts = []
    for tick in nice_ticks(scale.low, scale.high, 6):
        y = scale(tick)
        parts.append(element("line", x1=x - 5, y1=y, x2=x, y2=y, stroke=FAINT))
        parts.append(text(x - 8, y + 4.5, number_label(tick), fill=FAINT, text_anchor="end"))
    if title:
        parts.append(text(8.0, scale.end - 14, title, fill=FAINT))
    return parts


def _row_and_column_names(
    names: Sequence[str], x_scale: Scale, y_scale: Scale, *, titles: tuple[str, str]
) -> list[str]:
    """The names of rows and columns (every n-th, if there are many), and the titles of the axes."""
    cell_width, cell_height = (x_scale.end - x_scale.start) / len(names), (y_scale.start - y_scale.end) / len(names)
    nth = max(1, math.ceil(TEXT_SIZE / cell_height), math.ceil(TEXT_SIZE / cell_width))
    parts = []
    for index in range(0, len(names), nth):
        x, y = x_scale.start + (index + 0.5) * cell_width, y_scale.start - (index + 0.5) * cell_height
        parts.append(text(x_scale.start - 6, y + 4.5, names[index], limit=16, fill=FAINT, text_anchor="end"))
        rotated = {"transform": f"rotate(-60 {x:.1f} {y_scale.start + 12:.1f})", "text_anchor": "end"}
        parts.append(text(x, y_scale.start + 12, names[index], limit=14, fill=FAINT, **rotated))
    middle = (x_scale.start + x_scale.end) / 2
    x_title, y_title = titles
    if x_title:
        parts.append(text(middle, y_scale.start + NAMES_BELOW + 10, x_title, fill=FAINT, text_anchor="middle"))
    if y_title:
        parts.append(text(8.0, y_scale.end - 14, y_title, fill=FAINT))
    return parts


def _colour_bar(maximum: int, *, x: float, top: float, bottom: float) -> list[str]:
    """The legend of the shades, labelled with 1, the largest count and the count halfway between, if it is another."""
    shade_height = (bottom - top) / BAR_SHADES
    parts = []
    for step in range(BAR_SHADES):
        count = float(maximum) ** (step / (BAR_SHADES - 1))
        parts.append(
            element(
                "rect",
                x=x,
                y=bottom - (step + 1) * shade_height,
                width=BAR_WIDTH,
                height=shade_height + 0.5,
                fill=_shade(count, maximum),
            )
        )
    parts.append(element("rect", x=x, y=top, width=BAR_WIDTH, height=bottom - top, **_FRAME))
    for count in dict.fromkeys((1, round(math.sqrt(maximum)), maximum)):
        share = _share(count, maximum)
        y = bottom - share * (bottom - top)
        parts.append(text(x + BAR_WIDTH + 4, y + 9 * share, number_label(float(count)), fill=FAINT))
    return parts
