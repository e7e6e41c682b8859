"""How a model of standing is learnt from pages whose in-links are known."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import log1p

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Codes, Page, Url

from .background import Background
from .features import CHARACTERISTIC, FEATURES, Features
from .model import LARGEST_STATUS, MOST_CHARACTERISTIC, StandingModel
from .model_tree import ModelTree
from .prior import prior
from .splitting import Floats
from .traffic import Traffic

FEWEST_PAGES = 10
MOST_PAGES = 20_000  # that a model is learnt from
_SPECIFICITY = list(FEATURES).index("information specificity")


def learn(
    pages: Iterable[tuple[Page, float]],
    *,
    background: Iterable[Page] = (),
    traffic: Mapping[str, float] | None = None,
    characteristic: int = CHARACTERISTIC,
) -> StandingModel:
    """The model that these pages teach; each comes with its status, ln(1 + in-links).

    The pages are also the background against which the words of others are special or not; theta is their median
    prediction. Where they teach nothing (fewer than 10 of known status, all of one status, all alike), the
    model is the prior one, and its notes say why. Pages past the first 20 000 are left out.

    background: further pages for the background, such as bad examples: where all are on one topic, the words of any
    other seem special.
    traffic: registered domain -> reach.
    characteristic: how many terms of a page say how special its words are.
    """
    if not 1 <= characteristic <= MOST_CHARACTERISTIC:
        raise UsageError(f"characteristic terms are to be 1 to {MOST_CHARACTERISTIC}, not {characteristic}")
    reach = Traffic(traffic)
    containing: Counter[str] = Counter()
    words: list[tuple[Codes, Codes]] = []
    rows: list[tuple[float, ...]] = []
    statuses: list[float] = []
    for page, status in islice(pages, MOST_PAGES):
        if 0.0 <= status <= LARGEST_STATUS:
            containing.update(page.terms.keys())
            words.append(page.words.counted)
            rows.append(Features(traffic=reach).of(page))
            statuses.append(status)
    count = len(rows)
    for page in islice(background, MOST_PAGES):
        containing.update(page.terms.keys())
        count += 1
    features = Features(Background.counted(containing, count), reach, characteristic=characteristic)
    table = np.array(rows).reshape(-1, len(FEATURES))
    problem = _problem(table, statuses)
    if problem:
        return _prior_for(table, problem)
    table[:, _SPECIFICITY] = [features.specificity(counted) for counted in words]
    return fitted(table, statuses, features)


def fitted(table: Floats, statuses: Sequence[float], features: Features) -> StandingModel:
    """The model for rows of features, as `features` measures them, and the status behind each."""
    seen = [*zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True), (min(statuses), max(statuses))]
    model = StandingModel(ModelTree().fit(table, statuses), features, tuple(seen), theta=0.0, pages=len(table))
    predictions = model.predictions(table)
    model = model.with_theta(float(np.median(predictions)))
    if np.ptp(predictions) == 0.0:
        return model.with_note("the pages learnt from do not show how well they stand: all pages count alike")
    return model


def known(pages: Iterable[Page], in_links: Mapping[Url, float]) -> Iterator[tuple[Page, float]]:
    """Those of the pages whose in-links are told, with their status: what `learn` learns from."""
    return ((page, log1p(in_links[page.url])) for page in pages if page.url in in_links)


def _problem(table: Floats, statuses: list[float]) -> str:
    """Why these pages teach nothing; empty where they do."""
    if len(statuses) < FEWEST_PAGES:
        return f"the in-links of {len(statuses)} pages are known, and {FEWEST_PAGES} are needed"
    if min(statuses) == max(statuses):
        return f"all {len(statuses)} pages of known in-links have the same number of them"
    if (table == table[0]).all():
        return f"all {len(statuses)} pages of known in-links look alike"
    return ""


def _prior_for(table: Floats, problem: str) -> StandingModel:
    model = prior()
    theta = float(np.median(model.predictions(table))) if len(table) else model.theta
    return replace(model, theta=theta, notes=(problem, *model.notes))
