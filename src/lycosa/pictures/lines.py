"""Line charts."""

from collections.abc import Sequence
from dataclasses import dataclass

from .axes import NAME_LIMIT, Scale, error_bar, horizontal_grid, is_drawable, legend_positions, value_range, x_axis
from .svg import COLOURS, DASHES, FAINT, INK, PAPER, element, empty_figure, figure, text

MARKERS_PER_LINE = 8
SWATCH = 28.0  # length of the sample of a line in the legend


@dataclass(frozen=True)
class Series:
    """A named curve; points that cannot be drawn (NaN) interrupt it.

    errors: half the length of the error bar of each point (NaN: unknown). Error bars are drawn at the markers alone,
        which are at different points of each curve, so that they can be distinguished.
    """

    name: str
    points: Sequence[tuple[float, float]]
    errors: Sequence[float] = ()

    def __post_init__(self) -> None:
        if self.errors and len(self.errors) != len(self.points):
            raise ValueError(f"{len(self.errors)} errors for the {len(self.points)} points of {self.name!r}")


@dataclass(frozen=True)
class VerticalLine:
    """A vertical line where something happened."""

    x: float
    label: str


def line_chart(
    series: Sequence[Series],
    *,
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    percent: bool = False,
    marks: Sequence[VerticalLine] = (),
    width: float = 760.0,
    height: float = 330.0,
) -> str:
    """Curves distinguished by colour, dash and marker, with a legend and labelled vertical marks."""
    points = [point for curve in series for point in _points(curve)]
    if not points:
        return empty_figure(width, height, title=title)
    legend, legend_height = _legend(series, left=60.0, right=width - 28, top=12.0)
    top = 12.0 + legend_height + (22 if y_title else 6)
    bottom = height - (48 if x_title else 30)
    x_scale = Scale(*(x_range or value_range([x for x, _, _ in points])), 60.0, width - 28)
    y_values = [end for _, y, error in points for end in ((y - error, y + error) if error else (y,))]
    y_scale = Scale(*(y_range or value_range(y_values, zero=True)), bottom, top)
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER)]
    parts += legend
    parts += horizontal_grid(y_scale, x_scale.start, x_scale.end, percent=percent, title=y_title)
    parts += x_axis(x_scale, bottom, title=x_title)
    for order, curve in enumerate(series):
        parts += _curve(curve, order, x_scale, y_scale)
    visible_marks = [mark for mark in marks if x_scale.low <= mark.x <= x_scale.high]
    for order, mark in enumerate(visible_marks):
        parts += _mark(mark, order, x_scale, top, bottom)
    return figure(width, height, parts, title=title or y_title)


def _points(curve: Series) -> list[tuple[float, float, float]]:
    """The points of a curve that can be drawn, each with its error, 0 if it is unknown."""
    errors = curve.errors or [0.0] * len(curve.points)
    return [
        (x, y, error if is_drawable(error) and error > 0 else 0.0)
        for (x, y), error in zip(curve.points, errors, strict=True)
        if is_drawable(x) and is_drawable(y)
    ]


def _curve(curve: Series, order: int, x_scale: Scale, y_scale: Scale) -> list[str]:
    colour, dash = COLOURS[order % len(COLOURS)], DASHES[order % len(DASHES)]
    segments: list[list[tuple[float, float]]] = [[]]
    for x, y in curve.points:
        if is_drawable(x) and is_drawable(y):
            segments[-1].append((x_scale(x), y_scale(y)))
        elif segments[-1]:
            segments.append([])
    parts = []
    for segment in filter(None, segments):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in segment)
        style = {"stroke_dasharray": dash} if dash else {}
        parts.append(element("polyline", points=path, fill="none", stroke=colour, stroke_width=2.2, **style))
    points = _points(curve)
    step = max(1, len(points) // MARKERS_PER_LINE)
    offset = min(len(points) - 1, order * step // max(1, len(COLOURS))) if points else 0
    for x, y, error in points[offset::step]:
        if error:
            parts += error_bar(x_scale(x), y_scale(y - error), y_scale(y + error), colour)
        parts.append(_marker(x_scale(x), y_scale(y), order, colour))
    return parts


def _marker(x: float, y: float, order: int, colour: str) -> str:
    shape = order % 4
    if shape == 0:
        return element("circle", cx=x, cy=y, r=3.4, fill=colour)
    if shape == 1:
        return element("rect", x=x - 3.2, y=y - 3.2, width=6.4, height=6.4, fill=PAPER, stroke=colour, stroke_width=1.6)
    if shape == 2:
        corners = f"{x:.1f},{y - 4:.1f} {x + 4:.1f},{y + 3:.1f} {x - 4:.1f},{y + 3:.1f}"
    else:
        corners = f"{x:.1f},{y - 4.4:.1f} {x + 4.4:.1f},{y:.1f} {x:.1f},{y + 4.4:.1f} {x - 4.4:.1f},{y:.1f}"
    return element("polygon", points=corners, fill=colour)


def _mark(mark: VerticalLine, order: int, x_scale: Scale, top: float, bottom: float) -> list[str]:
    x = x_scale(mark.x)
    leftward = x > (x_scale.start + x_scale.end) / 2
    y = top + 13 + 16 * (order % 4)  # labels of neighbouring marks are on different lines
    return [
        element("line", x1=x, y1=top, x2=x, y2=bottom, stroke=INK, stroke_width=1.2, stroke_dasharray="3 3"),
        text(
            x - 6 if leftward else x + 6, y, mark.label, limit=44, fill=INK, text_anchor="end" if leftward else "start"
        ),
    ]


def _legend(series: Sequence[Series], *, left: float, right: float, top: float) -> tuple[list[str], float]:
    """The legend and its height."""
    parts = []
    positions, height = legend_positions([curve.name for curve in series], left=left, right=right, swatch=SWATCH)
    for order, (curve, (x, y)) in enumerate(zip(series, positions, strict=True)):
        y += top
        colour, dash = COLOURS[order % len(COLOURS)], DASHES[order % len(DASHES)]
        style = {"stroke_dasharray": dash} if dash else {}
        parts.append(element("line", x1=x, y1=y, x2=x + SWATCH, y2=y, stroke=colour, stroke_width=2.2, **style))
        parts.append(_marker(x + SWATCH / 2, y, order, colour))
        parts.append(text(x + SWATCH + 6, y + 4.5, curve.name, limit=NAME_LIMIT, fill=FAINT))
    return parts, height
