"""A mirror that is met before what it mirrors: the original is a copy then, and is followed all the same."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from crawling import collection, done
from lycosa.loop import Loop
from lycosa.reading import Reader
from lycosa.recipe import Budget
from lycosa.run.open import open_for_reading
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Skip, Url, Visit
from sessions import opened, visited
from worlds import html


def text(seed: int) -> str:
    chosen = Random(seed)
    return "honey bee " + " ".join(f"word{chosen.randrange(10_000)}" for _ in range(120))


def mirrored(hosts: list[str], pages: int, *, beyond: Mapping[str, str] = {}) -> dict[Url, bytes]:
    """The same pages on each host, that link to the next of their host; the last has links of its own."""
    world: dict[Url, bytes] = {}
    for host in hosts:
        for page in range(pages):
            target = f"http://{host}/{page + 1}" if page + 1 < pages else beyond.get(host)
            # The anchor is the same everywhere, and so is the text.
            link = f'<a href="{target}">next</a>'.encode() if target else b"<i>next</i>"
            world[Url(f"http://{host}/{page}")] = html("Page", text(page)).replace(b"</body>", link + b"</body>") + link
    return world


def visits_from(tmp_path, seeds: list[str], world: dict[Url, bytes], **changes: object) -> list[str]:
    folder = collection(tmp_path / "c", seeds)
    with opened(folder, **changes) as session:
        return list(asyncio.run(visited(session, world)))


@pytest.mark.slow
def test_what_a_mirror_copies_is_followed_to_its_end(tmp_path) -> None:
    world = mirrored(["mirror.example", "original.example"], 4, beyond={"original.example": "http://only.example/"})
    world[Url("http://only.example/")] = html("Only", "found by the original alone")
    found = visits_from(tmp_path, ["http://mirror.example/0", "http://original.example/0"], world)
    assert "http://only.example/" in found


def met_first(tmp_path, *, citing: int) -> Path:
    """A collection of two copies, the mirror met first, the original linked from some sites."""
    mirror, original = "http://mirror.example/0", "http://original.example/0"
    world = mirrored(["mirror.example", "original.example"], 1)
    fans = [f"http://fan.site{number}.example/" for number in range(citing)]
    world |= {Url(fan): html("Fan", text(50 + number), [original]) for number, fan in enumerate(fans)}
    world |= {Url(f"http://mirror.example/x{n}"): html("Own", text(90 + n), [mirror]) for n in range(9)}
    visits_from(tmp_path, [mirror, *fans, *(f"http://mirror.example/x{n}" for n in range(9)), original], world)
    return tmp_path / "c"


@pytest.mark.slow
def test_the_original_is_the_one_that_other_sites_link_to(tmp_path) -> None:
    folder = met_first(tmp_path, citing=2)
    with open_for_reading(folder) as opened_collection:
        catalog = opened_collection.catalog
        copy = catalog.page(Url("http://original.example/0"))
        assert copy is not None and copy.duplicate_of == "http://mirror.example/0"  # as it was met
        with catalog.connection as connection:
            assert connection.execute("SELECT count(standing) FROM pages").fetchone() == (0,)
        assert catalog.originals() == dict.fromkeys(
            map(Url, ("http://mirror.example/0", "http://original.example/0")), Url("http://original.example/0")
        )
        assert catalog.originals(copy) == catalog.originals()
    assert "this is the most important of them" in done("explain", folder, "http://original.example/0").out
    important = "the most important of the pages that are nearly the same: http://original.example/0"
    assert important in done("explain", folder, "http://mirror.example/0").out


@pytest.mark.slow
def test_without_links_the_original_is_the_one_of_better_standing_or_the_first(tmp_path) -> None:
    folder = met_first(tmp_path, citing=0)

    def originals() -> set[Url]:
        with open_for_reading(folder) as opened_collection:
            return set(opened_collection.catalog.originals().values())

    assert originals() == {"http://mirror.example/0"}
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        connection.execute("UPDATE pages SET standing = CASE WHEN host = 'original.example' THEN 0.9 ELSE 0.4 END")
    assert originals() == {"http://original.example/0"}


def test_the_same_text_on_one_host_is_no_way_on(tmp_path) -> None:
    same = html("Page", text(1))
    world = {
        Url(f"http://a.example/{n}"): same + f'<a href="http://a.example/{n + 1}"> </a>'.encode() for n in range(9)
    }
    assert len(visits_from(tmp_path, ["http://a.example/0"], world)) == 2


def test_of_many_mirrors_on_one_site_three_are_followed(tmp_path) -> None:
    same = html("Page", text(1))
    world = {
        Url(f"http://m{n}.farm.example/"): same + f'<a href="http://m{n + 1}.farm.example/"> </a>'.encode()
        for n in range(20)
    }
    assert len(visits_from(tmp_path, ["http://m0.farm.example/"], world)) == 1 + 3 + 1


@pytest.mark.parametrize("stopped", [False, True])
def test_mirrors_do_not_silence_the_original_however_many_they_are(tmp_path, stopped: bool) -> None:
    same, mirrors = html("Page", text(1)), [f"http://m{n}.farm{n % 3}.example/" for n in range(20)]
    victim = "http://victim.example/"
    world = {Url(mirror): same for mirror in mirrors}
    world[Url(victim)] = same + b'<a href="/only"> </a>'
    world[Url("http://victim.example/only")] = html("Only", "found by the original alone")
    if stopped:
        visits_from(tmp_path, mirrors, world)
        (tmp_path / "c" / "seeds.txt").write_text(victim + "\n")
        with opened(tmp_path / "c") as session:
            found = list(asyncio.run(visited(session, world)))
    else:
        found = visits_from(tmp_path, [*mirrors, victim], world)
    assert found[-1] == "http://victim.example/only"


@pytest.mark.parametrize("stopped", [False, True])
def test_a_farm_of_sites_with_one_text_does_not_lead_the_crawl_on(tmp_path, monkeypatch, stopped: bool) -> None:
    monkeypatch.setattr("lycosa.run.crawl._MAX_MIRRORS_IN_ALL", 5)
    same = html("Page", text(1))
    world = {
        Url(f"http://farm{n}.example/"): same + f'<a href="http://farm{n + 1}.example/"> </a>'.encode()
        for n in range(20)
    }
    found = visits_from(tmp_path, ["http://farm0.example/"], world, stop=Budget(pages=4 if stopped else None))
    if stopped:
        assert len(found) == 4
        with opened(tmp_path / "c") as session:
            found += list(asyncio.run(visited(session, world)))
    assert len(found) == 1 + 5 + 1


@pytest.mark.parametrize("strategy", [BestFirst, BreadthFirst])
def test_links_of_a_mirror_come_after_others(strategy: type[Strategy]) -> None:
    put: list[Candidate] = []

    class Frontier:
        def rank_by(self, strategy: Strategy) -> None: ...

        def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
            return []

        def put(self, candidates: list[Candidate]) -> list[Skip]:
            put.extend(candidates)
            return []

        def is_known(self, url: Url) -> bool:
            return False

    def visit(duplicate_of: str | None) -> Visit:
        body = html("Page", text(1), ["http://b.example/x"])
        url = Url("http://b.example/")
        fetch = Fetch(
            url, Outcome.OK, 0.0, status=200, headers=(("Content-Type", "text/html"),), body=body, content=body
        )
        page = Reader()(fetch)
        assert isinstance(page, Page)
        return Visit(Candidate(url, 0.8), fetch, page, relevance=0.8, duplicate_of=duplicate_of and Url(duplicate_of))

    for duplicate_of in (None, "http://b.example/other", "http://a.example/"):
        Loop(strategy(), Frontier()).replay(visit(duplicate_of))
    plain, same_host, mirror = (each.priority for each in put)
    assert plain == same_host
    assert mirror < plain
