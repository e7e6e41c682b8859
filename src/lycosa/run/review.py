"""Pages for the user to label: those from which the model learns most, and random ones, which measure its quality."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import log1p
from pathlib import Path
from random import Random
from statistics import median_low
from typing import Literal

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.errors import disk_errors
from lycosa.collection.folder import file_lines
from lycosa.collection.queries import Queries
from lycosa.collection.rows import PageRow
from lycosa.recipe import Recipe
from lycosa.relevance.harvest import wilson_interval
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import append_lines, atomic_write
from lycosa.vocabulary.records import RELEVANT, Url
from lycosa.vocabulary.text import counted, whole_number

from .open import main_text_of
from .topic import examples_of

SAMPLE_FILE = "sample.txt"
_MAX_BYTES = 100_000_000
RANDOM_PER_BATCH = 2  # number of pages
MIN_DRAWN = 10  # random pages needed to measure the harvest rate instead of estimating it
_GROWTH = 0.25  # share by which a collection may have grown since pages were drawn that measure it
_SHARE_OF_TOP = 0.4  # share of the most relevant pages in a batch, not counting random ones
_MAX_PER_HOST = 3  # pages of one host in a batch, not counting random ones, while there are others
_MAX_CONSIDERED = 400  # pages among which uncertain ones are chosen
_SNIPPET_LENGTH = 300  # characters shown of a page

ReasonChosen = Literal["uncertain", "top", "random"]
Verdict = Literal["relevant", "other", ""]  # of the model on a page; empty if unknown
_VERDICTS: dict[str, Verdict] = {"relevant": "relevant", "other": "other", "": ""}


class ReviewPage(Struct, frozen=True):
    """A page to label, and why it was chosen."""

    url: Url
    title: str
    relevance: float | None
    why: ReasonChosen
    text: str


class Batch(Struct, frozen=True):
    """Pages to label together."""

    pages: tuple[ReviewPage, ...]
    pages_then: int  # number of pages in the collection when the random ones were drawn
    labelled_before: dict[Url, bool] = {}  # random pages labelled before, and whether as on the topic


def choose_batch(
    collection: Collection, folder: Path, recipe: Recipe, *, size: int, random: Random, exclude: Iterable[Url] = ()
) -> Batch:
    """The next pages to label.

    Two are drawn at random from all pages not drawn before, labelled or not, so that the share of good pages in the
    sample is an unbiased estimate of that of the collection. Of the others, 40 % are the most relevant, and the rest
    those with the highest p (1 - p) (1 + ln(1 + links)), where p is the relevance: uncertain pages with many links to
    rank. Labelled pages are not chosen again.

    exclude: pages not to choose again.
    """
    catalog, labels = collection.catalog, examples_of(recipe.topic, folder).urls
    drawn_before = {page.url for page in read_sample(folder)}
    rows = [row for row in catalog.page_scores() if row.url not in drawn_before]
    drawn = [page.url for page in random.sample(rows, min(RANDOM_PER_BATCH, size, len(rows)))]
    labelled_before = {url: labels[url] for url in drawn if url in labels}
    excluded = {*labels, *exclude, *drawn}
    chosen = _choose_informative(catalog, size - len(drawn), excluded)
    to_show: list[tuple[Url, ReasonChosen]] = [
        *chosen,
        *((url, "random") for url in drawn if url not in labelled_before),
    ]
    random.shuffle(to_show)  # so that the order does not reveal which are random
    pages = (_review_page(collection, url, why) for url, why in to_show)
    return Batch(tuple(page for page in pages if page is not None), catalog.count(), labelled_before)


def _choose_informative(catalog: Queries, size: int, excluded: set[Url]) -> list[tuple[Url, ReasonChosen]]:
    """The most relevant pages, and the uncertain ones with many links."""
    if size < 1:
        return []
    pages_of_host: Counter[str] = Counter()
    originals = catalog.originals()  # of each near-duplicate, the earlier page that it is like

    def take(rows: Iterable[PageRow], limit: int, why: ReasonChosen) -> list[tuple[Url, ReasonChosen]]:
        spread: list[PageRow] = []
        of_full_hosts: list[PageRow] = []
        for row in rows:
            if len(spread) == limit:
                break
            if row.url in excluded or originals.get(row.url, row.url) != row.url:
                continue
            if pages_of_host[row.host] < _MAX_PER_HOST:
                pages_of_host[row.host] += 1
                spread.append(row)
            else:
                of_full_hosts.append(row)
        taken = spread + of_full_hosts[: limit - len(spread)]
        excluded.update(row.url for row in taken)
        return [(row.url, why) for row in taken]

    top = take(catalog.pages("relevance", limit=_MAX_CONSIDERED), round(_SHARE_OF_TOP * size), "top")
    uncertain = [row for row in catalog.most_uncertain(_MAX_CONSIDERED) if row.url not in excluded]
    links = {row.url: len(catalog.link_targets(row.number)) for row in uncertain}

    def influence(row: PageRow) -> float:
        relevance = row.relevance or 0.0
        return relevance * (1.0 - relevance) * (1.0 + log1p(links[row.url]))

    return top + take(sorted(uncertain, key=influence, reverse=True), size - len(top), "uncertain")


def _review_page(collection: Collection, url: Url, why: ReasonChosen) -> ReviewPage | None:
    row = collection.catalog.page(url)
    if row is None or row.place is None:
        return None
    text = " ".join(main_text_of(collection.archive.fetch_at(row.place))[: 4 * _SNIPPET_LENGTH].split())
    return ReviewPage(url, row.title, row.relevance, why, text[:_SNIPPET_LENGTH])


# ---------------------------------------------------------------- the random sample


class SampleResult(Struct, frozen=True):
    """The share of relevant pages in a collection, measured by the user on random pages."""

    drawn: int  # number of pages drawn at random and labelled
    good: int  # number of those that are on the topic
    share: float  # good / drawn
    low: float  # of a 90 % interval
    high: float
    called_relevant: int  # number of those drawn that were called relevant by the model before it learnt their labels
    rightly: int  # number of these that are relevant according to the user
    pages_then: int = 0  # number of pages in the collection when they were drawn: the median, if it had grown meanwhile
    pages_now: int = 0  # number of pages in the collection

    @property
    def is_enough(self) -> bool:
        return self.drawn >= MIN_DRAWN

    @property
    def is_behind(self) -> bool:
        """Whether so many pages have come since that those drawn say little about the collection as it is now."""
        return self.pages_now > (1.0 + _GROWTH) * self.pages_then > 0

    @property
    def growth(self) -> str:
        """When the pages were drawn, in words, if the collection has grown a lot since; else empty."""
        if not self.is_behind:
            return ""
        new = self.pages_now - self.pages_then
        return (
            f"when the collection had {counted(self.pages_then, 'page')}; "
            f"{counted(new, 'page')} {'has' if new == 1 else 'have'} come since"
        )


class LabelledPage(Struct, frozen=True):
    """A random page that the user has labelled."""

    url: Url
    good: bool  # whether it is on the topic
    pages: int  # number of pages in the collection when it was drawn
    verdict: Verdict = ""  # before the model learnt the label

    @property
    def line(self) -> str:
        return f"{'good' if self.good else 'bad'} {self.pages} {self.url} {self.verdict}".rstrip()


def read_sample(folder: Path) -> list[LabelledPage]:
    """The random pages that the user has labelled."""
    path = folder / SAMPLE_FILE
    sample = []
    lines = file_lines(path, _MAX_BYTES, way_out="delete it, and review some pages again")
    for number, line in enumerate(lines, 1):
        word, pages, url, verdict = (*line.split(" "), "", "", "")[:4]
        count = whole_number(pages)
        if word not in ("good", "bad") or count is None or not url or verdict not in _VERDICTS:
            raise CollectionError(f"{path}:{number}: not `good PAGES URL`; fix or delete it")
        sample.append(LabelledPage(Url(url), word == "good", count, _VERDICTS[verdict]))
    return sample


def add_to_sample(
    folder: Path, labels: Mapping[Url, bool], *, pages: int, relevances: Mapping[Url, float | None] = {}
) -> None:
    """Records labels of random pages, durably.

    pages: number of pages in the collection when they were drawn.
    relevances: scores by the model before it learnt the labels.
    """
    path = folder / SAMPLE_FILE
    drawn = (LabelledPage(url, good, pages, _verdict(relevances.get(url))) for url, good in labels.items())
    with disk_errors(path):
        append_lines(path, "".join(f"{page.line}\n" for page in drawn))


def _verdict(relevance: float | None) -> Verdict:
    return "" if relevance is None else "relevant" if relevance >= RELEVANT else "other"


def drop_from_review_sample(folder: Path, is_dropped: Callable[[Url], bool]) -> None:
    """Takes pages out of the random sample that the user has reviewed."""
    sample = read_sample(folder)
    remaining = [page for page in sample if not is_dropped(page.url)]
    if len(remaining) < len(sample):
        path = folder / SAMPLE_FILE
        with disk_errors(path), atomic_write(path) as file:
            file.write("".join(f"{page.line}\n" for page in remaining).encode())


def sample_result(folder: Path, catalog: Queries) -> SampleResult | None:
    """The result of the random sample, if there is one. Pages that are no longer stored do not count.

    A page is drawn from the pages of that time. So where at least ten were drawn since the collection has last grown by
    a quarter, only those count.
    """
    sample = [labelled for labelled in read_sample(folder) if catalog.page(labelled.url) is not None]
    if not sample:
        return None
    pages_now = catalog.count()
    latest = [labelled for labelled in sample if pages_now <= (1.0 + _GROWTH) * labelled.pages]
    sample = latest if len(latest) >= MIN_DRAWN else sample
    good = sum(labelled.good for labelled in sample)
    called_relevant = [labelled.good for labelled in sample if labelled.verdict == "relevant"]
    low, high = wilson_interval(good, len(sample))
    return SampleResult(
        drawn=len(sample),
        good=good,
        share=good / len(sample),
        low=low,
        high=high,
        called_relevant=len(called_relevant),
        rightly=sum(called_relevant),
        pages_then=median_low(labelled.pages for labelled in sample),
        pages_now=pages_now,
    )
