from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lycosa.reading.words import tokens_of
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .anchors import WayIn
from .unit_scale import checked, clamped

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


FORMS: Mapping[str, Form] = {"cobb-douglas": cobb_douglas, "linear": linear}


class Utility:
    """Follows first the links of pages that are both on the topic and of high standing.

    A link is worth the utility of the best page it was found on, as it was reckoned then; where the topic was also
    given in words, their anchors help to find the way in. A page whose standing nobody tells is worth its relevance
    (α counts as 1 for it), one whose relevance nobody tells has none.

    alpha: α, the weight of relevance against standing; 1 goes by relevance alone, 0 by standing alone.
    form: how the two are put together, one of `FORMS`.
    window: pages over whose relevance `lately` is the mean.
    taught: pages that do not count in it: what a model says of those it has learnt from says little.
    topic_words, split, enough: as `WayIn` has them.

    Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013).
    """

    name = "utility"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = True

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        form: str = "cobb-douglas",
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
        self._alpha = checked("alpha", alpha)
        self._combine = FORMS[form]
        self._last: deque[float] = deque(maxlen=window)  # relevance of the last pages
        self._lately: float | None = None  # their mean
        self._taught = frozenset(taught)
        self._way_in = WayIn(topic_words, split=split, enough=enough)

    @property
    def alpha(self) -> float:
        """The weight of relevance at present."""
        return self._alpha

    @property
    def lately(self) -> float | None:
        """Mean relevance of the last pages; None before the first."""
        return self._lately

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

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

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> Plain:
        return {"last": list(self._last), "relevant_seen": self._way_in.relevant_seen}

    def restore(self, state: Plain) -> None:
        self._last = deque(state["last"], maxlen=self._last.maxlen)
        self._lately = sum(self._last) / len(self._last) if self._last else None
        self._way_in.relevant_seen = state["relevant_seen"]
