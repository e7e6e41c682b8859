from collections.abc import Callable, Collection, Iterable, Mapping

from lycosa.reading.words import tokens_of
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain, Skip, Url, Visit

from .unit_scale import checked, clamped
from .utility import Utility


class Adaptive(Utility):
    """Seeks standing as long as the pages stay on the topic: follows links by utility, with a weight that adapts.

    After every page, α rises by step · (target - mean relevance of the last pages), and stays within 0 and 1: where
    the pages are less relevant than wanted, relevance gains weight. The links of a page are worth its utility by the
    α to which that page itself has led; those that wait already keep what they are worth.

    target: mean relevance wanted, 0 to 1.
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
        self._target = checked("target", target)
        self._step = step

    def learn(self, event: Visit | Skip) -> None:
        super().learn(event)
        if isinstance(event, Visit) and event.page is not None and self._lately is not None and self._counts(event):
            self._alpha = clamped(self._alpha + self._step * (self._target - self._lately))

    def state(self) -> Plain:
        return {**super().state(), "alpha": self._alpha}

    def restore(self, state: Plain) -> None:
        super().restore(state)
        self._alpha = state["alpha"]
