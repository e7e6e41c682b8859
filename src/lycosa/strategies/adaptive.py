from collections.abc import Callable, Collection, Iterable, Mapping

from lycosa.reading.words import tokens_of
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain, Skip, Url, Visit

from .last_pages import LastPages
from .unit_scale import checked, clamped
from .utility import Utility


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
        form: str = "cobb-douglas",
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
        self._target = checked("target", target)
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
