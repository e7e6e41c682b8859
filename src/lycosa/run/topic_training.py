"""Trains the relevance model of a crawl, and trains it again as the collection grows."""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.events import Scores
from lycosa.collection.page_words import MAX_CACHED_PAGES, CachedWords
from lycosa.collection.rows import PageScore
from lycosa.relevance.embedding import builtin_embedding
from lycosa.relevance.function import code_digest
from lycosa.relevance.positive_unlabelled import MAX_UNLABELLED
from lycosa.relevance.registry import TrainedRelevance
from lycosa.relevance.svm import LinearModel
from lycosa.relevance.term_counts import CommonTerms, CountedTerms, PageCounts
from lycosa.strategies.base import SupportsRejudge
from lycosa.strategies.registry import LINK_ONLY_STRATEGIES
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.records import RELEVANT, Change, JsonValue, Page, Url, Visit
from lycosa.vocabulary.text import codes_of, counted

from .first_visits import FirstVisits
from .session import Session
from .standing_training import StandingTrainer
from .topic import PREDICATE_STATE, RULE_STATE, STEM_STATE, Terms, is_rule, read_labels

# Sizes of the collection at which the topic model may be trained again.
RETRAIN_AT = tuple(5 * 2**doubling for doubling in range(20))
# Of these, the sizes at which it is: where the strategy takes the new scores of pages, and where the frontier is
# re-ranked from all visits. The rest are there because collections have saved how many sizes they had reached.
REJUDGE_AT = frozenset(RETRAIN_AT[:4] + RETRAIN_AT[4::2])
RERANK_AT = frozenset((20, 80, 320, 1_280))
_MIN_PAGES_WITHOUT_WORD = 10  # pages that lack a word of the topic, before the user is notified
_MAX_WORDS_NAMED = 5  # in a message
MAX_REJUDGED = 2_000  # latest pages, scored again by their word counts
_SCORING_BATCH = 200  # pages
_MIN_CHANGE = 1e-6  # of a relevance, to be recorded: smaller ones depend on how the processor rounds
_MAX_COMMON_TERMS = 200_000  # terms, from which those of pages that left the sample are dropped
_MIN_ANNOUNCED = 1_000  # pages to read from the archive for which there is a message


class LearntLabels(Struct, frozen=True):
    """The result of learning from labels."""

    judged: int | None  # pages scored again; None if the model could not be trained yet
    missing: int  # examples and labelled pages that the next crawl must fetch
    missing_examples: int = 0  # those of them that no label names


class TopicTrainer:
    """Scores pages by the topic of a session, with a model that is trained again as the collection grows.

    At 5 pages, whenever their number has doubled up to 80, and then whenever it has quadrupled, the model is trained
    again with a sample of them, the latest pages are scored again, and the frontier is re-ranked. For a strategy that
    is not a `SupportsRejudge`, all visits are replayed, and so at fewer sizes: from memory if the strategy uses only
    links, else from the archive, which takes as long as parsing all pages.

    standing: gives the standing of earlier visits that have none, for re-ranking.
    is_worker: whether the model is trained for several workers, of which this is one: when it is told to.
    """

    def __init__(self, session: Session, standing: StandingTrainer | None = None, *, is_worker: bool = False):
        self._session = session
        self._standing = standing
        self._judge: Relevance | None = None
        self._scored_ahead: dict[int, tuple[Page, LinearModel, float]] = {}  # by the id of each page
        self._crawled = _CrawledPages(session)
        self._declined_rounds = 0  # the number of sizes of `RETRAIN_AT` at which no training was due
        self._is_worker = is_worker
        is_new = session.collection.archive.position() is None and type(session.loop.strategy) in LINK_ONLY_STRATEGIES
        self._history = FirstVisits() if is_new and not is_worker else None

    def relevance(self, page: Page) -> float:
        """The relevance of a page by the current judge."""
        assert self._judge is not None
        _, judge, relevance = self._scored_ahead.pop(id(page), (page, None, 0.0))
        return relevance if judge is self._judge else self._judge.relevance(page)

    def score_ahead(self, page: Page) -> None:
        """Computes what `relevance` will return for a page, unless the judge is another one by then."""
        if isinstance(self._judge, LinearModel):  # others may run code of the user
            self._scored_ahead[id(page)] = (page, self._judge, self._judge.relevance(page))

    def observe(self, visit: Visit) -> None:
        """Remembers a stored page for training."""
        if self._history is not None:
            self._history.add(visit)
        if not self._session.topic.learns:
            return
        if visit.change in (Change.CHANGED, Change.RETURNED):
            self._crawled.discard_sample()
        elif visit.page is not None and visit.is_kept and visit.change is None:
            has_meaning = isinstance(self._judge, LinearModel) and self._judge.meaning is not None
            self._crawled.add(visit.page, visit.fetch.at, with_vector=has_meaning)

    async def learn(self, fetch_examples: Callable[[], Awaitable[None]]) -> None:
        """Makes the judge: a rule, the saved model, or one trained on example pages, which are fetched if needed. Makes
        none if interrupted, or if the time of the run is over before they are.
        """
        session, topic = self._session, self._session.topic
        if not topic.learns:
            self._judge = topic.untrained(may_run_code=True)
            self._rescore_imported()
        elif (model := topic.load()) is not None:
            self._judge = topic.judge(model)
            if topic.runs_code:
                self._rescore_imported()
        else:
            await fetch_examples()
            if session.status.is_interrupted or session.status.stop_reason:
                return
            if topic.uses_background_negatives:
                count = "Fewer than 5" if topic.examples.bad else "No"
                supports_rejudge = isinstance(session.loop.strategy, SupportsRejudge)
                sizes = ", ".join(map(str, sorted(REJUDGE_AT if supports_rejudge else RERANK_AT)[:4]))
                session.notify(
                    f"{count} off-topic examples given (--negatives). Using built-in everyday text for now; scores are "
                    f"provisional: the model is retrained at {sizes} … pages."
                )
            for line in topic.warnings(session.pages.page):
                session.notify(line)
            self._train_first()
            self._notify_unknown_language()
        self._rescore_if_stemming_changed()
        self._rescore_if_predicate_changed()
        self._rescore_if_rule_changed()

    def _notify_unknown_language(self) -> None:
        model = self._session.topic.linear_model()
        if model is not None and model.meaning is None:
            self._session.notify(
                "the built-in word vectors are English and know few words of the topic: words alone decide"
            )

    def _rescore_if_predicate_changed(self) -> None:
        """Scores every page again if the predicate of the recipe has changed since the last run."""
        session, catalog = self._session, self._session.collection.catalog
        predicate = session.recipe.topic.predicate
        encoded = msgspec.json.decode(msgspec.json.encode(predicate))  # as read from the catalog
        if predicate is not None and predicate.runs_code:
            encoded["code"] = [code_digest(function) for function in predicate.functions()]
        if self._judge is not None and encoded != catalog.get_state(PREDICATE_STATE):
            if session.status.pages:
                self._rescore_all("the predicate may have changed")
            catalog.put_state(PREDICATE_STATE, encoded)  # last: after a kill before here, the next run scores again

    def _rescore_if_stemming_changed(self) -> None:
        """Scores every page again if stemming has changed since the last time."""
        if self._judge is not None and (change := self._stemming_change):
            if self._session.status.pages:
                self._rescore_all(change)
            self._session.collection.catalog.put_state(STEM_STATE, self._session.recipe.topic.stem)

    def _rescore_if_rule_changed(self) -> None:
        """Scores every page again if keywords or function have changed since the last time."""
        session = self._session
        before = session.collection.catalog.get_state(RULE_STATE)
        if self._judge is None or self._rule == before:
            return
        if session.status.pages:
            rule = "function" if session.recipe.topic.function else "keywords"
            no_rule = "keywords and function no longer decide, but a model of the topic"
            self._rescore_all(no_rule if self._rule is None else f"the {rule} of the topic may have changed")
        self._save_scoring()
        session.checkpoint()  # so that later pages need not be scored again after a kill

    @property
    def _rule(self) -> JsonValue:
        """The keywords, or the function and its code, as kept in the catalog; None if a model decides."""
        topic = self._session.recipe.topic
        if not is_rule(topic):
            return None
        code = {"code": code_digest(topic.function)} if topic.function else {}
        return {"keywords": list(topic.keywords), "function": topic.function, **code}

    def _save_scoring(self) -> None:
        """Saves how the pages were scored."""
        catalog = self._session.collection.catalog
        catalog.put_state(STEM_STATE, self._session.recipe.topic.stem)
        if self._rule is not None or catalog.get_state(RULE_STATE) is not None:
            catalog.put_state(RULE_STATE, self._rule)

    @property
    def _stemming_change(self) -> str:
        """Describes a change of stemming since pages were scored; empty if there was none."""
        stem, catalog = self._session.recipe.topic.stem, self._session.collection.catalog
        if stem == bool(catalog.get_state(STEM_STATE)):  # collections without this state were made without stemming
            return ""
        return "words are now compared by their stems" if stem else "words are now compared as they are written"

    def _rescore_imported(self) -> None:
        if any(row.relevance is None for row in self._session.collection.catalog.pages()):
            self._rescore_all("some pages were imported")

    def available_judge(self) -> Relevance | None:
        """A judge that needs neither a fetch nor the user's code, if there is one yet."""
        topic = self._session.topic
        if not topic.learns:
            return topic.untrained(may_run_code=False)
        if topic.runs_code:
            return None
        model = topic.load()
        if model is None and topic.are_examples_available(self._session.pages.terms):
            self._train_first()
            return self._judge
        return topic.judge(model) if model is not None else None

    def train_again(self, reason: str, *, save: bool = True) -> int:
        """Trains on the available examples and scores the pages again whose word counts are kept; returns their number.

        A judge that is not a linear model reads every page. For a strategy that is not a `SupportsRejudge`, the next
        crawl re-ranks the frontier.

        save: whether to save the model; otherwise, the next run trains again.
        """
        session, model = self._session, self._train()
        if not isinstance(self._judge, LinearModel):
            self._rescore_all(reason)
            judged = session.status.pages
        else:
            judged = self._rejudge(MAX_CACHED_PAGES, reason)
        if save:
            session.topic.save(model)  # last: after a kill before here, the next run trains and scores again
        return judged

    def learn_labels(self, reason: str) -> LearntLabels:
        """Trains again with the current labels and scores pages as `train_again` does.

        Examples that must be fetched are left out; the next crawl fetches them and trains with them.
        """
        session, topic = self._session, self._session.topic
        topic.read_examples()
        to_fetch = [url for url in topic.examples.urls if session.pages.terms(url) is None]
        missing, labelled = len(to_fetch), read_labels(session.folder) if to_fetch else {}
        missing_examples = sum(url not in labelled for url in to_fetch)
        if topic.runs_code or not topic.learns or not topic.has_good_page(session.pages.terms):
            return LearntLabels(None, missing, missing_examples)
        self._crawled.discard_sample()  # a page that has become an example leaves the sample, and vice versa
        return LearntLabels(self.train_again(reason, save=not missing), missing, missing_examples)

    def train_if_due(self) -> None:
        """Trains again once the collection has reached the next size.

        With given negatives, pages of the crawl are not needed for training.
        """
        topic, pages = self._session.topic, self._session.status.pages
        if self._is_worker or not topic.uses_background_negatives:
            return
        rounds_due = bisect_right(RETRAIN_AT, pages)
        if topic.rounds >= rounds_due or rounds_due == self._declined_rounds:
            return
        sizes = REJUDGE_AT if self._supports_rejudge() else RERANK_AT
        if not sizes.isdisjoint(RETRAIN_AT[topic.rounds : rounds_due]):
            self._train_on_crawl()
        else:
            self._declined_rounds = rounds_due  # until the next size is reached

    def sample(self, size: int) -> list[Terms]:
        """The terms of at most so many pages of the shard, evenly spaced, for `train_on`."""
        terms = self._crawled.sample()
        return terms[:: max(1, -(-len(terms) // size))]

    def train_on(self, sample: Sequence[Terms], *, pages: int) -> None:
        """Trains again with a sample of the pages of all shards, scores the latest pages of this shard again, and saves
        the model for the others.

        pages: number of pages of the collection.
        """
        session = self._session
        model = session.topic.train(session.pages.terms, sample, bisect_right(RETRAIN_AT, pages), pages=pages)
        self._use(model)
        session.topic.save(model)

    def use_saved(self) -> None:
        """Goes on with the model that another worker has saved, and scores the latest pages again."""
        if (model := self._session.topic.load()) is not None:
            self._use(model)

    def _use(self, model: TrainedRelevance) -> None:
        self._judge = self._session.topic.judge(model)
        self._rejudge(MAX_REJUDGED, "the topic is known better")

    def finish(self) -> None:
        """Scores the pages of a short crawl again at its end, with a model trained on all of it.

        The frontier and the saved model stay as they are, so that a stopped crawl continues as if it had not been
        stopped.
        """
        topic, pages = self._session.topic, self._session.status.pages
        if (
            topic.uses_background_negatives
            and self._supports_rejudge()
            and self._crawled.has_new_pages
            and pages <= MAX_REJUDGED
        ):
            self._train()
            assert self._judge is not None
            rejudged = self._crawled.score_latest(self._judge, MAX_REJUDGED)
            self._record_relevances(rejudged, "the topic is known better")

    def judge_again(self) -> None:
        """The same for a crawl by several workers, after its pages were gathered."""
        if self._session.topic.uses_background_negatives and (model := self._session.topic.load()) is not None:
            self._judge, self._crawled.has_new_pages = self._session.topic.judge(model), True
            self.finish()

    def report_unknown_words(self) -> None:
        """Tells the user which words of the topic are on none of the latest pages."""
        session = self._session
        if (
            not session.topic.learns
            or not self._crawled.has_additions
            or session.status.pages < _MIN_PAGES_WITHOUT_WORD
        ):
            return
        unknown = self._crawled.missing_words(session.topic.words_as_written())
        if unknown:
            words = ", ".join(f'"{word}"' for word in unknown[:_MAX_WORDS_NAMED])
            session.notify(f"Topic words found on no page: {words}. Other words or examples may help")

    def _train_on_crawl(self) -> None:
        session = self._session
        model = self._train()
        if self._supports_rejudge():
            self._rejudge(MAX_REJUDGED, "the topic is known better")
        else:
            self._rescore_all(f"{counted(session.status.pages, 'page')} collected, model retrained")
        session.topic.save(model)  # last: after a kill before here, the next run trains and scores again

    def _supports_rejudge(self) -> bool:
        """Whether the frontier is re-ranked by new scores alone: by a linear model and a `SupportsRejudge`."""
        return isinstance(self._judge, LinearModel) and isinstance(self._session.loop.strategy, SupportsRejudge)

    def _rejudge(self, limit: int, reason: str) -> int:
        """Scores the latest `limit` pages again by their word counts, and has the strategy, or else the next crawl,
        re-rank the frontier; returns the number of pages."""
        session = self._session
        assert self._judge is not None
        rejudged = self._crawled.score_latest(self._judge, limit)
        if session.state.is_frontier_restored and isinstance(strategy := session.loop.strategy, SupportsRejudge):
            session.reranker.rejudge(strategy, rejudged.relevances)
        else:
            session.state.request_reranking(by_scores=True)
        self._record_relevances(rejudged, reason)
        return len(rejudged.relevances)

    def _record_relevances(self, rejudged: "_Rejudged", reason: str) -> None:
        session, before = self._session, rejudged.before
        changed = {
            url: relevance
            for url, relevance in rejudged.relevances.items()
            if (old := before[url]) is None or abs(relevance - old) > _MIN_CHANGE
        }
        session.record(Scores(session.clock.now(), reason, changed))
        session.checkpoint()
        session.status.recount(session.collection.catalog.relevance_flags())

    def _train_first(self) -> None:
        """Trains for the first time; pages that are there already are scored again."""
        model, session = self._train(), self._session
        if session.status.pages:
            reason = (
                "the topic or its examples have changed"
                if session.topic.has_model
                else "there was no model of the topic"
            )
            if self._supports_rejudge() and session.status.pages <= MAX_CACHED_PAGES and not self._stemming_change:
                session.notify(f"{reason}: re-scoring {counted(session.status.pages, 'page')}")
                self._rejudge(MAX_CACHED_PAGES, reason)
                self._save_scoring()
            else:
                self._rescore_all(self._stemming_change or reason)
        session.topic.save(model)

    def _train(self) -> TrainedRelevance:
        session = self._session
        # How many sizes of `RETRAIN_AT` the collection has reached; `topic.rounds` is that number at the last training.
        rounds = bisect_right(RETRAIN_AT, session.status.pages) if session.topic.uses_background_negatives else 0
        sample = self._crawled.sample() if rounds else []
        model = session.topic.train(session.pages.terms, sample, rounds, pages=session.status.pages)
        self._judge = session.topic.judge(model)
        return model

    def _rescore_all(self, reason: str) -> None:
        session = self._session
        session.notify(f"{reason}: re-scoring {counted(session.status.pages, 'page')}")
        standing_model = self._standing.judge if self._standing else None  # for visits without a standing
        if (history := self._usable_history()) is not None and standing_model is None:
            relevance = self._rescore_history(history)
        else:
            relevance, _ = session.reranker.rerank(judge=self, missing_standing=standing_model)
        session.record(Scores(session.clock.now(), reason, relevance))
        session.checkpoint()
        self._save_scoring()

    def _usable_history(self) -> FirstVisits | None:
        """The visits in memory, if they suffice to score all pages again and to re-rank the frontier."""
        history, strategy = self._history, self._session.loop.strategy
        suffices = isinstance(self._judge, LinearModel) and type(strategy) in LINK_ONLY_STRATEGIES
        return history if history is not None and history.is_complete and suffices else None

    def _rescore_history(self, history: FirstVisits) -> dict[str, float]:
        """Scores all visits again and re-ranks the frontier; returns the relevance of the stored pages."""
        session, judge = self._session, self._judge
        assert isinstance(judge, LinearModel)
        visits = [
            replace(each.visit, relevance=judge.relevance_of(*counts)) if (counts := each.term_counts) else each.visit
            for each in history
        ]
        session.reranker.rerank_by_visits(visits)
        relevances = {visit.page.url: visit.relevance for visit in visits if visit.page is not None and visit.is_kept}
        known_relevances: dict[str, float] = {
            url: relevance for url, relevance in relevances.items() if relevance is not None
        }
        session.status.recount([relevance >= RELEVANT for relevance in known_relevances.values()])
        return known_relevances


class _Rejudged(NamedTuple):
    """Pages scored again, by URL."""

    relevances: dict[str, float]
    before: dict[str, float | None]  # what the catalog has


class _CrawledPages:
    """The word counts of pages of a collection: of a sample, for training, and of the latest, to score them again.

    Of n pages, every k-th is in the sample, where k is n / 200 rounded up to a power of 2; examples are excluded. If
    the user gave enough negatives, the sample is not needed, and empty. Word counts are kept in the folder
    (`PageWords`); missing ones are read from the archive.
    """

    def __init__(self, session: Session):
        self._session = session
        self._sample: dict[int, CountedTerms] = {}
        self._common_terms = CommonTerms()  # of the sample
        # Pages of the sample, with the times of their fetches, whose terms the next training saves: most leave before
        self._unsaved: dict[int, tuple[Url, float]] = {}
        self._has_earlier_pages = False  # whether the sample includes pages of earlier runs
        self.has_new_pages = False  # since the last sample
        self.has_additions = False  # whether pages were added in this run

    def add(self, page: Page, at: float, *, with_vector: bool) -> None:
        """Adds the latest page of the collection.

        at: when it was fetched, in seconds since the epoch.
        with_vector: whether its word vector has been computed; otherwise, that is done when it is needed.
        """
        session, number = self._session, self._session.status.pages
        self.has_new_pages = self.has_additions = True
        counts = PageCounts.of(page)
        counts = counts.with_vector() if with_vector else counts
        session.pages.words.put(CachedWords(session.collection.catalog.last_number_added, at, *counts))
        topic = session.topic
        if (
            topic.uses_background_negatives
            and number % self._sampling_interval() == 0
            and page.url not in topic.examples.urls
        ):
            self._sample[number] = self._common_terms.terms(page.words, counts)
            self._unsaved[number] = page.url, at

    def discard_sample(self) -> None:
        """Discards the sample, because the text of a page or the examples have changed."""
        self._sample, self._unsaved, self._has_earlier_pages = {}, {}, False
        self._common_terms = CommonTerms()

    def _sampling_interval(self) -> int:
        """k, if every k-th page is in the sample."""
        interval = 1
        while self._session.status.pages > interval * MAX_UNLABELLED:
            interval *= 2
        return interval

    def sample(self) -> list[Terms]:
        """The terms of the pages for training."""
        self.has_new_pages, interval = False, self._sampling_interval()
        self._sample = {number: terms for number, terms in self._sample.items() if number % interval == 0}
        if len(self._common_terms) > _MAX_COMMON_TERMS:
            self._common_terms.keep(self._sample.values())
        unsaved, self._unsaved = self._unsaved, {}
        for number, (url, at) in unsaved.items():
            if number in self._sample:
                self._session.pages.words.put_terms(url, at, self._sample[number].plain)
        if not self._has_earlier_pages:
            examples = self._session.topic.examples.urls
            for number, url in enumerate(self._session.collection.catalog.every_nth_url(interval), 1):
                if number * interval not in self._sample and url not in examples:
                    self._sample[number * interval] = self._session.pages.terms(url) or CountedTerms({})
            self._has_earlier_pages = True
        return [terms for _, terms in sorted(self._sample.items()) if terms]

    def score_latest(self, judge: Relevance, limit: int) -> _Rejudged:
        """The relevance of the latest pages: by their word counts if these suffice, else from the archived pages."""
        rows = self._session.collection.catalog.page_scores(latest=limit)
        before: dict[str, float | None] = {row.url: row.relevance for row in rows}
        if isinstance(judge, LinearModel):
            relevances: dict[str, float] = {}
            latest_pages = self._counts_of(rows)
            while batch := list(islice(latest_pages, _SCORING_BATCH)):
                scores = judge.relevances_of([counts for _, counts in batch])
                relevances.update(zip((url for url, _ in batch), scores, strict=True))
            return _Rejudged(relevances, before)
        pages = ((row.url, self._session.pages.page(row.url)) for row in rows)
        return _Rejudged({url: judge.relevance(page) for url, page in pages if page is not None}, before)

    def missing_words(self, words: Mapping[str, str]) -> list[str]:
        """The words, given with their terms, that occur on none of the latest pages."""
        codes = codes_of(words.values())
        are_missing = np.ones(len(codes), np.bool_)
        for _, page in self._counts_of(self._session.collection.catalog.page_scores(latest=MAX_REJUDGED)):
            are_missing &= ~np.isin(codes, page.codes)
            if not are_missing.any():
                break
        return [word for word, is_missing in zip(words, are_missing.tolist(), strict=True) if is_missing]

    def _counts_of(self, rows: Sequence[PageScore]) -> Iterator[tuple[Url, PageCounts]]:
        """The word counts of the latest pages, given by their rows."""
        session = self._session
        missing = len(rows) - session.pages.words.count()
        if missing >= _MIN_ANNOUNCED:
            session.notify(
                f"reading {counted(missing, 'page')} from the archive, once; the next time takes a second or so"
            )
        all_cached = session.pages.words.words_after(rows[0].number - 1) if rows else iter(())
        cached = next(all_cached, None)
        for number, url, at, _ in rows:
            while cached is not None and cached.number < number:
                cached = next(all_cached, None)
            if cached is not None and (cached.number, cached.at) == (number, at) and _has_vector_or_none(cached):
                yield url, PageCounts(cached.codes, cached.counts, cached.vector)
            elif (page := session.pages.page(url)) is not None:
                counts = PageCounts.of(page).with_vector()
                session.pages.words.put(CachedWords(number, at, *counts))
                yield url, counts


def _has_vector_or_none(words: CachedWords) -> bool:
    """Whether a page's vector is valid or not computed yet: a collection may come from somebody else."""
    vector = words.vector
    return not len(vector) or (len(vector) == builtin_embedding().dimensions and bool(np.isfinite(vector).all()))
