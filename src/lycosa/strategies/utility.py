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
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit
from lycosa.vocabulary.tokens import tokens_of

from .anchors import AnchorBoost
from .base import BaseStrategy, checked_share, clamped

Each = TypeVar("Each", float, NDArray[np.float64])  # one page, or many side by side


def cobb_douglas(relevance: Each, standing: Each, alpha: float) -> Each:
    """relevance^α · standing^(1-α), where 0^0 is 1: what has no weight does not count.

    >>> cobb_douglas(0.9, 0.4, 0.5)
    0.6
    """
    utility: Each = relevance**alpha * standing ** (1 - alpha)
    return utility


def linear(relevance: Each, standing: Each, alpha: float) -> Each:
    """α · relevance + (1-α) · standing.

    >>> linear(0.9, 0.4, 0.5)
    0.65
    """
    return alpha * relevance + (1 - alpha) * standing


class Form(Protocol):
    """How relevance and standing are put together."""

    def __call__(self, relevance: Each, standing: Each, alpha: float) -> Each: ...


FormName = Literal["cobb-douglas", "linear"]
FORMS: Mapping[FormName, Form] = {"cobb-douglas": cobb_douglas, "linear": linear}


class Utility(BaseStrategy):
    """Follows first the links of pages that are both on the topic and of high standing.

    A link is worth the utility of the best page it was found on, as it was reckoned then; where the topic was also
    given in words, their anchors help to find the way in. A page whose standing nobody tells is worth its relevance
    (α counts as 1 for it), one whose relevance nobody tells has none.

    alpha: α, the weight of relevance against standing; 1 goes by relevance alone, 0 by standing alone.
    form: how the two are put together, one of `FORMS`.
    window: pages over whose relevance `lately` is the mean.
    taught: pages that do not count in it: what a model says of those it has learnt from says little.
    topic_words, split, enough: as `AnchorBoost` has them.

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
        taught: Collection[Url] = (),
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        if form not in FORMS:
            raise UsageError(f"no utility of the form {form!r}; there are {', '.join(FORMS)}")
        if window < 1:
            raise UsageError(f"the window must have a page or more, not {window}")
        self._alpha = checked_share("alpha", alpha)
        self._combine = FORMS[form]
        self._last: deque[float] = deque(maxlen=window)  # relevance of the last pages
        self._lately: float | None = None  # their mean
        self._taught = frozenset(taught)
        self._way_in = AnchorBoost(topic_words, split=split, enough=enough)

    @property
    def alpha(self) -> float:
        """The weight of relevance at present."""
        return self._alpha

    @property
    def lately(self) -> float | None:
        """Mean relevance of the last pages; None before the first."""
        return self._lately

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.page is not None:
            relevance = clamped(event.relevance)
            self._way_in.learn(relevance)
            if self._counts(event):
                self._last.append(relevance)
                self._lately = sum(self._last) / len(self._last)

    def _counts(self, visit: Visit) -> bool:
        return visit.candidate.url not in self._taught

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return []
        relevance = clamped(event.relevance)
        lately = relevance if self._lately is None else self._lately
        because: dict[str, Plain] = {"relevance": round(relevance, 4), "topicality_lately": round(lately, 4)}
        if event.standing is None:
            utility = relevance
            because["alpha"] = 1.0
        else:
            standing = clamped(event.standing)
            utility = clamped(self._combine(relevance, standing, self._alpha))
            because["standing"] = round(standing, 4)
            because["alpha"] = round(self._alpha, 4)
        because["utility"] = round(utility, 4)
        return self._way_in.candidates(event, self._worth(utility, because), because)

    def _worth(self, utility: float, because: dict[str, Plain]) -> float:
        """What the links of a page of this utility are worth, 0 to 1."""
        return utility

    def leave_room(self, share: float) -> None:
        self._way_in.share = share

    def state(self) -> Plain:
        return {"last": list(self._last), "relevant_seen": self._way_in.relevant_seen}

    def restore(self, state: Plain) -> None:
        self._last = deque(state["last"], maxlen=self._last.maxlen)
        self._lately = sum(self._last) / len(self._last) if self._last else None
        self._way_in.relevant_seen = state["relevant_seen"]


_NEARLY = 1e-12  # below which two utilities are one, reckoned for a page alone and among others


class LastPages:
    """The relevance and the standing of the last so many pages, which compare utilities by different weights."""

    def __init__(self, most: int):
        self._most = most
        self._pages = np.empty((2, most))
        self._seen = 0

    def __len__(self) -> int:
        return min(self._seen, self._most)

    def add(self, relevance: float, standing: float) -> None:
        self._pages[:, self._seen % self._most] = relevance, standing
        self._seen += 1

    def of_its_rank(self, utility: float, form: Form, *, alpha: float, by: float) -> float:
        """The utility that stands where this one does: the pages in line by the weight `by`, this one where it is in
        the line by the weight `alpha`; amid those that are as good as it."""
        relevance, standing = self._pages[:, : len(self)]
        utilities = form(relevance, standing, alpha)
        below = int(np.count_nonzero(utilities < utility - _NEARLY))
        as_good = int(np.count_nonzero(utilities <= utility + _NEARLY)) - below
        place = min(below + max(as_good - 1, 0) // 2, len(self) - 1)
        return float(np.sort(form(relevance, standing, by))[place])

    def state(self) -> Plain:
        """Relevance and standing of each, the oldest first."""
        first = self._seen % self._most if self._seen > self._most else 0
        return np.roll(self._pages[:, : len(self)], -first, axis=1).tolist()

    def restore(self, state: Sequence[Sequence[float]]) -> None:
        self._seen = 0
        for relevance, standing in zip(*state, strict=True):
            self.add(relevance, standing)


class Adaptive(Utility):
    """Seeks standing as long as the pages stay on the topic: follows links by utility, with a weight that adapts.

    After every page, α rises by step · (target - mean relevance of the last pages), and stays within 0 and 1: where
    the pages are less relevant than wanted, relevance gains weight. Utilities by different weights cannot be compared:
    mostly relevance alone is a larger number than its product with standing. So the last pages are put in line twice,
    by their utility of now and by that of the first α; the links of a page are worth what stands in the second line
    where the page stands in the first. Those that wait already keep what they are worth.

    target: mean relevance wanted, 0 to 1.
    ranked_among: so many last pages, those that taught included; 0: links are worth the utility itself, as published.
    window: pages over which the mean is taken; fewer at the start.
    alpha: α at the start.
    taught: pages that do not move it: what a model says of those it has learnt from says little.
    form, topic_words, split, enough: as `Utility` has them.

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
        taught: Collection[Url] = (),
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        super().__init__(
            alpha=alpha,
            form=form,
            window=window,
            taught=taught,
            topic_words=topic_words,
            split=split,
            enough=enough,
        )
        if not 0.0 <= step < float("inf"):
            raise UsageError(f"step must be a number from 0 on, not {step:g}")
        if ranked_among < 0:
            raise UsageError(f"pages are ranked among 0 or more, not {ranked_among}")
        self._target = checked_share("target", target)
        self._step = step
        self._first_alpha = self._alpha
        self._among = LastPages(ranked_among) if ranked_among else None

    def learn(self, event: Visit | Skip) -> None:
        super().learn(event)
        if isinstance(event, Skip) or event.page is None:
            return
        if self._lately is not None and self._counts(event):
            self._alpha = clamped(self._alpha + self._step * (self._target - self._lately))
        if self._among is not None:
            relevance = clamped(event.relevance)
            # A page whose standing nobody tells is of the utility of its relevance, whatever the weight.
            self._among.add(relevance, relevance if event.standing is None else clamped(event.standing))

    def _worth(self, utility: float, because: dict[str, Plain]) -> float:
        if not self._among:
            return utility
        worth = self._among.of_its_rank(utility, self._combine, alpha=self._alpha, by=self._first_alpha)
        if round(worth, 4) != because["utility"]:
            because["worth"] = round(worth, 4)
        return worth

    def state(self) -> Plain:
        return {**super().state(), "alpha": self._alpha, "among": None if self._among is None else self._among.state()}

    def restore(self, state: Plain) -> None:
        super().restore(state)
        self._alpha = state["alpha"]
        if self._among is not None:
            self._among.restore(state["among"])


class InLinks(Adaptive):
    """The adaptive crawler without a model of standing: it goes by the in-links that the pages fetched so far show.

    The standing of a page is the sigmoid of ln(1 + in-links) - θ; what the visit says of it is not looked at. A page
    that links twice counts once, and links that may not be followed count for nothing. Publications leave the scale
    open: θ is the median, over the pages of this crawl, of what ln(1 + in-links) was when each was visited.

    theta: θ, where it is not to be this median.
    target, ranked_among, window, step, alpha, form, taught, topic_words, split, enough: as `Adaptive` has them.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).
    """

    name = "inlinks"
    uses_standing = False  # but in-links of its own counting

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
        taught: Collection[Url] = (),
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
            taught=taught,
            topic_words=topic_words,
            split=split,
            enough=enough,
        )
        if theta is not None and not isfinite(theta):
            raise UsageError(f"theta must be a number, not {theta}")
        self._given_theta = theta
        self._index = InLinkIndex()
        self._pages_with: list[int] = []  # [k]: pages that had k in-links when they were visited

    @property
    def theta(self) -> float:
        """The given one, or else the median at present; 0 before the first page."""
        return _median(self._pages_with) if self._given_theta is None else self._given_theta

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.page is not None:
            url = event.candidate.url
            in_links = self._index.count(url)
            self._pages_with += [0] * (in_links + 1 - len(self._pages_with))
            self._pages_with[in_links] += 1
            self._index.add(url, (link.target for link in event.open_links()))
        super().learn(self._esteemed(event))

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return super().propose(self._esteemed(event))

    def _esteemed(self, event: Visit | Skip) -> Visit | Skip:
        """A visit with the standing that the in-links seen so far give its page."""
        if isinstance(event, Skip):
            return event
        return replace(event, standing=_sigmoid(log1p(self._index.count(event.candidate.url)) - self.theta))

    def state(self) -> Plain:
        return {**super().state(), "pages_with": list(self._pages_with), "index": self._index.state()}

    def restore(self, state: Plain) -> None:
        super().restore(state)
        self._pages_with = list(state["pages_with"])
        self._index.restore(state["index"])


def _median(pages_with: list[int]) -> float:
    """Of ln(1 + k), where `pages_with[k]` pages have k."""
    pages = sum(pages_with)
    if not pages:
        return 0.0
    return (_ranked(pages_with, (pages - 1) // 2) + _ranked(pages_with, pages // 2)) / 2


def _ranked(pages_with: list[int], rank: int) -> float:
    """ln(1 + k) of the page at this rank, counted from 0."""
    for in_links, pages in enumerate(pages_with):
        rank -= pages
        if rank < 0:
            return log1p(in_links)
    raise IndexError(rank)


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))
