"""Models of relevance that learn from examples, by name: Lycosa's own and those of plug-ins."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.plugins import find_by_name, names_of, plugins, require_members
from lycosa.vocabulary.records import Plain

from .positive_unlabelled import train_from_positives
from .svm import LinearModel

Terms = Mapping[str, int]  # how often a page says each word, less stop words and numbers
LINEAR = "linear"


class TrainedRelevance(Relevance, Protocol):
    """A model that was trained, and can be saved."""

    def to_plain(self) -> Plain:
        """All of it as plain data, which is kept in the collection."""
        ...


class Trainer(Protocol):
    """What makes a model; mostly its class."""

    def train(
        self,
        good: Sequence[Terms],
        bad: Sequence[Terms],
        unlabelled: Sequence[Terms],
        background: Sequence[Terms],
    ) -> TrainedRelevance:
        """A model of the good pages; the same pages in the same order give the same model.

        bad: pages that the user calls bad, if any.
        unlabelled: a sample of the crawl so far, on the topic or not; empty at first.
        background: texts on many subjects; empty where the user gave a file of bad pages.
        """
        ...

    def from_plain(self, plain: Plain) -> TrainedRelevance:
        """A model that `to_plain` has saved."""
        ...


class LinearTrainer:
    """Trains the linear support vector machine that judges pages by default."""

    def train(
        self,
        good: Sequence[Terms],
        bad: Sequence[Terms],
        unlabelled: Sequence[Terms],
        background: Sequence[Terms],
    ) -> LinearModel:
        return train_from_positives(good, bad, unlabelled, background)

    def from_plain(self, plain: Plain) -> LinearModel:
        return LinearModel.from_plain(plain)


TRAINERS: Mapping[str, Trainer] = {LINEAR: LinearTrainer()}


def is_trainer(name: str) -> bool:
    """Whether there is such a model; a plug-in of that name is not loaded for it."""
    return name in TRAINERS or name in plugins("lycosa.relevance")


def trainer_names() -> str:
    """All there are, for messages."""
    return names_of(TRAINERS, "lycosa.relevance")


def find_trainer(name: str) -> Trainer:
    """What trains the model of this name."""
    found: Any = find_by_name(TRAINERS, "lycosa.relevance", name, what="relevance model")
    require_members(found, "lycosa.relevance", name, has=("train", "from_plain"), what="a relevance model that learns")
    trainer: Trainer = found
    return trainer
