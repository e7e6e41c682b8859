"""Where the entries of a legend stand."""

from collections.abc import Sequence

ROW = 20.0
NAME_LIMIT = 40  # characters shown


def legend_places(
    names: Sequence[str], *, left: float, right: float, sample: float
) -> tuple[list[tuple[float, float]], float]:
    """Where each sample (`sample` wide, its name behind it) begins, in as many rows as it takes, and their height."""
    places, x, row = [], left, 0
    for name in names:
        needed = sample + 18 + 7.5 * min(len(name), NAME_LIMIT)
        if x > left and x + needed > right:
            x, row = left, row + 1
        places.append((x, ROW * row))
        x += needed
    return places, ROW * (row + 1)
