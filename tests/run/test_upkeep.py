"""Between crawls: made anew, added to, labelled, and told to forget."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawling import archives, collection, copied, listing, pages, rows, waiting
from lycosa.cli.label import labels_in_words
from lycosa.run.forgotten import is_forgotten, read_forgotten
from lycosa.run.open import open_for_reading
from lycosa.run.overview import overview
from lycosa.run.removal import REPORT_FILE
from lycosa.run.reranker import Reranker
from lycosa.run.topic import LABELS_FILE, MODEL_FILE, TOPIC_HAS_CHANGED
from lycosa.run.topic_training import LearntLabels
from lycosa.run.upkeep import ImportedArchive, forget, import_archive, label, rebuild
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Url
from sessions import NOW, crawl, opened
from worlds import TOPICAL, TOPICAL_SEED, topic_of

GOOD = [url for url in TOPICAL if topic_of(url) == "bees"]
BAD = [url for url in TOPICAL if topic_of(url) == "ships"]
QUIETLY = {"clock": SimulatedClock(NOW), "notify": lambda line: None}


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("upkeep") / "words", [TOPICAL_SEED], topic='keywords = ["hive"]')
    crawl(folder, TOPICAL, 15, strategy="best-first")
    return folder


@pytest.fixture(scope="module")
def by_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("upkeep") / "learning"
    folder = collection(place, [TOPICAL_SEED], topic='examples = "good.txt"\nnegatives = "bad.txt"')
    listing(folder / "good.txt", GOOD[:4])
    listing(folder / "bad.txt", BAD[:5])
    crawl(folder, TOPICAL, 15, strategy="best-first")
    return folder


@pytest.fixture
def words(by_words: Path, tmp_path: Path) -> Path:
    """A collection of fifteen pages, judged by words."""
    return copied(by_words, tmp_path / "words")


@pytest.fixture
def learning(by_examples: Path, tmp_path: Path) -> Path:
    """A collection of fifteen pages, judged by a model of examples."""
    return copied(by_examples, tmp_path / "learning")


def test_a_rebuild_needs_the_archive_alone_and_counts_the_pages(words: Path) -> None:
    before, waited = pages(words), waiting(words)
    (words / "catalog.sqlite").unlink()
    shutil.rmtree(words / "search")
    assert rebuild(words, **QUIETLY) == 15
    assert pages(words) == before
    assert waiting(words) == pytest.approx(waited)


def test_forgetting_what_is_not_there_keeps_the_report(words: Path) -> None:
    (words / REPORT_FILE).write_text("a report")
    assert forget(words, "nowhere.example", **QUIETLY).report is None
    assert (words / REPORT_FILE).exists()
    assert forget(words, pages(words)[3], **QUIETLY).report is not None
    assert not (words / REPORT_FILE).exists()


@pytest.mark.parametrize("stem", [True, False])
def test_a_rebuild_remembers_how_the_pages_were_scored(tmp_path: Path, stem: bool) -> None:
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic=f'text = "bees hive"\nstem = {str(stem).lower()}')
    crawl(folder, TOPICAL, 8)
    messages: list[str] = []
    rebuild(folder, clock=SimulatedClock(NOW), notify=messages.append)
    crawl(folder, TOPICAL, 9, notify=messages.append)
    assert not [line for line in messages if "re-scoring" in line or "scored" in line]


def test_a_predicate_that_is_as_it_was_is_no_change(tmp_path: Path) -> None:
    topic = 'predicate = { any = [{ keywords = ["hive"] }, { keywords = ["mast"] }] }'
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic=topic)
    crawl(folder, TOPICAL, 8)
    recipe = folder / "lycosa.toml"
    for text, has_changed in ((recipe.read_text(), False), (recipe.read_text().replace("mast", "hull"), True)):
        recipe.write_text(text)
        with open_for_reading(folder) as opened_now:
            assert overview(opened_now).has_topic_changed == has_changed


def test_a_topic_that_changed_since_the_pages_were_scored_is_told_of(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic='text = "bees hive"')
    crawl(folder, TOPICAL, 8)
    recipe = folder / "lycosa.toml"
    for before, topic in (("bees hive", 'text = "ship mast"'), ("ship mast", 'keywords = ["mast"]')):
        with open_for_reading(folder) as opened_now:
            assert not overview(opened_now).has_topic_changed
        recipe.write_text(recipe.read_text().replace(f'text = "{before}"', topic))
        messages: list[str] = []
        rebuild(folder, clock=SimulatedClock(NOW), notify=messages.append)
        assert TOPIC_HAS_CHANGED in messages
        with open_for_reading(folder) as opened_now:
            assert overview(opened_now).has_topic_changed
        crawl(folder, TOPICAL, 9)
    with open_for_reading(folder) as opened_now:
        assert not overview(opened_now).has_topic_changed


def test_a_rebuild_tells_of_damage_within_the_archive(words: Path) -> None:
    (path,) = archives(words)
    (place, length), *_ = rows(words, "SELECT place, length FROM pages WHERE number = 7")
    data = bytearray(path.read_bytes())
    data[place : place + length] = bytes(length)
    path.write_bytes(data)
    messages: list[str] = []
    assert rebuild(words, clock=SimulatedClock(NOW), notify=messages.append) == 14
    assert [line for line in messages if "are damaged and unreadable" in line and path.name in line]


def test_pages_of_another_archive_join_the_collection_once(words: Path, tmp_path: Path) -> None:
    other = collection(tmp_path / "other", [BAD[0]], topic='keywords = ["mast"]')
    crawl(other, TOPICAL, 10, strategy="breadth-first")
    [archive] = archives(other)
    known = len({*pages(words)} & {*pages(other)})
    imported = import_archive(words, archive, **QUIETLY)
    assert (imported.pages, imported.known, imported.damage) == (10 - known, known, "")
    assert import_archive(words, archive, **QUIETLY) == ImportedArchive(0, 10, imported.skipped, "")
    judged = dict(rows(words, "SELECT url, relevance FROM pages"))
    assert judged[BAD[0]] == float(b"hive" in TOPICAL[BAD[0]]), "by the collection's own topic"


def test_a_label_of_a_page_at_hand_trains_the_model_anew(learning: Path) -> None:
    [url] = [url for url in pages(learning) if url not in GOOD[:4] and topic_of(url) == "bees"][:1]
    before, model = dict(rows(learning, "SELECT url, relevance FROM pages")), (learning / MODEL_FILE).read_bytes()
    assert label(learning, {Url(url): False}, **QUIETLY) == LearntLabels(len(pages(learning)), 0)
    after = dict(rows(learning, "SELECT url, relevance FROM pages"))
    assert after[url] < before[url]
    assert (learning / MODEL_FILE).read_bytes() != model
    assert (learning / LABELS_FILE).read_text() == f"bad {url}\n"


def test_examples_to_fetch_are_told_from_labelled_pages(learning: Path) -> None:
    with (learning / "good.txt").open("a") as examples:
        examples.write("http://nowhere.example/one\nhttp://nowhere.example/two\n")
    learnt = label(learning, {Url(pages(learning)[3]): True, Url("http://nowhere.example/three"): True}, **QUIETLY)
    missing = [url for url in GOOD[:4] + BAD[:5] if url not in pages(learning)]
    assert learnt.missing_examples >= 2
    assert learnt.missing == learnt.missing_examples + 1, missing
    assert "fetches 1 labelled page and " in labels_in_words(learnt, learning)
    untrained = labels_in_words(replace(learnt, judged=None), Path("my bees"))
    assert untrained.endswith(" crawl 'my bees'"), "a shell takes it as it is"


@pytest.mark.slow
def test_what_waits_is_ranked_by_labels_when_the_next_session_opens(tmp_path, monkeypatch) -> None:
    folder = collection(tmp_path / "hunting", [TOPICAL_SEED], topic='examples = "good.txt"\nnegatives = "bad.txt"')
    listing(folder / "good.txt", GOOD[:4])
    listing(folder / "bad.txt", BAD[:5])
    crawl(folder, TOPICAL, 15, strategy="hunter")
    waited = waiting(folder)
    page = next(url for url in pages(folder) if url in GOOD[4:])
    assert label(folder, {Url(page): False}, **QUIETLY) == LearntLabels(judged=15, missing=0)
    assert waiting(folder) == waited
    monkeypatch.setattr(Reranker, "_archived_visits", None)  # would be called to read the pages again
    with opened(folder) as session:
        session.checkpoint()
    ranked = waiting(folder)
    assert ranked.keys() == waited.keys()
    assert ranked != waited
    with opened(folder) as session:
        session.checkpoint()
    assert waiting(folder) == ranked  # once is enough


@pytest.mark.slow
def test_a_model_that_cannot_be_read_stops_no_command(learning: Path, words: Path) -> None:
    damaged = (learning / MODEL_FILE).read_text().replace('"bias":', '"bias":-2.3e11,"was":')

    def told_by(run: Callable[[Callable[[str], None]], object]) -> list[str]:
        told: list[str] = []
        (learning / MODEL_FILE).write_text(damaged)
        run(told.append)
        return [line for line in told if "has to be retrained" in line]

    clock = SimulatedClock(NOW)
    told_by(lambda notify: label(learning, {GOOD[5]: True}, clock=clock, notify=notify))
    assert (learning / MODEL_FILE).read_text() != damaged
    assert len(told_by(lambda notify: rebuild(learning, clock=clock, notify=notify))) <= 1
    assert len(told_by(lambda notify: import_archive(learning, archives(words)[0], clock=clock, notify=notify))) <= 1
    assert len(told_by(lambda notify: forget(learning, pages(learning)[-1], clock=clock, notify=notify))) <= 1
    assert not (learning / MODEL_FILE).exists() or (learning / MODEL_FILE).read_text() != damaged
    (learning / MODEL_FILE).write_text(damaged)
    crawl(learning, TOPICAL, 18, strategy="best-first")
    assert "2.3e11" not in (learning / MODEL_FILE).read_text()


def test_a_label_of_a_page_that_was_not_fetched_waits_for_the_next_crawl(learning: Path) -> None:
    url = next(url for url in GOOD if url not in pages(learning))
    before = (learning / MODEL_FILE).read_bytes()
    assert label(learning, {url: True}, **QUIETLY) == LearntLabels(15, 1)
    assert (learning / MODEL_FILE).read_bytes() == before, "the next crawl trains with it, too"
    messages: list[str] = []
    crawl(learning, TOPICAL, 16, strategy="best-first", notify=messages.append)
    assert "the topic or its examples have changed: re-scoring 15 pages" in messages


def test_nothing_is_noted_of_a_collection_that_somebody_else_writes(learning: Path) -> None:
    with opened(learning):
        with pytest.raises(CollectionError):
            label(learning, {GOOD[0]: False}, **QUIETLY)
        with pytest.raises(CollectionError):
            forget(learning, GOOD[0], **QUIETLY)
    assert not (learning / LABELS_FILE).exists()
    assert not (learning / "forgotten.txt").exists()


def test_a_rule_learns_nothing_from_labels(words: Path) -> None:
    with pytest.raises(UsageError, match="change the rule"):
        label(words, {TOPICAL_SEED: True}, **QUIETLY)
    assert not (words / LABELS_FILE).exists()


@pytest.mark.slow
def test_a_forgotten_page_is_nowhere_any_more_and_not_fetched_again(words: Path) -> None:
    url = pages(words)[3]
    (words / REPORT_FILE).write_text(f"{url} was here")
    assert forget(words, url, **QUIETLY).pages == 1
    assert url not in pages(words) and url not in waiting(words)
    assert not (words / REPORT_FILE).exists()
    assert forget(words, url, **QUIETLY).pages == 0
    assert url not in crawl(words, TOPICAL, strategy="best-first")


@pytest.mark.slow
@pytest.mark.parametrize("spelling", ["ships.example", "SHIPS.example/"])
def test_all_of_a_host_is_forgotten_by_its_name(words: Path, spelling: str) -> None:
    crawl(words, TOPICAL, 25, strategy="breadth-first")
    ships = [url for url in pages(words) if "//ships." in url]
    assert forget(words, spelling, **QUIETLY).pages == len(ships) > 0
    assert not [url for url in (*pages(words), *waiting(words)) if "//ships." in url]


def test_a_host_is_forgotten_in_any_spelling_of_its_name(words: Path) -> None:
    for spelling, host in (("Bücher.example ", "xn--bcher-kva.example"), ("shop.example:80", "shop.example")):
        assert forget(words, spelling, **QUIETLY).name == host
        assert is_forgotten(Url(f"http://{host}/page"), read_forgotten(words))


@pytest.mark.slow
def test_a_label_is_forgotten_with_its_page(learning: Path) -> None:
    for url in (GOOD[0], BAD[0]):
        label(learning, {url: False}, **QUIETLY)
    forget(learning, "bees.example", **QUIETLY)
    assert (learning / LABELS_FILE).read_text() == f"bad {BAD[0]}\n"


@pytest.mark.slow
def test_a_model_that_was_trained_on_a_forgotten_example_is_not_kept(learning: Path) -> None:
    forget(learning, TOPICAL_SEED, **QUIETLY)
    assert (learning / MODEL_FILE).exists(), "it holds no word of that page"
    forget(learning, GOOD[0], **QUIETLY)
    assert not (learning / MODEL_FILE).exists()


@pytest.mark.parametrize("what", ["http://", "bees.example/hive", "", "/"])
def test_what_is_neither_a_url_nor_a_host_is_refused(words: Path, what: str) -> None:
    with pytest.raises(UsageError, match=r"host such as example\.org"):
        forget(words, what, **QUIETLY)
    assert not (words / "forgotten.txt").exists()
