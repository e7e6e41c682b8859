"""Pages that are seen again: versions, vanishing and coming back, in catalog, index and archive alike."""

import sqlite3

import pytest
from warcio.archiveiterator import ArchiveIterator

from collection.samples import CARS, HOME, WOLF, collection_in, look, visit
from lycosa.collection.catalog import Catalog
from lycosa.collection.schema import VERSION_1, VERSION_2
from lycosa.vocabulary.records import Change, Url

T = 1.7e9
TABLES = {
    "looks": "SELECT page, look, at, change, status, digest, bytes, links, new_links FROM looks",
    "pages": "SELECT number, url, title, digest, at, etag, looked_at, vanished_at, vanished_why, priority FROM pages",
    "links": "SELECT * FROM links",
    "new_links": "SELECT * FROM new_links",
    "fetches": "SELECT url, at, outcome, status, settled, again FROM fetches",
}
STORY = [
    visit(HOME, at=T),
    visit(WOLF, at=T + 1),
    look(WOLF, Change.UNCHANGED, at=T + 10),
    look(HOME, Change.VANISHED, at=T + 11),
    look(WOLF, Change.CHANGED, at=T + 20, text="Running", links=(CARS, HOME), new=(CARS,)),
    look(WOLF, Change.CHANGED, at=T + 30, text="Jumping", links=(HOME,)),
    look(HOME, Change.STILL_GONE, at=T + 31),
    look(HOME, Change.RETURNED, at=T + 40),
    look(WOLF, Change.FAILED, at=T + 41),
]


def tables(collection) -> dict[str, list]:
    collection.checkpoint()
    return {name: collection.catalog.connection.execute(sql).fetchall() for name, sql in TABLES.items()}


def replayed(collection) -> None:
    """Reads the archive again as a session does, with pages as the stories tell them."""
    told = {(event.candidate.url, event.fetch.at): event for event in STORY}
    for event, place in collection.unapplied():
        collection.apply(told[event.candidate.url, event.fetch.at], place)


@pytest.fixture
def folder(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in STORY:
            collection.record(event)
    return tmp_path


def test_every_look_is_kept_in_its_order(folder):
    with collection_in(folder, writable=False) as collection:
        catalog = collection.catalog
        wolf, home = catalog.page(WOLF), catalog.page(HOME)
        assert [row.change for row in catalog.looks(wolf.number)] == [
            "new",
            "unchanged",
            "changed",
            "changed",
            "failed",
        ]
        assert [row.change for row in catalog.looks(home.number)] == ["new", "vanished", "still gone", "returned"]
        assert [row.look for row in catalog.looks(wolf.number)] == [1, 2, 3, 4, 5]
        assert [row.new_links for row in catalog.looks(wolf.number)] == [0, 0, 1, 0, 0]


def test_a_page_shows_its_newest_version_and_keeps_why_it_was_fetched(folder):
    with collection_in(folder, writable=False) as collection:
        wolf = collection.catalog.page(WOLF)
        assert (wolf.title, wolf.at, wolf.looked_at, wolf.etag) == ("Jumping", T + 30, T + 41, '"Jumping"')
        assert (wolf.because, wolf.priority, wolf.number) == ({"parent": 0.25, "words": ["a"]}, 0.5, 2)
        assert collection.catalog.link_targets(wolf.number) == {HOME}
        assert b"Jumping" in collection.archive.fetch_at(wolf.place).body
        versions = [row for row in collection.catalog.looks(wolf.number) if row.place]
        titles = [b"Wolf spiders", b"Running", b"Jumping"]
        for row, title in zip(versions, titles, strict=True):
            assert title in collection.archive.fetch_at(row.place).body


def test_search_knows_the_newest_words_and_nothing_that_has_vanished(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in STORY[:5]:
            collection.record(event)
    with collection_in(tmp_path, writable=False) as collection:
        assert [hit.url for hit in collection.search.search("running")] == [WOLF]
        assert collection.search.search("spiders") == []
        assert collection.catalog.page(HOME).state == "vanished"
        assert collection.catalog.page(HOME).vanished_why == "HTTP 404 Not Found"
    with collection_in(tmp_path) as collection:
        for event in STORY[5:]:
            collection.record(event)
    with collection_in(tmp_path, writable=False) as collection:
        assert collection.search.search("running") == []
        assert [hit.url for hit in collection.search.search("spiders")] == [HOME]
        assert collection.catalog.page(HOME).vanished_at is None


@pytest.mark.parametrize("batch", [1, 3, 10_000])
def test_a_rebuild_gives_the_same_history(folder, batch):
    with collection_in(folder) as collection:
        before = tables(collection)
    with collection_in(folder, rebuild=True, index_batch=batch) as collection:
        replayed(collection)
        assert tables(collection) == before


def test_a_look_that_the_index_has_missed_is_made_up_for(tmp_path):
    """A kill may come when the catalog knows of a change and the search index does not."""
    with collection_in(tmp_path) as collection:
        for event in STORY[:2]:
            collection.record(event)
    collection = collection_in(tmp_path)
    for event in STORY[3:5]:
        collection.record(event)
    collection.checkpoint()
    collection.close_without_checkpoint()
    with collection_in(tmp_path, writable=False) as collection:
        assert {hit.url for hit in collection.search.search("spiders")} == {HOME, WOLF}
    with collection_in(tmp_path):
        pass
    with collection_in(tmp_path, writable=False) as collection:
        assert collection.search.search("spiders") == []
        assert [hit.url for hit in collection.search.search("running")] == [WOLF]
        assert list(collection.catalog.stale_pages()) == []


def test_pages_seen_again_count_once_among_the_visited(folder):
    with collection_in(folder, writable=False) as collection:
        assert sorted(collection.catalog.visited()) == sorted([HOME, WOLF])


def test_freshness_and_the_latest_changes(folder):
    with collection_in(folder, writable=False) as collection:
        facts = collection.catalog.summary().freshness
        assert (facts.looked_again, facts.changed, facts.vanished) == (2, 2, 0)
        assert (facts.oldest_look, facts.latest_look) == (T + 40, T + 41)
        latest = collection.catalog.latest_changes(2)
        assert [(change.url, change.change) for change in latest] == [(HOME, "returned"), (WOLF, "changed")]


def test_link_scores_count_the_links_known_to_lead_to_what_is_new(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in STORY[:5]:
            collection.record(event)
        assert collection.catalog.link_scores() == {2: 1}
        collection.record(STORY[5])
        assert collection.catalog.link_scores() == {}, "the latest look found none"


def test_a_page_that_was_refused_was_not_looked_at_again(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in (*STORY[:3], look(HOME, Change.REFUSED, at=T + 60)):
            collection.record(event)
        assert collection.catalog.summary().freshness.looked_again == 1


@pytest.mark.parametrize("change", [Change.FAILED, Change.REFUSED])
def test_a_look_in_vain_leaves_link_scores_as_they_were(tmp_path, change):
    with collection_in(tmp_path) as collection:
        for event in (*STORY[:5], look(WOLF, change, at=T + 60)):
            collection.record(event)
        assert collection.catalog.link_scores() == {2: 1}


def test_every_page_has_looks_whether_or_not_it_was_seen_again(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in (*STORY[:3], visit(CARS, at=T + 5)):
            collection.record(event)
        looks = [(url, row.look, row.change) for _, url, row in collection.catalog.observations()]
    assert looks == [(HOME, 1, "new"), (WOLF, 1, "new"), (WOLF, 2, "unchanged"), (CARS, 1, "new")]


def test_a_revisit_refers_to_what_it_found_unchanged(folder):
    headers = []
    for path in sorted((folder / "archive").glob("*.warc.gz")):
        with path.open("rb") as stream:
            headers += [record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "revisit"]
    assert [each.get_header("WARC-Target-URI") for each in headers] == [WOLF, HOME]
    for each in headers:
        assert each.get_header("WARC-Refers-To-Target-URI") == each.get_header("WARC-Target-URI")
        assert each.get_header("WARC-Refers-To-Date") == "2023-11-14T22:13:20.000000Z"
        assert each.get_header("WARC-Payload-Digest") == "sha1:AAAA"


def test_forgetting_takes_the_history_along(folder):
    with collection_in(folder) as collection:
        assert collection.forget(lambda url: url == WOLF) == 1
        assert {page for (page,) in collection.catalog.connection.execute("SELECT page FROM looks")} == {1}
        assert collection.catalog.connection.execute("SELECT count(*) FROM new_links").fetchone() == (0,)
        home = collection.catalog.page(HOME)
        versions = [row for row in collection.catalog.looks(home.number) if row.place]
        assert collection.archive.fetch_at(versions[0].place).at == T, "places have moved with the archive"
    for path in (folder / "archive").iterdir():
        assert b"wolf" not in path.read_bytes()


def test_a_catalog_from_before_there_were_looks_is_brought_up_to_date(tmp_path):
    path = tmp_path / "catalog.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(f"{VERSION_1};{VERSION_2};PRAGMA user_version = 2;")
        connection.execute(
            "INSERT INTO pages VALUES (1, 'http://a.example/', 'a.example', 'A', 'en', 0.5, 7, 7, 100.0, 10, 0, NULL,"
            " 0.5, '{}', '', NULL, 200, 'f', 0, 10, '', '', '', NULL)"
        )
        connection.execute(
            "INSERT INTO fetches VALUES ('http://a.example/', 100.0, 'ok', 200, 0, '', 7, 1, 'f', 0, 10)"
        )
        connection.execute("INSERT INTO runs VALUES (1.0, 'best-first', '[]', 'null', 1, NULL, NULL)")
    catalog = Catalog(path, writable=True)
    page = catalog.page(Url("http://a.example/"))
    assert (page.looked_at, page.vanished_at, page.state) == (100.0, None, "kept")
    assert list(catalog.visited()) == ["http://a.example/"]
    assert catalog.runs()[0].refresh is None
    catalog.add(look(Url("http://a.example/"), Change.UNCHANGED, at=200.0), None)
    assert [row.change for row in catalog.looks(1)] == ["new", "unchanged"]
    catalog.close()
