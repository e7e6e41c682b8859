"""Strategies: what to fetch next. `registry.STRATEGIES` lists them by name; `base.BaseStrategy` is their base class."""

from .authority import CrawlAI, CrawlGAI
from .base import BaseStrategy
from .best_first import BaselineFocused, BestFirst
from .collaborative import Collaborative, Combined
from .guided import Guided
from .infospiders import InfoSpiders
from .linkage import Intelligent
from .mapped import CrawlMap, Mapped, NoMap
from .pagerank import PageRank
from .registry import STRATEGIES, Entry, Option, find_strategy
from .unfocused import BreadthFirst, RandomOrder
from .utility import Adaptive, InLinks, Utility

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "BaseStrategy",
    "BaselineFocused",
    "BestFirst",
    "BreadthFirst",
    "Collaborative",
    "Combined",
    "CrawlAI",
    "CrawlGAI",
    "CrawlMap",
    "Entry",
    "Guided",
    "InLinks",
    "InfoSpiders",
    "Intelligent",
    "Mapped",
    "NoMap",
    "Option",
    "PageRank",
    "RandomOrder",
    "Utility",
    "find_strategy",
]
