"""Databases, indexes and archives of somebody else make no library of ours delete files, crash or fill memory."""

import gzip
import json
import os
import random
import shutil
import sqlite3
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from crawling import PATIENCE, apart, done, lycosa
from lycosa.collection.page_words import PageWords
from lycosa.collection.search_index import SearchIndex
from lycosa.logs.log_file import open_access_log
from lycosa.maps.atlas_file import rewrite_atlas_file
from lycosa.reading import main_text
from lycosa.run.trust import ID_FILE
from lycosa.standing.graph_files import read_graph_in_links
from lycosa.standing.tables import read_in_links
from lycosa.vocabulary import files
from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from processes import Process
from sharing import add_pages

PRECIOUS = "what the user has written\n"
URL = "http://bees.example/"


@pytest.fixture
def precious(tmp_path) -> Path:
    path = tmp_path / "precious"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture
def foreign(tmp_path) -> Path:
    folder = add_pages(tmp_path / "foreign", {URL: ("Bees", "honey")})
    (folder / ID_FILE).unlink(missing_ok=True)
    return folder


@pytest.fixture
def log(tmp_path) -> Path:
    lines = (
        f'10.0.0.{number % 9} - - [10/Oct/2024:13:{number % 60:02}:36 +0000] "GET {URL}{number}.html HTTP/1.0" 200 23\n'
        for number in range(50)
    )
    (tmp_path / "access.txt").write_text("".join(lines))
    done("logs", "import", tmp_path / "access.txt", "--into", tmp_path / "read.log")
    return tmp_path / "read.log"


# ---------------------------------------------------------------- journals


def put_journal(database: Path, names: Path | None) -> None:
    """A journal beside a database, of a transaction that changed no page; perhaps with the name of another file."""
    size = int.from_bytes(database.read_bytes()[16:18])
    magic = bytes.fromhex("d9d505f920a163d7")
    pages = database.stat().st_size // size
    journal = (magic + struct.pack(">IIIII", 0, 0, pages, 512, size)).ljust(512, b"\0")
    if names is not None:
        name = str(names).encode()
        journal += struct.pack(">I", 0x40000000 // size + 1) + name
        journal += struct.pack(">II", len(name), sum(name)) + magic
    database.with_name(f"{database.name}-journal").write_bytes(journal)


def test_sqlite_deletes_what_a_journal_names(tmp_path, precious):
    """What the tests below are about: where this fails, SQLite has changed, and they try nothing any more."""
    with closing(sqlite3.connect(tmp_path / "d")) as database:
        database.execute("CREATE TABLE t (x)")
    put_journal(tmp_path / "d", precious)
    with closing(sqlite3.connect(tmp_path / "d")) as database:
        database.execute("SELECT * FROM t").fetchall()
    assert not precious.exists()


@pytest.mark.parametrize("command", ["show", "search", "export", "crawl", "label", "forget", "review", "report"])
def test_a_catalog_deletes_no_file_of_the_user(foreign, precious, command):
    put_journal(foreign / "catalog.sqlite", precious)
    words = {"search": ["honey"], "label": [URL, "--good"], "forget": [URL]}.get(command, [])
    assert lycosa(command, foreign, *words).is_one_clear_line(1, f"lycosa rebuild {foreign}")
    assert precious.read_text() == PRECIOUS


def test_a_rebuild_does_away_with_the_journal(foreign, precious):
    put_journal(foreign / "catalog.sqlite", precious)
    done("rebuild", foreign)
    assert "1 page on 1 host" in done("show", foreign).out
    assert precious.read_text() == PRECIOUS


def test_words_that_were_kept_delete_no_file_of_the_user(tmp_path, precious):
    PageWords(tmp_path / "words.sqlite", made_by="this").close()
    put_journal(tmp_path / "words.sqlite", precious)
    kept = PageWords(tmp_path / "words.sqlite", made_by="this")
    kept.put_terms(URL, 1.0, {"bee": 2})
    assert kept.terms(URL, 1.0) == {"bee": 2}
    kept.close()
    assert precious.read_text() == PRECIOUS


def test_a_log_deletes_no_file_of_the_user(log, precious, tmp_path):
    put_journal(log, precious)
    (tmp_path / "link").symlink_to(log)
    for words in (["show", log], ["show", tmp_path / "link"], ["import", tmp_path / "access.txt", "--into", log]):
        assert lycosa("logs", *words).is_one_clear_line(2, "is damaged")
    assert precious.read_text() == PRECIOUS


def test_the_key_of_a_log_is_not_waited_for(log, tmp_path):
    key = log.with_name(f"{log.name}.key")
    key.unlink()
    os.mkfifo(key)
    more = tmp_path / "more.txt"
    more.write_text((tmp_path / "access.txt").read_text().replace("/Oct/", "/Nov/"))
    said = apart("logs", "import", more, "--into", log)
    assert said.is_one_clear_line(1, f"cannot use the key {key}")


def test_an_atlas_deletes_no_file_of_the_user(tmp_path, precious):
    atlas = tmp_path / "some.atlas"
    with rewrite_atlas_file(atlas):
        pass
    shutil.copy(atlas, f"{atlas}.new")
    put_journal(Path(f"{atlas}.new"), precious)
    with pytest.raises(UsageError, match="damaged"), rewrite_atlas_file(atlas):
        pass
    assert precious.read_text() == PRECIOUS


def test_a_journal_that_names_nothing_is_rolled_back(tmp_path):
    with closing(sqlite3.connect(tmp_path / "d")) as database:
        database.execute("CREATE TABLE t (x)")
    put_journal(tmp_path / "d", None)
    with closing(open_database(tmp_path / "d", mode="rw", max_value_size=1_000)) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert not (tmp_path / "d-journal").exists()


# ---------------------------------------------------------------- search indexes


@pytest.mark.parametrize("listed", ["{precious}", "../../precious", "..", "a/../../../precious"])
def test_an_index_deletes_no_file_of_the_user(foreign, precious, listed):
    done("search", foreign, "honey")
    files = foreign / "search" / ".managed.json"
    files.write_text(json.dumps([listed.format(precious=precious), *json.loads(files.read_text())]))
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        add_pages(foreign, {f"{URL}2": ("More bees", "wax")})
        done("search", foreign, "wax")
    assert precious.read_text() == PRECIOUS
    done("rebuild", foreign)
    assert "1." in done("search", foreign, "honey").out
    assert precious.read_text() == PRECIOUS


def damaged_indexes(folder: Path, count: int) -> Iterator[None]:
    """The index of a folder, each time with one of its files damaged in another way."""
    chance, search = random.Random(7), folder / "search"
    whole = {path: path.read_bytes() for path in sorted(search.iterdir()) if path.suffix != ".lock"}
    for _ in range(count):
        path = chance.choice(list(whole))
        data = bytearray(whole[path])
        match chance.choice(["swap", "flip", "set", "cut"]):
            case "swap":
                data = bytearray(whole[chance.choice(list(whole))])
            case "flip":
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case "set":
                start = chance.randrange(len(data))
                data[start : start + 4] = b"\xff" * len(data[start : start + 4])
            case "cut":
                data = data[: chance.randrange(len(data))]
        _replace(path, data)
        yield
        _replace(path, whole[path])


def _replace(path: Path, data: bytes) -> None:
    """Another file under the name: the one before may be mapped still."""
    path.unlink()
    path.write_bytes(data)


@pytest.mark.slow
def test_a_damaged_index_answers_or_is_refused(tmp_path):
    folder = add_pages(
        tmp_path / "c", {f"{URL}{each}": (f"Bees {each}", f"honey word{each} word{each + 1}") for each in range(30)}
    )
    done("search", folder, "honey")
    refused = answered = 0
    for _ in damaged_indexes(folder, 120):
        index = SearchIndex(folder / "search", text_of=lambda url: "honey")
        for query in ("honey word7", 'hon* "word8 word9" title:bees', ""):
            try:
                index.search(query)
                index.search_page(query)
                index.similar(URL)
                answered += 1
            except LycosaError:
                refused += 1
    assert answered > 0
    assert refused > 0


# ---------------------------------------------------------------- words that were kept


@pytest.mark.parametrize(
    "change",
    [
        "counts SET codes = NULL",
        "counts SET codes = 7",
        "counts SET codes = 'abcdefgh', counts = 'ab'",
        "counts SET vector = NULL",
        "counts SET vector = x'00'",
        "terms SET words = x'00'",
        "terms SET counts = NULL",
        "terms SET counts = 'abcd'",
    ],
)
def test_words_of_other_types_count_as_none(tmp_path, change):
    path = tmp_path / "words.sqlite"
    PageWords(path, made_by="this").close()
    with closing(sqlite3.connect(path)) as words:
        words.execute("INSERT INTO counts VALUES (1, 1.0, zeroblob(8), zeroblob(2), zeroblob(4))")
        words.execute("INSERT INTO terms VALUES (?, 1.0, 'bee', zeroblob(4))", (URL,))
        words.commit()
    kept = PageWords(path, made_by="this")
    assert [each.number for each in kept.words_after(0)] == [1]
    assert kept.terms(URL, 1.0) == {"bee": 0}
    kept.close()
    with closing(sqlite3.connect(path)) as words:
        words.execute(f"UPDATE {change}")
        words.commit()
    kept = PageWords(path, made_by="this")
    found = list(kept.words_after(0)) if change.startswith("counts") else kept.terms(URL, 1.0)
    assert not found
    kept.close()


# ---------------------------------------------------------------- access logs


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE imports SET dropped = '{'[' * 100_000}'",
        "INSERT INTO groups VALUES (1099511627776)",
        "INSERT INTO groups VALUES (-5)",
        "UPDATE users SET hashes = 'text'",
        "UPDATE urls SET ends = NULL",
    ],
)
def test_a_log_of_other_values_is_refused(log, statement):
    with closing(sqlite3.connect(log)) as database:
        if "NULL" in statement:
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = replace(sql, 'ends BLOB NOT NULL', 'ends BLOB')")
            database.commit()
    with closing(sqlite3.connect(log)) as database:
        database.execute(statement)
        database.commit()
    assert lycosa("logs", "show", log).is_one_clear_line(2, log.name)


def test_offsets_that_wrap_around_are_refused(log):
    with closing(sqlite3.connect(log)) as database:
        (text,) = database.execute("SELECT text FROM urls").fetchone()
        ends = np.array([1 << 62, -(1 << 63), -(1 << 62), len(text)], "<i8")
        database.execute("UPDATE urls SET ends = ?", (ends.tobytes(),))
        database.commit()
    with pytest.raises(UsageError, match="damaged"):
        open_access_log(log)


def test_values_that_lead_back_to_themselves_cost_no_memory(log):
    """SQLite bounds one value by the size of its file; many of them are another matter."""
    size, more = 48_000, 4_092 * 60  # so that as much of the value stands in the row itself
    with closing(sqlite3.connect(log)) as database:
        assert database.execute("PRAGMA page_size").fetchone() == (4_096,)
        database.execute("INSERT INTO users VALUES (NULL, ?)", (bytes(320_000),))
        database.execute("INSERT INTO users VALUES (NULL, ?)", (b"\x07" * size,))
        database.commit()
    data = bytearray(log.read_bytes())
    page = data.index(b"\x07" * 4_092) // 4_096  # of the value: the number of the next page, then bytes
    data[page * 4_096 : page * 4_096 + 4] = (page + 1).to_bytes(4)
    for before, after in ((size + 5, size + 5 + more), (2 * size + 12, 2 * (size + more) + 12)):  # of row, and type
        assert data.count(_varint(before)) == 1
        at = data.index(_varint(before))
        data[at : at + 3] = _varint(after)
    log.write_bytes(data)
    with closing(sqlite3.connect(log)) as database:
        claimed = [len(hashes) for (hashes,) in database.execute("SELECT hashes FROM users")]
    assert claimed[-1] == size + more
    assert sum(claimed) > len(data)
    with pytest.raises(UsageError, match="damaged"):
        open_access_log(log)


def _varint(number: int) -> bytes:
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127 | 128)
    return bytes(reversed(groups))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["user", "method", "url"])
def test_spellings_of_a_log_are_not_all_held(tmp_path, part):
    long = "x" * 60_000
    with gzip.open(tmp_path / "bomb.gz", "wt") as file:
        for number in range(1_000):
            letters = "".join(chr(65 + number // 26**place % 26) for place in range(3))
            user = f"{number}{long}" if part == "user" else "10.0.0.1"
            method = f"{letters}{long}" if part == "method" else "GET"
            url = f"{URL}{number}{long}" if part == "url" else URL
            file.write(f'{user} - - [10/Oct/2024:13:10:36 +0000] "{method} {url} HTTP/1.0" 200 2\n')
    tracemalloc.start()
    lycosa("logs", "import", tmp_path / "bomb.gz", "--into", tmp_path / "read.log")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 30_000_000  # of 60 MB of text


# ---------------------------------------------------------------- graphs and tables


@pytest.mark.parametrize(
    ("start", "line", "read"),
    [
        ("n 0 http://a.example/\n", "e 0 0\n", read_graph_in_links),
        ("", "0 1\n", read_graph_in_links),
        ("graph [\n", "a [\n", read_graph_in_links),
        ("graph [\n", "a 1\n", read_graph_in_links),
        ("url,in_links\n", "#\n", read_in_links),
    ],
    ids=["links", "numbers", "brackets", "attributes", "comments"],
)
def test_a_small_file_of_endless_text_costs_little(tmp_path, monkeypatch, start, line, read):
    """A recipe of somebody else may name such a file in its folder, for learning how important pages are."""
    with gzip.open(tmp_path / "bomb.gz", "wb") as file:
        file.write(start.encode())
        for _ in range(20):
            file.write(line.encode() * (100_000 // len(line)))
    monkeypatch.setattr(files, "_MIN_BOUND", 1_000_000)
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"says nothing|brackets may be"):
        read(tmp_path / "bomb.gz")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 15_000_000  # two blocks of 1 MB as text and as links; 2 MB of brackets took 80 MB


# ---------------------------------------------------------------- archives and pages


@pytest.mark.slow
def test_a_chunk_of_endless_length_costs_no_memory(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    zeros = 200 << 20
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    parts = [
        packer.compress(
            b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:11111111-1111-1111-1111-111111111111>\r\n"
            b"WARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Target-URI: http://bees.example/\r\n"
            b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n" % (len(head) + zeros)
        ),
        packer.compress(head),
        *(packer.compress(b"0" * (1 << 20)) for _ in range(zeros >> 20)),
        packer.compress(b"\r\n\r\n"),
        packer.flush(),
    ]
    (tmp_path / "bomb.warc.gz").write_bytes(b"".join(parts))
    process = Process(_READ_BODIES, tmp_path / "bomb.warc.gz")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.wait() == 0, err
    size, memory = map(int, out.split())
    assert size <= 1_000_000
    assert memory < 50_000_000


_READ_BODIES = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from lycosa.collection.foreign import ForeignFetches
from lycosa.web.encodings import decoded

before = getrusage(RUSAGE_SELF).ru_maxrss
bodies = [len(fetch.body) for fetch in ForeignFetches(Path(sys.argv[1]), decode=decoded, max_bytes=1_000_000)]
print(sum(bodies), 1024 * (getrusage(RUSAGE_SELF).ru_maxrss - before))
"""


def test_lists_within_lists_do_not_indent_without_end():
    sizes = [len(main_text("<ol><li>x" * number)) for number in (2_000, 4_000)]
    assert sizes[1] < 2.5 * sizes[0]
    assert sizes[1] < 50 * 4_000
