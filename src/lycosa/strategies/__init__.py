"""What to fetch next. One file per strategy; `STRATEGIES` is the one dictionary of names."""

from collections.abc import Callable, Mapping

from lycosa.vocabulary.contracts import Strategy

from .best_first import BestFirst
from .breadth_first import BreadthFirst
from .infospiders import InfoSpiders
from .pagerank import PageRank
from .random_order import RandomOrder

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {
    BestFirst.name: BestFirst,
    BreadthFirst.name: BreadthFirst,
    InfoSpiders.name: InfoSpiders,
    PageRank.name: PageRank,
    RandomOrder.name: RandomOrder,
}

__all__ = ["STRATEGIES", "BestFirst", "BreadthFirst", "InfoSpiders", "PageRank", "RandomOrder"]
