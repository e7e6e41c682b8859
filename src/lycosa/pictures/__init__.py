"""Charts as SVG text: pure functions, legible in greyscale, safe with any label, robust to missing data."""

from .bars import Bar, GroupedBar, bar_chart, bin_counts, grouped_bars, histogram
from .lines import Mark, Series, line_chart

__all__ = [
    "Bar",
    "GroupedBar",
    "Mark",
    "Series",
    "bar_chart",
    "bin_counts",
    "grouped_bars",
    "histogram",
    "line_chart",
]
