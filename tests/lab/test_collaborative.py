"""The study of collaborative crawling: claims follow from tables, and fail where readers tell nothing."""

import json
import random
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from lab.study_runs import run_small_as_json, texts_made_once
from lycosa.logs import AccessLog
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.statistics import paired_t
from lycosa_lab.studies import STUDIES
from lycosa_lab.studies.collaborative import CollaborativeCrawling
from lycosa_lab.studies.collaborative.claims import all_claims
from lycosa_lab.studies.collaborative.shared import (
    COLLABORATIVE,
    COMBINED,
    DRAWS,
    EITHER,
    FIELD,
    INTELLIGENT,
    INTELLIGENT_RUNS,
    MIN_CRAWL_PAGES,
    PATH_PART,
    SHUFFLED,
    TOPIC,
    TOPICAL,
    WORD,
    choose_predicates,
    count_satisfying,
    directory_seeds,
    predicate_of,
    prepare,
    random_starts,
    shuffled,
)
from lycosa_lab.studies.collaborative.tables import CollaborativeTables
from lycosa_lab.worlds.documents import Documents
from lycosa_lab.worlds.synthetic import SyntheticWorld

CLAIMS = ["beats-intelligent", "combined-best", "learns", "factors", "privacy", "control", "listed-starts"]
SIZE = {"topics": 3, "pages": 50, "readers": 200, "days": 4, "world_pages": 6_000, "world_topics": 8}
WORLD = SyntheticWorld(pages=6_000, topics=8, seed=11)


class Tiny(CollaborativeCrawling):
    scales: ClassVar = {"small": SIZE}


def results_of(folder, world=WORLD, seed=11):
    return run_small_as_json(Tiny(), world, seed=seed, out=folder)


@pytest.fixture(scope="module", autouse=True)
def texts():
    with texts_made_once(WORLD):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def results(folder):
    return results_of(folder)


@pytest.fixture
def outcomes(folder, results):
    return [json.loads(part.read_text())[0] for part in sorted((folder / "parts").iterdir())]


@pytest.fixture(scope="module")
def inputs():
    return prepare(WORLD, SIZE, 11)


# What crawls look for


def test_there_are_topics_fields_and_other_predicates():
    kinds = [aim["kind"] for aim in choose_predicates(WORLD, SIZE)]
    assert kinds.count(TOPIC) == SIZE["topics"]
    assert kinds.count(FIELD) == 2
    assert {EITHER, WORD, PATH_PART} <= set(kinds)


def test_predicates_hold_by_the_word_of_the_world(inputs):
    topic, *_, either, word, address = (
        predicate_of(each, WORLD, inputs.sampled_urls) for each in choose_predicates(WORLD, SIZE)
    )
    for url in inputs.sampled_urls[:200]:
        page = WORLD.read(url)
        label = WORLD.topic(url)
        assert topic.holds(page) == topic.holds_for_url(url) == (label == topic.name)
        assert either.holds(page) == (label in either.name.split(" or "))
        assert word.holds(page) == (word.name.split("“")[1].rstrip("”") in page.tokens)
        assert address.holds(page) == address.holds_for_url(url)
    part = address.name.split("“")[1].rstrip("”")
    assert all(part in url for url in inputs.sampled_urls if address.holds_for_url(url))


def test_targets_are_counted_or_told_from_a_sample(inputs):
    topic, *_, word, _ = (predicate_of(each, WORLD, inputs.sampled_urls) for each in choose_predicates(WORLD, SIZE))
    urls = inputs.access_log.urls
    assert count_satisfying(inputs.access_log, topic, WORLD, inputs.sampled_urls) == sum(
        WORLD.topic(u) == topic.name for u in urls
    )
    counted = sum(word.holds(WORLD.read(url)) for url in urls)
    assert count_satisfying(inputs.access_log, word, WORLD, inputs.sampled_urls) == pytest.approx(counted, rel=0.3)


def test_crawls_find_no_more_than_half_of_what_was_read(inputs):
    assert inputs.crawl_length(10_000) == SIZE["pages"]
    assert inputs.crawl_length(2 * MIN_CRAWL_PAGES) == MIN_CRAWL_PAGES
    assert inputs.crawl_length(2 * MIN_CRAWL_PAGES - 2) == 0


def test_starts_are_pages_of_the_log_and_no_two_share_one(inputs):
    starts = random_starts(inputs.access_log, random.Random(5), 5)
    pages = [url for start in starts for url in start]
    assert len(pages) == len(set(pages)) == 50
    assert all(inputs.access_log.id_of(url) is not None for url in pages)


def test_listed_seeds_satisfy_the_predicate(inputs):
    for each in choose_predicates(WORLD, SIZE):
        aim = predicate_of(each, WORLD, inputs.sampled_urls)
        seeds = directory_seeds(WORLD, aim, random.Random(5))
        assert seeds and all(aim.holds(WORLD.read(url)) for url in seeds)


def test_shuffled_readings_have_the_same_readers_and_pages_in_another_order(inputs):
    dealt = shuffled(inputs.access_log, 3)
    assert (dealt.users, dealt.access_count) == (inputs.access_log.users, inputs.access_log.access_count)
    assert np.array_equal(np.sort(dealt.url_ids), np.sort(inputs.access_log.url_ids))
    assert not np.array_equal(dealt.url_ids, inputs.access_log.url_ids)


def test_worlds_without_readers_or_topics_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(210):
            (tmp_path / name / f"{number}.html").write_text(f"<title>{name} {number}</title>")
    unread = Documents(path=str(tmp_path), topics="folders")
    assert choose_predicates(unread, SIZE)
    with pytest.raises(UsageError, match="a world with readers"):
        prepare(unread, SIZE, 1)
    with pytest.raises(UsageError, match="needs two topics"):
        choose_predicates(Documents(path=str(tmp_path / "a")), SIZE)


def test_a_log_whose_accesses_are_all_at_one_time_is_refused(monkeypatch):
    one_time = AccessLog.of(
        (user, url, 7.0) for user, url in (("ann", "http://a.example/"), ("bob", "http://b.example/"))
    )
    monkeypatch.setattr("lycosa_lab.studies.collaborative.shared.access_log_of", lambda *_: one_time)
    with pytest.raises(UsageError, match="at different times"):
        prepare(WORLD, SIZE, 1)


# The study


def test_it_is_among_the_studies():
    assert isinstance(STUDIES["collaborative"], CollaborativeCrawling)


def test_every_claim_is_computed_and_every_figure_drawn(results, folder):
    assert [claim["id"] for claim in results["claims"]] == [f"collaborative.{name}" for name in CLAIMS]
    for picture in ("field-1", "field-2", "predicates", "factors", "privacy", "ageing", "control", "listed", "learns"):
        assert "<svg" in (folder / f"{picture}.svg").read_text()
    for table in results["tables"]:
        assert len((folder / f"{table}.csv").read_text().splitlines()) == len(results["tables"][table]) + 1


def column(results, kind, name):
    topical = {row["aim"] for row in results["tables"]["aims"] if row["kind"] in TOPICAL}
    return [row[name] for row in results["tables"]["crawls"] if row["crawl"] == kind and row["aim"] in topical]


def test_the_claims_follow_from_the_tables(results):
    claims = {claim["id"].removeprefix("collaborative."): claim for claim in results["claims"]}
    best = [max(runs) for runs in zip(*(column(results, start, "harvest") for start in INTELLIGENT_RUNS), strict=True)]
    assert column(results, INTELLIGENT, "harvest") == best
    ours = column(results, COLLABORATIVE, "harvest")
    first, second = (
        np.mean([column(results, draw, tenth) for draw in DRAWS], axis=0) for tenth in ("first_tenth", "second_tenth")
    )
    for name, test in (("beats-intelligent", paired_t(ours, best)), ("learns", paired_t(second, first))):
        assert claims[name]["p"] == pytest.approx(test.p)
        assert claims[name]["holds"] == (test.difference > 0 and test.p < 0.05)
        assert claims[name]["holds"] or claims[name]["reason"]
    together = column(results, COMBINED, "harvest")
    tests = [paired_t(together, ours), paired_t(together, best)]
    if claims["combined-best"]["holds"]:
        assert all(test.difference > 0 and test.p < 0.05 for test in tests)


def test_it_learns_from_no_seeds(results):
    (claim,) = [claim for claim in results["claims"] if claim["id"] == "collaborative.learns"]
    assert claim["holds"], claim["measured"]
    for row in results["tables"]["crawls"]:
        if row["crawl"] == COLLABORATIVE:
            (aim,) = [aim for aim in results["tables"]["aims"] if aim["aim"] == row["aim"]]
            assert row["good"] <= aim["targets_read"] / 2


def test_nothing_is_learnt_from_readers_who_read_by_chance(results):
    dealt = {row["crawl"]: row for row in results["tables"]["control"]}[SHUFFLED]
    chance = np.mean([row["share"] for row in results["tables"]["aims"] if row["kind"] in TOPICAL])
    assert dealt["harvest"] == pytest.approx(chance, abs=0.1)
    assert not (dealt["second_tenth"] > dealt["first_tenth"] and dealt["learns_p"] < 0.05)


def test_claims_fail_where_the_crawls_are_those_of_the_shuffled_log(outcomes):
    """The same claims on outcomes in which every collaborative crawl is that of the control."""
    for outcome in outcomes[:-2]:
        outcome["crawls"] |= dict.fromkeys(DRAWS, outcome["crawls"][SHUFFLED])
    claims = {claim.id: claim for claim in all_claims(CollaborativeTables(outcomes), is_generated=True)}
    assert claims["collaborative.learns"].holds is False
    assert claims["collaborative.beats-intelligent"].holds is False
    assert claims["collaborative.control"].holds is False


def test_on_a_real_world_readers_against_links_is_only_reported(outcomes):
    claims = {claim.id: claim for claim in all_claims(CollaborativeTables(outcomes), is_generated=False)}
    assert claims["collaborative.beats-intelligent"].holds is None
    assert claims["collaborative.learns"].holds is not None


def test_predicates_that_few_pages_satisfy_are_left_out(outcomes):
    outcomes[0] |= {"pages": 0, "crawls": {}}
    tables = CollaborativeTables(outcomes)
    assert outcomes[0]["aim"] not in tables.predicates
    assert outcomes[0]["aim"] in {row["aim"] for row in tables.predicate_rows()}
    assert len(all_claims(tables, is_generated=True)) == len(CLAIMS)


def test_the_same_seed_gives_the_same_outcome(outcomes):
    job = choose_predicates(WORLD, SIZE)[1]
    again = Tiny().work(WORLD, prepare(WORLD, SIZE, 11), job)
    assert json.loads(msgspec.json.encode(again)) == outcomes[1]


def test_a_log_too_short_for_two_crawled_topics_is_refused(outcomes):
    topical = [outcome for outcome in outcomes if outcome["kind"] in TOPICAL]
    for outcome in topical[1:]:
        outcome |= {"pages": 0, "crawls": {}}
    with pytest.raises(UsageError, match="there is 1 in this synthetic world"):
        Tiny().conclude(WORLD, SIZE, outcomes, 11)
