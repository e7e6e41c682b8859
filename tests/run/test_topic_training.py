"""The relevance model: trained from a rule, a file or examples, and trained again as the collection grows."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from crawling import collection, copied, listing, pages, rows, site, waiting
from lycosa.reading.html import Parsed, parse_html
from lycosa.reading.words import FoldedWords
from lycosa.recipe import load_recipe
from lycosa.relevance.predicates import Predicate
from lycosa.relevance.registry import LinearTrainer
from lycosa.relevance.svm import LinearModel
from lycosa.run import topic, upkeep
from lycosa.run.forgotten import add_forgotten
from lycosa.run.reranker import Reranker
from lycosa.run.session import Session
from lycosa.run.stored_pages import StoredPages
from lycosa.run.topic import MODEL_FILE, Terms
from lycosa.run.topic_training import TopicTrainer
from lycosa.strategies.hunter import Hunter
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Change, Page, Url, Visit
from sessions import crawl, opened
from worlds import TOPICAL, TOPICAL_SEED, html, topic_of

HOSTS = ("honey", "ships")
GOOD = [url for url in TOPICAL if topic_of(url) == "bees"][:6]
BAD = [url for url in TOPICAL if topic_of(url) == "ships"][:6]
HONEY = site("honey.example", leaves=119)  # a hundred and twenty pages
FRONT = next(iter(HONEY))
SHIPS = site("ships.example", leaves=59, text="ship mast sail")
TWO_TOPICS = {
    **site("honey.example", leaves=59),
    **SHIPS,
    FRONT: html(
        "Front", "Everything starts here.", [f"http://{host}.example/{n}" for host in HOSTS for n in range(59)]
    ),
}


@pytest.fixture(scope="module")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("training") / "bees", [TOPICAL_SEED], topic='keywords = ["hive"]')
    crawl(folder, TOPICAL, 20, strategy="best-first")
    listing(folder / "good.txt", GOOD)
    listing(folder / "bad.txt", BAD)
    return folder


@pytest.fixture
def crawled(crawled_once: Path, tmp_path: Path) -> Path:
    """Twenty pages, judged by words."""
    return copied(crawled_once, tmp_path / "bees")


def by_examples(folder: Path, **more: str) -> dict[str, object]:
    return {"topic": replace(load_recipe(folder).topic, keywords=(), examples="good.txt", **more)}


def learnt(session: Session) -> tuple[TopicTrainer, int]:
    """A trainer that has learnt, and how often it asked for example pages."""
    trainer, asked = TopicTrainer(session), 0

    async def fetch_examples() -> None:
        nonlocal asked
        asked += 1

    asyncio.run(trainer.learn(fetch_examples))
    return trainer, asked


def page_in(session: Session, url: Url) -> Page:
    page = session.pages.page(url)
    assert page is not None
    return page


def test_a_page_that_was_scored_ahead_is_scored_again_if_the_judge_is_another_one(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled)) as session:
        trainer, _ = learnt(session)
        page, other = page_in(session, GOOD[0]), page_in(session, BAD[0])
        expected = trainer.relevance(page)
        trainer.score_ahead(page)
        trainer.score_ahead(other)
        assert trainer.relevance(page) == expected
        listing(crawled / "good.txt", GOOD[:2])
        trainer.learn_labels("fewer examples")
        now = trainer.relevance(other)
        assert now == trainer.relevance(other) == trainer.relevance(page_in(session, BAD[0]))
        assert trainer.relevance(page) != expected


def good_page(session: Session) -> Page:
    return page_in(session, next(url for url in GOOD if session.pages.page(url)))


def relevances(folder: Path) -> list[float | None]:
    return [value for (value,) in rows(folder, "SELECT relevance FROM pages ORDER BY number")]


# Relevance


def test_a_rule_judges_without_examples_or_a_model(crawled: Path) -> None:
    with opened(crawled) as session:
        trainer, asked = learnt(session)
        assert asked == 0
        assert trainer.relevance(good_page(session)) in (0.0, 1.0)
    assert not (crawled / MODEL_FILE).exists()


def test_examples_are_fetched_and_learnt_from_once(crawled: Path) -> None:
    messages: list[str] = []
    with opened(crawled, notify=messages.append, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, asked = learnt(session)
        judged = trainer.relevance(good_page(session))
        assert (asked, judged > 0.5) == (1, True)
        assert messages[-1] == "there was no model of the topic: re-scoring 20 pages"
    with opened(crawled, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, asked = learnt(session)
        assert (asked, trainer.relevance(good_page(session))) == (0, judged), "by the model that was saved"


def test_other_examples_make_another_model(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled)) as session:
        learnt(session)
    before = relevances(crawled)
    listing(crawled / "good.txt", BAD)
    with opened(crawled, **by_examples(crawled)) as session:
        assert learnt(session)[1] == 1
    assert relevances(crawled) != before


def test_without_negatives_it_is_told_what_stands_for_them(crawled: Path) -> None:
    messages: list[str] = []
    with opened(crawled, notify=messages.append, **by_examples(crawled)) as session:
        learnt(session)
    assert messages[0].startswith("No off-topic examples given (--negatives). Using built-in everyday text for now")


def test_whoever_interrupts_leaves_no_model_behind(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled)) as session:
        session.status.interrupt()
        learnt(session)
    assert not (crawled / MODEL_FILE).exists()


def test_another_predicate_judges_every_page_anew_and_the_same_one_does_not(crawled: Path) -> None:
    messages: list[str] = []
    predicate = Predicate(keywords=("mast",))
    topic = replace(load_recipe(crawled).topic, predicate=predicate)
    for _ in range(2):
        with opened(crawled, notify=messages.append, topic=topic) as session:
            learnt(session)
    assert messages == ["the predicate may have changed: re-scoring 20 pages"]
    with opened(crawled, topic=topic) as session:
        for row in session.collection.catalog.pages():
            assert row.relevance == float("mast" in page_in(session, row.url).terms)


@pytest.mark.slow
@pytest.mark.parametrize("topic", [{"keywords": (), "text": "hives of bees"}, {"keywords": (), "examples": "good.txt"}])
def test_pages_judged_by_whole_words_are_judged_anew_by_stems(crawled: Path, topic: dict[str, object]) -> None:
    messages: list[str] = []
    by_words = replace(load_recipe(crawled).topic, stem=False, **topic)
    for used in (by_words, replace(by_words, stem=True), replace(by_words, stem=True)):
        with opened(crawled, notify=messages.append, topic=used) as session:
            trainer, _ = learnt(session)
            assert relevances(crawled) == [
                trainer.relevance(page_in(session, row.url)) for row in session.collection.catalog.pages()
            ]
    assert [line for line in messages if "re-scoring" in line] == [
        "words are now compared as they are written: re-scoring 20 pages",
        "words are now compared by their stems: re-scoring 20 pages",
    ]


def test_pages_that_were_imported_unjudged_are_judged_by_the_next_crawl(crawled: Path) -> None:
    with opened(crawled) as session:
        session.collection.catalog.connection.execute("UPDATE pages SET relevance = NULL WHERE number < 4")
    messages: list[str] = []
    with opened(crawled, notify=messages.append) as session:
        learnt(session)
    assert messages == ["some pages were imported: re-scoring 20 pages"]
    assert None not in relevances(crawled)


def test_the_judge_at_hand_needs_neither_a_fetch_nor_the_users_code(crawled: Path) -> None:
    with opened(crawled) as session:
        assert TopicTrainer(session).available_judge() is not None
    with opened(crawled, topic=replace(load_recipe(crawled).topic, function="no.such:thing")) as session:
        assert TopicTrainer(session).available_judge() is None
    with opened(crawled, **by_examples(crawled)) as session:
        assert TopicTrainer(session).available_judge() is None, "nothing was learnt yet"
        learnt(session)
        assert TopicTrainer(session).available_judge() is not None


@pytest.fixture
def honey(tmp_path: Path) -> Path:
    """Ninety-nine pages, with examples and no negatives."""
    folder = collection(tmp_path / "honey", [FRONT], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", *list(HONEY)[1:4]])
    crawl(folder, HONEY, 99, strategy="breadth-first")
    return folder


class Training(Struct, frozen=True):
    """What a model was trained on, and when."""

    pages: int  # of the collection
    bad: int
    unlabelled: list[Terms]
    background: int
    model: LinearModel


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[Training]:
    """Every training from now on."""
    made: list[Training] = []
    train, pages = LinearTrainer.train, [0]
    topic_train = TopicTrainer._train

    def noted(self: LinearTrainer, good: Any, bad: Any, unlabelled: Any, background: Any, **given: Any) -> Any:
        model = train(self, good, bad, unlabelled, background, **given)
        made.append(Training(pages[0], len(bad), list(unlabelled), len(background), model))
        return model

    def counted(self: TopicTrainer) -> Any:
        pages[0] = self._session.status.pages
        return topic_train(self)

    monkeypatch.setattr(LinearTrainer, "train", noted)
    monkeypatch.setattr(TopicTrainer, "_train", counted)
    return made


@pytest.fixture
def reranked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pages there were whenever the archive was read to rank what waits."""
    sizes: list[int] = []
    rerank = Reranker.rerank

    def noted(self: Reranker, **how: Any) -> Any:
        sizes.append(self._state.status.pages)
        return rerank(self, **how)

    monkeypatch.setattr(Reranker, "rerank", noted)
    return sizes


@pytest.fixture
def two_topics(tmp_path: Path) -> Path:
    """Nothing crawled yet: a seed that leads to bees and ships."""
    return collection_on_bees(tmp_path / "two")


def collection_on_bees(folder: Path) -> Path:
    collection(folder, [FRONT], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
    texts = ["ships and their masts at sea", "the sails of a ship", "a harbour and its quay", "ropes and anchors"]
    listing(folder / "bad.txt", [*texts, "the captain of a vessel"])
    listing(folder / "few.txt", texts[:1])
    return folder


def judged_by(model: LinearModel, folder: Path) -> list[float]:
    with opened(folder) as session:
        return [model.relevance(page_in(session, row.url)) for row in session.collection.catalog.pages()]


@pytest.mark.slow
def test_a_model_is_trained_again_with_five_pages_and_ever_less_often(
    two_topics: Path, trainings: list[Training], reranked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rejudged: list[int] = []
    rejudge = Hunter.rejudge

    def noted(self: Hunter, relevances: Mapping[str, float], standings: Mapping[str, float] | None) -> Any:
        rejudged.append(len(relevances))
        return rejudge(self, relevances, standings)

    monkeypatch.setattr(Hunter, "rejudge", noted)
    crawl(two_topics, TWO_TOPICS, 85, strategy="hunter")
    assert [each.pages for each in trainings] == [0, 5, 10, 20, 40, 80, 85], "at the end of a short crawl, too"
    assert [len(each.unlabelled) for each in trainings] == [0, 5, 10, 20, 40, 80, 85]
    assert all(each.background and not each.bad for each in trainings)
    assert rejudged == [5, 10, 20, 40, 80], "what waits is ranked by the strategy itself,"
    assert reranked == [], "and not by reading the archive"
    assert relevances(two_topics) == pytest.approx(judged_by(trainings[-1].model, two_topics), rel=1e-6)


@pytest.mark.slow
def test_to_train_on_pages_of_the_crawl_their_words_are_not_made_into_strings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[object] = []
    terms = FoldedWords.__dict__["terms"].func
    monkeypatch.setattr(FoldedWords, "terms", property(lambda words: counted.append(words) or terms(words)))
    counts = []
    for size in (5, 30):
        crawl(collection_on_bees(tmp_path / str(size)), TWO_TOPICS, size, strategy="hunter")
        counts.append(len(counted))
        counted.clear()
    assert counts[0] == counts[1], "those of the examples and the background alone"


def last_visit(session: Session) -> Visit:
    *_, last = (event for event, _ in session.collection.archive.events() if isinstance(event, Visit))
    return replace(last, page=session.reader(last.fetch))


@pytest.mark.slow
def test_what_waits_is_ranked_by_the_new_model(two_topics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl(two_topics, TWO_TOPICS, 19, is_killed=True)
    monkeypatch.setattr("lycosa.run.topic_training.RETRAIN_AT", (5, 10, 19))
    monkeypatch.setattr("lycosa.run.topic_training.REJUDGE_AT", frozenset((5, 10, 19)))
    with opened(two_topics) as session:
        trainer, _ = learnt(session)
        before, judged = waiting(two_topics), relevances(two_topics)
        trainer.train_if_due()
    assert relevances(two_topics) != judged
    assert waiting(two_topics) != before
    assert waiting(two_topics).keys() == before.keys()


@pytest.mark.slow
def test_judging_at_the_end_leaves_what_waits_and_the_saved_model_as_they_are(two_topics: Path) -> None:
    crawl(two_topics, TWO_TOPICS, 19, is_killed=True)
    with opened(two_topics) as session:
        trainer, _ = learnt(session)
        before, judged, model = waiting(two_topics), relevances(two_topics), (two_topics / MODEL_FILE).read_bytes()
        trainer.observe(last_visit(session))
        trainer.finish()
    assert relevances(two_topics) != judged
    assert (waiting(two_topics), (two_topics / MODEL_FILE).read_bytes()) == (before, model)


@pytest.mark.slow
def test_strategies_that_cannot_rank_again_have_the_archive_read_at_fewer_sizes(
    two_topics: Path, trainings: list[Training], reranked: list[int]
) -> None:
    crawl(two_topics, TWO_TOPICS, 85, strategy="pagerank")
    assert [each.pages for each in trainings] == [0, 20, 80]
    assert reranked == [20, 80]


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize("size", [3, 23, 38])
def test_a_crawl_that_was_ended_goes_on_as_if_it_had_not_been(tmp_path: Path, size: int, is_killed: bool) -> None:
    whole, killed = (collection_on_bees(tmp_path / name) for name in ("whole", "killed"))
    crawl(whole, TWO_TOPICS, 45, strategy="hunter")
    crawl(killed, TWO_TOPICS, size, strategy="hunter", is_killed=is_killed)
    crawl(killed, TWO_TOPICS, 45, strategy="hunter")
    assert pages(killed) == pages(whole)
    assert relevances(killed) == relevances(whole)
    assert (killed / MODEL_FILE).read_bytes() == (whole / MODEL_FILE).read_bytes()


@pytest.mark.slow
def test_the_same_pages_give_the_same_model_however_often_a_crawl_was_stopped(tmp_path: Path) -> None:
    whole, stopped = (collection_on_bees(tmp_path / name) for name in ("whole", "stopped"))
    crawl(whole, TWO_TOPICS, 85, strategy="breadth-first")
    for size in (3, 30, 79, 85):
        crawl(stopped, TWO_TOPICS, size, strategy="breadth-first")
    assert pages(stopped) == pages(whole)
    assert (stopped / MODEL_FILE).read_bytes() == (whole / MODEL_FILE).read_bytes()


@pytest.mark.slow
def test_a_sample_is_the_same_whether_its_pages_were_just_crawled_or_read_from_the_archive(
    two_topics: Path, trainings: list[Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa.run.topic_training.MAX_UNLABELLED", 10)
    crawl(two_topics, TWO_TOPICS, 20)
    add_forgotten(two_topics, pages(two_topics)[6])
    with opened(two_topics) as session:
        assert session.pages_forgotten == 1
    crawl(two_topics, TWO_TOPICS, 45)
    live = trainings[-1].unlabelled
    assert 5 <= len(live) <= 10
    with opened(two_topics) as session:
        trainer, _ = learnt(session)
        trainer.train_again("a test asks for it")
    assert trainings[-1].unlabelled == live


@pytest.mark.slow
def test_pages_that_were_seen_changed_are_judged_by_their_new_words(two_topics: Path) -> None:
    crawl(two_topics, TWO_TOPICS, 20)
    with opened(two_topics) as session:
        trainer, _ = learnt(session)
        trainer.train_again("the words of all pages are at hand now")
        visit = last_visit(session)
        fetch = replace(visit.fetch, at=visit.fetch.at + 1, body=html("Changed", "mast, sail and ship " * 9))
        changed = replace(visit, fetch=fetch, page=session.reader(fetch), change=Change.CHANGED)
        trainer.observe(visit)  # something to learn from
        session.record(changed)
        trainer.observe(changed)
        trainer.finish()
        page = page_in(session, visit.fetch.url)
        assert page.title == "Changed"
        assert relevances(two_topics)[-1] == pytest.approx(trainer.relevance(page), rel=1e-6)


@pytest.mark.parametrize(("longest", "sizes"), [(7, [0, 5, 7]), (6, [0, 5])])
def test_a_short_crawl_is_judged_once_more_at_its_end(
    two_topics: Path, trainings: list[Training], monkeypatch: pytest.MonkeyPatch, longest: int, sizes: list[int]
) -> None:
    monkeypatch.setattr("lycosa.run.topic_training.MAX_REJUDGED", longest)
    crawl(two_topics, TWO_TOPICS, 7)
    assert [each.pages for each in trainings] == sizes
    crawl(two_topics, TWO_TOPICS, 7)
    assert [each.pages for each in trainings] == sizes, "nothing has come since"


def test_with_negatives_given_there_is_no_background(two_topics: Path, trainings: list[Training]) -> None:
    messages: list[str] = []
    topic = replace(load_recipe(two_topics).topic, negatives="bad.txt")
    crawl(two_topics, TWO_TOPICS, 12, topic=topic, notify=messages.append)
    assert [(each.pages, each.bad, each.background) for each in trainings] == [(0, 5, 0)], "and once is enough"
    assert not any("off-topic examples" in line for line in messages)


@pytest.mark.parametrize(("negatives", "is_kept"), [("bad.txt", False), ("few.txt", True)])
def test_terms_of_pages_are_kept_for_training_only_where_it_needs_them(
    two_topics: Path, negatives: str, is_kept: bool
) -> None:
    topic = replace(load_recipe(two_topics).topic, negatives=negatives)
    crawl(two_topics, TWO_TOPICS, 12, topic=topic)
    with opened(two_topics, topic=topic) as session:
        found = [
            session.pages.words.terms(row.url, row.at)
            for row in session.collection.catalog.page_scores(latest=12)
            if row.url not in session.topic.examples.urls
        ]
    assert found and all((terms is not None) == is_kept for terms in found)


def test_with_few_negatives_the_background_and_the_crawl_count_too(two_topics: Path, trainings: list[Training]) -> None:
    messages: list[str] = []
    topic = replace(load_recipe(two_topics).topic, negatives="few.txt")
    crawl(two_topics, TWO_TOPICS, 12, topic=topic, notify=messages.append)
    assert [each.pages for each in trainings] == [0, 5, 10, 12]
    assert all((each.bad, each.background > 0) == (1, True) for each in trainings)
    assert any(line.startswith("Fewer than 5 off-topic examples given") for line in messages)


def test_a_topic_that_is_a_rule_is_never_trained(crawled: Path, trainings: list[Training]) -> None:
    crawl(crawled, TOPICAL, 30)
    assert trainings == []


@pytest.mark.slow
def test_pages_on_the_topic_are_told_from_others(two_topics: Path) -> None:
    crawl(two_topics, TWO_TOPICS, 75)
    judged = dict(rows(two_topics, "SELECT url, relevance FROM pages WHERE title LIKE 'Leaf%' ORDER BY number"))
    bees = [value for url, value in judged.items() if "honey" in url]
    ships = [value for url, value in judged.items() if "ships" in url]
    assert min(bees) > 0.5 > max(ships)
    assert len(bees) > len(ships), "and their links are followed first"


def test_training_again_judges_all_pages_by_the_new_model(crawled: Path) -> None:
    with opened(crawled, **by_examples(crawled, negatives="bad.txt")) as session:
        trainer, _ = learnt(session)
        trainer.train_again("a test asks for it")
        judged = [trainer.relevance(page_in(session, row.url)) for row in session.collection.catalog.pages()]
    assert relevances(crawled) == pytest.approx(judged, rel=1e-6)


@pytest.mark.slow
def test_a_label_neither_reads_pages_nor_the_list_of_public_suffixes(
    two_topics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl(two_topics, TWO_TOPICS, 40)
    url, messages = Url(pages(two_topics)[-1]), list[str]()
    read: list[Url] = []
    page = StoredPages.page
    monkeypatch.setattr(StoredPages, "page", lambda pages, url: read.append(url) or page(pages, url))
    monkeypatch.setattr("lycosa.vocabulary.urls._suffixes", lambda: pytest.fail("sites are not needed"))
    monkeypatch.setattr("lycosa.run.topic_training._MIN_ANNOUNCED", 30)
    upkeep.label(two_topics, {url: True}, clock=WallClock(), notify=messages.append)
    assert set(read) <= {url} and messages == []
    (two_topics / "words.sqlite").unlink()
    upkeep.label(two_topics, {url: False}, clock=WallClock(), notify=messages.append)
    assert len(set(read)) == 40
    assert messages == ["reading 40 pages from the archive, once; the next time takes a second or so"]


@pytest.mark.slow
def test_examples_in_files_and_the_background_are_counted_once(
    two_topics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (two_topics / "honey.html").write_text("<p>honey of the bees in their hive</p>")
    with (two_topics / "good.txt").open("a") as examples:
        examples.write("honey.html\n")
    crawl(two_topics, TWO_TOPICS, 20)
    url, counted = Url(pages(two_topics)[-1]), list[str]()
    as_text, as_html = topic.page_of_text, topic.page_of_html
    monkeypatch.setattr(topic, "page_of_text", lambda *a, **k: counted.append("text") or as_text(*a, **k))
    monkeypatch.setattr(topic, "page_of_html", lambda *a, **k: counted.append("file") or as_html(*a, **k))
    upkeep.label(two_topics, {url: True}, clock=WallClock(), notify=lambda line: None)
    assert Counter(counted) == {"text": 2}, "examples that are texts are counted each time"
    (two_topics / "honey.html").write_text("<p>wax of the bees</p>")
    upkeep.label(two_topics, {url: False}, clock=WallClock(), notify=lambda line: None)
    assert counted.count("file") == 1


# What a strategy that cannot rank again by itself is led through


def by_good_pages(folder: Path) -> Path:
    made = collection(folder, [TOPICAL_SEED], topic='examples = "good.txt"')
    listing(made / "good.txt", GOOD)
    return made


def test_a_new_crawl_by_links_alone_is_judged_and_ranked_anew_without_reading_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(session: Session) -> None:
        raise AssertionError("the archive was read")

    messages: list[str] = []
    monkeypatch.setattr(Reranker, "_archived_visits", read)
    crawl(by_good_pages(tmp_path / "bees"), TOPICAL, 25, strategy="best-first", notify=messages.append)
    assert "20 pages collected, model retrained: re-scoring 20 pages" in messages


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["best-first", "baseline-focused", "breadth-first", "random"])
def test_judged_by_visits_in_memory_or_by_those_of_the_archive_all_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    folders = [by_good_pages(tmp_path / name) for name in ("memory", "archive")]
    crawl(folders[0], TOPICAL, 25, strategy=strategy)
    monkeypatch.setattr("lycosa.run.first_visits.MAX_VISITS", 3)  # from then on there is no history
    crawl(folders[1], TOPICAL, 25, strategy=strategy)
    by_memory, by_archive = (
        (rows(folder, "SELECT url, relevance, priority FROM pages"), waiting(folder)) for folder in folders
    )
    assert by_memory == by_archive


def test_a_page_is_parsed_once_however_often_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[Url] = Counter()

    def noted(html: str, url: Url, **how: Any) -> Parsed:
        parsed[url] += 1
        return parse_html(html, url, **how)

    folder = by_good_pages(tmp_path / "bees")
    monkeypatch.setattr("lycosa.reading.reader.parse_html", noted)
    crawl(folder, TOPICAL, 25, strategy="best-first")
    assert len(pages(folder)) == 25
    assert {parsed[url] for url in pages(folder) if url not in GOOD} == {1}
