"""The check that ships for studies of plug-ins: Lycosa's own pass it, and broken ones do not."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from lycosa_lab.results import Claim, Findings
from lycosa_lab.studies import STUDIES
from lycosa_lab.testing import check_study, has_the_members
from lycosa_lab.worlds.synthetic import SyntheticWorld


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_the_members(name: str) -> None:
    has_the_members(STUDIES[name])


@pytest.mark.slow
def test_a_study_of_ours_passes() -> None:
    check_study(STUDIES["status-locality"], size={"sample": 200, "world_pages": 3_000})


class Degrees:
    """A study as a plug-in might bring it."""

    name = "degrees"
    summary = "Some pages have more links than others."
    scales: Mapping[str, Any] = {"small": {"pages": 800}}

    def default_world(self, size: Any) -> Any:
        return {"pages": size["pages"]}

    def jobs(self, world: Any, size: Any, seed: int) -> Any:
        return list(range(3))

    def prepare(self, world: Any, size: Any, seed: int) -> Any:
        return list(world.urls())

    def work(self, world: Any, prepared: Any, job: Any) -> Any:
        return {"links": len(world.out_links(prepared[job])), "seconds": time.perf_counter()}

    def conclude(self, world: Any, size: Any, outcomes: Sequence[Any], seed: int) -> Findings:
        links = [outcome["links"] for outcome in outcomes]
        claim = Claim("degrees.differ", "beyond", "they differ", None, str(links), holds=len(set(links)) > 1)
        return Findings([claim], {"links": [{"page": page, "links": count} for page, count in enumerate(links)]})


WORLD = SyntheticWorld(pages=800)


def test_one_of_a_plug_in_passes() -> None:
    check_study(Degrees, costs=["seconds"])
    check_study(Degrees(), world=WORLD, costs=["seconds"])


class Nameless(Degrees):
    name = ""


class Incomplete(Degrees):
    prepare = property()  # type: ignore[assignment]


class Large(Degrees):
    scales: Mapping[str, Any] = {"paper": {"pages": 800}}


class Idle(Degrees):
    def jobs(self, world: Any, size: Any, seed: int) -> Any:
        return []


class Odd(Degrees):
    def work(self, world: Any, prepared: Any, job: Any) -> Any:
        return {"links": 1 + 2j}


class Listing(Degrees):
    def work(self, world: Any, prepared: Any, job: Any) -> Any:
        return [1]


class Counting(Degrees):
    calls = 0

    def work(self, world: Any, prepared: Any, job: Any) -> Any:
        self.calls += 1
        return {"links": self.calls}


class Borrowed(Degrees):
    name = "borrowed"


class Silent(Degrees):
    def conclude(self, world: Any, size: Any, outcomes: Sequence[Any], seed: int) -> Findings:
        return Findings([], {})


class Raw(Degrees):
    def conclude(self, world: Any, size: Any, outcomes: Sequence[Any], seed: int) -> Findings:
        return Findings([], {"links": [{"page": 1, "links": np.int64(3)}]})


class Undecided(Degrees):
    def conclude(self, world: Any, size: Any, outcomes: Sequence[Any], seed: int) -> Findings:
        return Findings([Claim("degrees.differ", "beyond", "they differ", None, "", holds=np.True_)], {})


@pytest.mark.parametrize(
    ("study", "law"),
    [
        (Nameless, "has a `name`"),
        (Incomplete, "has `prepare`"),
        (Large, 'has a scale "small"'),
        (Idle, "has jobs"),
        (Odd, "the outcome of job 0 is plain data"),
        (Listing, "gives a dictionary for job 0, not list"),
        (Counting, "the same outcome for job 0 each time"),
        (Degrees, "the same outcome for job 0 each time"),
        (Borrowed, "names its claims borrowed"),
        (Silent, "claims or tables"),
        (Raw, "the conclusion is plain data"),
        (Undecided, "the conclusion is plain data"),
    ],
)
def test_a_broken_study_is_found_out(study: type[Degrees], law: str) -> None:
    with pytest.raises(AssertionError, match=f"broken law: .*{law}"):
        check_study(study, world=WORLD, costs=["seconds"] if study is not Degrees else [])
