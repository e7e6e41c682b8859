"""The portals of a topical map on a circle, all linked to one another, each with its spokes: the pages tied to it."""

import math
from collections.abc import Sequence

from .svg import COLOURS, FAINT, GRID, INK, PAPER, element, empty_figure, figure, text

MAX_PORTALS, MAX_SPOKES, MAX_NAMES = 60, 24, 16  # portals, spokes of each, and names of portals that are drawn


def wheel(portals: Sequence[tuple[str, int]], *, title: str = "", width: float = 900.0, height: float = 660.0) -> str:
    """Draws portals, each given by its name and its number of spokes; of many, the first `MAX_PORTALS`."""
    drawn = portals[:MAX_PORTALS]
    if not drawn:
        return empty_figure(width, height, title=title)
    middle, radius = (width / 2, height / 2), height * 0.27
    max_spoke_count = max(1, *(spoke_count for _, spoke_count in drawn))
    angles = [2 * math.pi * index / len(drawn) - math.pi / 2 for index in range(len(drawn))]
    points = [_point(middle, angle, radius) for angle in angles]
    parts = [element("rect", x=0.0, y=0.0, width=width, height=height, fill=PAPER), *_chords(points)]
    nth = math.ceil(len(drawn) / MAX_NAMES)
    for index, ((name, spoke_count), angle, point) in enumerate(zip(drawn, angles, points, strict=True)):
        length = height * (0.05 + 0.05 * math.sqrt(spoke_count / max_spoke_count))
        parts += _fan(point, angle, min(spoke_count, MAX_SPOKES), length, math.pi / max(6, len(drawn) / 2))
        parts.append(element("circle", cx=point[0], cy=point[1], r=3.5, fill=COLOURS[0]))
        if index % nth == 0 and (index == 0 or index + nth <= len(drawn)):
            parts.append(_label(f"{spoke_count}: {name}", angle, _point(middle, angle, radius + height * 0.12)))
    note = f"{len(drawn)} of {len(portals)} portals" if len(portals) > len(drawn) else f"{len(portals)} portals"
    parts.append(text(12.0, height - 12, f"{note}; of each up to {MAX_SPOKES} of its spokes", fill=FAINT))
    if title:
        parts.append(text(12.0, 22.0, title, fill=INK))
    return figure(width, height, parts, title=title or "portals and their spokes")


def _point(middle: tuple[float, float], angle: float, distance: float) -> tuple[float, float]:
    return middle[0] + distance * math.cos(angle), middle[1] + distance * math.sin(angle)


def _chords(points: Sequence[tuple[float, float]]) -> list[str]:
    lines = "".join(
        f"M{x:.1f} {y:.1f}L{other_x:.1f} {other_y:.1f}"
        for index, (x, y) in enumerate(points)
        for other_x, other_y in points[index + 1 :]
    )
    return [element("path", d=lines, stroke=GRID, fill="none", stroke_width=0.5)] if lines else []


def _fan(point: tuple[float, float], angle: float, spoke_count: int, length: float, spread: float) -> list[str]:
    """The spokes of a portal at `point`, as lines of one length over an angle of `spread` radians around `angle`."""
    lines, dots = [], []
    for number in range(spoke_count):
        spoke_angle = angle + spread * ((number + 0.5) / spoke_count - 0.5)
        x, y = _point(point, spoke_angle, length)
        lines.append(f"M{point[0]:.1f} {point[1]:.1f}L{x:.1f} {y:.1f}")
        dots.append(element("circle", cx=x, cy=y, r=1.3, fill=COLOURS[1]))
    return [element("path", d="".join(lines), stroke=FAINT, fill="none", stroke_width=0.4), *dots] if lines else []


def _label(name: str, angle: float, position: tuple[float, float]) -> str:
    anchor = "start" if math.cos(angle) > 0.2 else "end" if math.cos(angle) < -0.2 else "middle"
    return text(position[0], position[1] + 4.5, name, limit=28, fill=FAINT, text_anchor=anchor, font_size=11)
