"""Checks of the laws that studies of plug-ins must obey, for the tests of their own packages.

    from lycosa_lab.testing import check_study

    def test_it_keeps_the_laws_of_studies():
        check_study(MyStudy)

`check_study` raises AssertionError with the broken law, like the checks of `lycosa.testing` for other plug-ins.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from lycosa.vocabulary.records import JsonValue

from .results import Claim, Figure, Findings
from .study import CONTRACT, Size, Study
from .worlds import StudyWorld
from .worlds.registry import open_world


def check_study(
    study: Study | type[Study],
    *,
    world: StudyWorld | None = None,
    size: Size | None = None,
    seed: int = 1,
    costs: Collection[str] = (),
) -> None:
    """Checks every law of studies by running all jobs twice in this process.

    study: an object, or its class, which is called without arguments.
    world: to run it on; by default, the study's own for this size.
    size: the parameters of the run; by default, those of the scale "small".
    costs: the names of measured times and the like in outcomes, which may differ from run to run.
    """
    instance = study() if isinstance(study, type) else study
    has_the_members(instance)
    size = instance.scales["small"] if size is None else size
    if world is None:
        options = {"kind": "synthetic", **instance.default_world(size), "seed": seed}
        kind = str(options.pop("kind"))
        world = open_world(kind, defaults=options, default_kind=kind)
    outcomes = works_the_same_each_time(instance, world, size, seed, costs=costs)
    concludes_from_the_outcomes(instance, world, size, seed, outcomes)


def has_the_members(study: Study) -> None:
    """It has every member of `Study`; name and summary are texts, and the scale "small" is plain data."""
    for member in CONTRACT:
        _require(hasattr(study, member), f"has `{member}`")
    _require(isinstance(study.name, str) and bool(study.name), "has a `name`")
    is_line = isinstance(study.summary, str) and bool(study.summary) and "\n" not in study.summary
    _require(is_line, "has a `summary` of one line")
    _require(isinstance(study.scales, Mapping) and "small" in study.scales, 'has a scale "small"')
    for scale, size in study.scales.items():
        _plain(size, f"the scale {scale!r} is")
        _plain(study.default_world(size), f"the default world of the scale {scale!r} is")


def works_the_same_each_time(
    study: Study, world: StudyWorld, size: Size, seed: int, *, costs: Collection[str] = ()
) -> list[JsonValue]:
    """Jobs are plain data, and their outcomes dictionaries of plain data; the same each time, except for `costs`.
    Returns the outcomes, saved and loaded as `lycosa lab run` does."""
    jobs = study.jobs(world, size, seed)
    _require(len(jobs) > 0, "has jobs")
    _require(study.jobs(world, size, seed) == jobs, "has the same jobs each time")
    prepared, again = study.prepare(world, size, seed), study.prepare(world, size, seed)
    outcomes = []
    for number, job in enumerate(jobs):
        _plain(job, f"job {number} is")
        first = study.work(world, prepared, job)
        _require(isinstance(first, dict), f"gives a dictionary for job {number}, not {type(first).__name__}")
        outcome = _plain(first, f"the outcome of job {number} is")
        second = _plain(study.work(world, again, job), f"the outcome of job {number} is")
        same = _without(outcome, costs) == _without(second, costs)
        _require(same, f"gives the same outcome for job {number} each time, apart from `costs`")
        outcomes.append(outcome)
    return outcomes


def concludes_from_the_outcomes(
    study: Study, world: StudyWorld, size: Size, seed: int, outcomes: list[JsonValue]
) -> None:
    """From saved outcomes it concludes the same each time: claims named after the study, tables of plain data, and
    figures that are SVG."""
    findings = study.conclude(world, size, outcomes, seed)
    _require(isinstance(findings, Findings), f"concludes with Findings, not {type(findings).__name__}")
    first, second = (
        _plain(each, "the conclusion is") for each in (findings, study.conclude(world, size, outcomes, seed))
    )
    _require(first == second, "concludes the same from the same outcomes")
    _require(bool(findings.claims or findings.tables), "concludes with claims or tables")
    for claim in findings.claims:
        _check_claim(study, claim)
    names = [claim.id for claim in findings.claims]
    _require(len(names) == len(set(names)), f"makes every claim once, not {', '.join(names)}")
    for name, rows in findings.tables.items():
        for row in rows:
            _require(isinstance(row, Mapping), f"has rows in the table {name!r} that are dictionaries, not {row!r}")
            _plain(row, f"a row of the table {name!r} is")
    for name, figure in findings.figures.items():
        is_svg = isinstance(figure, Figure) and figure.svg.lstrip().startswith("<svg")
        _require(is_svg, f"has SVG as the figure {name!r}")


def _check_claim(study: Study, claim: Claim) -> None:
    _require(isinstance(claim, Claim), f"makes claims that are `Claim`s, not {type(claim).__name__}")
    _require(claim.id.startswith(f"{study.name}."), f"names its claims {study.name}.…, not {claim.id}")
    _require(claim.holds in (True, False, None), f"says of {claim.id} whether it holds, not {claim.holds!r}")
    _plain(claim, f"the claim {claim.id} is")


def _without(outcome: Any, costs: Collection[str]) -> Any:
    """An outcome without its costs, at any depth."""
    if isinstance(outcome, dict):
        return {key: _without(value, costs) for key, value in outcome.items() if key not in costs}
    return [_without(value, costs) for value in outcome] if isinstance(outcome, list) else outcome


def _plain(value: Any, what: str) -> JsonValue:
    """A value after a round trip through the JSON of `lycosa lab run`."""
    try:
        return json.loads(msgspec.json.encode(value))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise AssertionError(f"broken law: {what} plain data ({error})") from error


def _require(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"broken law: it {law}")
