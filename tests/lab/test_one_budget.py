"""One budget for new pages and known ones: it is shared as asked, and the claim follows from the table."""

import json
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from lab.study_runs import run_small
from lycosa.refresh import CrawlValue, policy_for
from lycosa.strategies import Utility
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.studies.one_budget import DailyWorlds, OneBudget, SimulatedCollection, simulate_budget_split
from lycosa_lab.topics import topics_of
from lycosa_lab.worlds.blogs import BlogGraph
from lycosa_lab.worlds.synthetic import SyntheticWorld

WORLD = SyntheticWorld(pages=600, topics=4, seed=3)
DAYS = DailyWorlds(WORLD, 20)
TOPIC = topics_of(WORLD, 2)[0]
SEEDS = [number for url in TOPIC.seeds if (number := WORLD.number(url)) is not None]


class Tiny(OneBudget):
    scales: ClassVar = {
        "small": {
            "world_pages": 600,
            "topics": 2,
            "start_pages": 30,
            "days": 16,
            "budgets": [0.1, 0.2],
            "expand": [0.0, 0.5, 1.0],
        }
    }


def results_of(folder):
    results = run_small(Tiny(), WORLD, seed=4, out=folder)
    return json.loads(msgspec.json.encode(results))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("study"))


def shared(expand: float, requests: int = 6) -> dict:
    return simulate_budget_split(
        DAYS,
        TOPIC.name,
        SEEDS,
        strategy=Utility(),
        policy=CrawlValue(),
        start_pages=40,
        requests=requests,
        expand=expand,
        measured_from=15,
        seed=1,
    )


def held(pages: int) -> SimulatedCollection:
    collection = SimulatedCollection(DAYS, TOPIC.name, Utility())
    collection.start(SEEDS)
    while len(collection.stale_from) < pages and collection.expand(0):
        pass
    return collection


def test_a_page_is_stale_from_its_first_change_after_the_look() -> None:
    collection = held(30)
    for number, stale_from in collection.stale_from.items():
        changes = DAYS.end.changes(number)
        assert stale_from == (changes[0] if len(changes) else np.inf)


def test_a_look_at_every_page_leaves_none_stale_or_vanished() -> None:
    collection = held(30)
    assert collection.refresh(policy_for("fixed"), 10, 1_000) == 30
    assert all(stale_from > 10 for stale_from in collection.stale_from.values())
    assert all(DAYS.exists(10)[number] for number in collection.stale_from)


def test_growing_holds_more_and_looking_again_keeps_it_fresher() -> None:
    none, all_new = shared(0.0), shared(1.0)
    assert all_new["held"] > none["held"]
    assert none["fresh"] / none["held"] > all_new["fresh"] / all_new["held"]


def test_without_requests_nothing_is_added() -> None:
    assert shared(0.5, requests=0)["held"] <= 40


def test_a_collection_that_holds_all_there_is_spends_the_rest_on_looking_again() -> None:
    everything = shared(1.0, requests=300)
    assert everything["authorities"] > 0.9
    assert everything["fresh"] / everything["held"] > 0.8


def test_the_claim_follows_from_the_table(results) -> None:
    (claim,) = results["claims"]
    assert claim["id"] == "one-budget.best-split"
    assert claim["holds"] is None
    rows = results["tables"]["splits"]
    mean = {
        expand: np.mean([row["share_of_best"] for row in rows if row["expand"] == expand]) for expand in (0.0, 0.5, 1.0)
    }
    assert claim["measured"].endswith(f"for all budgets {max(mean, key=mean.__getitem__):g}")
    assert len(rows) == 6
    assert len(results["tables"]["topics"]) == 12


def test_the_same_seed_gives_the_same_results(results, tmp_path) -> None:
    assert results_of(tmp_path)["tables"] == results["tables"]


def test_a_world_that_stands_still_is_refused_whether_it_has_topics_or_not() -> None:
    with pytest.raises(UsageError, match="stands still; run this study on --world synthetic"):
        Tiny().jobs(BlogGraph(nodes=10, links=20), Tiny.scales["small"], 1)
