"""Which pages a user is asked about, and what those drawn at random tell."""

from pathlib import Path
from random import Random

import pytest

from crawling import collection, listing, pages, site
from lycosa.recipe import load_recipe
from lycosa.relevance.harvest import wilson_interval
from lycosa.run import steering
from lycosa.run.open import open_for_reading
from lycosa.run.review import (
    MIN_DRAWN,
    RANDOM_PER_BATCH,
    SAMPLE_FILE,
    Batch,
    LabelledPage,
    SampleResult,
    add_to_sample,
    choose_batch,
    drop_from_review_sample,
    read_sample,
    sample_result,
)
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Url
from sessions import crawl
from worlds import html

SITES = {**site("honey.example", leaves=59), **site("ships.example", leaves=59, text="ship mast sail")}
FRONT = next(iter(SITES))
TWO_TOPICS = {**SITES, FRONT: html("Front", "Everything starts here.", list(SITES)[1:])}


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("review") / "c", [FRONT], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
    crawl(folder, TWO_TOPICS, 60, strategy="hunter")
    return folder


@pytest.fixture
def folder(bees: Path) -> Path:
    for name in ("labels.txt", SAMPLE_FILE, "steering.txt"):
        (bees / name).unlink(missing_ok=True)
    return bees


def batch_of(folder: Path, seed: int = 1, size: int = 10, **more: object) -> Batch:
    with open_for_reading(folder) as opened:
        return choose_batch(opened, folder, load_recipe(folder), size=size, random=Random(seed), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_a_batch_has_pages_of_each_kind_and_none_twice(folder: Path, size: int) -> None:
    batch = batch_of(folder, size=size)
    assert len(batch.pages) == len({page.url for page in batch.pages}) <= size
    kinds = [page.why for page in batch.pages]
    assert kinds.count("random") == min(size, RANDOM_PER_BATCH)
    assert {page.url for page in batch.pages} <= set(pages(folder))
    assert all(page.text for page in batch.pages)
    assert batch.pages_then == 60


def test_labelled_and_passed_over_pages_are_not_asked_for_again(folder: Path) -> None:
    first = [page.url for page in batch_of(folder).pages]
    steering.label(folder, dict.fromkeys(first[:5], True))
    again = {page.url for page in batch_of(folder, exclude=first[5:]).pages if page.why != "random"}
    assert not again & set(first)


@pytest.mark.slow
def test_every_page_is_as_likely_to_be_drawn(folder: Path) -> None:
    drawn: dict[str, int] = dict.fromkeys(pages(folder), 0)
    for seed in range(300):
        for page in batch_of(folder, seed, size=2).pages:
            drawn[page.url] += 1
    assert sum(drawn.values()) == 600
    assert max(drawn.values()) < 30, "ten on average"
    assert min(drawn.values()) > 0


def test_a_labelled_page_that_is_drawn_counts_without_being_asked_for(folder: Path) -> None:
    steering.label(folder, {Url(url): number % 2 == 0 for number, url in enumerate(pages(folder))})
    batch = batch_of(folder)
    assert len(batch.labelled_before) == RANDOM_PER_BATCH
    assert not [page for page in batch.pages if page.why == "random"]


def test_a_page_is_drawn_once(folder: Path) -> None:
    add_to_sample(folder, dict.fromkeys(map(Url, pages(folder)[:-1]), True), pages=60)
    batch = batch_of(folder)
    assert [page.url for page in batch.pages if page.why == "random"] == pages(folder)[-1:]


def test_the_sample_measures_the_share_and_the_precision(folder: Path) -> None:
    with open_for_reading(folder) as opened:
        assert sample_result(folder, opened.catalog) is None
        rows = list(opened.catalog.pages())
        relevant = [row.url for row in rows if (row.relevance or 0.0) >= 0.5][:4]
        others = [row.url for row in rows if (row.relevance or 0.0) < 0.5]
        said = {row.url: row.relevance for row in rows}
        add_to_sample(folder, {url: url != relevant[0] for url in relevant}, pages=60, relevances=said)
        add_to_sample(folder, {Url("http://gone.example/"): True}, pages=60)
        add_to_sample(folder, dict.fromkeys(others, False), pages=60, relevances=said)
        found = sample_result(folder, opened.catalog)
    drawn = 4 + len(others)  # less the one that is gone
    assert found == SampleResult(drawn, 3, 3 / drawn, *wilson_interval(3, drawn), 4, 3, pages_then=60, pages_now=60)
    assert found.is_enough == (drawn >= MIN_DRAWN)
    drop_from_review_sample(folder, lambda url: url in others)
    assert [each.url for each in read_sample(folder)] == [*relevant, "http://gone.example/"]


def test_a_sample_of_a_much_smaller_collection_says_so_until_ten_pages_were_drawn_since(folder: Path) -> None:
    urls = [Url(url) for url in pages(folder)]
    with open_for_reading(folder) as opened:
        add_to_sample(folder, dict.fromkeys(urls[:9], True), pages=20)
        add_to_sample(folder, dict.fromkeys(urls[9:13], True), pages=22)
        old = sample_result(folder, opened.catalog)
        assert old is not None and old.is_behind
        assert old.growth == "when the collection had 20 pages; 40 pages have come since"
        add_to_sample(folder, dict.fromkeys(urls[13:22], False), pages=50)
        mixed = sample_result(folder, opened.catalog)
        assert mixed is not None and mixed.is_behind and mixed.drawn == 22
        add_to_sample(folder, {urls[22]: False}, pages=50)
        new = sample_result(folder, opened.catalog)
    assert new is not None and (new.drawn, new.good, new.growth) == (10, 0, "")
    (folder / SAMPLE_FILE).unlink()


def test_a_batch_of_one_host_is_full_and_has_uncertain_pages(tmp_path: Path) -> None:
    web = site("honey.example", leaves=30)
    folder = collection(tmp_path / "c", [next(iter(web))], topic='text = "honey bees hive"')
    crawl(folder, web, 31)
    kinds = [page.why for page in batch_of(folder).pages]
    assert sorted(kinds) == ["random"] * 2 + ["top"] * 3 + ["uncertain"] * 5


def test_precision_goes_by_what_the_model_said_before_it_was_told(folder: Path) -> None:
    with open_for_reading(folder) as opened:
        rows = [row for row in opened.catalog.pages() if row.relevance is not None][:3]
        first, second, third = (row.url for row in rows)
        add_to_sample(folder, {first: True, second: False}, pages=60, relevances={first: 0.1, second: 0.9})
        add_to_sample(folder, {third: True}, pages=60)  # labelled before it was drawn: the model had been told
        found = sample_result(folder, opened.catalog)
    assert found is not None and (found.good, found.called_relevant, found.rightly) == (2, 1, 0)
    assert read_sample(folder)[0] == LabelledPage(first, good=True, pages=60, verdict="other")


@pytest.mark.parametrize(
    "line",
    ["good", "maybe 3 http://a.example/", "good x http://a.example/", "good 3", "good 3 http://a.example/ perhaps"],
)
def test_a_damaged_sample_names_the_line(folder: Path, line: str) -> None:
    (folder / SAMPLE_FILE).write_text(f"good 3 http://a.example/\n{line}\n")
    with pytest.raises(CollectionError, match=f"{SAMPLE_FILE}:2"):
        read_sample(folder)
    (folder / SAMPLE_FILE).unlink()


@pytest.mark.parametrize("drawn", [1, 10, 200])
def test_an_interval_holds_the_share_and_narrows(drawn: int) -> None:
    for good in (0, drawn // 2, drawn):
        low, high = wilson_interval(good, drawn)
        assert 0.0 <= low <= good / drawn <= high <= 1.0
        wide = wilson_interval(good * 100, drawn * 100)
        assert wide[1] - wide[0] < high - low
    assert wilson_interval(0, 0) == (0.0, 1.0)
