"""A collection as what a peer has."""

import asyncio
import gzip
import shutil
import sqlite3
from contextlib import suppress
from itertools import pairwise

import pytest
import tantivy

from lycosa.run import upkeep
from lycosa.run.open import open_for_reading
from lycosa.run.trust import record_made_here
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError
from lycosa_peers.content import Content
from lycosa_peers.messages import Contact, Response, decode, encode
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.shared_collection import CollectionSummary, SharedCollection, SummaryUpdates, unpack_record
from lycosa_peers.summary import BadSummaryError
from sharing import add_pages, as_made_before_cookies_were_recorded, shared

PAGES = {
    "http://bees.example/": ("Bees", "Honey from the hive, honey for the queen."),
    "http://bees.example/wax": ("Wax", "The comb of wax. " + "Bees build " * 20),
    "http://ships.example/": ("Ships", "A sail, a mast and the harbour."),
    "http://10.0.0.7/secret": ("Intranet", "Honey plans of the company."),
}


@pytest.fixture
def folder(tmp_path):
    return add_pages(tmp_path / "c", PAGES)


def urls(found):
    return {hit.item for hit in found.hits}


def test_pages_with_all_the_words_are_found_with_their_counts(folder):
    with shared(folder) as content:
        checked: Content = content
        found = checked.find("the honey and the queen", 10)
        (hit,) = found.hits
        assert (hit.item, hit.title, hit.length) == ("http://bees.example/", "Bees", 9)
        assert hit.frequencies == (2, 1)
        assert "«" in hit.snippet
        assert (hit.standing, hit.relevance) == (0.25, 0.5)
        assert found.statistics.terms == ("honey", "queen")
        assert found.statistics.document_frequencies == (1, 1)
        assert found.statistics.documents == 4
        assert urls(content.find("bees", 10)) == {"http://bees.example/", "http://bees.example/wax"}
        assert len(content.find("bees", 1).hits) == 1


def test_pages_of_the_summary_are_no_new_ones_whatever_their_digests(tmp_path, monkeypatch):
    monkeypatch.setattr("lycosa_peers.shared_collection._MAX_NEW_PAGES", 0)
    pages = {f"http://bees.example/{number}": (f"Bee {number}", f"Honey, {number} times.") for number in range(20)}
    with shared(add_pages(tmp_path / "c", pages)) as content:
        assert urls(content.find("honey", 30)) == set(pages)
        assert not content.counts["not_told_yet"]


@pytest.mark.parametrize("asked", ["honey sail", "unheard", "", "!?", 7, '") OR (', "title:bees sail*", "a" * 4000])
def test_nothing_is_found_where_there_is_nothing(folder, asked):
    with shared(folder) as content:
        assert content.find(asked, 10).hits == ()


def test_what_is_written_without_blanks_is_found(tmp_path):
    folder = add_pages(tmp_path / "c", {"http://bees.example/zh": ("蜂蜜", "人们很早就知道蜂蜜很甜。")})
    with shared(folder) as content:
        assert urls(content.find("蜂蜜", 10)) == urls(content.find("知道蜂蜜", 10)) == {"http://bees.example/zh"}
        assert content.find("蜜蜂", 10).hits == ()
        assert content.summary().may_have("蜂蜜")


def test_a_summary_does_not_say_no_to_what_it_leaves_out(folder):
    with shared(folder) as content:
        assert content.summary().may_have("from the") and urls(content.find("from the", 10))
        assert not content.summary().may_have("")


def test_pages_at_private_addresses_are_withheld(folder):
    with shared(folder) as content:
        assert urls(content.find("honey", 10)) == {"http://bees.example/"}
        assert content.fetch("http://10.0.0.7/secret") is None
        assert not content.summary().may_have("honey plans")
    with open_for_reading(folder) as collection:
        open_hearted = SharedCollection(collection, PeerFolder(folder.parent), allow_private=True)
        assert len(open_hearted.find("honey", 10).hits) == 2
        assert open_hearted.fetch("http://10.0.0.7/secret") is not None


def test_a_stored_page_is_handed_out_and_recognised(folder):
    with shared(folder) as content:
        body = content.fetch("http://ships.example/")
        assert content.is_item("http://ships.example/", body)
        assert b"<title>Ships</title>" in unpack_record("http://ships.example/", body)
        assert not content.is_item("http://bees.example/", body)
        assert not content.is_item("http://ships.example/", body[:-5])
        assert not content.is_item("http://ships.example/", gzip.compress(b"WARC/1.1\r\n" + bytes(40 << 20)))
        assert not content.is_item("http://ships.example/", b"")
        for item in ("http://ships.example/none", "no url", 5, "file:///etc/passwd", "http://ships.example/../../x"):
            assert content.fetch(item) is None


def test_the_summary_tells_what_the_collection_has(folder):
    with shared(folder) as content:
        held = content.unpack(content.summary().packed(), 1)
        assert held.may_have("the honey of the queen")
        assert held.may_have("sail")
        assert not held.may_have("honey sail")
        assert not held.may_have("unheard")
        assert held.find("honey", 5) == ()


def test_new_pages_are_told_as_a_change(folder):
    with shared(folder) as content:
        before = content.summary()
        held: CollectionSummary = content.unpack(before.packed(), before.version)
    add_pages(folder, {"http://stars.example/": ("Stars", "A comet and its orbit.")})
    with shared(folder) as content:  # a new run, which kept what was told before
        change = content.changes(before.version)
        assert change is not None
        assert change.version == before.version + 1
        assert len(change.packed) < len(before.packed())
        held = content.update(held, change.packed, change.version)
        assert held.may_have("comet orbit")
        assert held.may_have("honey queen")
        assert content.changes(before.version - 1) is None
        assert content.changes(change.version + 1) is None
        assert content.find("comet", 3).statistics.documents == 5


def test_an_unchanged_collection_is_not_read_again(folder):
    with shared(folder) as content:
        version = content.summary().version
        assert content.pending_build(at_once=True) is None
    with shared(folder) as content:
        assert content.summary().version == version


def test_a_forgotten_page_is_told_of_no_longer(folder):
    with shared(folder) as content:
        version = content.summary().version
    upkeep.forget(folder, "http://ships.example/", clock=WallClock(), notify=lambda line: None)
    with shared(folder) as content:
        assert content.find("sail", 5).hits == ()
        assert not content.summary().may_have("sail")
        assert content.changes(version) is None  # so that buddies forget it, too


def test_a_summary_that_was_damaged_on_disk_is_made_again(folder):
    with shared(folder):
        pass
    PeerFolder(folder).write("summary", b"\xc1 nonsense")
    with shared(folder) as content:
        assert content.summary().may_have("honey")


def test_a_stranger_cannot_pass_anything_for_a_summary(folder):
    with shared(folder) as content:
        with pytest.raises(BadSummaryError):
            content.unpack(b"nonsense", 1)
        with pytest.raises(BadSummaryError):
            content.update(content.summary(), b"\x91\x01", 2)


def test_a_collection_grows_while_it_is_shared(folder):
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder))
        content.update_summary()
        assert content.find("comet", 5).hits == ()
        add_pages(folder, {"http://stars.example/": ("Stars", "A comet and its orbit.")})
        assert urls(content.find("comet", 5)) == {"http://stars.example/"}
        reading = content.pending_build()
        assert reading is not None
        assert not reading.replaces_all
        assert list(reading) == [1]
        reading.finish_segment()
        content.use_build(reading)
        assert content.summary().may_have("comet")


def as_a_response(found):
    """What arrives of an answer; raises where it is no message."""
    return decode(encode(Response(1, Contact("me"), found.hits, statistics=found.statistics)))


@pytest.mark.parametrize("unheard", ["unheard", "z" * 990, "wörter" + "x" * 80, "蜂" * 300])
def test_a_page_must_have_the_last_word_of_a_long_question_too(folder, unheard):
    asked = " ".join(["bees"] * 3 + [f"honey{'x' * 75}{number}" for number in range(13)] + [unheard])
    with shared(folder) as content:
        assert content.find(asked, 10).hits == ()
        assert content.find(f"honey {unheard}", 10).hits == ()


def test_whatever_is_asked_the_answer_is_a_message(folder):
    long = "honey" + "x" * 35
    add_pages(folder, {"http://long.example/": ("Long", f"{long}")})
    with shared(folder) as content:
        for asked in ("honey " * 700, f"honey {'z' * 990}", "honey", long):
            found = content.find(asked, 10)
            assert as_a_response(found).hits == found.hits


@pytest.mark.parametrize("at", [-6e10, 2.5e11])
def test_a_page_of_an_absurd_time_is_still_told_in_a_message(folder, at):
    with sqlite3.connect(folder / "catalog.sqlite") as catalog:
        catalog.execute("UPDATE pages SET at = ?, standing = 7.0", (at,))
    with shared(folder) as content:
        (hit,) = as_a_response(content.find("honey", 5)).hits
        assert hit.standing == 1.0


def test_pages_that_are_withheld_are_not_read_for_an_answer(folder, monkeypatch):
    add_pages(folder, {f"http://10.0.0.8/{number}": ("Plans", "honey honey honey") for number in range(30)})
    with shared(folder) as content:
        read = []
        monkeypatch.setattr(
            content._texts, "read", lambda page, read_it=content._texts.read: read.append(page.url) or read_it(page)
        )
        assert urls(content.find("honey", 5)) == {"http://bees.example/"}
    assert read == ["http://bees.example/"]


def index_of_another_schema(folder):
    """Replaces the search index by one as another version would have made it."""
    shutil.rmtree(folder / "search")
    (folder / "search").mkdir()
    fields = tantivy.SchemaBuilder().add_text_field("url", stored=True).build()
    tantivy.Index(fields, path=str(folder / "search")).writer().commit()


def test_a_collection_whose_index_is_of_another_version_is_not_shared_as_if_it_were_empty(folder):
    index_of_another_schema(folder)
    with open_for_reading(folder) as collection, pytest.raises(CollectionError, match="lycosa rebuild"):
        SharedCollection(collection, PeerFolder(folder))


def test_an_index_that_is_rewritten_meanwhile_is_counted_and_told_and_found_again(folder):
    with shared(folder) as content:
        index = folder / "search" / "meta.json"
        whole = index.read_bytes()
        index.write_bytes(b"{")
        assert content.find("honey", 5).hits == ()
        assert content.counts["index_unusable"] == 1
        assert "lycosa rebuild" in str(content.error)
        index.write_bytes(whole)
        assert urls(content.find("honey", 5)) == {"http://bees.example/"}
        assert content.error is None


@pytest.mark.parametrize("name", ["{folder}/peer/key.pem", "../peer/key.pem", "/etc/hosts", "../archive/{archive}"])
def test_no_file_but_those_of_the_archive_is_handed_out(folder, name):
    (folder / "peer").mkdir(exist_ok=True)
    record_made_here(folder / "peer")
    (folder / "peer" / "key.pem").write_text("the secret of this peer")
    (archive,) = (folder / "archive").glob("*.warc.gz")
    with shared(folder) as content:
        assert content.fetch("http://bees.example/") is not None
        with sqlite3.connect(folder / "catalog.sqlite") as catalog:
            catalog.execute("UPDATE pages SET file = ?", (name.format(folder=folder, archive=archive.name),))
        assert content.fetch("http://bees.example/") is None


def test_no_record_but_that_of_the_page_is_handed_out(folder):
    with shared(folder) as content:
        assert content.fetch("http://ships.example/") is not None
        with sqlite3.connect(folder / "catalog.sqlite") as catalog:
            place = catalog.execute("SELECT place, length FROM pages WHERE url = 'http://bees.example/'").fetchone()
            catalog.execute("UPDATE pages SET place = ?, length = ? WHERE url = 'http://ships.example/'", place)
        assert content.fetch("http://ships.example/") is None


# Where pages came from


HONEY = {"http://hive.example/": ("Hive", "honey of the apiary")}


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.8", "192.168.1.1", "::1", "fd00::7", "169.254.169.254", ""])
def test_a_page_from_a_private_address_or_nobody_knows_where_is_not_shared_whatever_its_name(tmp_path, address):
    folder = add_pages(add_pages(tmp_path / "c", PAGES), HONEY, address=address)
    with shared(folder) as content:
        assert "http://hive.example/" not in {hit.item for hit in content.find("honey", 10).hits}
        assert content.fetch("http://hive.example/") is None
        assert not content.summary().may_have("apiary") and content.withheld >= 1
        assert "http://hive.example/" in {hit.item for hit in content.find_own("apiary", 10).hits}
    with shared(folder, allow_private=True) as content:
        assert content.fetch("http://hive.example/") is not None and not content.withheld
        assert [hit.item for hit in content.find("apiary", 10).hits] == ["http://hive.example/"]
        assert content.summary().may_have("apiary")
    with shared(folder) as content:  # what was shared once is not in the summary any more
        assert not content.summary().may_have("apiary") and content.withheld >= 1


@pytest.mark.parametrize("header", ["Cookie", "Authorization", "X-Api-Key"])
@pytest.mark.parametrize("after", ["", "rebuild", "import", "refetch"])
def test_a_page_that_was_asked_for_with_cookies_or_the_like_is_never_shared(tmp_path, header, after):
    url = "http://hive.example/"
    folder = add_pages(tmp_path / "c", PAGES)
    add_pages(folder, HONEY, request_headers=(("Accept", "*/*"), (header, "(left out)")))
    if after == "rebuild":
        upkeep.rebuild(folder, clock=WallClock(), notify=lambda line: None)
    elif after == "import":
        (archive,) = (folder / "archive").glob("*.warc.gz")
        folder = add_pages(tmp_path / "other", {})
        upkeep.import_archive(folder, archive, clock=WallClock(), notify=lambda line: None)
    with open_for_reading(folder) as collection:
        assert collection.catalog.has_personal_pages()
    for allow_private in (False, True):
        with shared(folder, allow_private=allow_private) as content:
            assert url not in urls(content.find("apiary honey", 10)) | urls(content.find("apiary", 10))
            assert content.fetch(url) is None and not content.summary().may_have("apiary")
            assert url in urls(content.find_own("apiary", 10)) and content.withheld >= 1
            assert content.fetch("http://bees.example/") is not None
    if after == "refetch":
        add_pages(folder, HONEY, request_headers=(("Accept", "*/*"),))
        with shared(folder) as content:
            assert content.fetch(url) is not None and urls(content.find("apiary", 10)) == {url}


def test_of_an_older_collection_nothing_is_shared_while_its_recipe_has_cookies(tmp_path):
    folder = add_pages(tmp_path / "c", PAGES)
    with shared(folder) as content:
        assert content.pages
    recipe = (folder / "lycosa.toml").read_text()
    as_made_before_cookies_were_recorded(folder, 'cookies = "a=b"')
    for allow_private in (False, True):
        with shared(folder, allow_private=allow_private) as content:
            assert content.pages == 0 and content.withheld == len(PAGES)
            assert all(content.fetch(url) is None for url in PAGES)
    (folder / "lycosa.toml").write_text(recipe)
    with shared(folder) as content:
        assert content.pages == len(PAGES) - 1  # which is at a private address


def test_a_page_that_is_new_or_comes_again_from_elsewhere_is_judged_by_its_own_record(tmp_path):
    folder = add_pages(tmp_path / "c", HONEY)
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder))
        content.update_summary()
        assert content.find("hive", 10).hits
        add_pages(folder, {"http://hive.example/": ("Hive", "secret of the hive")}, address="10.0.0.8")
        add_pages(folder, {"http://late.example/": ("Late", "a late hive")}, address="10.0.0.8")
        assert content.find("hive", 10).hits == ()
        assert content.fetch("http://hive.example/") is content.fetch("http://late.example/") is None
        add_pages(folder, {"http://next.example/": ("Next", "the next hive")})
        assert [hit.item for hit in content.find("hive", 10).hits] == ["http://next.example/"]


def test_a_page_that_comes_again_from_a_public_address_is_shared_and_counted_once(tmp_path):
    url = "http://hive.example/"
    others = {f"http://n{n}.example/": (f"Ship {n}", f"sail number {n}") for n in range(99)}
    folder = add_pages(add_pages(tmp_path / "c", others), {url: ("Hive", "an early hive")}, address="10.0.0.8")
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder))
        content.update_summary()
        assert (content.pages, content.withheld) == (99, 1)
        add_pages(folder, {url: ("Hive", "a later hive")})
        update = content.pending_build(at_once=True)
        assert update is not None and not update.replaces_all
        content.update_summary()
        assert (content.pages, content.withheld) == (100, 0)
        assert urls(content.find("hive", 10)) == {url}


def test_of_many_new_pages_a_few_are_read_for_a_question(tmp_path, monkeypatch):
    folder = add_pages(tmp_path / "c", HONEY)
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder))
        content.update_summary()
        pages = {f"http://n{n}.example/": ("Hive", f"hive number {n}") for n in range(200)}
        add_pages(folder, pages, address="10.0.0.8")
        content.find("hive", 30)
        assert content._texts.reads <= 64 + 1


def test_others_are_served_between_any_two_pages_of_a_summary():
    turns = []

    class Build:
        has_full_segment = False

        def __iter__(self):
            for number in range(5):
                turns.append("page")
                yield number

        def finish_segment(self): ...

    class Content:
        def pending_build(self, *, at_once):
            return Build()

        def use_build(self, build): ...

    async def others():
        while turns.count("page") < 5:
            turns.append("others")
            await asyncio.sleep(0)

    async def run():
        await asyncio.gather(SummaryUpdates(Content()).update(), others())

    asyncio.run(run())
    assert all("others" in pair for pair in pairwise(turns))


def test_a_question_of_others_takes_no_longer_however_long_the_pages_are(tmp_path, monkeypatch):
    pages = {f"http://n{n}.example/": ("Hive", f"hive number {n}") for n in range(30)}
    with shared(add_pages(tmp_path / "c", pages)) as content:
        spent = 0.0
        read = content._texts.read

        def reads_slowly(page):
            nonlocal spent
            spent += 0.1
            return read(page)

        monkeypatch.setattr(content._texts, "read", reads_slowly)
        monkeypatch.setattr(content, "_processor_time", lambda: spent)
        assert len(content.find("hive", 30).hits) == 4
        assert content.counts["not_read_in_time"] == 26
        assert len(content.find("hive", 30).hits) == 7  # those that were read are known now
        assert len(content.find_own("hive", 30).hits) == 30


@pytest.mark.parametrize(
    "file", ["../peer/key.pem", "/etc/passwd", "../../outside", "archive.cdxj", "..", "", "link-00001.warc.gz"]
)
def test_whatever_the_catalog_says_nothing_but_records_of_the_archive_is_handed_out(tmp_path, file):
    folder = add_pages(tmp_path / "c", HONEY)
    (tmp_path / "outside").write_bytes(b"secret")
    (folder / "peer").mkdir()
    (folder / "peer" / "key.pem").write_bytes(b"secret")
    (folder / "archive" / "link-00001.warc.gz").symlink_to(tmp_path / "outside")
    with sqlite3.connect(folder / "catalog.sqlite") as catalog:
        catalog.execute("UPDATE pages SET file = ?, place = 0, length = 6", (file,))
    with suppress(CollectionError), open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder), allow_private=True)
        with suppress(CollectionError):
            content.update_summary()
        assert content.fetch("http://hive.example/") is None
        assert content.find("hive", 10).hits == () or content.error


def test_a_catalog_that_gives_a_page_the_record_of_another_shares_neither(tmp_path):
    folder = add_pages(tmp_path / "c", HONEY)
    add_pages(folder, {"http://10.0.0.8/plans": ("Plans", "the secret plans")}, address="10.0.0.8")
    with sqlite3.connect(folder / "catalog.sqlite") as catalog:
        (place,) = catalog.execute("SELECT file, place, length FROM pages WHERE url LIKE '%plans'")
        catalog.execute("UPDATE pages SET file = ?, place = ?, length = ? WHERE url LIKE '%hive%'", place)
    with shared(folder, allow_private=True) as content:
        assert content.fetch("http://hive.example/") is None
        assert not any("secret" in hit.snippet for hit in content.find("hive", 10).hits)
