"""Labelling on a screen, like `lycosa review`: one page at a time; after every ten, the model is trained."""

from pathlib import Path
from random import Random
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from lycosa.recipe import load_recipe
from lycosa.relevance.harvest import wilson_interval
from lycosa.run import steering
from lycosa.run.open import open_for_reading
from lycosa.run.review import Batch, add_to_sample, choose_batch, sample_result
from lycosa.run.trust import require_trust
from lycosa.run.upkeep import require_learning
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, Url
from lycosa.vocabulary.text import printable

from .learning import learn

BATCH = 10  # pages after which the model is trained
_VERDICTS = {"yes": True, "no": False, "skip": None}  # by answer: whether the page is on the topic


class QueuedPage(Struct, frozen=True):
    """A page to label; the reason for its choice is hidden, so as not to bias the user."""

    url: str
    title: str
    text: str
    relevance: float | None


class LearntChange(Struct, frozen=True):
    """The effect of the labels of one batch."""

    labels: int  # number of labels
    judged: int | None  # pages judged again; None if the next crawl trains the model
    became_relevant: int  # number of pages
    became_irrelevant: int
    waiting: int | None  # URLs that waited before and after; None if their priorities are not from 0 to 1, or not new
    waiting_now_above: int  # number of these that now have a priority of `RELEVANT` or more
    waiting_now_below: int  # number of these that no longer have
    next_crawl_ranks: bool  # whether the next crawl ranks the waiting URLs by what was learnt


class RandomSample(Struct, frozen=True):
    """The harvest rate and precision measured on random pages."""

    drawn: int  # pages
    good: int  # pages on the topic
    share: float  # harvest rate, with the bounds of its interval
    low: float
    high: float
    precision: float | None  # of the model before it saw the labels
    precision_low: float | None
    precision_high: float | None
    is_enough: bool  # whether so many were drawn that the harvest rate counts as measured
    growth: str = ""  # when they were drawn, if the collection has grown a lot since


class TeachView(Struct, frozen=True):
    """The screen for labelling."""

    page: QueuedPage | None
    number: int  # of the page in its batch, from 1
    batch_size: int
    labelled: int  # number of pages since the server was started
    can_undo: bool
    change: LearntChange | None
    sample: RandomSample | None


class TeachingQueue:
    """The pages of one collection that are to be labelled."""

    def __init__(self, folder: Path, *, random: Random | None = None):
        self._folder = folder
        self._random = random or Random()
        self._batch = Batch((), 0)
        self._verdicts: list[bool | None] = []
        self._seen: set[Url] = set()
        self._labelled = 0
        self._change: LearntChange | None = None
        self._lock = Lock()

    def view(self) -> TeachView:
        with self._lock:
            self._fill()
            return self._view()

    def answer(self, url: str, answer: str) -> None:
        """Records the answer for the current page; one for another page, as by a double click, is ignored."""
        with self._lock:
            require_trust(self._folder)
            self._fill()
            if answer == "undo":
                self._undo()
                return
            if answer not in _VERDICTS:
                raise UsageError("answers are yes, no, skip and undo")
            page = self._batch.pages[len(self._verdicts)] if self._batch.pages else None
            if page is None or page.url != url:
                return
            verdict = _VERDICTS[answer]
            if not self._verdicts and self._batch.labelled_before:  # looking at the screen alone changes nothing
                add_to_sample(self._folder, self._batch.labelled_before, pages=self._batch.pages_then)
                self._batch = replace(self._batch, labelled_before={})
            self._verdicts.append(verdict)
            self._seen.add(page.url)
            if verdict is not None:
                steering.label(self._folder, {page.url: verdict})
                self._labelled += 1
                if page.why == "random":
                    relevances, pages_then = {page.url: page.relevance}, self._batch.pages_then
                    add_to_sample(self._folder, {page.url: verdict}, pages=pages_then, relevances=relevances)
            if len(self._verdicts) == len(self._batch.pages):
                self._learn()

    def _undo(self) -> None:
        """Takes back the last answer of the batch, if there is one."""
        if not self._verdicts:
            return
        if self._verdicts[-1] is not None:
            steering.undo_label(self._folder, self._batch.pages[len(self._verdicts) - 1].url)
            self._labelled -= 1
        self._verdicts.pop()

    def _fill(self) -> None:
        """Chooses the next batch if the last one is used up."""
        if len(self._verdicts) < len(self._batch.pages):
            return
        recipe = load_recipe(self._folder, for_reading=True)
        require_learning(self._folder, recipe)
        with open_for_reading(self._folder) as collection:
            self._batch = choose_batch(
                collection, self._folder, recipe, size=BATCH, random=self._random, exclude=self._seen
            )
        self._verdicts = []

    def _learn(self) -> None:
        labels = sum(verdict is not None for verdict in self._verdicts)
        if not labels:
            return
        before = self._relevant()
        learnt = learn(self._folder, {}, ranks_waiting=True)  # those that `answer` has saved
        after = self._relevant()
        both = before.keys() & after.keys()
        self._change = LearntChange(
            labels,
            learnt.judged,
            sum(after[number] and not before[number] for number in both),
            sum(before[number] and not after[number] for number in both),
            learnt.waiting,
            learnt.waiting_now_above,
            learnt.waiting_now_below,
            learnt.next_crawl_ranks,
        )

    def _relevant(self) -> dict[int, bool]:
        """Whether each page is relevant, by its number."""
        with open_for_reading(self._folder) as collection:
            return {page.number: (page.relevance or 0.0) >= RELEVANT for page in collection.catalog.page_scores()}

    def _view(self) -> TeachView:
        with open_for_reading(self._folder) as collection:
            found = sample_result(self._folder, collection.catalog)
        sample = None
        if found is not None:
            called_relevant = found.called_relevant  # drawn pages that the model calls relevant; `rightly`: good ones
            low, high = wilson_interval(found.rightly, called_relevant) if called_relevant else (None, None)
            sample = RandomSample(
                found.drawn,
                found.good,
                found.share,
                found.low,
                found.high,
                found.rightly / called_relevant if called_relevant else None,
                low,
                high,
                found.is_enough,
                found.growth,
            )
        shown = self._batch.pages[len(self._verdicts)] if len(self._verdicts) < len(self._batch.pages) else None
        page = None
        if shown is not None:
            page = QueuedPage(shown.url, printable(shown.title), printable(shown.text, 600), shown.relevance)
        return TeachView(
            page,
            len(self._verdicts) + 1,
            len(self._batch.pages),
            self._labelled,
            bool(self._verdicts),
            self._change,
            sample,
        )
