"""Upright bars side by side in groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .axes import Scale, covering, drawable, error_bar, grid_across, number_label
from .legend import NAME_LIMIT, legend_places
from .svg import COLOURS, FAINT, INK, PAPER, drawing, element, empty_drawing, text

CHARACTER = 7.2  # width of an average character
SAMPLE = 16.0  # width of the piece of bar in the legend
WIDEST = 64.0  # of a bar
LOWEST = 150.0  # what is left below a long legend
LABEL = 20.0  # height left for the number on the highest bar
SHADES = (1.0, 0.0, 0.45, 0.15, 0.7)  # how dark the bars are filled, so that grey print is legible


@dataclass(frozen=True)
class GroupedBar:
    """A bar of a group; the same name looks the same in every group. `error` is how far the truth may lie from it."""

    name: str
    value: float
    error: float = 0.0  # NaN: not known


def grouped_bars(
    groups: Mapping[str, Sequence[GroupedBar]],
    *,
    title: str = "",
    y_title: str = "",
    percent: bool = False,
    width: float = 760.0,
    height: float = 330.0,
) -> str:
    """Groups from left to right, their bars told apart by colour and shade, with a legend and error bars.

    Values stand on the bars where there is room for them; bars that cannot be drawn (NaN) leave their place empty.
    """
    drawn = [bar for bars in groups.values() for bar in bars if drawable(bar.value)]
    if not drawn:
        return empty_drawing(width, height, title=title)
    names = list(dict.fromkeys(bar.name for bars in groups.values() for bar in bars))
    left, right = 60.0, width - 16
    places, legend_height = legend_places(names, left=left, right=right, sample=SAMPLE)
    top = 12.0 + legend_height + (22 if y_title else 6)
    height = max(height, top + LOWEST)
    bottom = height - 30
    ends = [end for bar in drawn for end in (0.0, bar.value - _error(bar), bar.value + _error(bar))]
    low, high = covering(ends)
    upward = Scale(low, high + (high - low) * LABEL / (bottom - top - LABEL), bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    for order, (name, (x, y)) in enumerate(zip(names, places, strict=True)):
        parts.append(_block(x, y + 6, SAMPLE, 12.0, order))
        parts.append(text(x + SAMPLE + 6, y + 16.5, name, limit=NAME_LIMIT, fill=FAINT))
    parts += grid_across(upward, left, right, percent=percent, title=y_title)
    room = (right - left) / len(groups)
    size = min(WIDEST, 0.84 * room / len(names))
    for number, (label, bars) in enumerate(groups.items()):
        middle = left + room * (number + 0.5)
        parts.append(text(middle, bottom + 19, label, limit=max(3, int(room / CHARACTER)), text_anchor="middle"))
        for bar in bars:
            order = names.index(bar.name)
            x = middle + size * (order - len(names) / 2)
            parts += _bar(bar, order, x, size, upward, percent=percent)
    zero = upward(0.0)
    parts.append(element("line", x1=left, y1=zero, x2=right, y2=zero, stroke=FAINT))
    return drawing(width, height, parts, title=title or y_title)


def _bar(bar: GroupedBar, order: int, x: float, size: float, upward: Scale, *, percent: bool) -> list[str]:
    if not drawable(bar.value):
        return []
    value, zero, error = upward(bar.value), upward(0.0), _error(bar)
    high, low = upward(bar.value + error), upward(bar.value - error)
    parts = [_block(x + 1, min(value, zero), max(1.0, size - 2), abs(value - zero), order)]
    if error:
        parts += error_bar(x + size / 2, low, high, INK, cap=min(5.0, size / 4))
    label = number_label(float(f"{bar.value:.3g}"), percent=percent)
    if len(label) * CHARACTER <= size + 4:
        y = high - 5 if bar.value >= 0 else low + 14
        parts.append(text(x + size / 2, y, label, text_anchor="middle"))
    return parts


def _block(x: float, y: float, width: float, height: float, order: int) -> str:
    colour, shade = COLOURS[order % len(COLOURS)], SHADES[order % len(SHADES)]
    return element(
        "rect", x=x, y=y, width=width, height=height, fill=colour, fill_opacity=shade, stroke=colour, stroke_width=1.6
    )


def _error(bar: GroupedBar) -> float:
    return bar.error if drawable(bar.error) and bar.error > 0 else 0.0
