"""How much a page matters, told from the page alone: a model learnt from pages whose in-links are known.

In-links come from a table (`read_in_links`) or are counted (`count_in_links`); `learn` makes the model, which judges
pages by `standing(page)`, 0 to 1; where there is nothing to learn from, `prior` is the model that comes with Lycosa.
"""

from .background import Background
from .features import FEATURES, Features
from .graph_files import read_graph_in_links
from .in_links import count_in_links
from .learning import known, learn
from .model import StandingModel, median_prediction
from .model_tree import ModelTree
from .prior import prior
from .structure import StructureIndex
from .tables import read_in_links, read_traffic
from .traffic import Traffic

__all__ = [
    "FEATURES",
    "Background",
    "Features",
    "ModelTree",
    "StandingModel",
    "StructureIndex",
    "Traffic",
    "count_in_links",
    "known",
    "learn",
    "median_prediction",
    "prior",
    "read_graph_in_links",
    "read_in_links",
    "read_traffic",
]
