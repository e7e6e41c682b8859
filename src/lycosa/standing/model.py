"""The standing model: prediction, training, and the built-in model."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import islice
from math import exp, log1p

import numpy as np
from numpy.typing import ArrayLike

from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Codes, JsonValue, Page, Url

from .features import CHARACTERISTIC_TERMS, FEATURES, Background, FeatureExtractor, Traffic
from .model_tree import Floats, ModelTree, checked_integer

MAX_STATUS = 50.0  # upper bound of ln(1 + in-links)
MAX_CHARACTERISTIC_TERMS = 10_000
MIN_PAGES = 10
MAX_PAGES = 20_000  # that a model is trained on
_MAX_NOTES = 100
_SPECIFICITY = list(FEATURES).index("information specificity")
_FORMAT = "standing of pages, 1"


@dataclass(frozen=True)
class StandingModel:
    """A model tree over the seven features of a page: standing = 1 / (1 + exp(theta - prediction)), where the
    prediction is of the status, ln(1 + in-links).

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).

    ranges: minimum and maximum of each feature in the training pages, and of their status. Values beyond are clipped,
        so that no page gets a standing that none of the training pages had.
    theta: the prediction at which standing is 0.5.
    pages: number of training pages.
    notes: warnings for the user.
    """

    tree: ModelTree
    features: FeatureExtractor
    ranges: tuple[tuple[float, float], ...]
    theta: float
    pages: int
    notes: tuple[str, ...] = ()

    def prediction(self, page: Page) -> float:
        """The estimate of ln(1 + in-links)."""
        *ranges, (lowest, highest) = self.ranges
        features = zip(self.features.of(page), ranges, strict=True)
        estimate = self.tree.predict_one([max(low, min(high, value)) for value, (low, high) in features])
        return max(lowest, min(highest, estimate))  # this order gives a number even if the estimate is NaN

    def predictions(self, rows: ArrayLike) -> Floats:
        """The same for rows of features."""
        *ranges, (lowest, highest) = self.ranges
        lows, highs = np.array(ranges).T
        predictions: Floats = np.clip(self.tree.predict(np.clip(rows, lows, highs)), lowest, highest)
        return predictions

    def standing(self, page: Page) -> float:
        return 1.0 / (1.0 + exp(self.theta - self.prediction(page)))

    def with_theta(self, theta: float) -> "StandingModel":
        """The same model with another theta."""
        if not 0.0 <= theta <= MAX_STATUS:
            raise UsageError(f"theta is ln(1 + in-links) of a page in the middle, 0 to {MAX_STATUS:g}, not {theta}")
        return replace(self, theta=theta)

    def explain(self) -> str:
        """The features and the tree as text."""
        features, background = self.features, self.features.background
        against = "no background" if background is None else f"{background.pages} pages, {len(background)} words"
        given = f"{len(features.traffic)} domains" if len(features.traffic) else "no table"
        width = max(map(len, FEATURES))
        return "\n".join(
            [
                f"standing = sigmoid(prediction - {self.theta:.3g}); the prediction is of ln(1 + in-links)",
                f"trained on {self.pages} pages, of {_range(self.ranges[-1])}",
                *(f"note: {note}" for note in self.notes),
                "",
                *(
                    f"{name:{width}}  {meaning}; seen {_range(between)}"
                    for (name, meaning), between in zip(FEATURES.items(), self.ranges, strict=False)
                ),
                f"characteristic terms: {features.characteristic}; IDF from: {against}",
                f"reach from: {given}; other domains count {features.traffic.unlisted_value:.3g}",
                "",
                self.tree.explain(list(FEATURES)),
            ]
        )

    def to_plain(self) -> JsonValue:
        """The model as JSON-compatible data; of the table of traffic, only its size and the value of other domains."""
        background = self.features.background
        return {
            "kind": _FORMAT,
            "theta": self.theta,
            "seen": [list(between) for between in self.ranges],
            "pages": self.pages,
            "notes": list(self.notes),
            "characteristic": self.features.characteristic,
            "domains": len(self.features.traffic),
            "neutral": self.features.traffic.unlisted_value,
            "background": None if background is None else background.to_plain(),
            "tree": self.tree.to_plain(),
        }

    @classmethod
    def from_plain(
        cls, plain: JsonValue, *, traffic: Mapping[str, float] | None = None, source: str = "the model of standing"
    ) -> "StandingModel":
        """The model that `to_plain` wrote; `source` names it in the error where it cannot be used.

        traffic: the table it was trained with. Where it is missing, every domain counts as one that is not in it.
        """
        try:
            if plain["kind"] != _FORMAT:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_FORMAT!r}")
            if plain["tree"]["attributes"] != len(FEATURES):
                raise ValueError(f"its tree asks for other than {len(FEATURES)} features")
            ranges = tuple((_number(low), _number(high)) for low, high in plain["seen"])
            if len(ranges) != len(FEATURES) + 1 or any(low > high for low, high in ranges):
                raise ValueError(f"seen is not the range of {len(FEATURES)} features and of the status")
            if not all(0.0 <= status <= MAX_STATUS for status in ranges[-1]):
                raise ValueError(f"a status seen is not within 0 and {MAX_STATUS:g}")
            background = None if plain["background"] is None else Background.from_plain(plain["background"])
            model = cls(
                tree=ModelTree.from_plain(plain["tree"], source=source),
                features=FeatureExtractor(
                    background,
                    Traffic(traffic, unlisted_value=_number(plain["neutral"])),
                    characteristic=checked_integer(plain["characteristic"], 1, MAX_CHARACTERISTIC_TERMS),
                ),
                ranges=ranges,
                theta=_number(plain["theta"], MAX_STATUS),
                pages=checked_integer(plain["pages"], 0, 1 << 53),
                notes=_texts(plain["notes"]),
            )
            trained_domains = checked_integer(plain["domains"], 0, 1 << 53)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}") from None
        if trained_domains and not traffic:
            return model.with_note(
                f"the table of {trained_domains} domains it was trained with is missing: all count the same"
            )
        return model

    def with_note(self, note: str) -> "StandingModel":
        return self if note in self.notes else replace(self, notes=(*self.notes, note))


def median_prediction(model: StandingModel, pages: Iterable[Page]) -> float:
    """The theta for which half of the pages have a standing above 0.5; the model's own if there are no pages."""
    predictions = list(map(model.prediction, pages))
    return float(np.median(predictions)) if predictions else model.theta


def _range(between: tuple[float, float]) -> str:
    return f"{between[0]:.3g} to {between[1]:.3g}"


def _number(value: JsonValue, maximum: float = 1e15) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= maximum:
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def _texts(values: JsonValue) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > _MAX_NOTES or not all(isinstance(one, str) for one in values):
        raise ValueError("notes are no list of texts")
    return tuple(values)


@cache
def prior() -> StandingModel:
    """The built-in model, for crawls without training data; prior.json documents how it was made.

    It uses five features. Words and reach differ too much between webs: it has no background, so that all pages have
    the same specificity, and no table of traffic.
    """
    text = files(__package__).joinpath("prior.json").read_text(encoding="utf-8")
    model = StandingModel.from_plain(json.loads(text)["model"], source="the model that comes with Lycosa")
    return model.with_note("importance is estimated with the built-in model, which was trained on other webs")


def learn(
    pages: Iterable[tuple[Page, float]],
    *,
    background: Iterable[Page] = (),
    traffic: Mapping[str, float] | None = None,
    characteristic: int = CHARACTERISTIC_TERMS,
) -> StandingModel:
    """The model trained on pages with their status, ln(1 + in-links).

    The pages are also the background of document frequencies; theta is their median prediction. If nothing can be
    learnt (fewer than 10 pages, all of one status, or identical features), the built-in model is returned, with the
    reason in its notes. Only the first 20 000 pages are used.

    background: further pages for the document frequencies, such as bad examples: if all pages are on one topic, the
        words of any other seem special.
    traffic: registered domain -> reach.
    characteristic: number of characteristic terms of a page.
    """
    if not 1 <= characteristic <= MAX_CHARACTERISTIC_TERMS:
        raise UsageError(f"characteristic terms must be 1 to {MAX_CHARACTERISTIC_TERMS}, not {characteristic}")
    traffic_table = Traffic(traffic)
    containing: Counter[str] = Counter()
    words: list[tuple[Codes, Codes]] = []  # of each page, the codes (64-bit hashes) of its words and their counts
    rows: list[tuple[float, ...]] = []
    statuses: list[float] = []
    for page, status in islice(pages, MAX_PAGES):
        if 0.0 <= status <= MAX_STATUS:
            containing.update(page.terms.keys())
            words.append(page.words.term_counts)
            rows.append(FeatureExtractor(traffic=traffic_table).of(page))
            statuses.append(status)
    count = len(rows)
    for page in islice(background, MAX_PAGES):
        containing.update(page.terms.keys())
        count += 1
    features = FeatureExtractor(Background.from_counts(containing, count), traffic_table, characteristic=characteristic)
    table = np.array(rows).reshape(-1, len(FEATURES))
    problem = _problem(table, statuses)
    if problem:
        return _prior_for(table, problem)
    table[:, _SPECIFICITY] = [features.specificity(term_counts) for term_counts in words]
    return fit(table, statuses, features)


def fit(table: Floats, statuses: Sequence[float], features: FeatureExtractor) -> StandingModel:
    """The model trained on rows of features, as `features` computes them, and the status of each."""
    ranges = [*zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True), (min(statuses), max(statuses))]
    model = StandingModel(ModelTree().fit(table, statuses), features, tuple(ranges), theta=0.0, pages=len(table))
    predictions = model.predictions(table)
    model = model.with_theta(float(np.median(predictions)))
    if np.ptp(predictions) == 0.0:
        return model.with_note("the given pages say nothing about importance: all pages count the same")
    return model


def labelled(pages: Iterable[Page], in_links: Mapping[Url, float]) -> Iterator[tuple[Page, float]]:
    """The pages whose in-links are known, each with its status: the training data of `learn`."""
    return ((page, log1p(in_links[page.url])) for page in pages if page.url in in_links)


def _problem(table: Floats, statuses: list[float]) -> str:
    """Why nothing can be learnt from these pages; empty if something can."""
    if len(statuses) < MIN_PAGES:
        return f"the in-links of {len(statuses)} pages are known, and {MIN_PAGES} are needed"
    if min(statuses) == max(statuses):
        return f"all {len(statuses)} pages of known in-links have the same number of them"
    if (table == table[0]).all():
        return f"all {len(statuses)} pages of known in-links look alike"
    return ""


def _prior_for(table: Floats, problem: str) -> StandingModel:
    model = prior()
    theta = float(np.median(model.predictions(table))) if len(table) else model.theta
    return replace(model, theta=theta, notes=(problem, *model.notes))
