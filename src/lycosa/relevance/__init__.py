"""How well a page fits the topic. Every model has `relevance(page)`, 0 to 1, and a page is relevant from 0.5 on."""

from .background import background
from .cosine import Cosine
from .examples import Example, read_examples
from .function import Function, load_function
from .keywords import Keywords
from .learning import train
from .predicates import All, Either, Not, Predicate, UrlPattern
from .retraining import RETRAIN_AT, least_like, retrain
from .svm import LinearModel
from .taxonomy import Taxonomy

__all__ = [
    "RETRAIN_AT",
    "All",
    "Cosine",
    "Either",
    "Example",
    "Function",
    "Keywords",
    "LinearModel",
    "Not",
    "Predicate",
    "Taxonomy",
    "UrlPattern",
    "background",
    "least_like",
    "load_function",
    "read_examples",
    "retrain",
    "train",
]
