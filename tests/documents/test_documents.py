import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from documents.small_webs import BEES, GARDEN, SCHOOLS, SHIPS, UNIVERSITIES, page, tar_of, write
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.documents import MAX_DESCRIPTION, Documents, DocumentWorld, PageStore, describe, first_sentences
from lycosa_lab.worlds.webkb import WebKB, without_headers
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools


def targets(world: DocumentWorld, url: str) -> list[str]:
    read = world.read(Url(url))
    assert read is not None
    return [link.target for link in read.links]


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_a_folder_or_tar_of_ones_own_is_one_host(tmp_path: Path, kind: str) -> None:
    source = write(tmp_path / "garden", GARDEN) if kind == "folder" else tar_of(tmp_path / "garden.tar.gz", GARDEN)
    world = Documents(path=str(source), host="garden.example")
    assert world.hosts == ["garden.example"]
    assert len(world) == 4
    assert targets(world, "http://garden.example/index.html") == [
        "http://garden.example/bees/index.html",
        "http://garden.example/ships/tall.html",
    ]
    assert targets(world, "http://garden.example/bees/index.html")[1] == "http://garden.example/bees/drones.html"
    assert targets(world, "http://garden.example/ships/tall.html")[1] == "http://elsewhere.example/"
    assert world.redirect(Url("http://garden.example/Bees/")) == "http://garden.example/bees/index.html"
    assert world.redirect(Url("http://garden.example/bees/index.html")) is None
    assert world.directory() == ()


def test_folders_can_be_hosts_and_categories(tmp_path: Path) -> None:
    files = {
        f"www.{name.replace('bees', 'bees.example').replace('ships', 'ships.example')}": html
        for name, html in GARDEN.items()
        if "/" in name
    }
    files |= {
        "www.bees.example/hive/queen.html": page("Queen", BEES),
        "start.html": page("Start", "", "www.bees.example/"),
    }
    world = Documents(path=str(write(tmp_path / "hosts", files)), hosts="folders", topics="folders", host="top.example")
    assert world.hosts == ["top.example", "www.bees.example", "www.ships.example"]
    assert [category.name for category in world.directory()] == ["hive/hive"]
    assert targets(world, "http://top.example/start.html") == ["http://www.bees.example/index.html"]
    assert world.topic(Url("http://www.bees.example/hive/queen.html")) == "hive/hive"
    assert world.topic(Url("http://top.example/start.html")) is None
    named = Documents(path=str(write(tmp_path / "garden", GARDEN)), topics="folders")
    assert [category.name for category in named.directory()] == ["bees/bees", "ships/ships"]
    assert named.directory()[1].entries[0].description.startswith("Tall ships. Ships are large vessels")


def test_file_links_and_links_on_the_disk_lead_to_pages(tmp_path: Path) -> None:
    folder = write(tmp_path / "garden", GARDEN)
    write(folder, {"far.html": page("Far", "", f"file://{folder.resolve()}/bees/index.html", "home.html")})
    (folder / "home.html").symlink_to("index.html")
    world = Documents(path=str(folder), host="garden.example")
    assert targets(world, "http://garden.example/far.html") == [
        "http://garden.example/bees/index.html",
        "http://garden.example/index.html",
    ]
    assert world.page(Url("http://garden.example/home.html")) is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "give documents:path="),
        ({"path": "/no/such/place"}, "there is no /no/such/place"),
        ({"host": "not a host"}, "is no name of a host"),
        ({"host": "a.example/b"}, "is no name of a host"),
        ({"hosts": "all"}, "hosts can be 'folders'"),
        ({"topics": "yes"}, "topics can be 'folders'"),
        ({"path": "EMPTY"}, "has no page"),
    ],
)
def test_options_that_make_no_world_are_told(tmp_path: Path, options: dict[str, str], told: str) -> None:
    source = write(tmp_path / "garden", GARDEN)
    empty = write(tmp_path / "empty", {"notes.txt": "nothing"})
    given = {"path": str(source)} | options if options else options
    given = {key: str(empty) if value == "EMPTY" else value for key, value in given.items()}
    with pytest.raises(UsageError, match=told):
        Documents(**given)


def test_the_subject_index_of_the_encyclopaedia_is_its_directory(tmp_path: Path) -> None:
    world = WikipediaSchools(path=str(tar_of(tmp_path / "schools.tar.xz", SCHOOLS)))
    base = "http://schools-wikipedia.example/wp/"
    bee = f"{base}b/Bee_%2528insect%2529.htm"
    assert [category.name for category in world.directory()] == ["Maths/Maths", "Life/Bees", "Life/Ships"]
    assert [entry.url for entry in world.directory()[1].entries] == [bee, f"{base}a/Algebra.htm"]
    assert [entry.url for entry in world.directory()[2].entries] == [f"{base}s/Ship.htm"]
    assert "Ships are large vessels" in world.directory()[2].entries[0].description
    assert world.topic(Url(f"{base}a/Algebra.htm")) == "Maths/Maths"
    assert world.topic(Url(f"{base}index/subject.Maths.htm")) is None
    assert bee in targets(world, f"{base}s/Ship.htm")
    assert len(world) == len(SCHOOLS)
    with pytest.raises(UsageError, match="is it the archive of Wikipedia for Schools"):
        WikipediaSchools(path=str(write(tmp_path / "garden", GARDEN)))
    with pytest.raises(UsageError, match="give wikipedia-schools:path="):
        WikipediaSchools()


def test_university_pages_lose_their_headers_and_keep_their_classes(tmp_path: Path) -> None:
    world = WebKB(path=str(tar_of(tmp_path / "webkb.tar.xz", UNIVERSITIES)))
    bob, ann = Url("http://www.cs.cornell.edu/bob.html"), Url("http://www.cs.cornell.edu/~ann/")
    assert sorted(world.urls()) == ["http://ftp.cs.wisc.edu/pub/home.html", bob, ann]
    assert (world.page(bob) or b"").startswith(b"<html>")
    assert b"<title>Bob</title>" in (world.page(bob) or b"")
    assert targets(world, bob) == [ann]
    assert world.topic(ann) == "universities/student"
    assert [category.name for category in world.directory()] == [
        "universities/faculty",
        "universities/project",
        "universities/student",
    ]
    with pytest.raises(UsageError, match="is it the WebKB archive"):
        WebKB(path=str(write(tmp_path / "garden", GARDEN)))


def test_headers_without_end_are_no_headers() -> None:
    endless = b"Name: value\r\n" * 500 + b"no header"
    assert without_headers(endless) == endless


@pytest.mark.parametrize("head", ["", "Server: x\n\n", "HTTP/1.0 200 OK\r\nDate: today\r\nX-Long: a\r\n  b\r\n\r\n"])
@pytest.mark.parametrize("body", ["<html>Note: this\n\nis text</html>", "", "plain words\n\nand more"])
def test_headers_are_taken_off_and_nothing_else(head: str, body: str) -> None:
    assert without_headers((head + body).encode()) == body.encode()


def test_a_description_is_the_title_and_the_first_paragraph_that_says_something() -> None:
    rights = "© 1986 by somebody who keeps all the rights he has"
    html = f"<title>Bees &amp;\nmore</title><p>Menu</p><p>{rights}</p><p>{BEES} Third.</p>"
    assert describe(html) == f"Bees & more. {BEES.rstrip('.')}"
    assert first_sentences("<div>Few words only</div>") == "Few words only"
    long = first_sentences("<p>" + "word " * 500)
    assert MAX_DESCRIPTION - 10 < len(long) <= MAX_DESCRIPTION
    assert describe("") == ""


def test_a_description_without_blanks_is_cut_within_a_word() -> None:
    assert first_sentences(f"<p>{'蜂' * 900}") == "蜂" * MAX_DESCRIPTION


def test_a_saved_store_that_does_not_fit_its_index_is_told(tmp_path: Path) -> None:
    PageStore.of([(Url("http://a.example/"), b"one"), (Url("http://a.example/"), b"other")]).save(tmp_path)
    assert dict(PageStore.load(tmp_path)) == {"http://a.example/": b"one"}
    with (tmp_path / "pages.bin").open("ab") as file:
        file.write(b"x")
    with pytest.raises(UsageError, match="does not fit"):
        PageStore.load(tmp_path)


def test_a_folder_without_a_world_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no world of documents"):
        DocumentWorld.load(tmp_path)
    write(tmp_path, {"documents.json": json.dumps({"name": 3})})
    with pytest.raises(UsageError, match="holds no world of documents"):
        DocumentWorld.load(tmp_path)


def test_the_option_hosts_and_the_number_of_hosts_are_facts_apart(tmp_path: Path) -> None:
    files = {f"{name}.example/index.html": page(name, BEES) for name in ("a", "b", "c")}
    facts = Documents(path=str(write(tmp_path / "sites", files)), hosts="folders").facts
    assert (facts["hosts"], facts["host_count"]) == ("folders", 3)


def test_archives_of_one_name_and_size_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    changed = GARDEN | {"bees/index.html": str(GARDEN["bees/index.html"]).replace("honey", "money")}
    folders = (("one", GARDEN), ("same", GARDEN), ("other", changed))
    one, same, other = (dict(Documents(path=str(write(tmp_path / at / "garden", web))).facts) for at, web in folders)
    assert one == same
    assert {key for key in one if one[key] != other[key]} == {"fingerprint"}


def _saved(folder: Path) -> Path:
    garden = Documents(path=str(write(folder / "garden", GARDEN)), host="garden.example")
    saved = folder / "saved"
    saved.mkdir()
    garden.save(saved)
    return saved


def test_a_damaged_page_is_told_by_file_and_address(tmp_path: Path) -> None:
    packed = _saved(tmp_path) / "pages.bin"
    packed.write_bytes(bytes(packed.stat().st_size))
    world = DocumentWorld.load(packed.parent)
    with pytest.raises(
        UsageError, match=r"pages\.bin: http://garden\.example/index\.html is damaged .*; make the world"
    ):
        world.page(Url("http://garden.example/index.html"))


@pytest.mark.parametrize(
    ("offsets", "targets"),
    [([0, 1, 2], [1, 0]), ([0, 1, 2, 3, 9], [1, 0, 0]), ([0, 1, 1, 1, 1], [7]), ([0, 2, 0, 0, 1], [1])],
)
def test_links_that_do_not_fit_the_pages_are_refused(tmp_path: Path, offsets: list[int], targets: list[int]) -> None:
    folder = _saved(tmp_path)
    np.save(folder / "links-offsets.npy", np.array(offsets, np.int32))
    np.save(folder / "links-targets.npy", np.array(targets, np.int32))
    with pytest.raises(UsageError, match="do not fit the pages; make the world again"):
        DocumentWorld.load(folder)


@pytest.mark.parametrize("name", ["links-offsets.npy", "links-targets.npy"])
@pytest.mark.parametrize("content", [b"", b"no array"])
def test_links_that_cannot_be_read_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    folder = _saved(tmp_path)
    (folder / name).write_bytes(content)
    with pytest.raises(UsageError, match="make it again"):
        DocumentWorld.load(folder)


def test_of_two_files_with_one_address_the_links_of_the_first_count(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.html": page("A", BEES, "b.html"),
        "a.html.gz": gzip.compress(page("A again", SHIPS, "c.html", "b.html").encode()),
        "b.html": page("B", BEES),
        "c.html": page("C", BEES),
    }
    world = Documents(path=str(write(tmp_path / "twice", files)), host="a.example")
    first = Url("http://a.example/a.html")
    assert world.out_links(first) == targets(world, first)
    assert world.facts["links"] == len(world.out_links(first)) == world.in_degrees().sum()


@pytest.mark.parametrize("numbers", [[0], [0, 0, 0, 7]])
def test_topics_that_do_not_fit_the_pages_are_refused(tmp_path: Path, numbers: list[int]) -> None:
    path = _saved(tmp_path) / "documents.json"
    assert len(DocumentWorld.load(path.parent)) == 4
    path.write_text(json.dumps(json.loads(path.read_text()) | {"topics": ["bees"], "topic_numbers": numbers}))
    with pytest.raises(UsageError, match=r"documents\.json does not fit .*; make the world again"):
        DocumentWorld.load(path.parent)


def test_a_file_whose_name_is_not_utf_8_has_an_address_of_its_bytes(tmp_path: Path) -> None:
    folder = write(tmp_path / "garden", {"index.html": page("Bees", f"<a href='caf%E9.html'>{BEES}</a>")})
    (folder / os.fsdecode(b"caf\xe9.html")).write_text(page("Café", BEES))
    world = Documents(path=str(folder), host="garden.example")
    home, cafe = (Url(f"http://garden.example/{name}") for name in ("index.html", "caf%E9.html"))
    assert set(world.urls()) == {home, cafe}
    assert world.out_links(home) == [cafe]
