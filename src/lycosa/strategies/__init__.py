"""What to fetch next. One file per strategy; `STRATEGIES` is the one dictionary of names."""

from collections.abc import Callable, Mapping

from lycosa.vocabulary.contracts import Strategy

from .adaptive import Adaptive
from .baseline_focused import BaselineFocused
from .best_first import BestFirst
from .breadth_first import BreadthFirst
from .crawl_ai import CrawlAI
from .crawl_gai import CrawlGAI
from .infospiders import InfoSpiders
from .inlinks import InLinks
from .mapped import CrawlMap, Mapped, NoMap
from .pagerank import PageRank
from .random_order import RandomOrder
from .utility import Utility

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {
    Adaptive.name: Adaptive,
    BaselineFocused.name: BaselineFocused,
    BestFirst.name: BestFirst,
    BreadthFirst.name: BreadthFirst,
    CrawlAI.name: CrawlAI,
    CrawlGAI.name: CrawlGAI,
    InfoSpiders.name: InfoSpiders,
    InLinks.name: InLinks,
    Mapped.name: Mapped,
    PageRank.name: PageRank,
    RandomOrder.name: RandomOrder,
    Utility.name: Utility,
}

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "BaselineFocused",
    "BestFirst",
    "BreadthFirst",
    "CrawlAI",
    "CrawlGAI",
    "CrawlMap",
    "InLinks",
    "InfoSpiders",
    "Mapped",
    "NoMap",
    "PageRank",
    "RandomOrder",
    "Utility",
]
