"""Charts as SVG text: pure functions, legible in grey, safe with any label, calm about missing data."""

from .bars import Bar, bar_chart
from .histogram import counts_of, histogram
from .lines import Mark, Series, line_chart

__all__ = ["Bar", "Mark", "Series", "bar_chart", "counts_of", "histogram", "line_chart"]
