"""Keeping up with the most linked pages: recrawl draws, the simulation, and the study."""

import math
import random
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.study_runs import copy_with_jobs_missing, run_small
from lycosa.refresh import HistoryTable, policy_for
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.recrawl_samplers import RECRAWL_SAMPLERS, FenwickTree, PageHistory
from lycosa_lab.results import Results
from lycosa_lab.studies import STUDIES
from lycosa_lab.studies.authority_tracking import AuthorityTracking
from lycosa_lab.studies.authority_tracking.claims import gai_or_best, lift_over_20
from lycosa_lab.studies.authority_tracking.tables import PAIRS, PAPER_BEST, Pair, Runs
from lycosa_lab.tracking import (
    EXPANSIONS,
    Tracker,
    TrackingMoment,
    TrackingPoint,
    moments_of,
    track,
    without_isolated_nodes,
)
from lycosa_lab.worlds.blogs import BlogGraph, BlogPosts
from lycosa_lab.worlds.timed_graphs import TimedGraphWorld, TimedLinkGraph, WindowedGraph, sort_timed_links

NOT_YET = math.nan
# Out-links to date, yield and link score of six pages; the last two were looked at once.
HISTORY = [(4, 0.0, 0.0), (1, 2.0, 9.0), (3, 1.0, 9.0), (0, 5.0, 2.0), (2, NOT_YET, NOT_YET), (6, NOT_YET, NOT_YET)]
NEW = [(4, NOT_YET, NOT_YET), (0, NOT_YET, NOT_YET), (2, NOT_YET, NOT_YET)]
DRY = [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, NOT_YET, NOT_YET)]


def table_of(history: list[tuple[int, float, float]]) -> HistoryTable:
    size = len(history)
    out_links, yielded, scores = (np.array(column) for column in zip(*history, strict=True))
    once = np.zeros(size)
    return HistoryTable(
        urls=[Url(f"http://a.example/{page}") for page in range(size)],
        importance=once + 1,
        fetched_at=once,
        fetches=np.where(np.isnan(yielded), 1, 2),
        changes=np.zeros(size, np.int64),
        rate=once,
        out_links=out_links.astype(np.int64),
        yielded=yielded,
        link_score=scores,
    )


@pytest.mark.parametrize("history", [HISTORY, NEW, DRY], ids=["history", "new", "dry"])
@pytest.mark.parametrize("name", RECRAWL_SAMPLERS)
def test_a_recrawl_is_drawn_as_the_policy_of_that_name_draws(
    name: str, history: list[tuple[int, float, float]]
) -> None:
    from scipy.stats import chi2_contingency  # takes a second, which only a process that needs it shall

    draws, table, policy = 3_000, table_of(history), policy_for(name, seed=1)
    expected = Counter(int(policy.choose(table, 1.0, 1)[0]) for _ in range(draws))
    drawn: Counter[int] = Counter()
    for seed in range(draws):
        recrawl_samplers = RECRAWL_SAMPLERS[name](random.Random(seed))
        for out_links, _, _ in history:
            recrawl_samplers.add(PageHistory(out_links))
        for page, (out_links, yielded, score) in enumerate(history):
            if not math.isnan(yielded):
                recrawl_samplers.update(page, PageHistory(out_links, yielded, score))
        drawn[recrawl_samplers.draw()] += 1
    pages = sorted(drawn | expected)
    if len(pages) > 1:
        assert chi2_contingency([[drawn[page] for page in pages], [expected[page] for page in pages]]).pvalue > 0.001


def test_a_page_whose_score_has_sunk_is_no_longer_the_highest() -> None:
    recrawl_samplers = RECRAWL_SAMPLERS["ldu"](random.Random(0))
    for _ in range(3):
        recrawl_samplers.add(PageHistory(1))
    recrawl_samplers.update(0, PageHistory(1, 1.0, 9.0))
    recrawl_samplers.update(1, PageHistory(1, 1.0, 5.0))
    recrawl_samplers.update(0, PageHistory(1, 0.0, 0.0))
    drawn = Counter(recrawl_samplers.draw() for _ in range(600))
    assert drawn[1] > 340 > drawn[0]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.floats(0, 100)), max_size=40),
    st.lists(st.floats(0, 100), min_size=1, max_size=21),
    st.floats(0, 1, exclude_max=True),
)
@settings(deadline=None)
def test_sums_find_the_weight_under_any_share(
    changes: list[tuple[int, float]], weights: list[float], share: float
) -> None:
    sums = FenwickTree()
    for weight in weights:
        sums.append(weight)
    for place, weight in changes:
        if place < len(weights):
            sums.update_weight(place, weight)
            weights[place] = weight
    assert sums.total == pytest.approx(sum(weights), abs=1e-6)
    found = sums.find(share)
    if found is None:
        assert sum(weights) < 1e-6 or share > 0.999_999 or share < 1e-6
        return
    before = sum(weights[:found])
    assert weights[found] > 0
    assert before <= share * sum(weights) + 1e-6
    assert before + weights[found] >= share * sum(weights) - 1e-6


# Page 0 links to 1 and 2 from the first day on, to 3 from the fifth; 1 to 2 and 4; 4 to 2 from the third.
GROWING = [(0, 1, 0.0), (0, 2, 0.0), (1, 2, 0.5), (1, 4, 0.5), (4, 2, 3.0), (0, 3, 5.0), (5, 3, 5.5), (4, 3, 5.5)]


def growing(window: float = 100.0) -> WindowedGraph:
    sources, targets, times = (np.array(column) for column in zip(*GROWING, strict=True))
    return WindowedGraph(sort_timed_links(sources, targets, times, 6), window=window)


def test_targets_at_a_moment_are_the_most_linked_pages_of_the_window() -> None:
    moments = moments_of(growing(), [1.0, 6.0], k=2, seconds_per_day=1.0)
    assert [moment.targets.tolist() for moment in moments] == [[2, 1], [2, 3]]
    assert [moment.appeared for moment in moments] == [4, 6]
    assert [moment.targets.tolist() for moment in moments_of(growing(2.0), [6.0], k=2, seconds_per_day=1.0)] == [[3]]


def test_a_tracker_counts_what_it_has_crawled_and_seen() -> None:
    tracker = Tracker(growing(), expansion="crawl-gai", policy="uniform", expand=1.0, seconds_per_day=1.0, seed=0)
    moments = [TrackingMoment(1.0, 1.0, np.array([2, 1]), 4), TrackingMoment(3.5, 3.5, np.array([2, 4]), 5)]
    first, second = track(tracker, moments, sources=[0], begin=0.6, crawls_a_day=1.0, seconds_per_day=1.0)
    assert (first.crawled, first.known, first.crawl, first.discovery) == (1, 3, 0.0, 1.0)
    assert first.lift_known == pytest.approx((2 / 3) / (2 / 4))
    assert (second.crawled, second.crawl, second.discovery) == (2, 0.0, 1.0)
    assert second.lift_crawled == 0.0


def test_new_links_are_those_never_seen_and_yields_go_by_the_latest_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link 0 -> 1 leaves a window of two days and comes back: it yields again, but is no new in-link."""
    noted: list[tuple[float, ...]] = []
    monkeypatch.setitem(RECRAWL_SAMPLERS, "noting", lambda chance: Noting(noted))  # type: ignore[misc]
    sources, targets, times = np.array([0, 0, 0]), np.array([1, 2, 1]), np.array([0.0, 3.0, 6.0])
    graph = WindowedGraph(sort_timed_links(sources, targets, times, 3), window=2.0)
    tracker = Tracker(graph, expansion="crawl-ai", policy="noting", expand=0.5, seconds_per_day=1.0, seed=0)
    for time in (1.0, 4.0, 7.0, 7.5):
        tracker.fetch(0, time)
    assert noted == [(1,), (0, 2, 1 / 3, 1.0), (0, 2, 1 / 3, 1.0), (0, 2, 0.0, 0.0)]


class Noting:
    """A policy that only records its calls."""

    def __init__(self, calls: list[tuple[float, ...]]):
        self._calls = calls

    def add(self, history: PageHistory) -> None:
        self._calls.append((history.out_links,))

    def update(self, page: int, history: PageHistory) -> None:
        self._calls.append((page, history.out_links, pytest.approx(history.yielded), history.link_score))

    def draw(self) -> int:
        return 0


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("policy", RECRAWL_SAMPLERS)
def test_every_combination_crawls_pages_once_and_knows_only_what_it_saw(expansion: str, policy: str) -> None:
    graph = without_isolated_nodes(BlogPosts(nodes=6_000, links=3_000, seed=2).windowed())
    day = (graph.end - graph.begin) / 24
    tracker = Tracker(graph, expansion=expansion, policy=policy, expand=0.5, seconds_per_day=day, seed=3)
    begin = graph.begin + day
    source = int(graph.links.sources[0])
    (standing,) = track(
        tracker,
        moments_of(graph, [graph.end], k=10, seconds_per_day=day),
        sources=[source],
        begin=begin,
        crawls_a_day=30,
        seconds_per_day=day,
    )
    crawled = np.flatnonzero(tracker.is_crawled)
    assert standing.crawled == len(crawled) <= 23 * 30
    seen = {target for page in crawled.tolist() for target in graph.links.targets[graph.links.sources == page].tolist()}
    assert set(np.flatnonzero(tracker.is_known).tolist()) <= seen | set(crawled.tolist())
    if expansion == "sample-u":
        assert 0.3 < len(crawled) / (23 * 30) < 0.7


def test_compacting_leaves_out_pages_without_links_alone() -> None:
    world = BlogPosts(nodes=2_000, links=500, seed=2)
    whole, small = world.windowed(), without_isolated_nodes(world.windowed())
    assert len(small) == len(np.unique([whole.links.sources, whole.links.targets]))
    degrees = []
    for graph in (whole, small):
        window = graph.window_degrees()
        window.move_to(graph.end)
        degrees.append(window.in_degrees[window.in_degrees > 0].tolist())
    assert degrees[0] == degrees[1]


class Short(AuthorityTracking):
    scales: ClassVar = {"small": {**AuthorityTracking.scales["small"], "runs": 3}}


@pytest.fixture(scope="module")
def blogs() -> BlogPosts:
    return BlogPosts(nodes=60_000, links=8_000, seed=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def results(blogs: BlogPosts, folder: Path) -> Results:
    return run_small(Short(), blogs, seed=5, out=folder)


def test_the_study_computes_its_claims_from_its_tables(results: Results) -> None:
    first = results
    claims = {claim.id.partition(".")[2]: claim for claim in first.claims}
    assert set(claims) == {"gai-or-best", "lift-over-20", "crawled-lift", "clever-not-better"}
    usual = {
        (row["expansion"], row["policy"]): row for row in first.tables["combinations"] if row["crawls_a_day"] == 40
    }
    assert len(usual) == 15
    ours = usual["crawl-gai", "or"]
    best = max(usual.values(), key=lambda row: row["lift_crawled"])
    if best is ours:
        assert claims["gai-or-best"].holds
    else:
        assert f"best is {best['expansion']} + {best['policy']}" in claims["gai-or-best"].measured
    lifts = [row["lift_known"] for row in first.tables["runs"]]
    assert np.mean(lifts) == pytest.approx(ours["lift_known"], abs=1e-5)
    assert f"over 20 in {sum(lift > 20 for lift in lifts)} of 3 runs" in claims["lift-over-20"].measured
    assert claims["lift-over-20"].holds == (ours["lift_known"] > 20)
    assert claims["crawled-lift"].holds is None
    for claim in claims.values():
        assert claim.holds is not False or claim.reason
    (set_up,) = first.tables["set-up"]
    assert set_up["pages with a link"] / set_up["targets"] >= 600
    assert set_up["worlds"] == 1  # it was given
    assert len({row["pages with a link"] for row in first.tables["runs"]}) == 1
    assert {row["crawls_a_day"] for row in first.tables["combinations"]} == {20, 40, 100}


def test_one_seed_gives_one_result_and_another_another(
    results: Results, blogs: BlogPosts, folder: Path, tmp_path: Path
) -> None:
    same = run_small(Short(), blogs, seed=5, out=copy_with_jobs_missing(folder, tmp_path / "same"))
    assert (results.claims, results.tables) == (same.claims, same.tables)

    size = Short.scales["small"]
    one, other = (
        [Short().work(blogs, Short().prepare(blogs, size, seed), job) for job in Short().jobs(blogs, size, seed)[::60]]
        for seed in (5, 6)
    )
    assert len(one) > 2
    assert all(mine["points"] != yours["points"] for mine, yours in zip(one, other, strict=True))


class Tiny(AuthorityTracking):
    scales: ClassVar = {
        "small": {"nodes": 20_000, "links": 4_000, "k": 5, "nodes_per_target": 600, "crawls": [20], "runs": 3}
    }


def test_where_the_world_is_made_up_by_the_study_every_run_has_its_own(tmp_path: Path) -> None:
    study, size = Tiny(), Tiny.scales["small"]
    own, other = BlogPosts(nodes=20_000, links=4_000, seed=7), BlogPosts(nodes=20_000, links=4_000, seed=8)
    every = study.prepare(own, size, 7)
    assert len(every) == 3
    assert len({tuple(inputs.graph.links.times[:50].tolist()) for inputs in every}) == 3
    assert {job["world"] for job in study.jobs(own, size, 7)} == {0, 1, 2}
    for another in (other, BlogPosts(nodes=20_000, links=4_000, seed=7, renown=4.0), TimedLinkGraph(own.timed_links)):
        assert len(study.prepare(another, size, 7)) == 1
        assert {job["world"] for job in study.jobs(another, size, 7)} == {0}
    results = run_small(study, own, seed=7, out=tmp_path)
    assert [row["world_seed"] for row in results.tables["runs"]] == [7, 7001, 7002]
    assert [row["pages with a link"] for row in results.tables["runs"]] == [len(inputs.graph) for inputs in every]
    assert results.tables["set-up"][0]["worlds"] == 3


def lift_runs(lifts: dict[Pair, list[float]]) -> Runs:
    """Runs of one crawl rate, each of two moments, all of whose measures are the lift given; others have 1."""
    return {
        (40.0, pair): [[TrackingPoint(day, 10, 20, 0.5, 0.5, lift, lift) for day in (1.0, 2.0)] for lift in own]
        for pair in PAIRS
        for own in [lifts.get(pair, [1.0] * 5)]
    }


def test_runs_in_worlds_that_differ_are_compared_one_by_one() -> None:
    """A steady lead of 1 is no accident, however much worlds differ."""
    ours, ahead = [10.0, 50.0, 20.0, 40.0, 30.0], [11.1, 50.9, 21.0, 41.1, 30.9]
    behind = gai_or_best(lift_runs({PAPER_BEST: ours, ("crawl-ai", "or"): ahead}), 40.0)
    assert behind.holds is False
    level = gai_or_best(lift_runs({PAPER_BEST: ours, ("crawl-ai", "or"): [20.0, 10.0, 50.0, 31.0, 40.0]}), 40.0)
    assert level.holds is True


def test_the_lift_claim_tells_every_run() -> None:
    from scipy.stats import ttest_1samp  # takes a second, which only a process that needs it shall

    claim = lift_over_20(lift_runs({PAPER_BEST: [33.4, 23.8, 38.9, 21.9, 16.0]}), 40.0, "calibration")
    assert claim.holds is True
    assert "over 20 in 4 of 5 runs (33.4, 23.8, 38.9, 21.9, 16.0)" in claim.measured
    assert claim.p == pytest.approx(ttest_1samp([33.4, 23.8, 38.9, 21.9, 16.0], 20.0).pvalue)
    assert lift_over_20(lift_runs({PAPER_BEST: [33.4, 15.0, 18.9, 12.9, 16.0]}), 40.0, "calibration").holds is False


HOUR = 3_600


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([f"{page} {page} {page * HOUR}" for page in range(900)], "from one page to another"),
        ([f"{page} {page + 1} {page * HOUR + (page > 400) * 9 * 24 * HOUR}" for page in range(900)], "no link is made"),
        (["1 2 0", *(f"{page} {page + 1} {1_280_369_730 + page * HOUR}" for page in range(900))], "from 0 to 12803697"),
        ([f"{page} {page + 1} {page * 24 * HOUR}" for page in range(6)], "600 pages or more"),
        ([f"{page} {page + 1} 5" for page in range(900)], "3 days or more"),
    ],
    ids=["self-loops", "gap", "outlier", "six lines", "one moment"],
)
def test_a_file_without_targets_for_part_of_the_time_is_refused(tmp_path: Path, lines: list[str], says: str) -> None:
    (tmp_path / "odd.txt").write_text("\n".join(lines) + "\n")
    world = TimedGraphWorld(path=str(tmp_path / "odd.txt"))
    study = STUDIES["authority-tracking"]
    with pytest.raises(UsageError, match=says):
        run_small(study, world, seed=1, out=tmp_path / "out")


def test_a_chain_of_links_is_enough(tmp_path: Path) -> None:
    (tmp_path / "chain.txt").write_text("".join(f"{page} {page + 1} {page * HOUR}\n" for page in range(900)))
    world = TimedGraphWorld(path=str(tmp_path / "chain.txt"))
    results = run_small(Tiny(), world, seed=1, out=tmp_path / "out")
    assert results.tables["set-up"][0]["targets"] == 1


def test_a_world_without_times_or_of_too_few_days_is_refused(tmp_path: Path) -> None:
    study = STUDIES["authority-tracking"]
    with pytest.raises(UsageError, match="needs links with times"):
        study.jobs(BlogGraph(nodes=100, links=200), study.scales["small"], 1)
    (tmp_path / "short.txt").write_text("0 1 5\n1 2 4000\n")
    with pytest.raises(UsageError, match="3 days or more"):
        study.jobs(TimedGraphWorld(path=str(tmp_path / "short.txt")), study.scales["small"], 1)
