"""Whether people come back to those who served them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.studies.interest_locality import (
    InterestLocality,
    _return_rows,
    hits_of_holders,
    hits_of_provider,
    permute_providers,
    permuted_returns,
    return_probability,
    rows_by_consumer,
    times_served,
    trace_of,
)
from lycosa_lab.study import run
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.peer_networks import RaggedArray, Trace
from lycosa_lab.worlds.registry import open_world
from lycosa_lab.worlds.timed_graphs import TimedGraphWorld


def served(*pairs: tuple[int, int]) -> Trace:
    consumers, providers = (np.array(column) for column in zip(*pairs, strict=True))
    return Trace(consumers, np.zeros(len(pairs), np.int64), providers, np.arange(len(pairs)) * 1.0)


def test_the_chance_of_return_is_the_share_of_providers_that_served_once_more() -> None:
    trace = served((0, 5), (0, 5), (0, 6), (0, 7), (1, 5))
    people, shares = return_probability(times_served(trace), 1)
    assert (people.tolist(), shares.tolist()) == ([0, 1], [1 / 3, 0.0])
    people, shares = return_probability(times_served(trace), 2)
    assert (people.tolist(), shares.tolist()) == ([0], [0.0])


def test_a_list_forgets_whom_it_used_least_recently() -> None:
    assert hits_of_provider([1, 2, 1, 3, 2], 2) == 1  # 2 was forgotten for 3
    assert hits_of_provider([1, 2, 1, 3, 2], None) == 2


def test_whoever_on_the_list_has_it_gives_it() -> None:
    libraries = RaggedArray(np.array([0, 0, 1, 3, 4]), np.array([0, 0, 1, 1], np.int32))  # 1 has 0; 2 has both; 3 has 1
    assert hits_of_holders([1, 3], [0, 1], libraries, None) == 0
    assert hits_of_holders([2, 3, 1], [0, 1, 0], libraries, None) == 2
    assert hits_of_holders([2, 3, 1, 1], [0, 1, 0, 0], libraries, 1) == 3  # 2 gives it each time and stays on the list


def test_providers_are_dealt_anew_among_downloads_of_a_kind() -> None:
    trace = served(*((person, 10 * (person % 2) + person % 5) for person in range(60)))
    kinds = trace.consumers % 2
    dealt = permute_providers(trace, kinds, np.random.default_rng(1))
    assert dealt.consumers.tolist() == trace.consumers.tolist() and (dealt.providers != trace.providers).any()
    for kind in (0, 1):
        assert sorted(dealt.providers[kinds == kind]) == sorted(trace.providers[kinds == kind])


def test_coming_back_by_choice_is_told_from_coming_back_by_chance() -> None:
    faithful = served(*((person, person % 7) for person in range(50) for _ in range(4)))
    by_chance = permuted_returns(faithful, np.zeros(200, np.int64), [1, 9], seed=1)
    assert return_probability(times_served(faithful), 1)[1].mean() == 1.0
    assert np.nanmax(by_chance[:, 0]) < 0.9 and np.isnan(by_chance[:, 1]).all()  # nobody was served nine times


def test_permutations_in_which_nobody_was_served_so_often_are_no_evidence_against_chance() -> None:
    by_chance = np.array([[np.nan, 0.5], [np.nan, 0.1], [np.nan, np.nan]])
    shares = np.zeros(30), np.full(30, 0.4)
    none, some = _return_rows(dict(enumerate(shares, 1)), by_chance)
    assert (none["by_chance"], none["p"]) == (None, 1.0)
    assert (some["by_chance"], some["p"]) == (0.3, 0.75)


def test_only_those_who_ask_often_are_judged() -> None:
    trace = served((3, 1), (4, 1), (3, 2), (3, 1))
    assert [rows.tolist() for rows in rows_by_consumer(trace, minimum=2)] == [[0, 2, 3]]


def claims_on(world: Any, out: Path) -> Mapping[str, Any]:
    results = run(InterestLocality(), world, scale="small", seed=5, out=out, workers=1, progress=lambda *_: None)
    assert {row["list"] for row in results.tables["lists"]} == {2, 5, 10, 20, None}
    return {claim.id: claim for claim in results.claims}


def test_people_come_back_in_the_default_world_and_not_where_that_is_turned_off(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "consumers": 1_500,
        "providers": 3_000,
        "files": 4_000,
        "least_queries": 1,
        "queries": None,
    }
    claims = claims_on(FileSharing(**settings, seed=5), tmp_path / "on")
    assert all(claim.holds and claim.kind == "calibration" for claim in claims.values())
    off = claims_on(FileSharing(**settings, seed=5, repeats=0.0), tmp_path / "off")
    assert off["interest-locality.small-list-suffices"].holds is False
    repeats = off["interest-locality.repeats"]
    assert repeats.holds is False and "not significantly above chance" in repeats.reason


def test_the_study_makes_up_its_world_as_told() -> None:
    study = InterestLocality()
    options = dict(study.default_world({"consumers": 40, "providers": 90, "files": 300}))
    kind = str(options.pop("kind"))
    world = open_world(kind, defaults={**options, "seed": 3}, default_kind=kind)
    assert world.facts["queries"] is None and world.facts["with_queries"] == 40


def test_links_with_times_are_services(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("\n".join(f"{one} {one + 1 + time % 2} {time}" for time in range(40) for one in range(0, 60, 3)))
    claims = claims_on(TimedGraphWorld(path=str(path)), tmp_path / "out")
    assert claims["interest-locality.repeats"].kind == "paper"
    assert claims["interest-locality.small-list-suffices"].holds is True


def test_a_claim_that_fails_says_why(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("\n".join(f"{one} {200 + (one + time) % 40} {time}" for time in range(12) for one in range(60)))
    claims = claims_on(TimedGraphWorld(path=str(path)), tmp_path / "out")  # nobody ever comes back
    repeats, suffices = (claims[f"interest-locality.{name}"] for name in ("repeats", "small-list-suffices"))
    assert repeats.holds is False
    assert (
        repeats.reason
        == "the trace is too short; too few for a trend; P(j,1) is not significantly above chance (p = 1)"
    )
    assert suffices.holds is False and suffices.reason == "there are no hits"


def test_a_graph_without_links_from_one_node_to_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("1 1 5\n2 2 6\n")
    with pytest.raises(UsageError, match="needs people who are served by others"):
        trace_of(TimedGraphWorld(path=str(path)))


def test_of_lists_without_hits_no_share_is_told(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("1 2 5\n2 1 6\n")
    suffices = claims_on(TimedGraphWorld(path=str(path)), tmp_path / "out")["interest-locality.small-list-suffices"]
    assert (suffices.measured, suffices.holds, suffices.reason) == ("no hits", False, "there are no hits")


def test_a_world_in_which_nobody_asks_is_refused() -> None:
    with pytest.raises(UsageError, match="file-sharing"):
        trace_of(open_world("synthetic:pages=200,topics=4"))
