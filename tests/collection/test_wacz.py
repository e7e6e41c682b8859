import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from collection.samples import CARS, HOME, WOLF, collection_in, every_kind_of_event, fetched, page_of, visit
from lycosa.collection import RunStart
from lycosa.collection.wacz import VERSION, write_wacz
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Url, Visit


def filled(folder: Path, events: list, **options: object) -> Path:
    folder.mkdir(exist_ok=True)
    with collection_in(folder, **options) as collection:
        for event in events:
            collection.record(event)
    return folder


def packed(folder: Path, **options: object) -> bytes:
    out = io.BytesIO()
    with collection_in(folder, writable=False) as collection:
        write_wacz(collection, out, software="lycosa/0", **options)
    return out.getvalue()


def opened(data: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data))


def jsons(data: bytes) -> list:
    return [json.loads(line) for line in data.splitlines()]


def many(count: int) -> list[Visit]:
    urls = [Url(f"http://h{number * 7 % 10}.example/{number}?b&a={number % 3}") for number in range(count)]
    return [visit(url, relevance=number % 11 / 11) for number, url in enumerate(urls)]


def test_the_manifest_names_every_file_with_its_size_and_hash(tmp_path):
    wacz = opened(packed(filled(tmp_path / "Wolves", [visit(HOME), visit(WOLF)]), description="wolf spiders"))
    manifest = json.loads(wacz.read("datapackage.json"))
    assert (manifest["profile"], manifest["wacz_version"], manifest["title"]) == ("data-package", VERSION, "Wolves")
    assert manifest["description"] == "wolf spiders"
    assert manifest["created"] == "2023-11-14T22:13:20Z"
    listed = {each["path"]: each for each in manifest["resources"]}
    assert {*wacz.namelist()} == {*listed, "datapackage.json", "datapackage-digest.json"}
    for path, each in listed.items():
        data = wacz.read(path)
        assert each["bytes"] == len(data)
        assert each["hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert each["name"] == each["name"].lower()
    digest = json.loads(wacz.read("datapackage-digest.json"))
    assert digest["hash"] == f"sha256:{hashlib.sha256(wacz.read('datapackage.json')).hexdigest()}"


def test_compressed_files_are_stored_as_they_are_so_that_a_range_of_them_can_be_read(tmp_path):
    folder = filled(tmp_path / "c", many(40), max_bytes=4000)
    wacz = opened(packed(folder))
    kept = sorted((folder / "archive").glob("*.warc.gz"))
    assert len(kept) > 2
    for path in kept:
        assert wacz.read(f"archive/{path.name}") == path.read_bytes()
    stored = {info.filename for info in wacz.infolist() if info.compress_type == zipfile.ZIP_STORED}
    assert stored == {*(f"archive/{path.name}" for path in kept), "indexes/index.cdx.gz"}


@pytest.mark.slow
def test_the_index_leads_to_every_answer_in_the_order_of_its_keys(tmp_path):
    folder = filled(tmp_path / "c", [*every_kind_of_event(), *many(2500)], max_bytes=300_000)
    wacz = opened(packed(folder))
    index = wacz.read("indexes/index.cdx.gz")
    meta, *blocks = wacz.read("indexes/index.idx").decode().splitlines()
    assert json.loads(meta.split(" ", 2)[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    lines: list[str] = []
    for block in blocks:
        key, moment, said = block.split(" ", 2)
        where = json.loads(said)
        member = index[where["offset"] : where["offset"] + where["length"]]
        assert where["digest"] == f"sha256:{hashlib.sha256(member).hexdigest()}"
        found = gzip.decompress(member).decode().splitlines()
        assert found[0].startswith(f"{key} {moment} ")
        lines += found
    assert len(blocks) == 3
    assert lines == sorted(lines)
    assert sorted(lines) == sorted(
        line for path in (folder / "archive").glob("*.cdxj") for line in path.read_text("utf-8").splitlines()
    )
    for line in lines[::200]:
        entry = json.loads(line.split(" ", 2)[2])
        stream = io.BytesIO(wacz.read(f"archive/{entry['filename']}")[int(entry["offset"]) :])
        record = next(iter(ArchiveIterator(stream)))
        assert record.rec_headers.get_header("WARC-Target-URI") == entry["url"]


def test_pages_are_listed_with_their_text_the_most_relevant_first(tmp_path):
    odd = Visit(Candidate(WOLF, 1.0), fetched(WOLF), page_of(WOLF, title='</script>"\ud800'), 0.5)
    wacz = opened(packed(filled(tmp_path / "c", [visit(HOME, relevance=0.25), odd, visit(CARS, relevance=0.75)])))
    head, *pages = jsons(wacz.read("pages/pages.jsonl"))
    assert head == {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}
    assert [page["url"] for page in pages] == [CARS, WOLF, HOME]
    assert [page["relevance"] for page in pages] == [0.75, 0.5, 0.25]
    assert pages[1]["title"] == '</script>"?'
    assert {page["ts"] for page in pages} == {"2023-11-14T22:13:20Z"}
    assert all(page["text"] for page in pages)


def test_the_same_collection_gives_the_same_bytes(tmp_path):
    folder = filled(tmp_path / "c", many(30), max_bytes=4000)
    assert packed(folder) == packed(folder)


def test_it_can_be_written_to_a_pipe(tmp_path):
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.data += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    folder = filled(tmp_path / "c", many(5))
    pipe = Pipe()
    with collection_in(folder, writable=False) as collection:
        assert write_wacz(collection, pipe, software="lycosa/0") == 5
    through, whole = opened(pipe.data), opened(packed(folder))
    assert through.testzip() is None
    assert {name: through.read(name) for name in through.namelist()} == {
        name: whole.read(name) for name in whole.namelist()
    }


def test_what_a_running_crawl_has_not_committed_is_left_out(tmp_path):
    folder = filled(tmp_path / "c", many(4))
    before = opened(packed(folder))
    crawl = collection_in(folder)
    for event in [visit(HOME), visit(WOLF)]:
        crawl.record(event)
    meanwhile = opened(packed(folder))
    crawl.close_without_checkpoint()
    assert {name: meanwhile.read(name) for name in meanwhile.namelist()} == {
        name: before.read(name) for name in before.namelist()
    }


def test_pages_that_come_while_it_is_written_are_left_out(tmp_path):
    folder = filled(tmp_path / "c", many(3))
    out = io.BytesIO()
    with collection_in(folder) as crawl, collection_in(folder, writable=False) as collection:
        position = collection.catalog.position()
        crawl.record(visit(HOME))
        crawl.checkpoint()
        collection.catalog.position = lambda: position  # type: ignore[method-assign]
        assert write_wacz(collection, out, software="lycosa/0") == 3
    listed = [page["url"] for page in jsons(opened(out.getvalue()).read("pages/pages.jsonl"))[1:]]
    assert HOME not in listed
    assert b"spiders.example" not in gzip.decompress(opened(out.getvalue()).read("indexes/index.cdx.gz"))


def test_a_collection_of_which_nothing_was_fetched_says_so(tmp_path):
    folder = filled(tmp_path / "c", [RunStart(1.7e9, "best-first", ())])
    with pytest.raises(CollectionError, match="holds nothing yet"):
        packed(folder)


def test_progress_counts_pages(tmp_path):
    seen: list[tuple[int, int]] = []
    packed(filled(tmp_path / "c", many(3)), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
