"""The importance of a page, estimated from the page alone by a model trained on pages with known in-links.

In-links come from a table (`read_in_links`), a graph (`read_graph_in_links`) or are counted (`count_in_links`); `learn`
trains the model, whose `standing(page)` is 0 to 1; without training data, `prior` is the built-in model.
"""

from .features import FEATURES, Background, FeatureExtractor, Traffic
from .graph_files import read_graph_in_links
from .in_links import InLinkIndex, count_in_links
from .model import StandingModel, labelled, learn, median_prediction, prior
from .model_tree import ModelTree
from .tables import read_in_links, read_traffic

__all__ = [
    "FEATURES",
    "Background",
    "FeatureExtractor",
    "InLinkIndex",
    "ModelTree",
    "StandingModel",
    "Traffic",
    "count_in_links",
    "labelled",
    "learn",
    "median_prediction",
    "prior",
    "read_graph_in_links",
    "read_in_links",
    "read_traffic",
]
