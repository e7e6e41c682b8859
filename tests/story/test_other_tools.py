"""What other people's programs make of our archives and exports: each runs as a program, in an environment of its own.

`make tools` installs them; without them these tests are skipped.
"""

import gzip
import http.client
import json
import os
import socket
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawling import archives, collection, done, lycosa, pages, rows
from fixtures.fixed_world import FixedWorld
from golden.test_old_collection import ARCHIVE
from lycosa.collection.cdxj import index_path
from lycosa_lab.worlds.server import WorldServer
from worlds import html

TOOLS = Path(__file__).parents[2] / ".venv-tools" / "bin"
PATIENCE = 120.0  # seconds until a server that ought to answer is given up
LEAVES = [
    f"http://bees.test/{tail}" for tail in ("hive", "a//b/", "~smith/Caf%C3%A9?z=1&a=%26&Z=0", "x?y=%2525&b", "deep/er")
]
WEB = {
    "http://bees.test/": html("Bees", "honey bee hive, and everything starts here.", LEAVES),
    **{url: html(f"Leaf {n}", f"honey bee hive {n} {url[-3:]}. " + f"w{n} v{n} " * 20) for n, url in enumerate(LEAVES)},
}

pytestmark = pytest.mark.slow


def tool(name: str) -> Path:
    """A program of that environment; skips the test where it is missing."""
    path = TOOLS / name
    if not path.exists():
        pytest.skip(f"{name} is not installed in {TOOLS.parent.name}; run: make tools")
    return path


def run(name: str, *words: object, folder: Path | None = None) -> str:
    """What a program prints; it has to succeed."""
    words = (tool(name), *words)
    ended = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site, crawled, and looked at again: its pages have not changed."""
    folder = collection(tmp_path_factory.mktemp("tools") / "bees", ["http://bees.test/"])
    with WorldServer(FixedWorld(WEB)) as server:
        done("crawl", folder, "--resolve", server.resolve, "--quiet")
        seen_again = done("refresh", folder, "--budget", 20, "--resolve", server.resolve, "--json").json
    assert sorted(pages(folder)) == sorted(WEB)
    assert seen_again["unchanged"] == len(WEB)
    return folder


@pytest.fixture(scope="module")
def bees_wacz(bees: Path) -> Path:
    out = bees.with_name("bees.wacz")
    assert done("export", bees, "--format", "wacz", "--out", out).out == f"{len(WEB)} pages in {out}\n"
    return out


@pytest.fixture
def old_bees(tmp_path: Path) -> Path:
    """A collection that version 0.1.0 made, whose notes have the URLs of pages."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "bees"


# ------------------------------------------------------------ replay


@contextmanager
def wayback(folder: Path) -> Iterator[int]:
    """pywb, serving the collections of a folder; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [tool("wayback"), "--port", str(port), "--bind", "127.0.0.1", "--threads", "2"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with (folder / "pywb.log").open("wb") as log:
        server = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, env=environment)
        try:
            give_up_at = time.monotonic() + PATIENCE
            while not _answers(port):
                assert server.poll() is None, (folder / "pywb.log").read_text()
                assert time.monotonic() < give_up_at, "pywb does not answer"
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
            server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def replayed(port: int, name: str, url: str, kind: str) -> tuple[int, str, bytes]:
    """Status, type and body of a page as pywb shows it: rewritten for a frame (mp_), or as it is (id_)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", f"/{name}/{kind}/{url}")
        answer = connection.getresponse()
        return answer.status, answer.headers.get_content_type(), answer.read()
    finally:
        connection.close()


def added(folder: Path, name: str, *files: object) -> None:
    run("wb-manager", "init", name, folder=folder)
    run(
        "wb-manager",
        "add",
        *(["--unpack-wacz"] if str(files[0]).endswith(".wacz") else []),
        name,
        *files,
        folder=folder,
    )


def test_pywb_replays_every_page_as_it_was_from_the_archive_and_from_the_wacz(bees, bees_wacz, tmp_path):
    added(tmp_path, "archive", *archives(bees))
    added(tmp_path, "wacz", bees_wacz)
    with wayback(tmp_path) as port:
        for name in ("archive", "wacz"):
            for url, body in WEB.items():
                assert replayed(port, name, url, "id_") == (200, "text/html", body), (name, url)
            status, kind, shown = replayed(port, name, "http://bees.test/", "mp_")
            assert (status, kind) == (200, "text/html")
            assert b"and everything starts here" in shown
            assert b'"lycosa"' not in shown


def test_pywb_replays_an_older_archive_from_its_wacz(old_bees, tmp_path):
    out = tmp_path / "old.wacz"
    done("export", old_bees, "--format", "wacz", "--out", out)
    added(tmp_path, "old", out)
    with wayback(tmp_path) as port:
        for (url,) in rows(old_bees, "SELECT url FROM pages WHERE vanished_at IS NULL"):
            status, kind, shown = replayed(port, "old", url, "mp_")
            assert (status, kind) == (200, "text/html"), url
            assert b'"lycosa"' not in shown


# ------------------------------------------------------------ indexes and packages


@pytest.mark.parametrize("words", [["--text"], ["--top", 3], ["--min-relevance", 0], ["--host", "bees.test"]])
def test_a_wacz_is_of_the_whole_archive(bees, tmp_path, words):
    said = lycosa("export", bees, "--format", "wacz", "--out", tmp_path / "bees.wacz", *words)
    assert said.is_one_clear_line(2, "--format wacz exports the whole archive")
    assert not list(tmp_path.iterdir())


def test_formats_that_there_are_include_wacz(bees):
    assert lycosa("export", bees, "--format", "warc").is_one_clear_line(2, "no format 'warc'", "wacz")


def test_a_wacz_that_cannot_be_written_leaves_nothing_behind(bees, tmp_path):
    assert lycosa("export", bees, "--format", "wacz", "--out", tmp_path / "no" / "x.wacz").is_one_clear_line(
        2, "x.wacz"
    )
    assert not list(tmp_path.iterdir())


def entries(lines: str) -> list[tuple[str, str, dict[str, str]]]:
    found = []
    for line in lines.splitlines():
        key, moment, facts = line.split(" ", 2)
        found.append((key, moment, json.loads(facts)))
    return found


def test_cdxj_indexer_finds_the_answers_and_keys_that_we_index(bees):
    (archive,) = archives(bees)
    theirs = entries(run("cdxj-indexer", archive))
    mimes = {facts["mime"] for _, _, facts in theirs if facts["url"].startswith("http")}
    assert mimes == {"text/html", "warc/revisit"}
    notes = [facts["url"] for _, _, facts in theirs if not facts["url"].startswith("http")]
    assert notes and all(url.startswith("urn:lycosa:") for url in notes)
    ours = entries(index_path(archive).read_text("utf-8"))
    compared = [
        {(key, moment, facts["url"], facts["offset"], facts["length"], facts["digest"]) for key, moment, facts in found}
        for found in (ours, [entry for entry in theirs if entry[2]["mime"] == "text/html"])
    ]
    assert compared[0] == compared[1]
    assert len(ours) == len(WEB)


def test_wacz_makes_a_package_of_our_archive_with_one_html_capture_for_each_page(bees, tmp_path):
    out = tmp_path / "theirs.wacz"
    run("wacz", "create", "--output", out, *archives(bees))
    run("wacz", "validate", "--file", out)
    with zipfile.ZipFile(out) as package:
        found = entries(gzip.decompress(package.read("indexes/index.cdx.gz")).decode())
    captures = [facts for _, _, facts in found if facts["url"].startswith("http")]
    assert sorted(facts["url"] for facts in captures if facts["mime"] == "text/html") == sorted(WEB)
    assert {facts["mime"] for facts in captures} == {"text/html", "warc/revisit"}


def test_wacz_finds_our_package_valid(bees_wacz):
    assert "valid" in run("wacz", "validate", "--file", bees_wacz)


def test_wacz_finds_the_package_of_an_older_archive_valid(old_bees, tmp_path):
    out = tmp_path / "old.wacz"
    done("export", old_bees, "--format", "wacz", "--out", out)
    assert "valid" in run("wacz", "validate", "--file", out)


def test_warcio_finds_nothing_wrong(bees):
    run("warcio", "check", *archives(bees))


# ------------------------------------------------------------ tables


def require_library(name: str) -> None:
    """Skips the test where that environment lacks a library."""
    try:
        run("python", "-c", f"import {name}")
    except AssertionError:
        pytest.skip(f"{name} is not installed in {TOOLS.parent.name}; run: make tools")


@pytest.mark.parametrize("words", [["--text", "--links"], ["--chunks", "20"]])
def test_datasets_loads_a_dataset_with_its_types(bees, tmp_path, words):
    require_library("datasets")
    done("export", bees, "--format", "huggingface", *words, "--out", tmp_path / "bees")
    program = (
        "import json, os, sys\n"
        "os.environ.update(HF_HUB_OFFLINE='1', HF_HOME=sys.argv[2])\n"
        "import datasets\n"
        "loaded = datasets.load_dataset(sys.argv[1], split='train', cache_dir=sys.argv[2])\n"
        "print(json.dumps([sorted(set(loaded['url'])), loaded['text'][0], str(loaded.features['at'].dtype)]))"
    )
    urls, text, kind = json.loads(run("python", "-c", program, tmp_path / "bees", tmp_path / "cache"))
    assert urls == sorted(WEB)
    assert "honey bee hive" in text
    assert kind == "timestamp[ms, tz=UTC]"


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_duckdb_reads_the_table_with_its_types(bees, tmp_path, format):
    out = tmp_path / f"bees.{format}"
    done("export", bees, "--format", format, "--out", out)
    program = (
        "import duckdb, json, sys\n"
        "sql = 'SELECT count(*), count(DISTINCT url), sum(depth), min(relevance) >= 0, max(title) FROM \\'%s\\''\n"
        "print(json.dumps(duckdb.sql(sql % sys.argv[1]).fetchall()[0], default=str))"
    )
    require_library("duckdb")
    count, distinct, depth, has_relevance, title = json.loads(run("python", "-c", program, out))
    assert count == distinct == len(WEB)
    assert int(depth) == len(LEAVES)
    assert has_relevance is True
    assert title == f"Leaf {len(LEAVES) - 1}"
