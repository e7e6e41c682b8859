"""Tries one page: its score, the words that decided, and the links that would be followed. Nothing is stored."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import waiting_urls
from lycosa.reading import Reader
from lycosa.recipe import Recipe
from lycosa.relevance.svm import LinearModel
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Relevance, Strategy, Web
from lycosa.vocabulary.records import RELEVANT, Candidate, Fetch, JsonValue, Outcome, Page, Url, Visit
from lycosa.vocabulary.urls import site_of
from lycosa.web.outcomes import outcome_in_words

from .access_log import access_log_of_recipe, access_log_of_run
from .crawl import Assessor
from .forgotten import read_forgotten
from .guides import Guide
from .live import make_web, require_contact_for
from .open import open_for_reading, reader_of
from .options import CommandSettings
from .run_settings import RunSettings
from .strategy_factory import StrategyFactory
from .topic import TopicJudge
from .topical_map import map_of_run, open_map
from .trust import check_collection, require_trust

MAX_HOPS = 5  # redirects followed
MAX_EXAMPLES = 50  # that are fetched to train the model; stored ones are all used
_MAX_WORDS = 10  # shown for, and against, the topic

Notify = Callable[[str], None]


class WaitingLink(Struct, frozen=True):
    """A link that would wait to be followed."""

    url: Url
    priority: float
    anchor: str
    because: Mapping[str, JsonValue]  # the reasons for the priority


class Trial(Struct, frozen=True):
    """What a crawl would do with a page."""

    url: Url  # after redirects
    hops: tuple[str, ...]  # outcomes of the redirects, in words
    outcome: str  # in words
    is_page: bool
    title: str = ""
    language: str = ""
    relevance: float | None = None
    is_relevant: bool = False
    words_for: Mapping[str, float] = {}  # contribution of a word to the decision value
    words_against: Mapping[str, float] = {}
    meaning: float | None = None  # contribution of the word vectors
    left_out: str = ""  # why it would not be stored; empty if it would be
    links: tuple[WaitingLink, ...] = ()  # that would wait, best first
    skipped: Mapping[str, int] = {}  # number of links that would be skipped, by reason
    known: Mapping[str, int] = {}  # number of links that are not proposed again, by what became of them


async def try_url(
    folder: Path,
    recipe: Recipe,
    url: Url,
    settings: CommandSettings,
    *,
    clock: Clock,
    notify: Notify = lambda line: None,
) -> Trial:
    """Fetches one page as politely as a crawl does, and the examples if no model has been trained yet.

    folder: of a collection, which is only read.
    """
    check_collection(folder)
    require_trust(folder)
    require_contact_for([url], recipe.contact, settings.resolve, folder)
    async with _web(recipe, settings, clock) as web:
        reader = reader_of(recipe)
        topic = TopicJudge(recipe.topic, folder, reader, notify=notify)
        collection = _open_if_crawled(folder)
        try:
            judge = await _make_judge(topic, collection, reader, web, clock, recipe.requests.delay, notify)
            fetches = [fetch async for fetch in _fetch_with_redirects(web, url, clock, recipe.requests.delay)]
            return _trial(fetches, folder, recipe, settings, reader, topic, judge, collection)
        finally:
            if collection is not None:
                collection.close_without_checkpoint()


@asynccontextmanager
async def _web(recipe: Recipe, settings: CommandSettings, clock: Clock) -> AsyncIterator[Web]:
    web = make_web(recipe, clock=clock, allow_private=settings.allow_private, resolve=settings.resolve)
    try:
        yield web
    finally:
        await web.close()


def _open_if_crawled(folder: Path) -> Collection | None:
    """The collection; None before its first crawl."""
    return open_for_reading(folder) if (folder / "archive").exists() else None


async def _fetch_with_redirects(web: Web, url: Url, clock: Clock, delay: float) -> AsyncIterator[Fetch]:
    """The fetches of a URL and its redirect targets."""
    for hop in range(MAX_HOPS + 1):
        if hop:
            await clock.sleep_until(clock.now() + delay)
        fetch = await web.fetch(url)
        yield fetch
        if fetch.outcome is not Outcome.MOVED or fetch.location is None:
            return
        url = fetch.location


async def _make_judge(
    topic: TopicJudge,
    collection: Collection | None,
    reader: Reader,
    web: Web,
    clock: Clock,
    delay: float,
    notify: Notify,
) -> Relevance:
    topic.check()
    if not topic.learns:
        return topic.judge(None)
    model = topic.load()
    if model is not None:
        return topic.judge(model)
    examples = topic.examples.urls
    pages = {example: _stored_page(collection, reader, example) for example in examples}
    missing = {example: is_good for example, is_good in examples.items() if pages[example] is None}
    for example in islice(_good_and_bad_in_turn(missing), MAX_EXAMPLES):
        notify(f"fetching the example {example}")
        async for fetch in _fetch_with_redirects(web, example, clock, delay):
            pages[example] = reader(fetch)
        if pages[example] is None:
            notify(f"example {example}: {outcome_in_words(fetch.outcome, fetch.status, fetch.detail)}")
        await clock.sleep_until(clock.now() + delay)
    terms = {url: page.terms for url, page in pages.items() if page is not None}
    return topic.judge(topic.train(terms.get, unlabelled=[], rounds=0))


def _good_and_bad_in_turn(examples: Mapping[Url, bool]) -> Iterator[Url]:
    """The examples, a good one and a bad one in turn for as long as there are both."""
    good, bad = ([url for url, is_good in examples.items() if is_good is wanted] for wanted in (True, False))
    return (url for pair in zip_longest(good, bad) for url in pair if url is not None)


def _stored_page(collection: Collection | None, reader: Reader, url: Url) -> Page | None:
    if collection is None:
        return None
    row = collection.catalog.page(url) or collection.catalog.example(url)
    return reader(collection.archive.fetch_at(row.place)) if row is not None and row.place is not None else None


def _trial(
    fetches: list[Fetch],
    folder: Path,
    recipe: Recipe,
    settings: CommandSettings,
    reader: Reader,
    topic: TopicJudge,
    judge: Relevance,
    collection: Collection | None,
) -> Trial:
    *redirects, fetch = fetches
    outcomes = [outcome_in_words(each.outcome, each.status, each.detail) for each in fetches]
    assess = Assessor(
        read=reader,
        judge=judge,
        languages=frozenset(recipe.scope.languages),
        keep_noindex=recipe.scope.keep_noindex,
    )
    visit = assess(Candidate(fetch.url, 0.5, depth=1), fetch)
    page = visit.page
    hops = tuple(f"{each.url}: {words}" for each, words in zip(redirects, outcomes, strict=False))
    if page is None or visit.relevance is None:
        return Trial(fetch.url, hops, outcomes[-1], is_page=False)
    links, skipped, known = _links(visit, folder, recipe, settings, topic, collection)
    contributions = _word_contributions(topic.linear_model(), page)
    return Trial(
        url=fetch.url,
        hops=hops,
        outcome=outcomes[-1],
        is_page=True,
        title=page.title,
        language=page.language,
        relevance=visit.relevance,
        is_relevant=visit.relevance >= RELEVANT,
        words_for={word: contribution for word, contribution in contributions[:_MAX_WORDS] if contribution > 0},
        words_against={
            word: contribution for word, contribution in contributions[::-1][:_MAX_WORDS] if contribution < 0
        },
        meaning=_vector_contribution(topic.linear_model(), page),
        left_out=str(visit.left_out) if visit.left_out else "",
        links=tuple(links),
        skipped=skipped,
        known=known,
    )


def _word_contributions(model: LinearModel | None, page: Page) -> list[tuple[str, float]]:
    """The words of a page with their contributions, from most positive to most negative."""
    contributions = {} if model is None else model.contributions(page.terms)
    return sorted(
        ((word, round(contribution, 4)) for word, contribution in contributions.items()),
        key=lambda pair: (-pair[1], pair[0]),
    )


def _vector_contribution(model: LinearModel | None, page: Page) -> float | None:
    if model is None or model.meaning is None:
        return None
    return round(model.meaning.along(*page.words.term_counts), 4)


def _links(
    visit: Visit,
    folder: Path,
    recipe: Recipe,
    settings: CommandSettings,
    topic: TopicJudge,
    collection: Collection | None,
) -> tuple[list[WaitingLink], dict[str, int], dict[str, int]]:
    """The links that would wait, best first, and the numbers of skipped and of known ones."""
    page, admission = (
        visit.page,
        Admission(
            recipe.scope, recipe.traps, sites=frozenset((site_of(visit.fetch.url),)), forgotten=read_forgotten(folder)
        ),
    )
    assert page is not None
    strategy = _strategy(folder, recipe, settings, topic, collection)
    strategy.learn(visit)
    proposed = [each for each in strategy.propose(visit) if each.found_on == visit.candidate.url]
    skipped: Counter[str] = Counter()
    waiting: list[WaitingLink] = []
    for candidate in proposed:
        skip = admission.refuse_or_count(candidate)
        if skip is not None:
            skipped[skip.detail or skip.reason.value] += 1
        else:
            waiting.append(WaitingLink(candidate.url, candidate.priority, candidate.anchor, candidate.because))
    open_links = {link.target for link in visit.open_links()}
    not_followed = len({link.target for link in page.links} - open_links)
    if not_followed:
        skipped[visit.why_not_followed or "nofollow"] += not_followed
    known = _known(open_links - {each.url for each in proposed}, collection)
    return sorted(waiting, key=lambda link: (-link.priority, link.url)), dict(skipped), known


def _known(urls: set[Url], collection: Collection | None) -> dict[str, int]:
    """How many of these URLs were fetched already, and how many wait already."""
    if not urls or collection is None:
        return {}
    waiting = urls & set(waiting_urls(collection.catalog.connection))
    fetched = (urls & set(collection.catalog.visited())) - waiting
    counts = {"fetched already": len(fetched), "waiting already": len(waiting)}
    return {state: count for state, count in counts.items() if count}


def _strategy(
    folder: Path, recipe: Recipe, settings: CommandSettings, topic: TopicJudge, collection: Collection | None
) -> Strategy:
    """The strategy that a crawl would use, with its map or log; with its state in the collection if that was saved by
    the same settings, else a new one."""

    def ignore(line: str) -> None:
        """A trial does not report how the state is restored."""

    map_guide = Guide("map", find=partial(map_of_run, folder=folder), notify=ignore)
    log_guide = Guide("access log", find=partial(access_log_of_run, folder=folder), notify=ignore)
    map_guide.activate(
        map_guide.prepare(open_map(recipe.map, folder, allow_private=settings.allow_private)), recipe.strategy
    )
    log_guide.activate(log_guide.prepare(access_log_of_recipe(recipe.logs, folder)), recipe.strategy)
    factory = StrategyFactory(folder, recipe, topic=topic, map=map_guide, log=log_guide, notify=ignore)
    run_settings = RunSettings.of_recipe(recipe)
    catalog = collection.catalog if collection is not None else None
    if catalog is None or (catalog.get_state("map"), catalog.get_state("logs")) != (
        map_guide.reference,
        log_guide.reference,
    ):
        return factory.make(run_settings)
    if run_settings.strategy_changes(RunSettings.restored(catalog, recipe, notify=ignore)):
        return factory.make(run_settings)
    return factory.restored(run_settings, catalog) or factory.make(run_settings)
