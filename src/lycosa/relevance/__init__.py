"""How well a page fits the topic. Every model has `relevance(page)`, 0 to 1; a page is relevant at 0.5 or more."""

from .cosine import Cosine
from .examples import Example, background, read_examples
from .function import Function, load_function
from .positive_unlabelled import train_from_positives
from .predicates import All, Either, Keywords, Not, Predicate, UrlPattern
from .svm import LinearModel, train
from .taxonomy import Taxonomy

__all__ = [
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
    "load_function",
    "read_examples",
    "train",
    "train_from_positives",
]
