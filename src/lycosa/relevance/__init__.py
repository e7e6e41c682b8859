"""How well a page fits the topic. Every model has `relevance(page)`, 0 to 1; a page is relevant from 0.5 on."""

from .cosine import Cosine
from .examples import Example, background, read_examples
from .function import Function, load_function
from .predicates import All, Either, Keywords, Not, Predicate, UrlPattern
from .svm import RETRAIN_AT, LinearModel, least_like, retrain, train
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
