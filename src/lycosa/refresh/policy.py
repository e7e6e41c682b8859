from typing import Protocol

from .history import HistoryTable, Ints


class RefreshPolicy(Protocol):
    """Says which pages to look at again. Constructor keywords are its options; the same seed gives the same choices."""

    name: str

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        """Rows of the table, the most urgent first, no row twice; `budget` of them, or fewer if it wants no more."""
        ...
