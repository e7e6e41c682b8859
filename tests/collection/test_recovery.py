"""What is cut from the end of an archive, and what stays although nothing can be made of it."""

import gzip
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from collection.samples import CARS, HOME, WOLF, archive_in, collection_in, visit
from lycosa.collection import RunStop
from lycosa.collection.event_records import encode_event
from lycosa.collection.warc import date_of, encode_record
from lycosa.vocabulary.records import Url

STRANGE = Url("http://strange.example/")


@cache  # other tools draw new ids each time
def of_others(*, version: str = "WARC/1.0") -> bytes:
    """Three answers as another tool writes them."""
    out = BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version=version)
    for number in range(3):
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        body = BytesIO(b"<p>precious")
        writer.write_record(
            writer.create_warc_record(f"{STRANGE}{number}", "response", payload=body, http_headers=headers)
        )
    return out.getvalue()


def of_a_newer_version(url: Url = STRANGE) -> bytes:
    """A visit with an outcome of which this version does not know."""
    answer, request, _ = encode_event(
        visit(url), iter(("<urn:uuid:a>", "<urn:uuid:b>", "<urn:uuid:c>")).__next__
    ).members
    note = b'{"lycosa":"visit","candidate":{"url":"%s","priority":1.0},"fetch":{"outcome":"dreamt","at":1.7e9}}'
    lines = (
        f"WARC-Target-URI: urn:lycosa:visit:{url}",
        "WARC-Concurrent-To: <urn:uuid:a>",
        "WARC-Refers-To: <urn:uuid:a>",
    )
    block = note % url.encode()
    metadata = encode_record("metadata", "<urn:uuid:c>", date_of(1.7e9), "application/json", block, *lines)
    return answer + request + metadata


def of_ours(folder: Path, *urls: Url) -> Path:
    archive = archive_in(folder)
    for url in urls:
        archive.append(visit(url))
    archive.close()
    return archive.files()[-1]


def urls_in(folder: Path) -> list[str]:
    return [event.candidate.url for event, _ in archive_in(folder, writable=False).events()]


def kept_by_others() -> dict[str, bytes]:
    plain = gzip.decompress(of_others())
    return {
        "whole": of_others(),
        "of WARC 1.1": of_others(version="WARC/1.1"),
        "torn": of_others()[:-100],
        "torn in its first record": of_others()[:200],
        "in one gzip member": gzip.compress(plain),
        "in one torn gzip member": gzip.compress(plain)[:-20],
        "not gzipped": plain,
        "no WARC": gzip.compress(b"notes of mine"),
        "packed otherwise": b"\x1f\x9d" + bytes(range(1, 250)) * 10,
    }


@pytest.mark.parametrize("kind", kept_by_others())
def test_a_file_of_others_is_left_as_it_is_and_a_new_one_begun_behind_it(tmp_path, kind):
    content = kept_by_others()[kind]
    theirs = tmp_path / "mine-00007.warc.gz"
    theirs.write_bytes(content)
    archive_in(tmp_path).recover(None)
    ours = of_ours(tmp_path, HOME)
    assert ours.name.endswith("-00008.warc.gz")
    archive_in(tmp_path).recover(None)
    assert theirs.read_bytes() == content
    assert not theirs.with_name("mine-00007.cdxj").exists()
    assert urls_in(tmp_path) == [HOME]


def not_understood() -> dict[str, bytes]:
    return {
        "of others": of_others(),
        "of others in WARC 1.1": of_others(version="WARC/1.1"),
        "of a newer version": of_a_newer_version(),
        "of both": of_others() + of_a_newer_version() * 2,
        "no record": gzip.compress(b"notes of mine"),
        "not gzipped": gzip.decompress(of_others()),
    }


@pytest.mark.parametrize("kind", not_understood())
def test_whole_records_that_are_not_understood_stay_behind_ours(tmp_path, kind):
    behind = not_understood()[kind]
    path = of_ours(tmp_path, HOME)
    committed = archive_in(tmp_path).position()
    path.write_bytes(path.read_bytes() + behind)
    before = path.read_bytes()
    for known in (None, committed):
        archive_in(tmp_path).recover(known)
        assert path.read_bytes() == before
    assert of_ours(tmp_path, WOLF) == path
    assert path.read_bytes().startswith(before)
    assert urls_in(tmp_path) == [HOME, WOLF]


def test_behind_records_that_are_not_understood_only_the_unfinished_group_is_cut(tmp_path):
    path = of_ours(tmp_path, HOME)
    kept = path.read_bytes() + of_others() + of_a_newer_version()
    group = b"".join(encode_event(visit(CARS), iter(("<urn:uuid:d>", "<urn:uuid:e>", "<urn:uuid:f>")).__next__).members)
    for cut in range(0, len(group), 11):
        path.write_bytes(kept + group[:cut])
        archive_in(tmp_path).recover(None)
        assert path.read_bytes() == kept


def test_an_archive_tells_how_many_records_of_which_file_it_passed_over(tmp_path):
    path = of_ours(tmp_path, HOME)
    path.write_bytes(path.read_bytes() + of_a_newer_version())
    of_ours(tmp_path, WOLF)
    (tmp_path / "mine-00002.warc.gz").write_bytes(of_others())
    archive = archive_in(tmp_path)
    assert len(list(archive.events())) == 2
    assert archive.unreadable_records == {path.name: 3, "mine-00002.warc.gz": 3}


def test_of_files_with_one_number_those_before_a_position_are_not_read_again(tmp_path):
    behind = of_ours(tmp_path, HOME, WOLF)
    (tmp_path / "a-00001.warc.gz").write_bytes(behind.read_bytes())
    archive = archive_in(tmp_path)
    assert archive.files()[-1] == behind
    assert list(archive.events(archive.position())) == []


def test_forgetting_leaves_records_of_others_that_are_about_something_else(tmp_path):
    path = of_ours(tmp_path, HOME, CARS)
    path.write_bytes(path.read_bytes() + of_others() + of_a_newer_version(CARS) + of_a_newer_version())
    archive = archive_in(tmp_path)
    assert archive.forget(lambda url: url == CARS) == 1
    assert path.read_bytes().endswith(of_others() + of_a_newer_version())
    assert b"cars.example" not in gzip.decompress(path.read_bytes())
    assert archive.forget(lambda url: url == f"{STRANGE}1") == 0
    said = gzip.decompress(path.read_bytes())
    assert [said.count(f"WARC-Target-URI: {STRANGE}{number}\r\n".encode()) for number in range(3)] == [1, 0, 1]
    assert urls_in(tmp_path) == [HOME]


def test_a_collection_goes_on_behind_a_file_of_others(tmp_path):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
    theirs = tmp_path / "archive" / "mine-00009.warc.gz"
    theirs.write_bytes(of_others())
    for url in (WOLF, CARS):
        with collection_in(tmp_path) as collection:
            assert list(collection.unapplied()) == []
            collection.record(visit(url))
            collection.record(RunStop(1.7e9, "done"))
    with collection_in(tmp_path) as collection:
        assert list(collection.unapplied()) == []
        assert [page.url for page in collection.catalog.pages()] == [HOME, WOLF, CARS]
    assert theirs.read_bytes() == of_others()
