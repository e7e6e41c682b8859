"""Standing as a model estimates it from the page alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Page, Plain

from .background import Background
from .features import FEATURES, Features
from .model_nodes import whole
from .model_tree import ModelTree
from .splitting import Floats
from .traffic import Traffic

LARGEST_STATUS = 50.0  # ln(1 + in-links) of more links than there can be
MOST_CHARACTERISTIC = 10_000
_MOST_NOTES = 100
_KIND = "standing of pages, 1"


@dataclass(frozen=True)
class StandingModel:
    """A model tree over the seven features of a page; standing is a sigmoid of what it predicts.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).

    seen: lowest and highest value of each feature in learning, and of the status behind them. What lies beyond counts
    like the nearest seen: no page is so strange that it gets a standing which no page has taught.
    theta: the prediction at which standing is 0.5.
    pages: how many the model was learnt from.
    notes: what its user is to know of it.
    """

    tree: ModelTree
    features: Features
    seen: tuple[tuple[float, float], ...]
    theta: float
    pages: int
    notes: tuple[str, ...] = ()

    def prediction(self, page: Page) -> float:
        """The estimate of ln(1 + in-links)."""
        *seen, (lowest, highest) = self.seen
        features = zip(self.features.of(page), seen, strict=True)
        estimate = self.tree.predict_one([max(low, min(high, value)) for value, (low, high) in features])
        return max(lowest, min(highest, estimate))  # in this order it is a number even where the estimate is none

    def predictions(self, rows: ArrayLike) -> Floats:
        """The same for rows of features, as `features` measures them."""
        *seen, (lowest, highest) = self.seen
        lows, highs = np.array(seen).T
        predictions: Floats = np.clip(self.tree.predict(np.clip(rows, lows, highs)), lowest, highest)
        return predictions

    def standing(self, page: Page) -> float:
        return 1.0 / (1.0 + exp(self.theta - self.prediction(page)))

    def with_theta(self, theta: float) -> "StandingModel":
        """The same model with another middle."""
        if not 0.0 <= theta <= LARGEST_STATUS:
            raise UsageError(f"theta is ln(1 + in-links) of a page in the middle, 0 to {LARGEST_STATUS:g}, not {theta}")
        return replace(self, theta=theta)

    def explain(self) -> str:
        """The features and the tree, to be read."""
        features, background = self.features, self.features.background
        against = "no background" if background is None else f"{background.pages} pages, {len(background)} words"
        given = f"{len(features.traffic)} domains" if len(features.traffic) else "no table"
        width = max(map(len, FEATURES))
        return "\n".join(
            [
                f"standing = sigmoid(prediction - {self.theta:.3g}); the prediction is of ln(1 + in-links)",
                f"learnt from {self.pages} pages, of {_range(self.seen[-1])}",
                *(f"note: {note}" for note in self.notes),
                "",
                *(
                    f"{name:{width}}  {says}; seen {_range(seen)}"
                    for (name, says), seen in zip(FEATURES.items(), self.seen, strict=False)
                ),
                f"characteristic terms: {features.characteristic}; IDF from: {against}",
                f"reach from: {given}; other domains count {features.traffic.neutral:.3g}",
                "",
                self.tree.explain(list(FEATURES)),
            ]
        )

    def to_plain(self) -> Plain:
        """The model as JSON can say it; of the table of traffic, only what domains count that are not in it."""
        background = self.features.background
        return {
            "kind": _KIND,
            "theta": self.theta,
            "seen": [list(between) for between in self.seen],
            "pages": self.pages,
            "notes": list(self.notes),
            "characteristic": self.features.characteristic,
            "domains": len(self.features.traffic),
            "neutral": self.features.traffic.neutral,
            "background": None if background is None else background.to_plain(),
            "tree": self.tree.to_plain(),
        }

    @classmethod
    def from_plain(
        cls, plain: Plain, *, traffic: Mapping[str, float] | None = None, source: str = "the model of standing"
    ) -> "StandingModel":
        """A model that was saved; `source` names it where it cannot be used.

        traffic: the table it was learnt with. Where it is missing, every domain counts as one that is not in it.
        """
        try:
            if plain["kind"] != _KIND:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_KIND!r}")
            if plain["tree"]["attributes"] != len(FEATURES):
                raise ValueError(f"its tree asks for other than {len(FEATURES)} features")
            seen = tuple((_number(low), _number(high)) for low, high in plain["seen"])
            if len(seen) != len(FEATURES) + 1 or any(low > high for low, high in seen):
                raise ValueError(f"seen is not the range of {len(FEATURES)} features and of the status")
            if not all(0.0 <= status <= LARGEST_STATUS for status in seen[-1]):
                raise ValueError(f"a status seen is not within 0 and {LARGEST_STATUS:g}")
            background = None if plain["background"] is None else Background.from_plain(plain["background"])
            model = cls(
                tree=ModelTree.from_plain(plain["tree"], source=source),
                features=Features(
                    background,
                    Traffic(traffic, neutral=_number(plain["neutral"])),
                    characteristic=whole(plain["characteristic"], 1, MOST_CHARACTERISTIC),
                ),
                seen=seen,
                theta=_number(plain["theta"], LARGEST_STATUS),
                pages=whole(plain["pages"], 0, 1 << 53),
                notes=_texts(plain["notes"]),
            )
            learnt_with = whole(plain["domains"], 0, 1 << 53)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; delete it and it is learnt anew") from None
        if learnt_with and not traffic:
            return model.with_note(f"the table of {learnt_with} domains it was learnt with is missing: all count alike")
        return model

    def with_note(self, note: str) -> "StandingModel":
        return self if note in self.notes else replace(self, notes=(*self.notes, note))


def median_prediction(model: StandingModel, pages: Iterable[Page]) -> float:
    """The theta for which half of the pages stand above 0.5; that of the model where there are no pages."""
    predictions = list(map(model.prediction, pages))
    return float(np.median(predictions)) if predictions else model.theta


def _range(between: tuple[float, float]) -> str:
    return f"{between[0]:.3g} to {between[1]:.3g}"


def _number(value: Plain, largest: float = 1e15) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= largest:
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def _texts(values: Plain) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > _MOST_NOTES or not all(isinstance(one, str) for one in values):
        raise ValueError("notes are no list of texts")
    return tuple(values)
