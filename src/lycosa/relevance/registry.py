"""Relevance models that are trained on examples, by name: built-in ones and those of plug-ins."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.plugins import find_by_name, names_of, plugins, require_members
from lycosa.vocabulary.records import JsonValue

from .positive_unlabelled import train_from_positives
from .svm import LinearModel

Terms = Mapping[str, int]  # counts of the words of a page, without stop words and numbers
LINEAR = "linear"


class TrainedRelevance(Relevance, Protocol):
    """A trained model that can be saved."""

    def to_plain(self) -> JsonValue:
        """The model as plain data, which is saved in the collection."""
        ...


class Trainer(Protocol):
    """Trains a model; usually its class."""

    def train(
        self,
        good: Sequence[Terms],
        bad: Sequence[Terms],
        unlabelled: Sequence[Terms],
        background: Sequence[Terms],
    ) -> TrainedRelevance:
        """Trains a model; the same pages in the same order must give the same model.

        bad: bad examples of the user, if any.
        unlabelled: a sample of the crawl so far, on the topic or not; empty at first.
        background: texts on many subjects; empty if the user gave five bad pages or more.
        """
        ...

    def from_plain(self, plain: JsonValue) -> TrainedRelevance:
        """The inverse of `to_plain`."""
        ...


class LinearTrainer:
    """Trains the default model, a linear support vector machine."""

    def train(
        self,
        good: Sequence[Terms],
        bad: Sequence[Terms],
        unlabelled: Sequence[Terms],
        background: Sequence[Terms],
        *,
        pages: int = 0,
    ) -> LinearModel:
        """pages: number of pages of the crawl; the unlabelled ones are a sample of them."""
        return train_from_positives(good, bad, unlabelled, background, pages=pages)

    def from_plain(self, plain: JsonValue) -> LinearModel:
        return LinearModel.from_plain(plain)


TRAINERS: Mapping[str, Trainer] = {LINEAR: LinearTrainer()}


def is_trainer(name: str) -> bool:
    """Whether there is such a model; does not load a plug-in."""
    return name in TRAINERS or name in plugins("lycosa.relevance")


def trainer_names() -> str:
    """The names of all models, for messages."""
    return names_of(TRAINERS, "lycosa.relevance")


def find_trainer(name: str) -> Trainer:
    """The trainer of this name."""
    found: Any = find_by_name(TRAINERS, "lycosa.relevance", name, what="relevance model")
    require_members(
        found, "lycosa.relevance", name, attributes=("train", "from_plain"), what="a relevance model that learns"
    )
    trainer: Trainer = found
    return trainer
