import asyncio
import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, Url
from web.archived import ArchivedWeb

SHARED = Path(__file__).parents[3] / "shared" / "data" / "warc"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared example archives are not beside the checkout")


def record(url: str, http: bytes, *, kind: str = "response", more: str = "") -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n{more}"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\nWARC-IP-Address: 192.0.2.1\r\n"
        f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def page(body: bytes, headers: str = "Content-Type: text/html\r\n", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + body


def archive(folder: Path, *records: bytes, zipped: bool = True) -> Path:
    path = folder / ("x.warc.gz" if zipped else "x.warc")
    path.write_bytes(b"".join(gzip.compress(each) if zipped else each for each in records))
    return path


def fetched(web: ArchivedWeb, url: str) -> Fetch:
    return asyncio.run(web.fetch(Url(url)))


@pytest.mark.parametrize("zipped", [True, False])
def test_the_last_response_of_a_url_is_the_answer(tmp_path: Path, zipped: bool) -> None:
    records = [
        record("http://a.example/", page(b"<html>old")),
        record("http://a.example/", b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record("<http://b.example/>", page(b"<html>b")),
        record("http://a.example/", page(b"<html>new")),
    ]
    web = ArchivedWeb.from_files([archive(tmp_path, *records, zipped=zipped)])
    fetch = fetched(web, "http://a.example/")
    assert (fetch.outcome, fetch.status, fetch.reason, fetch.content) == (Outcome.OK, 200, "OK", b"<html>new")
    assert (fetch.at, fetch.address, fetch.headers) == (1577934245.0, "192.0.2.1", (("Content-Type", "text/html"),))
    assert fetched(web, "http://b.example/").content == b"<html>b"
    assert list(web) == ["http://a.example/", "http://b.example/"]


def test_a_response_means_what_it_would_mean_live(tmp_path: Path) -> None:
    html = "Content-Type: text/html\r\n"
    packed = gzip.compress(b"<html>packed")
    chunked = b"6\r\n<html>\r\n4\r\nbits\r\n0\r\n\r\n"
    web = ArchivedWeb.from_files(
        [
            archive(
                tmp_path,
                record("http://a.example/moved", page(b"", "Location: /there\r\n", "301 Moved")),
                record("http://a.example/gone", page(b"", status="404 Not Found")),
                record("http://a.example/picture", page(b"\x89PNG", "Content-Type: image/png\r\n")),
                record("http://a.example/packed", page(packed, html + "Content-Encoding: gzip\r\n")),
                record("http://a.example/bits", page(chunked, html + "Transfer-Encoding: chunked\r\n")),
                record("http://a.example/short", page(b"<html>"), more="WARC-Truncated: time\r\n"),
                record("http://a.example/none", b"nothing like HTTP"),
            )
        ],
    )
    moved = fetched(web, "http://a.example/moved")
    assert (moved.outcome, moved.location) == (Outcome.MOVED, "http://a.example/there")
    assert fetched(web, "http://a.example/gone").outcome is Outcome.GONE
    picture = fetched(web, "http://a.example/picture")
    assert (picture.outcome, picture.body) == (Outcome.UNWANTED, b"")
    assert fetched(web, "http://a.example/packed").content == b"<html>packed"
    assert fetched(web, "http://a.example/packed").body == packed
    assert fetched(web, "http://a.example/bits").body == b"<html>bits"
    assert fetched(web, "http://a.example/short").truncated == "time"
    assert fetched(web, "http://a.example/none").outcome is Outcome.FAILED
    text = asyncio.run(web.fetch_any_type(Url("http://a.example/picture")))
    assert (text.outcome, text.content) == (Outcome.OK, b"\x89PNG")


def test_what_was_never_archived_is_gone(tmp_path: Path) -> None:
    web = ArchivedWeb.from_files([archive(tmp_path, record("http://a.example/", page(b"<html>")))])
    fetch = fetched(web, "http://b.example/")
    assert (fetch.outcome, fetch.detail) == (Outcome.GONE, "not in the archive")


def test_a_long_page_is_cut(tmp_path: Path) -> None:
    path = archive(tmp_path, record("http://a.example/", page(b"<html>" + bytes(1_000))))
    fetch = fetched(ArchivedWeb.from_files([path], max_body=100), "http://a.example/")
    assert (len(fetch.body), len(fetch.content), fetch.truncated) == (100, 100, "length")


def test_of_a_torn_archive_what_is_whole_is_known(tmp_path: Path) -> None:
    path = archive(
        tmp_path, record("http://a.example/", page(b"<html>a")), record("http://b.example/", page(b"<html>b"))
    )
    path.write_bytes(path.read_bytes()[:-40])
    web = ArchivedWeb.from_files([path])
    assert fetched(web, "http://a.example/").content == b"<html>a"
    path.unlink()
    assert fetched(web, "http://a.example/").outcome is Outcome.FAILED


def test_what_is_not_a_warc_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(b"hello")
    for path in (tmp_path / "x.warc", tmp_path / "missing.warc", tmp_path):
        with pytest.raises(UsageError, match=path.name):
            ArchivedWeb.from_files([path])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_bytes_make_it_fail(tmp_path: Path, junk: bytes, where: int) -> None:
    whole = record("http://a.example/", page(b"<html>a")) * 2
    path = tmp_path / "junk.warc"
    path.write_bytes(whole[:where] + junk + whole[where:])
    try:
        web = ArchivedWeb.from_files([path])
    except UsageError:
        return
    for url in web:
        fetched(web, url)


@pytest.mark.slow
@needs_shared
def test_other_peoples_archives_are_read() -> None:
    web = ArchivedWeb.from_files([SHARED / "example.warc.gz"])
    fetch = fetched(web, "http://www.archive.org/index.php")
    assert fetch.outcome is Outcome.OK
    assert b"Internet Archive" in fetch.content
    assert fetched(web, "http://www.adobe.com/go/getflash/").outcome is Outcome.MOVED
    assert fetched(web, "http://www.archive.org/images/logoc.jpg").outcome is Outcome.UNWANTED
    assert {fetched(web, url).outcome for url in web} <= set(Outcome)
    assert len(web) > 200


@needs_shared
def test_an_arc_file_is_told_from_a_warc_file() -> None:
    with pytest.raises(UsageError, match="warcio recompress"):
        ArchivedWeb.from_files([SHARED / "example.arc.gz"])
