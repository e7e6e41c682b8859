"""Laws of every kind of world. A new kind is one more entry of WORLDS."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from documents.small_webs import GARDEN, MANUALS, SCHOOLS, UNIVERSITIES, tar_of, write
from lycosa.reading.reader import Reader
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url
from lycosa.vocabulary.urls import host_of, normalise
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.blogs import BlogGraph, BlogPosts
from lycosa_lab.worlds.debian_docs import DebianDocs
from lycosa_lab.worlds.documents import Documents, DocumentWorld
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.graphs import GraphWorld, LinkGraph
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.timed_graphs import TimedGraphWorld
from lycosa_lab.worlds.webkb import WebKB
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools

pytestmark = pytest.mark.lab


class Kind(NamedTuple):
    make: Callable[[Path], StudyWorld]  # a small one, out of files written into the folder
    load: Callable[[Path], StudyWorld]
    has_text: bool = True  # pages are what a reader makes of their HTML


WORLDS = {
    "synthetic": Kind(lambda folder: SyntheticWorld(pages=60, topics=3), SyntheticWorld.load),
    "documents": Kind(
        lambda folder: Documents(path=str(write(folder / "garden", GARDEN)), topics="folders"), Documents.load
    ),
    "documents from a tar": Kind(
        lambda folder: Documents(path=str(tar_of(folder / "garden.tar.gz", GARDEN)), host="a.example"),
        DocumentWorld.load,
    ),
    "wikipedia-schools": Kind(
        lambda folder: WikipediaSchools(path=str(tar_of(folder / "schools.tar.xz", SCHOOLS))), WikipediaSchools.load
    ),
    "webkb": Kind(lambda folder: WebKB(path=str(write(folder / "webkb", UNIVERSITIES))), WebKB.load),
    "debian-docs": Kind(
        lambda folder: DebianDocs(folder=str(write(folder, MANUALS)), packages="python-jinja2-doc/python3.11-doc"),
        DebianDocs.load,
    ),
    "graph": Kind(
        lambda folder: GraphWorld(path=str(write(folder, {"g": "0 1\n1 2\n2 0\n0 2\n"}) / "g")), LinkGraph.load, False
    ),
    "graph with gaps": Kind(
        lambda folder: GraphWorld(path=str(write(folder, {"g": "10 1\n1 30\n30 10\n"}) / "g")), LinkGraph.load, False
    ),
    "graph with addresses": Kind(
        lambda folder: GraphWorld(
            path=str(write(folder, {"g": "n 4 http://a.example/\nn 2 http://b.example/\ne 4 2\n"}) / "g")
        ),
        LinkGraph.load,
        False,
    ),
    "timed": Kind(
        lambda folder: TimedGraphWorld(path=str(write(folder, {"g": "9 1 5\n1 30 7\n30 9 6\n9 1 8\n"}) / "g")),
        TimedGraphWorld.load,
        False,
    ),
    "blogs": Kind(lambda folder: BlogGraph(nodes=40, links=90), BlogGraph.load, False),
    "file-sharing": Kind(lambda folder: FileSharing(consumers=10, providers=30, files=200), FileSharing.load, False),
    "blog-posts": Kind(lambda folder: BlogPosts(nodes=60, links=90), BlogPosts.load, False),
}
NOWHERE = Url("http://nowhere.example/none.html")


@pytest.fixture(params=WORLDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return WORLDS[request.param]


@pytest.fixture
def world(kind: Kind, tmp_path: Path) -> StudyWorld:
    return kind.make(tmp_path)


def links_of(page: Page | None) -> list[Url]:
    assert page is not None
    return [link.target for link in page.links]


def test_every_url_is_there_once_and_always_in_the_same_order(world: StudyWorld) -> None:
    urls = list(world.urls())
    assert len(urls) == len(set(urls)) == len(world) > 0
    assert urls == list(world.urls())


def test_every_url_has_a_page_and_nothing_else_has(world: StudyWorld) -> None:
    for url in world.urls():
        assert isinstance(world.page(url), bytes)
        assert world.read(url) is not None
        assert world.redirect(url) is None
        assert url in world
    assert NOWHERE not in world
    assert world.page(NOWHERE) is None
    assert world.read(NOWHERE) is None
    assert world.redirect(NOWHERE) is None
    assert world.topic(NOWHERE) is None
    assert world.log_in_links(NOWHERE) is None


def test_a_page_is_what_a_reader_makes_of_its_html(kind: Kind, world: StudyWorld) -> None:
    reader = Reader(stem="porter")
    for url in world.urls():
        address = url if kind.has_text else world.url(url)  # type: ignore[attr-defined]
        for header in ((), (("Content-Type", "text/html; charset=utf-8"),)):
            fetch = Fetch(address, Outcome.OK, at=0.0, content=world.page(url) or b"", headers=header)
            read = reader(fetch)
            if kind.has_text:
                assert world.read(url) == read
            else:
                assert [world.number(link) for link in links_of(read)] == links_of(world.read(url))  # type: ignore[attr-defined]


def test_urls_of_pages_are_spelt_as_links_are_and_belong_to_the_hosts(kind: Kind, world: StudyWorld) -> None:
    for url in world.urls():
        address = url if kind.has_text else world.url(url)  # type: ignore[attr-defined]
        assert normalise(address) == address
        assert host_of(address) in world.hosts
    assert len(world.hosts) == len(set(world.hosts))


def test_every_world_has_links_between_its_pages(world: StudyWorld) -> None:
    urls = set(world.urls())
    assert any(target in urls for url in world.urls() for target in links_of(world.read(url)))


def test_links_told_are_the_links_that_reading_finds(world: StudyWorld) -> None:
    urls = list(world.urls())
    told = [target for url in urls for target in world.out_links(url)]
    assert sorted(told) == sorted(
        target
        for url in urls
        for target in dict.fromkeys(links_of(world.read(url)))
        if target in world and target != url
    )
    assert world.in_degrees().tolist() == [told.count(url) for url in urls]
    assert len(told) == world.facts["links"]
    assert list(world.out_links(NOWHERE)) == []


def test_every_entry_of_the_directory_is_a_page_about_a_category_that_lists_it(world: StudyWorld) -> None:
    listing: dict[Url, set[str | None]] = {}
    for category in world.directory():
        assert category.name.count("/") >= 1
        assert category.entries
        assert len({entry.url for entry in category.entries}) == len(category.entries)
        for entry in category.entries:
            listing.setdefault(entry.url, {None}).add(category.name)
            assert entry.description.strip()
    for url, names in listing.items():
        assert world.page(url) is not None
        assert world.topic(url) in names
    names = [category.name for category in world.directory()]
    assert len(names) == len(set(names))
    assert {world.topic(url) for url in world.urls()} <= {None, *names}


def test_facts_are_plain_and_tell_name_and_pages(world: StudyWorld) -> None:
    facts = json.loads(json.dumps(dict(world.facts)))
    assert facts == dict(world.facts)
    assert facts["name"] == world.name
    assert facts["pages"] == len(world)


def test_standing_is_a_number_from_0_on_where_it_is_known(world: StudyWorld) -> None:
    standings = [world.log_in_links(url) for url in world.urls()]
    assert all(standing is None or standing >= 0.0 for standing in standings)


def test_a_saved_world_is_the_same_again(kind: Kind, world: StudyWorld, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    world.save(folder)
    again = kind.load(folder)
    assert again.name == world.name
    assert dict(again.facts) == dict(world.facts)
    assert list(again.urls()) == list(world.urls())
    assert tuple(again.directory()) == tuple(world.directory())
    assert list(again.hosts) == list(world.hosts)
    for url in world.urls():
        assert again.page(url) == world.page(url)
        assert again.read(url) == world.read(url)
        assert again.topic(url) == world.topic(url)
        assert again.log_in_links(url) == world.log_in_links(url)
        assert list(again.out_links(url)) == list(world.out_links(url))
    assert again.in_degrees().tolist() == world.in_degrees().tolist()
