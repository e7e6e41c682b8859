"""A target of relevance for the default strategy, through the command line: what it changes, and what is told of it."""

import json
import re
from pathlib import Path

import pytest

from crawling import Said, done, lycosa
from lycosa.recipe import FILE_NAME
from lycosa_lab.worlds.server import WorldServer
from story.beekeeping import WORLD, made

pytestmark = pytest.mark.slow

TOLD = re.compile(r"target 0\.\d+.*: the last \d+ pages have a mean relevance of 0\.\d\d")


@pytest.fixture(scope="module")
def served():
    with WorldServer(WORLD) as served:
        yield served


def crawled(folder: Path, served: WorldServer, *words: object, pages: int = 130) -> Said:
    how = ("--delay", 0, "--concurrency", 1, "--resolve", served.resolve, "--allow-private")
    return done("crawl", folder, "--pages", pages, *how, *words)


def exported(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in done("export", folder, "--format", "jsonl").out.splitlines()]


def order(folder: Path) -> list[object]:
    return [row["url"] for row in exported(folder)]


@pytest.fixture(scope="module")
def by_target(tmp_path_factory, served) -> dict[float | None, tuple[Path, str]]:
    """A collection for each target, none among them, and what was told."""
    found = {}
    for target in (None, 1.0, 0.25, 0.0):
        folder = made(tmp_path_factory.mktemp("target") / "c")
        said = crawled(folder, served, *(() if target is None else ("--target", target)))
        found[target] = folder, said.err
    return found


def test_every_target_below_1_leads_another_way(by_target) -> None:
    orders = {target: order(folder) for target, (folder, _) in by_target.items()}
    assert orders[None] == orders[1.0]
    assert orders[1.0] != orders[0.25] != orders[0.0] != orders[1.0]


def test_standing_is_estimated_only_where_it_counts(by_target) -> None:
    for target, (folder, said) in by_target.items():
        is_asked_for = target in (0.25, 0.0)
        assert ("No link data given" in said) == is_asked_for
        assert all((row["standing"] is not None) == is_asked_for for row in exported(folder))


def test_it_is_told_once_what_became_of_the_target(by_target) -> None:
    for target, (_, said) in by_target.items():
        assert len(TOLD.findall(said)) == (target in (0.25,)), said
    assert "target 0: the last 100 pages have a mean relevance of" in by_target[0.0][1]
    assert "so links were ranked by importance alone" in by_target[0.0][1]


def test_show_mentions_a_target_that_was_given(by_target) -> None:
    for target, (folder, _) in by_target.items():
        assert done("show", folder, "--json").json["target"] == (1.0 if target is None else target)
        line = (
            f"target        mean relevance of {target:g} or more, importance beside it"
            if target is not None
            else "target "
        )
        assert (line in done("show", folder).out) == (target not in (None, 1.0))


def test_a_target_that_no_links_reach_is_told(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    said = crawled(folder, served, "--target", 0.999).err
    assert re.search(
        r"target 0\.999 was out of reach: the last 100 pages have a mean relevance of 0\.\d\d, "
        r"so links were ranked by relevance alone",
        said,
    )


def test_both_estimates_are_explained_and_drawn(by_target) -> None:
    folder, _ = by_target[0.25]
    late = exported(folder)[-1]
    facts = done("explain", folder, late["url"], "--json").json["page"]["because"]["weighed"]
    assert set(facts) == {"relevance", "standing", "alpha"}
    said = done("explain", folder, late["url"]).out
    assert f"relevant with probability {facts['relevance']:.2f} and importance {facts['standing']:.2f}" in said
    done("report", folder)
    assert "<h2>Weight of relevance</h2>" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_crawl_that_was_stopped_goes_on_as_if_it_had_not(tmp_path, served, by_target) -> None:
    folder = made(tmp_path / "c")
    for pages in (55, 90, 130):
        crawled(folder, served, "--target", 0.25, pages=pages)
    assert order(folder) == order(by_target[0.25][0])


def test_the_recipe_and_an_option_say_the_same_as_the_flag(tmp_path, served, by_target) -> None:
    for name, text in {"utility": "[utility]\ntarget = 0.25\n", "options": "[options]\ntarget = 0.25\n"}.items():
        folder = made(tmp_path / name)
        with (folder / FILE_NAME).open("a", encoding="utf-8") as recipe:
            recipe.write(text)
        crawled(folder, served, pages=60)
        assert order(folder) == order(by_target[0.25][0])[:60]


def test_another_target_ranks_what_waits_anew(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served, pages=60)
    said = crawled(folder, served, "--target", 0.2, pages=70).err
    assert "changed: target; the waiting links are ranked again for hunter" in said
    assert all(row["standing"] is not None for row in exported(folder))


def test_a_target_that_is_none_is_refused(tmp_path) -> None:
    folder = made(tmp_path / "c")
    assert lycosa("crawl", folder, "--target", 1.5).code == 2
    assert lycosa("crawl", folder, "--option", "target=1.5").is_one_clear_line(2, "target must lie between 0 and 1")
