"""What to fetch next. One file per strategy; `STRATEGIES` is the one dictionary of names."""

from collections.abc import Callable, Mapping

from lycosa.vocabulary.contracts import Strategy

from .authority import CrawlAI, CrawlGAI
from .best_first import BaselineFocused, BestFirst
from .collaborative import Collaborative, Combined
from .guided import Guided
from .infospiders import InfoSpiders
from .linkage import Intelligent
from .mapped import CrawlMap, Mapped, NoMap
from .pagerank import PageRank
from .unfocused import BreadthFirst, RandomOrder
from .utility import Adaptive, InLinks, Utility

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
