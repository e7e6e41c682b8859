"""Strategies that weigh the relevance of pages against their standing."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import exp, isfinite, log1p
from typing import Literal, Protocol, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.standing.in_links import InLinkIndex
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit
from lycosa.vocabulary.text import tokens_of

from .anchors import AnchorBoost
from .base import BaseStrategy, checked_number, checked_share, clamped

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])  # one page, or an array of pages


def cobb_douglas(relevance: FloatOrArray, standing: FloatOrArray, alpha: float) -> FloatOrArray:
    """relevance^α · standing^(1-α), with 0^0 = 1, so that a factor of weight 0 does not count.

    >>> cobb_douglas(0.9, 0.4, 0.5)
    0.6
    """
    utility: FloatOrArray = relevance**alpha * standing ** (1 - alpha)
    return utility


def linear(relevance: FloatOrArray, standing: FloatOrArray, alpha: float) -> FloatOrArray:
    """α · relevance + (1-α) · standing.

    >>> linear(0.9, 0.4, 0.5)
    0.65
    """
    return alpha * relevance + (1 - alpha) * standing


class Form(Protocol):
    """A function that combines relevance and standing."""

    def __call__(self, relevance: FloatOrArray, standing: FloatOrArray, alpha: float) -> FloatOrArray: ...


FormName = Literal["cobb-douglas", "linear"]
FORMS: Mapping[FormName, Form] = {"cobb-douglas": cobb_douglas, "linear": linear}


class Utility(BaseStrategy):
    """Follows the links of pages first that are both on the topic and of high standing.

    priority = utility of the page on which the link was found, at that time; the highest if there are several

    With the form "cobb-douglas", utility = relevance^α · standing^(1-α); with "linear", α · relevance + (1-α) ·
    standing. Without a standing, utility = relevance (α = 1); a missing relevance is 0. If the topic is also given in
    words, `AnchorBoost` raises links whose anchors contain them.

    alpha: α, the weight of relevance against standing; 1 is relevance alone, 0 standing alone.
    form: how the two are combined, one of `FORMS`.
    window: number of pages over which `recent_relevance` is the mean.
    example_urls: training pages, which are excluded from that mean: a model's scores of its own examples are biased.
    topic_words: words of the topic, for `AnchorBoost`.
    split: splits an anchor into words, normalised like `topic_words`.
    enough: number of relevant pages after which anchors no longer count.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).
    """

    name = "utility"
    uses_standing = True

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        form: FormName = "cobb-douglas",
        window: int = 25,
        example_urls: Collection[Url] = (),
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        if form not in FORMS:
            raise UsageError(f"no utility of the form {form!r}; there are {', '.join(FORMS)}")
        checked_number("window", window, 1, 1e6)
        checked_number("enough", enough, 0)
        self._alpha = checked_share("alpha", alpha)
        self._combine = FORMS[form]
        self._recent: deque[float] = deque(maxlen=window)  # relevance of the last pages
        self._recent_relevance: float | None = None  # their mean
        self._example_urls = frozenset(example_urls)
        self._anchors = AnchorBoost(topic_words, split=split, enough=enough)

    @property
    def alpha(self) -> float:
        """The current weight of relevance."""
        return self._alpha

    @property
    def recent_relevance(self) -> float | None:
        """Mean relevance of the last pages; None before the first."""
        return self._recent_relevance

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.page is not None:
            relevance = clamped(event.relevance)
            self._anchors.learn(relevance)
            if self._is_in_mean(event):
                self._recent.append(relevance)
                self._recent_relevance = sum(self._recent) / len(self._recent)

    def _is_in_mean(self, visit: Visit) -> bool:
        return visit.candidate.url not in self._example_urls

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return []
        relevance = clamped(event.relevance)
        recent_relevance = relevance if self._recent_relevance is None else self._recent_relevance
        because: dict[str, JsonValue] = {
            "relevance": round(relevance, 4),
            "topicality_lately": round(recent_relevance, 4),
        }
        if event.standing is None:
            utility = relevance
            because["alpha"] = 1.0
        else:
            standing = clamped(event.standing)
            utility = clamped(self._combine(relevance, standing, self._alpha))
            because["standing"] = round(standing, 4)
            because["alpha"] = round(self._alpha, 4)
        because["utility"] = round(utility, 4)
        return self._anchors.candidates(event, self._link_priority(utility, because), because)

    def _link_priority(self, utility: float, because: dict[str, JsonValue]) -> float:
        """The priority of the links of a page of this utility, 0 to 1."""
        return utility

    def scale_priorities(self, share: float) -> None:
        """Multiplies the priority of every link by `share` from now on: see `mapped.SupportsScaling`."""
        self._anchors.share = share

    def state(self) -> JsonValue:
        return {"last": list(self._recent), "relevant_seen": self._anchors.relevant_seen}

    def restore(self, state: JsonValue) -> None:
        self._recent = deque(state["last"], maxlen=self._recent.maxlen)
        self._recent_relevance = sum(self._recent) / len(self._recent) if self._recent else None
        self._anchors.relevant_seen = state["relevant_seen"]


_EPSILON = 1e-12  # utilities closer than this are equal: scalar and array computation differ by rounding


class RecentPages:
    """The relevance and the standing of the last `size` pages, among which utilities are ranked."""

    def __init__(self, size: int):
        self._size = size
        self._pages = np.empty((2, size))  # relevance and standing, in a ring
        self._seen = 0  # number of pages added so far

    def __len__(self) -> int:
        return min(self._seen, self._size)

    def add(self, relevance: float, standing: float) -> None:
        self._pages[:, self._seen % self._size] = relevance, standing
        self._seen += 1

    def quantile_match(self, utility: float, form: Form, *, alpha: float, to_alpha: float) -> float:
        """Quantile-match a utility under `alpha` to one under `to_alpha`, over the last pages.

        Ties take the middle rank.
        """
        relevance, standing = self._pages[:, : len(self)]
        utilities = form(relevance, standing, alpha)
        below = int(np.count_nonzero(utilities < utility - _EPSILON))
        equal = int(np.count_nonzero(utilities <= utility + _EPSILON)) - below
        rank = min(below + max(equal - 1, 0) // 2, len(self) - 1)
        return float(np.sort(form(relevance, standing, to_alpha))[rank])

    def state(self) -> JsonValue:
        """Relevance and standing of each page, oldest first."""
        first = self._seen % self._size if self._seen > self._size else 0
        return np.roll(self._pages[:, : len(self)], -first, axis=1).tolist()

    def restore(self, state: Sequence[Sequence[float]]) -> None:
        self._seen = 0
        for relevance, standing in zip(*state, strict=True):
            self.add(relevance, standing)


class Adaptive(Utility):
    """Follows links by utility, with a weight α that adapts to the relevance of the last pages.

    After every page: α = clamp(α + step · (target - mean relevance of the last `window` pages), 0, 1)

    Utilities under different α are not comparable: relevance alone is mostly larger than its product with standing.
    Therefore the utility of a page under the current α is quantile-matched, over the last `ranked_among` pages, to one
    under the initial α, which is the priority of its links. Waiting links keep their priority.

    target: desired mean relevance, 0 to 1.
    ranked_among: size of the sample for quantile matching, training pages included; 0: no matching, as published.
    window: pages over which the mean is taken; fewer at the start.
    alpha: the initial α.
    example_urls: training pages, which do not change α: a model's scores of its own examples are biased.
    form, topic_words, split, enough: see `Utility`.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).
    """

    name = "adaptive"

    def __init__(
        self,
        *,
        target: float = 0.7,
        ranked_among: int = 500,
        window: int = 25,
        step: float = 0.01,
        alpha: float = 0.5,
        form: FormName = "cobb-douglas",
        example_urls: Collection[Url] = (),
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        super().__init__(
            alpha=alpha,
            form=form,
            window=window,
            example_urls=example_urls,
            topic_words=topic_words,
            split=split,
            enough=enough,
        )
        self._target = checked_share("target", target)
        self._step = checked_number("step", step, 0.0)
        checked_number("ranked_among", ranked_among, 0, 1e6)
        self._initial_alpha = self._alpha
        self._recent_pages = RecentPages(ranked_among) if ranked_among else None

    def learn(self, event: Visit | Skip) -> None:
        super().learn(event)
        if isinstance(event, Skip) or event.page is None:
            return
        if self._recent_relevance is not None and self._is_in_mean(event):
            self._alpha = clamped(self._alpha + self._step * (self._target - self._recent_relevance))
        if self._recent_pages is not None:
            relevance = clamped(event.relevance)
            # Without a standing, utility = relevance under every α, as if both were equal.
            self._recent_pages.add(relevance, relevance if event.standing is None else clamped(event.standing))

    def _link_priority(self, utility: float, because: dict[str, JsonValue]) -> float:
        if not self._recent_pages:
            return utility
        priority = self._recent_pages.quantile_match(
            utility, self._combine, alpha=self._alpha, to_alpha=self._initial_alpha
        )
        if round(priority, 4) != because["utility"]:
            because["worth"] = round(priority, 4)
        return priority

    def state(self) -> JsonValue:
        return {
            **super().state(),
            "alpha": self._alpha,
            "among": None if self._recent_pages is None else self._recent_pages.state(),
        }

    def restore(self, state: JsonValue) -> None:
        super().restore(state)
        self._alpha = state["alpha"]
        if self._recent_pages is not None:
            self._recent_pages.restore(state["among"])


class InLinks(Adaptive):
    """The adaptive strategy without a model of standing: it counts in-links from the pages fetched so far.

    standing = sigmoid(ln(1 + in-links) - θ)

    The standing of the visit is ignored. A page that links twice counts once; links that may not be followed do not
    count. The paper leaves θ open: by default, it is the median of ln(1 + in-links), at the time of the visit, over the
    pages of this crawl.

    theta: θ, instead of the median.
    target, ranked_among, window, step, alpha, form, example_urls, topic_words, split, enough: see `Adaptive`.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).
    """

    name = "inlinks"
    uses_standing = False  # it counts in-links itself

    def __init__(
        self,
        *,
        target: float = 0.7,
        theta: float | None = None,
        ranked_among: int = 500,
        window: int = 25,
        step: float = 0.01,
        alpha: float = 0.5,
        form: FormName = "cobb-douglas",
        example_urls: Collection[Url] = (),
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        super().__init__(
            target=target,
            ranked_among=ranked_among,
            window=window,
            step=step,
            alpha=alpha,
            form=form,
            example_urls=example_urls,
            topic_words=topic_words,
            split=split,
            enough=enough,
        )
        if theta is not None and not isfinite(theta):
            raise UsageError(f"theta must be a number, not {theta}")
        self._fixed_theta = theta
        self._index = InLinkIndex()
        self._in_link_histogram: list[int] = []  # [k]: pages that had k in-links when they were visited

    @property
    def theta(self) -> float:
        """The given θ, else the current median; 0 before the first page."""
        return _median(self._in_link_histogram) if self._fixed_theta is None else self._fixed_theta

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.page is not None:
            url = event.candidate.url
            in_links = self._index.count(url)
            self._in_link_histogram += [0] * (in_links + 1 - len(self._in_link_histogram))
            self._in_link_histogram[in_links] += 1
            self._index.add(url, (link.target for link in event.open_links()))
        super().learn(self._with_standing(event))

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return super().propose(self._with_standing(event))

    def _with_standing(self, event: Visit | Skip) -> Visit | Skip:
        """A visit with the standing of its page by the in-links seen so far."""
        if isinstance(event, Skip):
            return event
        return replace(event, standing=_sigmoid(log1p(self._index.count(event.candidate.url)) - self.theta))

    def state(self) -> JsonValue:
        return {**super().state(), "pages_with": list(self._in_link_histogram), "index": self._index.state()}

    def restore(self, state: JsonValue) -> None:
        super().restore(state)
        self._in_link_histogram = list(state["pages_with"])
        self._index.restore(state["index"])


def _median(histogram: list[int]) -> float:
    """The median of ln(1 + k), where `histogram[k]` pages have k in-links."""
    pages = sum(histogram)
    if not pages:
        return 0.0
    return (_log_at_rank(histogram, (pages - 1) // 2) + _log_at_rank(histogram, pages // 2)) / 2


def _log_at_rank(histogram: list[int], rank: int) -> float:
    """ln(1 + k) of the page at this rank, counted from 0."""
    for in_links, pages in enumerate(histogram):
        rank -= pages
        if rank < 0:
            return log1p(in_links)
    raise IndexError(rank)


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))
