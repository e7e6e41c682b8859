"""Charts as SVG text: pure functions, legible in greyscale, safe with any label, robust to missing data."""

from .bars import Bar, GroupedBar, bar_chart, bin_counts, grouped_bars, histogram
from .lines import Series, VerticalLine, line_chart

__all__ = [
    "Bar",
    "GroupedBar",
    "Series",
    "VerticalLine",
    "bar_chart",
    "bin_counts",
    "grouped_bars",
    "histogram",
    "line_chart",
]
