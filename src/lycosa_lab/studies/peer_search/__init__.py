"""Whether people with collections of their own find, by asking each other, what a central index would find.

A study beyond the papers. Collections are crawled from a world, each on one or two topics; peers search them like
`lycosa peer search`, on a simulated network and, for comparison, in processes on loopback. Recall is the share of the
ten best pages of an index of all collections that a search finds.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld

from .claims import agreement_claim, recall_claim
from .figures import all_figures
from .tables import summary_rows, window_rows

if TYPE_CHECKING:
    from .shared import PeerSearchInputs


@cache
def _peer_modules() -> tuple[ModuleType, ModuleType]:
    """The modules `shared` and `runs`, imported on first use since they need the packages that peers need."""
    try:
        from . import runs, shared
    except ModuleNotFoundError as missing:
        raise UsageError(f"peers need {missing.name}; install it with: pip install 'lycosa[peers]'") from missing
    return shared, runs


class PeerSearch:
    name = "peer-search"
    summary = "How much of what a central index of all collections finds is found by peers that ask each other."
    scales: Mapping[str, Size] = {
        "small": {
            "peers": 20,
            "topics": 10,
            "pages": 100,  # of each collection
            "runs": 3,
            "queries": 300,  # of each run
            "limit": 30,  # hits at which a search ends
            "processes": 10,  # peers of the comparison with processes
            "real_queries": 50,  # of that comparison
            "practice": 100,  # queries for training before the comparison with processes
            "world_pages": 8_000,
        },
        "paper": {
            "peers": 20,
            "topics": 10,
            "pages": 500,
            "runs": 6,
            "queries": 1_000,
            "limit": 30,
            "processes": 10,
            "real_queries": 200,
            "practice": 400,
            "world_pages": 40_000,
        },
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        runs = [{"what": "search", "run": run, "seed": 1_000 * seed + run} for run in range(size["runs"])]
        return [{"what": "reality", "seed": 1_000 * seed + 500}, *runs]  # the first compares with processes

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> "PeerSearchInputs":
        shared, _ = _peer_modules()
        inputs: PeerSearchInputs = shared.prepare(world, size, seed)
        return inputs

    def work(self, world: StudyWorld, prepared: "PeerSearchInputs", job: JsonValue) -> JsonValue:
        _, runs = _peer_modules()
        size = prepared.size
        if job["what"] == "search":
            return {**job, **runs.run_searches(prepared, job["seed"])}
        found = runs.compare_with_processes(
            prepared,
            peers=min(size["processes"], size["peers"]),
            queries=size["real_queries"],
            practice=size["practice"],
            limit=size["limit"],
            seed=job["seed"],
        )
        return {**job, **found}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        runs = [outcome for outcome in outcomes if outcome["what"] == "search"]
        reality = next(outcome for outcome in outcomes if outcome["what"] == "reality")
        by_peer = [row for outcome in runs for row in outcome["peers"]]
        searches, windows = summary_rows(by_peer), window_rows(runs)
        return Findings(
            claims=[
                recall_claim(searches, by_peer, size["limit"]),
                agreement_claim(reality["rounds"], reality["reason"]),
            ],
            tables={
                "searches": searches,
                "windows": windows,
                "reality": reality["rounds"],
                "collections": runs[0]["collections"],
                "peers": by_peer,
            },
            figures=all_figures(searches, windows, size["limit"]),
        )
