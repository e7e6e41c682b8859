from collections.abc import Callable, Collection, Iterable, Mapping
from math import exp, isfinite, log1p

from msgspec.structs import replace

from lycosa.reading.words import tokens_of
from lycosa.standing.in_links import StructureIndex
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .adaptive import Adaptive


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
        form: str = "cobb-douglas",
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
        self._index = StructureIndex()
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
            self._index.see(url, (link.target for link in event.open_links()))
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
