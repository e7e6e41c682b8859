import gzip
import io
import json
import random
import time
from pathlib import Path

import brotli
import msgspec
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from collection.samples import (
    CARS,
    HOME,
    HTML,
    WOLF,
    archive_in,
    every_kind_of_event,
    fetched,
    files_no_longer_than,
    visit,
    warcio_check,
)
from lycosa.collection import (
    Archive,
    ArchivePosition,
    Attempt,
    Event,
    FetchedExample,
    RecordLocation,
    RunStart,
    RunStop,
    Scores,
    cdxj,
)
from lycosa.collection.cdxj import index_path, surt
from lycosa.collection.event_records import decode_event, encode_event, groups
from lycosa.collection.warc import CHUNK, encode_record, read_records
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit


def as_read(event: Event) -> Event:
    return replace(event, page=None) if isinstance(event, Visit) else event


def written(folder: Path, events: list[Event]) -> list[RecordLocation]:
    archive = archive_in(folder)
    places = [archive.append(event) for event in events]
    archive.close()
    return places


def the_file(folder: Path) -> Path:
    return next(iter(folder.glob("*.warc.gz")))


def test_every_event_comes_back_as_it_was(tmp_path):
    events = every_kind_of_event()
    places = written(tmp_path, events)
    back = list(archive_in(tmp_path, writable=False).events())
    assert [event for event, _ in back] == [as_read(event) for event in events]
    assert [place for _, place in back] == places


def test_warcio_finds_nothing_wrong_and_reads_the_bodies(tmp_path):
    written(tmp_path, every_kind_of_event())
    warcio_check(the_file(tmp_path))
    with the_file(tmp_path).open("rb") as stream:
        kinds = [(r.rec_type, r.content_stream().read(), r.rec_headers) for r in ArchiveIterator(stream)]
    assert kinds[0][0] == "warcinfo"
    assert [body for kind, body, _ in kinds if kind == "response"][:2] == [HTML, HTML]
    assert sum(kind == "revisit" for kind, _, _ in kinds) == 2
    reasons = [headers.get_header("WARC-Truncated") for kind, _, headers in kinds if kind == "response"]
    assert set(reasons) == {None, "length", "unspecified"}


@pytest.mark.parametrize("encoding", ["br", "gzip, BR"])
def test_a_page_in_brotli_is_archived_decoded_and_warcio_reads_it(tmp_path, encoding):
    content = HTML * 2_000  # several of the pieces in which warcio reads
    packed = brotli.compress(content)
    headers = (("Content-Type", "text/html"), ("Content-Encoding", encoding), ("content-length", str(len(packed))))
    fetch = fetched(WOLF, body=packed, content=content, headers=headers)
    (place,) = written(tmp_path, [replace(visit(WOLF), fetch=fetch)])
    warcio_check(the_file(tmp_path))
    with the_file(tmp_path).open("rb") as stream:
        bodies = [record.content_stream().read() for record in ArchiveIterator(stream) if record.rec_type == "response"]
    assert bodies == [content]
    fetch = archive_in(tmp_path, writable=False).fetch_at(place)
    assert (fetch.body, fetch.content, fetch.header("content-encoding")) == (content, content, None)
    assert fetch.header("x-archive-orig-content-encoding") == encoding
    assert fetch.header("x-archive-orig-content-length") == str(len(packed))
    assert fetch.header("content-length") == str(len(content))


def test_damage_between_records_is_counted(tmp_path):
    places = written(tmp_path, [visit(Url(f"http://spiders.example/{number}")) for number in range(5)])
    data = bytearray(the_file(tmp_path).read_bytes())
    data[places[1].offset : places[2].offset] = bytes(places[2].offset - places[1].offset)  # as a bad disk leaves it
    the_file(tmp_path).write_bytes(data)
    archive = archive_in(tmp_path, writable=False)
    assert len(list(archive.events())) == 4
    assert archive.damaged_bytes == {the_file(tmp_path).name: places[2].offset - places[1].offset}


def test_fastwarc_reads_every_record_with_valid_digests(tmp_path):
    written(tmp_path, every_kind_of_event())
    with the_file(tmp_path).open("rb") as stream:
        blocks = [record.verify_block_digest() for record in FastIterator(stream, parse_http=False)]
    with the_file(tmp_path).open("rb") as stream:
        kinds = [record.headers["WARC-Type"] for record in FastIterator(stream, parse_http=False)]
    with the_file(tmp_path).open("rb") as stream:
        payloads = [
            record.verify_payload_digest()
            for record in FastIterator(stream)
            if PAYLOAD_DIGEST in record.headers and record.headers["WARC-Type"] != "revisit"  # of what lies elsewhere
        ]
    assert blocks == [True] * len(kinds)
    assert payloads == [True] * kinds.count("response")


PAYLOAD_DIGEST = "WARC-Payload-Digest"
texts = st.text(max_size=20)
header = st.tuples(st.text("abcDEF-", min_size=1, max_size=8), st.text(st.characters(max_codepoint=0x2FF), max_size=12))


@settings(max_examples=60, deadline=None)
@given(texts, st.lists(header, max_size=4), st.binary(max_size=200), texts, st.floats(0, 1), st.integers(100, 999))
def test_whatever_a_server_says_comes_back_with_no_line_end_in_a_header(
    anchor, headers, body, reason, relevance, status
):
    fetch = fetched(WOLF, headers=tuple(headers), body=body, content=body, reason=reason, status=status)
    event = Visit(Candidate(WOLF, 1.0, HOME, anchor), fetch, None, relevance)
    ids = iter("abc")
    packed = b"".join(encode_event(event, lambda: next(ids)).members)
    (group,) = groups(io.BytesIO(packed))
    back = decode_event(group, lambda body, encoding, limit: (body[:limit], False))

    def on_one_line(text: str) -> str:
        return text.replace("\r", " ").replace("\n", " ")

    fetch = replace(fetch, reason=on_one_line(reason), headers=tuple((n, on_one_line(v)) for n, v in headers))
    assert back == replace(event, fetch=fetch)


@pytest.mark.parametrize(
    "name",
    [
        "Transfer-Encoding",
        "transfer-encoding",
        "X-Archive-Orig-Transfer-Encoding",
        "x-archive-orig-transfer-encoding",
        "X-Archive-Orig-X-Archive-Orig-Transfer-Encoding",
        "X-Archive-Orig-Content-Encoding",
        "X-Archive-Orig-",
    ],
)
def test_headers_survive_the_archive_as_they_came(tmp_path, name):
    event = Visit(Candidate(WOLF, 1.0), fetched(WOLF, headers=(("Content-Type", "text/html"), (name, "gzip"))))
    written(tmp_path, [event])
    assert [back for back, _ in archive_in(tmp_path).events()] == [event]


def test_half_surrogates_become_question_marks(tmp_path):
    written(tmp_path, [Visit(Candidate(WOLF, 1.0, HOME, "a\ud800b"), fetched(WOLF))])
    ((event, _),) = archive_in(tmp_path).events()
    assert event.candidate.anchor == "a?b"


def test_reading_goes_on_from_a_position(tmp_path):
    archive = archive_in(tmp_path, max_bytes=3000)
    events = every_kind_of_event() * 2
    positions: list[ArchivePosition | None] = [None]
    for event in events:
        archive.append(event)
        positions.append(archive.position())
    archive.close()
    assert len(archive.files()) > 2
    for number in range(0, len(events), 5):
        back = [event for event, _ in archive.events(positions[number])]
        assert back == [as_read(event) for event in events[number:]]


@pytest.mark.slow
def test_records_are_whole_wherever_they_meet_the_edge_of_a_read(tmp_path):
    chance = random.Random(7)
    archive = archive_in(tmp_path)
    sizes = [chance.choice((0, 100, 5000, 3 * CHUNK)) + chance.randrange(300) for _ in range(600)]
    for number, size in enumerate(sizes):
        page = Url(f"http://a.example/{number}")
        archive.append(Visit(Candidate(page, 1.0), fetched(page, body=chance.randbytes(size), content=b"")))
    archive.append(Visit(Candidate(HOME, 1.0), fetched(HOME, body=bytes(3_000_000), content=b"")))
    archive.close()
    sizes.append(3_000_000)
    size = the_file(tmp_path).stat().st_size
    assert [len(event.fetch.body) for event, _ in archive.events()] == sizes
    archive.recover(None)
    assert the_file(tmp_path).stat().st_size == size
    with the_file(tmp_path).open("rb") as stream:
        ends = [(record.offset, record.offset + record.length) for record in read_records(stream)]
    assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]]


@pytest.mark.parametrize("before_the_edge", range(60))
def test_a_record_may_begin_just_before_the_edge_of_a_read(before_the_edge):
    first = gzip_member_of(CHUNK - before_the_edge)
    second = encode_record("metadata", "<urn:b>", "2020-01-01T00:00:00Z", "text/plain", b"second")
    found = list(read_records(io.BytesIO(first + second)))
    assert [(record.offset, record.block[-6:]) for record in found][-1] == (len(first), b"second")
    assert len(found) == 2


def gzip_member_of(length: int) -> bytes:
    """A record whose gzip member is exactly so long."""
    noise = random.Random(1).randbytes(length)
    size = length - 300
    for _ in range(20):
        member = encode_record("metadata", "<urn:a>", "2020-01-01T00:00:00Z", "text/plain", noise[:size])
        if len(member) == length:
            return member
        size += length - len(member)
    raise AssertionError(f"no record is {length} bytes long")


def test_files_are_rotated_numbered_and_indexed(tmp_path):
    archive = archive_in(tmp_path / "archive", max_bytes=2000)
    for event in every_kind_of_event():
        archive.append(event)
    archive.close()
    names = [path.name for path in archive.files()]
    assert [int(name[-13:-8]) for name in names] == list(range(1, len(names) + 1))
    assert len(names) > 2
    assert all(path.stat().st_size < 2000 + 2000 for path in archive.files())
    warcio_check(*archive.files())
    assert all(path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj").exists() for path in archive.files())


def cdxj_of(path: Path) -> list[str]:
    return path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj").read_text().splitlines()


def test_cdxj_leads_to_the_answers(tmp_path):
    archive = archive_in(tmp_path)
    for event in every_kind_of_event():
        archive.append(event)
    archive.close()
    path = the_file(tmp_path)
    lines = cdxj_of(path)
    assert lines == sorted(lines)
    assert len(lines) == 14  # all answers but the one that said "not modified"
    for line in lines:
        key, moment, facts = line.split(" ", 2)
        entry = json.loads(facts)
        assert key == surt(entry["url"])
        assert "20231114221320" <= moment <= "20231114221331"
        with path.open("rb") as stream:
            stream.seek(int(entry["offset"]))
            record = next(iter(ArchiveIterator(stream)))
        assert record.rec_headers.get_header("WARC-Target-URI") == entry["url"]
        assert record.http_headers.get_statuscode() == entry["status"]


def test_cdxj_lines_may_contain_other_line_separators():
    lines = [f'com,example)/{number} 2023 {{"mime":"text/html\x85\u2028x"}}\n' for number in range(600)]
    assert list(cdxj.Entries(lines)) == lines


def test_cdxj_is_neither_read_nor_written_for_events_without_an_answer(tmp_path, monkeypatch):
    written(tmp_path, [visit(HOME), visit(WOLF)])
    path = the_file(tmp_path)
    whole, inode = cdxj_of(path), index_path(path).stat().st_ino
    with monkeypatch.context() as patched:
        patched.setattr(cdxj, "write", lambda *_: pytest.fail("the index is written"))
        patched.setattr(cdxj, "Entries", lambda *_: pytest.fail("the index is read"))
        written(tmp_path, [Scores(9.0, "labels", {str(HOME): 0.5})])
    assert (cdxj_of(path), index_path(path).stat().st_ino) == (whole, inode)
    assert index_path(path).stat().st_mtime_ns >= path.stat().st_mtime_ns  # so that nobody takes it for outdated
    written(tmp_path, [Scores(10.0, "labels", {str(HOME): 0.6}), visit(CARS)])
    assert sorted([*whole, *(line for line in cdxj_of(path) if str(CARS) in line)]) == cdxj_of(path)
    assert len(cdxj_of(path)) == 3


def test_cdxj_that_a_kill_made_outdated_is_made_again_before_the_next_answer(tmp_path):
    written(tmp_path, [visit(HOME)])
    killed = archive_in(tmp_path)
    killed.append(visit(WOLF))
    killed.abandon()
    written(tmp_path, [Scores(9.0, "labels", {str(HOME): 0.5}), visit(CARS)])
    assert len(cdxj_of(the_file(tmp_path))) == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.replace(b"example", b"ex\xffmple", 1),
        lambda line: line.replace(b'"url"', b'"\xe9rl"', 1),
        lambda line: line[:40] + b"\n",
        lambda line: line[:-1],
        lambda line: line + b"com,other)/ 20261120010909 {}\n",
        lambda line: line.replace(b"-00001.warc.gz", b"-00002.warc.gz"),
        lambda line: b"x" * 2_000_000 + line,
        lambda line: b"\0" * 500,
    ],
)
def test_a_damaged_cdxj_is_made_again(tmp_path, damage):
    written(tmp_path, [visit(HOME)])
    path = the_file(tmp_path)
    index_path(path).write_bytes(damage(index_path(path).read_bytes()))
    written(tmp_path, [visit(WOLF)])
    index = cdxj_of(path)
    index_path(path).unlink()
    archive_in(tmp_path).close()
    assert cdxj_of(path) == index
    assert len(index) == 2


def test_cdxj_is_made_again_after_going_on_or_when_missing(tmp_path):
    written(tmp_path, [visit(HOME)])
    written(tmp_path, [visit(WOLF)])
    whole = cdxj_of(the_file(tmp_path))
    assert len(whole) == 2
    for index in tmp_path.glob("*.cdxj"):
        index.unlink()
    archive_in(tmp_path).close()
    assert cdxj_of(the_file(tmp_path)) == whole


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.org/", "org,example)/"),
        ("https://example.org:443/A/B/?y=2&x=1", "org,example)/a/b?x=1&y=2"),
        ("http://127.0.0.1:8000/x", "1,0,0,127:8000)/x"),
        ("http://[::1]:80/", "::1)/"),
        ("http://[::1]/a", "::1)/a"),
        ("http://www7.example.org./", "org,example)/"),
        ("http://example.org//a///b//", "org,example)/a/b"),
        ("http://example.org/%7EA%20b%C3%A9?y=%2525&x=%23", "org,example)/~a%20b%c3%a9?x=%23&y=%25"),
    ],
)
def test_surt_keys(url, key):
    assert surt(url) == key


def test_a_url_that_is_escaped_again_and_again_is_indexed_in_linear_time():
    """One of 50,000 characters, as an imported WARC file may have, took 0.2 s; one of a million, a minute."""
    began = time.process_time()
    surt("http://a.example/%" + "25" * 500_000 + "41")
    assert time.process_time() - began < 2.0


def test_a_place_gives_the_fetch(tmp_path):
    events = every_kind_of_event()
    archive = archive_in(tmp_path)
    places = [archive.append(event) for event in events]
    for event, place in zip(events, places, strict=True):
        if hasattr(event, "fetch"):
            assert archive.fetch_at(place) == event.fetch
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        archive.fetch_at(RecordLocation(places[1].file, places[1].offset + 1, 10))


# ---------------------------------------------------------------- kills and damage


@pytest.mark.slow
def test_a_tail_torn_at_any_byte_is_cut_back_to_whole_groups(tmp_path):
    archive = archive_in(tmp_path)
    archive.append(visit(HOME))
    committed = archive.position()
    archive.append(visit(WOLF))
    whole = archive.position()
    archive.append(visit(CARS))
    archive.close()
    path = the_file(tmp_path)
    data = path.read_bytes()
    cuts = [*range(whole.offset, len(data), 7), len(data) - 1, *range(committed.offset, whole.offset, 97)]
    for tail in (b"", b"\0" * 3000, b"\x1f\x8b\x08" + b"\0" * 50):
        for cut in cuts:
            path.write_bytes(data[:cut] + tail)
            archive_in(tmp_path).recover(committed if cut % 2 else None)
            mended_by_chance = (data[:cut] + tail).startswith(data)  # its last bytes are zeros
            expected = whole.offset if cut >= whole.offset else committed.offset
            assert path.stat().st_size == (len(data) if mended_by_chance else expected)
    archive = archive_in(tmp_path)
    archive.append(visit(CARS))
    archive.close()
    warcio_check(path)
    assert len(list(archive.events())) == 2


def test_a_first_group_torn_leaves_no_file(tmp_path):
    written(tmp_path, [visit(HOME)])
    path = the_file(tmp_path)
    data = path.read_bytes()
    for cut in range(0, len(data), 50):
        path.write_bytes(data[:cut])
        archive_in(tmp_path).recover(None)
        assert not path.exists()


def test_a_whole_archive_is_left_alone(tmp_path):
    written(tmp_path, every_kind_of_event())
    before = the_file(tmp_path).read_bytes()
    archive = archive_in(tmp_path)
    archive.recover(None)
    archive.recover(archive.position())
    archive.recover(ArchivePosition(the_file(tmp_path).name, 700))  # not where a record begins
    assert the_file(tmp_path).read_bytes() == before


def test_an_archive_shorter_than_the_catalog_knows_is_refused(tmp_path):
    written(tmp_path, [visit(HOME)])
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        archive_in(tmp_path).recover(ArchivePosition(the_file(tmp_path).name, 1 << 20))


def test_damage_in_the_middle_costs_only_what_it_hit(tmp_path):
    places = written(tmp_path, [visit(HOME), visit(WOLF), visit(CARS)])
    path = the_file(tmp_path)
    data = bytearray(path.read_bytes())
    data[places[1].offset + 40 : places[1].offset + 90] = b"\0" * 50
    path.write_bytes(data)
    archive_in(tmp_path).recover(None)
    urls = [event.candidate.url for event, _ in archive_in(tmp_path).events()]
    assert urls == [HOME, CARS]


def test_a_reader_beside_a_writer_sees_whole_groups(tmp_path):
    writer, reader = archive_in(tmp_path), archive_in(tmp_path, writable=False)
    seen: list[int] = []
    for url in (HOME, WOLF, CARS):
        writer.append(visit(url))
        seen.append(len(list(reader.events())))
    assert seen == [1, 2, 3]


def test_a_run_is_stored_under_the_keys_of_earlier_versions():
    run = RunStart(1.0, "best-first", (), access_log={"file": "a.log"}, rank_lists_digest="f00")
    stored = msgspec.to_builtins(run)
    assert (stored["lycosa"], stored["logs"], stored["authority"]) == ("run", {"file": "a.log"}, "f00")
    assert msgspec.to_builtins(RunStop(2.0, "done")) == {"lycosa": "stop", "at": 2.0, "reason": "done"}


def test_other_peoples_records_are_ignored(tmp_path):
    written(tmp_path, [visit(HOME)])
    path = the_file(tmp_path)
    stray = b"".join(encode_event(visit(WOLF), lambda: "<urn:x>").members[:2])
    path.write_bytes(path.read_bytes() + stray)
    written(tmp_path, [RunStop(1.0, "done")])
    assert [type(event) for event, _ in archive_in(tmp_path).events()] == [Visit, RunStop]


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    archive = archive_in(tmp_path)
    archive.append(visit(HOME))
    size = archive.position().offset
    with files_no_longer_than(size + 100), pytest.raises(CollectionError, match="make room") as error:
        archive.append(visit(WOLF))
    assert "\n" not in str(error.value)
    assert the_file(tmp_path).stat().st_size == size
    archive.append(visit(CARS))
    archive.close()
    warcio_check(the_file(tmp_path))
    assert [event.candidate.url for event, _ in archive.events()] == [HOME, CARS]


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "archive").write_text("not a folder")
    with pytest.raises(CollectionError, match="cannot use"):
        archive_in(tmp_path / "archive")


# ---------------------------------------------------------------- forgetting


def everything_in(path: Path) -> bytes:
    with path.open("rb") as stream:
        return b"".join(
            str(record.rec_headers).encode() + record.content_stream().read() for record in ArchiveIterator(stream)
        )


def remembering(folder: Path) -> Archive:
    archive = archive_in(folder, max_bytes=2500)
    for event in (
        RunStart(1.0, "best-first", (HOME, CARS), None),
        visit(HOME),
        visit(CARS, found_on=HOME),
        visit(WOLF, found_on=CARS, duplicate_of=CARS),
        Visit(Candidate(CARS, 1.0), Fetch(CARS, Outcome.UNCHANGED, 2.0, status=304)),
        Scores(3.0, "labelled", {CARS: 0.1, HOME: 0.9}),
    ):
        archive.append(event)
    archive.close()
    return archive


def test_forgetting_leaves_no_trace_of_the_url(tmp_path):
    archive = remembering(tmp_path)
    assert len(archive.files()) > 1
    assert archive.forget(lambda url: url == CARS) == 2
    for path in archive.files():
        assert b"cars.example" not in everything_in(path)
        assert not any("cars.example" in line for line in cdxj_of(path))
    warcio_check(*archive.files())
    run, home, wolf, scores = (event for event, _ in archive.events())
    assert (run.seeds, home.candidate.url) == ((HOME,), HOME)
    assert (wolf.candidate.found_on, wolf.duplicate_of, wolf.fetch.body) == (None, None, HTML)
    assert scores.relevance == {HOME: 0.9}
    archive.append(visit(Url("http://new.example/")))
    archive.close()
    warcio_check(*archive.files())


def test_forgetting_nothing_changes_nothing(tmp_path):
    archive = remembering(tmp_path)
    before = {path: path.read_bytes() for path in archive.files()}
    assert archive.forget(lambda url: False) == 0
    assert {path: path.read_bytes() for path in archive.files()} == before


def test_what_a_kill_left_of_forgetting_is_swept_away(tmp_path):
    archive = remembering(tmp_path)
    leftover = the_file(tmp_path).with_name(the_file(tmp_path).name + ".new")
    leftover.write_bytes(b"half a file")
    assert len(list(archive_in(tmp_path).events())) == len(list(archive.events())) == 6
    assert not leftover.exists()


@pytest.mark.parametrize(
    ("event", "uri"),
    [
        (RunStart(1.0, "best-first", ()), "urn:lycosa:run"),
        (Scores(1.0, "trained", {}), "urn:lycosa:scores"),
        (RunStop(1.0, "done"), "urn:lycosa:stop"),
        (visit(WOLF), f"urn:lycosa:visit:{WOLF}"),
        (Attempt(Candidate(WOLF, 1.0), Fetch(WOLF, Outcome.FAILED, 1.0)), f"urn:lycosa:attempt:{WOLF}"),
        (FetchedExample(WOLF, True, fetched(WOLF)), f"urn:lycosa:example:{WOLF}"),
    ],
)
def test_what_an_event_says_is_archived_under_a_uri_of_its_own(event: Event, uri: str) -> None:
    *_, member = encode_event(event, lambda: "<urn:uuid:1>").members
    (record,) = read_records(io.BytesIO(member))
    assert (record.kind, record.headers["warc-target-uri"]) == ("metadata", uri)


def test_only_answers_and_requests_are_archived_under_the_url_of_a_page(tmp_path):
    written(tmp_path, every_kind_of_event())
    with the_file(tmp_path).open("rb") as stream:
        about_pages = {
            each.kind for each in read_records(stream) if each.headers.get("warc-target-uri", "").startswith("http")
        }
    assert about_pages == {"response", "revisit", "request"}


def as_version_0_1_wrote(member: bytes) -> bytes:
    """A metadata record with the URL of the page as its target; other records as they are."""
    (each,) = read_records(io.BytesIO(member))
    target = each.headers.get("warc-target-uri", "")
    if each.kind != "metadata" or "http" not in target:
        return member
    head, _, _ = gzip.decompress(member).partition(b"\r\n\r\n")
    lines = [line for line in head.decode().split("\r\n") if line.startswith(("WARC-Concurrent", "WARC-Refers"))]
    lines.insert(0, f"WARC-Target-URI: {target[target.index('http') :]}")
    date, ident = each.headers["warc-date"], each.headers["warc-record-id"]
    return encode_record("metadata", ident, date, "application/json", each.block, *lines)


def test_a_file_begun_by_version_0_1_is_read_indexed_and_continued(tmp_path):
    events = every_kind_of_event()
    written(tmp_path / "new", events)
    with the_file(tmp_path / "new").open("rb") as stream:
        members = [(each.offset, each.length) for each in read_records(stream)]
    data = the_file(tmp_path / "new").read_bytes()
    old = tmp_path / "old" / the_file(tmp_path / "new").name
    old.parent.mkdir()
    old.write_bytes(b"".join(as_version_0_1_wrote(data[start : start + length]) for start, length in members))
    assert old.read_bytes() != data
    written(tmp_path / "old", events)
    assert [event for event, _ in archive_in(tmp_path / "old").events()] == [as_read(event) for event in events] * 2
    warcio_check(old)
    entries = [json.loads(line.split(" ", 2)[2]) for line in cdxj_of(old)]
    assert len(entries) == 2 * len(cdxj_of(the_file(tmp_path / "new")))
    assert "application/json" not in {entry["mime"] for entry in entries}
    archive = archive_in(tmp_path / "old")
    archive.forget(lambda url: url == WOLF)
    assert WOLF.encode() + b"\r\n" not in gzip.decompress(old.read_bytes())
