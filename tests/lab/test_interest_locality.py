"""Whether people come back to those who served them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lycosa.lab.peers.locality import chance_of_return, hits_of_holders, hits_of_provider, rows_by_consumer
from lycosa.lab.studies.interest_locality import InterestLocality, trace_of
from lycosa.lab.study import run
from lycosa.vocabulary.errors import UsageError
from lycosa.worlds.file_sharing import FileSharing, Rows, Trace
from lycosa.worlds.opening import open_world
from lycosa.worlds.timed import TimedWorld


def served(*pairs: tuple[int, int]) -> Trace:
    consumers, providers = (np.array(column) for column in zip(*pairs, strict=True))
    return Trace(consumers, np.zeros(len(pairs), np.int64), providers, np.arange(len(pairs)) * 1.0)


def test_the_chance_of_return_is_the_share_of_providers_that_served_once_more() -> None:
    trace = served((0, 5), (0, 5), (0, 6), (0, 7), (1, 5))
    people, shares = chance_of_return(trace, 1)
    assert (people.tolist(), shares.tolist()) == ([0, 1], [1 / 3, 0.0])
    people, shares = chance_of_return(trace, 2)
    assert (people.tolist(), shares.tolist()) == ([0], [0.0])


def test_a_list_forgets_whom_it_used_least_recently() -> None:
    assert hits_of_provider([1, 2, 1, 3, 2], 2) == 1  # 2 was forgotten for 3
    assert hits_of_provider([1, 2, 1, 3, 2], None) == 2


def test_whoever_on_the_list_has_it_gives_it() -> None:
    holders = Rows(np.array([0, 2, 4]), np.array([1, 2, 2, 3], np.int32))
    assert hits_of_holders([1, 3], [0, 1], holders, None) == 0
    assert hits_of_holders([2, 3, 1], [0, 1, 0], holders, None) == 2  # 2 has both


def test_only_those_who_ask_often_are_judged() -> None:
    trace = served((3, 1), (4, 1), (3, 2), (3, 1))
    assert [rows.tolist() for rows in rows_by_consumer(trace, least=2)] == [[0, 2, 3]]


def claims_on(world: Any, out: Path) -> Mapping[str, Any]:
    results = run(InterestLocality(), world, scale="small", seed=5, out=out, workers=1, told=lambda *_: None)
    assert {row["list"] for row in results.tables["lists"]} == {2, 5, 10, 20, None}
    return {claim.id: claim for claim in results.claims}


def test_people_come_back_in_the_made_up_world_and_not_where_that_is_turned_off(tmp_path: Path) -> None:
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


def test_the_study_makes_up_its_world_as_told() -> None:
    study = InterestLocality()
    options = dict(study.made_up_world({"consumers": 40, "providers": 90, "files": 300}))
    kind = str(options.pop("kind"))
    world = open_world(kind, unless_given={**options, "seed": 3}, of=kind)
    assert world.facts["queries"] is None and world.facts["with_queries"] == 40


def test_links_with_times_are_services(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("\n".join(f"{one} {one + 1 + time % 2} {time}" for time in range(40) for one in range(0, 60, 3)))
    claims = claims_on(TimedWorld(path=str(path)), tmp_path / "out")
    assert claims["interest-locality.repeats"].kind == "paper"
    assert claims["interest-locality.small-list-suffices"].holds is True


def test_a_world_in_which_nobody_asks_is_refused() -> None:
    with pytest.raises(UsageError, match="file-sharing"):
        trace_of(open_world("synthetic:pages=200,topics=4"))
