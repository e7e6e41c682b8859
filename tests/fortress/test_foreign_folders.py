"""A folder that somebody else has packed makes no command write, wait, listen or speak elsewhere."""

import os
import shutil
import socket
import sqlite3
import struct
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from crawling import done, lycosa
from lycosa.collection import warc
from lycosa.collection.page_words import PageWords
from lycosa.recipe import load_recipe
from lycosa.run import topic as topics
from lycosa.run.control import CrawlRequest, ask
from lycosa.run.session import Session
from lycosa.run.taxonomies import examples_in_folders
from lycosa.run.trust import ID_FILE, is_made_here, is_trusted, record_made_here, settings_to_trust, trust_collection
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import UsageError
from lycosa_peers.peer_folder import PeerFolder
from sharing import add_pages

PRECIOUS = "what the user has written\n"


@pytest.fixture
def foreign(tmp_path) -> Path:
    folder = add_pages(tmp_path / "foreign", {"http://bees.example/": ("Bees", "honey")})
    (folder / ID_FILE).unlink(missing_ok=True)
    return folder


@pytest.fixture
def precious(tmp_path) -> Path:
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.mark.parametrize("command", ["show", "pages", "rebuild", "crawl", "report", "trust", "control"])
@pytest.mark.parametrize("name", [".lock", ".id", "journal.json"])
def test_a_link_to_a_file_of_the_user_leaves_it_as_it_is(foreign, precious, command, name):
    if name != "journal.json":
        (foreign / "journal.json").write_text('{"task": "rebuild", "stage": "installing"}')
    (foreign / name).unlink(missing_ok=True)
    (foreign / name).symlink_to(precious)
    said = lycosa(command, foreign, *(["undo"] if command == "control" else []))
    assert "Traceback" not in said.err
    assert precious.read_text() == PRECIOUS


@pytest.mark.parametrize("name", [".lock", ".id"])
def test_a_pipe_is_not_waited_for(foreign, name):
    (foreign / name).unlink(missing_ok=True)
    os.mkfifo(foreign / name)
    assert lycosa("rebuild", foreign).is_one_clear_line(1, name, "is no plain file")


def test_a_number_is_another_each_time_a_folder_is_trusted(foreign):
    (foreign / ID_FILE).write_text("0" * 32 + "\n")
    trust_collection(foreign)
    first = (foreign / ID_FILE).read_text()
    trust_collection(foreign)
    assert len({"0" * 32 + "\n", first, (foreign / ID_FILE).read_text()}) == 3
    assert is_trusted(foreign)


def test_what_is_trusted_cannot_be_said_in_another_way(foreign):
    recipe = foreign / "lycosa.toml"
    recipe.write_text('[requests.headers]\nA = "1\\nrequests.headers.B = 2"\n')
    trust_collection(foreign)
    assert is_trusted(foreign)
    recipe.write_text('[requests.headers]\nA = "1"\nB = "2"\n')
    assert not is_trusted(foreign)


@pytest.mark.parametrize(
    "rule", ["/(?:a|a)*$/", " /([a-z]+ ?)+#/", "/" + "a?" * 20 + "a" * 20 + "/ ", "/" + "([a-z ]|.)" * 30 + "#/"]
)
@pytest.mark.parametrize(
    "line", ["keywords = ['{}']", "predicate = {{keywords = ['{}']}}", "predicate = {{url = '{}'}}"]
)
def test_a_regular_expression_needs_trust_as_it_may_take_hours(foreign, rule, line):
    (foreign / "lycosa.toml").write_text(f"[topic]\n{line.format(rule)}\n")
    assert len(settings_to_trust(foreign, load_recipe(foreign, for_reading=True))) == 1


@pytest.mark.parametrize(
    "line", ["max_body = 1000000000000", "timeout = 1e6", "retries = 1000000", "concurrency = 100000"]
)
def test_what_costs_without_end_is_refused_whoever_wrote_it(foreign, line):
    (foreign / "lycosa.toml").write_text(f"[requests]\n{line}\n")
    assert lycosa("crawl", foreign).is_one_clear_line(2, line.split()[0])


def test_the_peer_of_somebody_else_is_not_taken_over(foreign):
    folder = foreign / "peer"
    folder.mkdir()
    (folder / "settings.json").write_text('{"listen": "0.0.0.0:7999", "at": null, "allow_private": true}')
    for words in (["search", foreign, "honey"], ["show", foreign]):
        assert lycosa("peer", *words).is_one_clear_line(1, "was not made on this machine", "lycosa trust")
    assert "peer/" in done("trust", foreign).out
    assert PeerFolder(foreign).read("settings.json") is not None


def test_what_a_peer_has_made_here_is_its_own(foreign):
    made = PeerFolder(foreign)
    made.write("pins.json", b"{}")
    assert PeerFolder(foreign).read("pins.json") == b"{}"


def test_a_crawl_is_asked_by_its_own_socket_alone(foreign, tmp_path):
    with socket.socket(socket.AF_UNIX) as other, socket.create_server(("127.0.0.1", 0)) as port:
        other.bind(str(tmp_path / "s"))
        other.listen()
        other.setblocking(False)
        port.setblocking(False)
        (foreign / "control.sock").symlink_to(tmp_path / "s")
        (foreign / "control.json").write_text(f'{{"port": {port.getsockname()[1]}, "token": "x"}}')
        assert ask(foreign, CrawlRequest("status")) is None
        for listener in (other, port):
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_the_address_of_a_crawl_does_not_come_with_a_folder(foreign):
    deep = foreign.rename(foreign.with_name("d" * 120))  # too long a path for a socket
    with socket.create_server(("127.0.0.1", 0)) as port:
        port.setblocking(False)
        (deep / "control.json").write_text(f'{{"port": {port.getsockname()[1]}, "token": "x"}}')
        assert ask(deep, CrawlRequest("status")) is None
        with pytest.raises(BlockingIOError):
            port.accept()


def test_what_a_folder_says_does_not_steer_the_terminal(foreign):
    record_made_here(foreign)
    (foreign / "steering.txt").write_text("block evil.example\x1b[2J\n")
    said = lycosa("control", foreign, "undo")
    assert "evil.example" in said.err
    assert "\x1b" not in said.out + said.err
    (foreign / "steering.txt").unlink()
    (foreign / "lycosa.toml").write_text('seeds = "nowhere\\u001b[2J.txt"\n')
    said = lycosa("crawl", foreign)
    assert "nowhere" in said.err
    assert "\x1b" not in said.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["crawl", "forget", "show", "label"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t BEFORE INSERT ON pages BEGIN SELECT RAISE(IGNORE); END",
        "CREATE INDEX i ON pages (number) WHERE instr(zeroblob(20), zeroblob(10) || x'01') = 0",
        "CREATE INDEX i ON pages (hex(zeroblob(number)))",
    ],
)
def test_a_catalog_that_computes_when_it_is_written_is_refused(foreign, command, statement):
    with closing(sqlite3.connect(foreign / "catalog.sqlite")) as catalog:
        for number in range(1_000 if "TRIGGER" in statement else 0):  # among which it might be overlooked
            catalog.execute(f"CREATE VIEW a{number} AS SELECT 1")
        catalog.execute(statement)
        catalog.commit()
    words = {"forget": ["http://bees.example/"], "label": ["http://bees.example/", "--good"]}.get(command, [])
    assert lycosa(command, foreign, *words).is_one_clear_line(1, f"lycosa rebuild {foreign}")


@pytest.mark.parametrize("forged", ["CAST(type AS BLOB)", "upper(type)"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t BEFORE INSERT ON pages BEGIN SELECT RAISE(IGNORE); END",
        "CREATE INDEX t ON pages (hex(zeroblob(number)))",
    ],
)
def test_what_computes_is_found_in_a_catalog_under_a_forged_type(foreign, statement, forged):
    with closing(sqlite3.connect(foreign / "catalog.sqlite")) as catalog:
        catalog.execute(statement)
        catalog.execute("PRAGMA writable_schema = ON")
        catalog.execute(f"UPDATE sqlite_master SET type = {forged} WHERE name = 't'")
        catalog.commit()
    assert lycosa("show", foreign).is_one_clear_line(1, f"lycosa rebuild {foreign}")


@pytest.mark.parametrize("column", ["type", "name", "sql"])
def test_a_catalog_whose_schema_is_no_text_is_read_or_refused(foreign, column):
    with closing(sqlite3.connect(foreign / "catalog.sqlite")) as catalog:
        catalog.execute("PRAGMA writable_schema = ON")
        catalog.execute(f"UPDATE sqlite_master SET {column} = CAST({column} AS BLOB) WHERE name = 'pages'")
        catalog.commit()
    said = lycosa("show", foreign)
    assert said.code == 0 or said.is_one_clear_line(1, f"lycosa rebuild {foreign}")


def test_an_index_that_the_user_has_added_is_left_alone(foreign):
    with closing(sqlite3.connect(foreign / "catalog.sqlite")) as catalog:
        catalog.execute("CREATE INDEX mine ON pages (title, host)")
    assert "1 page on 1 host" in done("show", foreign).out


def test_words_kept_by_somebody_else_are_dropped_where_their_tables_are_not_ours(tmp_path):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    path = tmp_path / "words.sqlite"
    with closing(sqlite3.connect(path)) as words:
        words.execute(f"CREATE VIEW made_by AS {endless} SELECT i AS what FROM n WHERE i < 0")
    kept = PageWords(path, made_by="this")
    assert kept.count() == 0
    kept.close()
    with closing(sqlite3.connect(path)) as words:
        assert words.execute("SELECT what FROM made_by").fetchall() == [("this",)]


def test_a_catalog_of_somebody_else_does_not_say_that_noindex_is_ignored(foreign):
    with closing(sqlite3.connect(foreign / "catalog.sqlite")) as catalog:
        catalog.execute("INSERT OR REPLACE INTO state VALUES ('scope', ?)", ('{"keep_noindex": true}',))
        catalog.commit()
    for made_here in (False, True):
        if made_here:
            record_made_here(foreign)
        with Session(foreign, load_recipe(foreign), clock=SimulatedClock()) as session:
            assert session.assessor(None).keep_noindex is made_here


def test_a_copy_of_ones_own_folder_that_came_back_has_no_links(tmp_path, foreign, precious):
    record_made_here(foreign)
    copy = tmp_path / "copy"
    shutil.copytree(foreign, copy)
    (copy / "report.html").symlink_to(precious)
    assert lycosa("report", copy).is_one_clear_line(1, "is a link", f"lycosa trust {copy}")
    assert precious.read_text() == PRECIOUS


def test_a_copy_in_the_place_of_ones_own_folder_is_not_taken_for_it(foreign):
    record_made_here(foreign)
    packed = foreign.with_name("packed")
    shutil.copytree(foreign, packed)
    (packed / "lycosa.toml").write_text('[topic]\nfunction = "os:abort"\n')
    for _ in range(5):  # a file system may give the new folder the inode of the old one, or not
        shutil.rmtree(foreign)
        shutil.copytree(packed, foreign)
        assert not is_made_here(foreign)
        assert not is_trusted(foreign)


def test_an_id_that_was_unpacked_over_the_own_one_is_another(foreign):
    record_made_here(foreign)
    moved = foreign.rename(foreign.with_name("moved"))
    assert is_made_here(moved)
    number = (moved / ID_FILE).read_bytes()
    (moved / ID_FILE).unlink()
    (moved / ID_FILE).write_bytes(number)
    assert not is_made_here(moved)


def test_a_taxonomy_reads_nothing_outside_of_its_folder(tmp_path):
    for topic in ("bees", "ships"):
        (tmp_path / "taxonomy" / topic).mkdir(parents=True)
        (tmp_path / "taxonomy" / topic / "own.txt").write_text(f"{topic} and more of {topic}")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("a secret")
    (tmp_path / "taxonomy" / "bees" / "linked.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    assert [page.text for page in examples_in_folders(tmp_path / "taxonomy")["bees"]] == ["bees and more of bees"]
    (tmp_path / "taxonomy" / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(UsageError, match="linked has no example page"):
        examples_in_folders(tmp_path / "taxonomy")


def test_labels_are_read_in_linear_time(foreign, monkeypatch):
    compared = 0

    class Counted(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    labels = {Counted(f"http://bees.example/{number}"): number % 2 == 0 for number in range(2_000)}
    monkeypatch.setattr(topics, "read_labels", lambda folder: labels)
    found = topics.examples_of(load_recipe(foreign, for_reading=True).topic, foreign)
    assert (len(found.good), len(found.bad)) == (1_001, 1_000)  # the first is the topic in words
    assert compared < 20_000


def test_members_within_members_are_given_up(monkeypatch):
    """Every 25 bytes begin a gzip member that says WARC/ and goes on, by stored blocks, to the end of the file."""

    def block(size: int) -> bytes:
        return b"\0" + struct.pack("<HH", size, size ^ 0xFFFF)

    start = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block(5) + b"WARC/"
    content = bytearray()
    while len(content) < 50_000:
        content += start + block(60_000 - len(content) - 25)
    monkeypatch.setattr(warc, "_MAX_WASTED", 1_000_000)
    found = list(warc._members(BytesIO(content), 0))
    assert len(found) < 20
    assert sum(length for _, length, _ in found) == len(content)
    assert not any(data for _, _, data in found)
