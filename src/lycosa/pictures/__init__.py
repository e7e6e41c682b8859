"""Charts as SVG text: pure functions, legible in grey, safe with any label, calm about missing data."""

from .bars import Bar, bar_chart
from .grouped import GroupedBar, grouped_bars
from .histogram import counts_of, histogram
from .lines import Mark, Series, line_chart

__all__ = [
    "Bar",
    "GroupedBar",
    "Mark",
    "Series",
    "bar_chart",
    "counts_of",
    "grouped_bars",
    "histogram",
    "line_chart",
]
