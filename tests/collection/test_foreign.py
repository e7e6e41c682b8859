import gzip
from pathlib import Path

import pytest

from collection.samples import HOME, WOLF, archive_in, decode, every_kind_of_event, visit
from lycosa.collection import ForeignFetches
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Outcome
from web.archived import ArchivedWeb

SHARED = Path(__file__).parents[3] / "shared/data/warc"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the example archives are not here")


@needs_shared
def test_the_html_pages_of_an_archive_of_others_are_read():
    fetches = ForeignFetches(SHARED / "example.warc.gz", decode=decode)
    pages = list(fetches)
    assert len(pages) > 20
    assert all(page.outcome is Outcome.OK and page.status == 200 and page.content for page in pages)
    assert any("archive.org" in page.url for page in pages)
    assert fetches.skipped > 0
    assert fetches.damage == ""


@needs_shared
def test_a_cut_archive_gives_what_is_there_and_says_so(tmp_path):
    whole = [page.url for page in ForeignFetches(SHARED / "example.warc.gz", decode=decode)]
    path = tmp_path / "cut.warc.gz"
    data = (SHARED / "example.warc.gz").read_bytes()
    path.write_bytes(data[: len(data) // 2])
    fetches = ForeignFetches(path, decode=decode)
    urls = [page.url for page in fetches]
    assert urls == whole[: len(urls)]
    assert 5 < len(urls) < len(whole)
    assert "cut.warc.gz ends in the middle" in fetches.damage


@needs_shared
def test_damage_in_the_middle_costs_only_what_it_hit(tmp_path):
    whole = [page.url for page in ForeignFetches(SHARED / "example.warc.gz", decode=decode)]
    path = tmp_path / "damaged.warc.gz"
    data = bytearray((SHARED / "example.warc.gz").read_bytes())
    data[len(data) // 3 : len(data) // 3 + 100] = bytes(100)
    path.write_bytes(data)
    fetches = ForeignFetches(path, decode=decode)
    urls = [page.url for page in fetches]
    assert len(whole) - 2 <= len(urls) <= len(whole)
    assert "damaged" in fetches.damage


@needs_shared
def test_an_arc_file_is_refused_with_the_way_out():
    with pytest.raises(UsageError, match="warcio recompress"):
        ForeignFetches(SHARED / "example.arc.gz", decode=decode)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_whoever_reads_archives_refuses_arc_in_the_same_words(tmp_path, packed):
    path = tmp_path / "old.arc.gz"
    path.write_bytes(packed(b"filedesc://old.arc.gz 0.0.0.0 19970101000000 text/plain 1\n"))
    words = f"{path} is an ARC file, the older format; convert it with: warcio recompress {path} {tmp_path}/old.warc.gz"
    with pytest.raises(UsageError) as imported:
        ForeignFetches(path, decode=decode)
    with pytest.raises(UsageError) as replayed:
        ArchivedWeb.from_files([path])
    assert str(imported.value) == str(replayed.value) == words


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8b\x08 not gzip", b"\x1f\x8b"])
def test_what_is_no_warc_is_refused_by_name(tmp_path, content):
    path = tmp_path / "strange.gz"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"strange\.gz"):
        ForeignFetches(path, decode=decode)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.warc"):
        ForeignFetches(tmp_path / "nowhere.warc", decode=decode)


def test_our_own_archive_is_one_of_them(tmp_path):
    archive = archive_in(tmp_path)
    for event in [*every_kind_of_event(), visit(HOME)]:
        archive.append(event)
    archive.close()
    pages = list(ForeignFetches(archive.files()[0], decode=decode))
    assert {page.url for page in pages} == {HOME, WOLF}
    assert pages[0].content == visit(WOLF).fetch.content


def test_long_bodies_are_cut_and_marked(tmp_path):
    archive = archive_in(tmp_path)
    archive.append(visit(HOME))
    archive.close()
    (page,) = ForeignFetches(archive.files()[0], decode=decode, max_bytes=10)
    assert (len(page.body), page.truncated) == (10, "length")


def record(kind: str, url: str, block: bytes) -> bytes:
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
    mime = f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(block)}\r\n\r\n"
    return gzip.compress((head + mime).encode() + block + b"\r\n\r\n")


@pytest.mark.parametrize("is_request_first", [True, False])
@pytest.mark.parametrize(
    ("header", "is_personal"),
    [
        ("Cookie: session=1", True),
        ("authorization: Basic bWU6bWU=", True),
        ("X-Api-Key: 7", True),
        ("Proxy-Authorization: Basic bWU6bWU=", True),
        ("Accept-Language: de", False),
        ("Sec-Fetch-Mode: navigate", False),
        ("sec-ch-ua: x", False),
        ("no header at all", False),
    ],
)
def test_a_page_that_a_browser_was_sent_for_its_cookies_is_personal(tmp_path, header, is_personal, is_request_first):
    url, others = "http://bees.example/", "http://ants.example/"
    request = record("request", url, f"GET / HTTP/1.1\r\nHost: bees.example\r\n{header}\r\n\r\n".encode())
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Hello, Ada"
    pair = [request, record("response", url, page)]
    path = tmp_path / "browser.warc.gz"
    path.write_bytes(b"".join([*(pair if is_request_first else pair[::-1]), record("response", others, page)]))
    pages = {fetch.url: fetch for fetch in ForeignFetches(path, decode=decode)}
    assert (pages[url].is_personal, pages[others].is_personal) == (is_personal, False)
    assert "session=1" not in str(pages)
