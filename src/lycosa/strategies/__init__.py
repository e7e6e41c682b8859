"""What to fetch next. One file per strategy; `STRATEGIES` is the one dictionary of names."""

from collections.abc import Callable, Mapping

from lycosa.vocabulary.contracts import Strategy

from .adaptive import Adaptive
from .baseline_focused import BaselineFocused
from .best_first import BestFirst
from .breadth_first import BreadthFirst
from .collaborative import Collaborative
from .combined import Combined
from .crawl_ai import CrawlAI
from .crawl_gai import CrawlGAI
from .guided import Guided
from .infospiders import InfoSpiders
from .inlinks import InLinks
from .intelligent import Intelligent
from .mapped import CrawlMap, Mapped, NoMap
from .pagerank import PageRank
from .random_order import RandomOrder
from .utility import Utility

STRATEGIES: Mapping[str, Callable[..., Strategy]] = {
    Adaptive.name: Adaptive,
    BaselineFocused.name: BaselineFocused,
    BestFirst.name: BestFirst,
    BreadthFirst.name: BreadthFirst,
    Collaborative.name: Collaborative,
    Combined.name: Combined,
    CrawlAI.name: CrawlAI,
    CrawlGAI.name: CrawlGAI,
    Guided.name: Guided,
    InfoSpiders.name: InfoSpiders,
    InLinks.name: InLinks,
    Intelligent.name: Intelligent,
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
    "Collaborative",
    "Combined",
    "CrawlAI",
    "CrawlGAI",
    "CrawlMap",
    "Guided",
    "InLinks",
    "InfoSpiders",
    "Intelligent",
    "Mapped",
    "NoMap",
    "PageRank",
    "RandomOrder",
    "Utility",
]
