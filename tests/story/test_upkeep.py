"""From a new collection to one that was searched, labelled, exported, imported to, made anew, and told to forget."""

import gzip
import json
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawling import (
    apart,
    archived,
    archives,
    collection,
    done,
    environment_with,
    listing,
    lycosa,
    pages,
    passes_warcio_check,
    rows,
    site,
    skipped,
    waiting,
)
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from worlds import TOPICAL, TOPICAL_SEED, html, topic_of

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=9, hosts=10, pages=500)
GOOD = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]]
BAD = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[1]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl of 130 pages that was trained again on the way; one at a time, so that every run has the same pages."""
    place = tmp_path_factory.mktemp("upkeep")
    listing(place / "good.txt", GOOD[:10])
    listing(place / "seeds.txt", [WORLD.front_page])
    done("new", place / "c", "--topic", "honey bees", "--examples", place / "good.txt", "--seeds", place / "seeds.txt")
    with WorldServer(WORLD) as served:
        done("crawl", place / "c", "--pages", 130, "--delay", 0, "--concurrency", 1, "--resolve", served.resolve)
    return place / "c"


@pytest.fixture
def folder(crawled, tmp_path):
    """A copy to change."""
    return Path(shutil.copytree(crawled, tmp_path / "c"))


def everything(folder: Path) -> dict[str, object]:
    return {
        "pages": rows(
            folder,
            "SELECT number, url, host, title, language, relevance, digest, fingerprint, at, bytes, depth,"
            " found_on, priority, because, anchor, duplicate_of, status, file, place, length, truncated"
            " FROM pages ORDER BY number",
        ),
        "links": rows(folder, "SELECT * FROM links ORDER BY source, rank"),
        "fetches": rows(folder, "SELECT * FROM fetches ORDER BY rowid"),
        "runs": rows(folder, "SELECT * FROM runs ORDER BY rowid"),
        "examples": rows(folder, "SELECT * FROM examples ORDER BY rowid"),
        "waiting": sorted(waiting(folder).items()),
        "skips": sorted(skipped(folder).items()),
        "found": [hit["url"] for hit in done("search", folder, "honey", "--json", "--limit", "50").json],
    }


def test_every_command_of_the_first_minutes_works_as_written(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    shown = done("show", "c", "--json").json
    assert {"pages", "waiting", "harvest_rate", "hosts", "outcomes", "skipped"} <= set(shown)
    assert shown["pages"] == 130 == sum(shown["hosts"].values())
    assert shown["waiting"] == len(waiting(folder))
    assert 0 < shown["harvest_rate"] <= 1
    assert "130 pages" in done("show", "c").out
    hits = done("search", "c", "honey", "--json").json
    assert hits
    host = hits[0]["host"]
    assert {hit["host"] for hit in done("search", "c", "honey", "--host", host, "--json").json} == {host}
    assert all(hit["relevance"] >= 0.9 for hit in done("search", "c", "honey", "--min-relevance", "0.9", "--json").json)
    assert "nothing found" in done("search", "c", "xyzzyx").out
    assert "stored" in done("explain", "c", hits[0]["url"]).out
    assert "waiting" in done("explain", "c", next(iter(waiting(folder)))).out
    unknown = lycosa("explain", "c", "http://never.example/")
    assert (unknown.code, "unknown" in unknown.out) == (1, True)
    done("report", "c")
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
    done("export", "c", "--format", "parquet")
    assert Path("c.parquet").exists()
    assert passes_warcio_check(folder)


def test_a_rebuild_from_the_archive_alone_comes_to_the_same(folder):
    before = everything(folder)
    for path in folder.glob("catalog.sqlite*"):
        path.unlink()
    shutil.rmtree(folder / "search")
    done("rebuild", folder)
    after = everything(folder)
    for what, expected in before.items():
        if what == "waiting":
            # Priorities may differ: in the crawl, links were scored by the models of their time.
            assert sorted(url for url, _ in after[what]) == sorted(url for url, _ in expected)
        elif what == "found":
            assert sorted(after[what]) == sorted(expected)
        else:
            assert after[what] == expected, what


def test_a_crawl_goes_on_after_a_rebuild_as_it_would_have_without(crawled, tmp_path):
    folder, place = tmp_path / "c", crawled.parent
    done("new", folder, "--examples", place / "good.txt", "--seeds", place / "seeds.txt")
    words = ["--strategy", "best-first", "--delay", 0, "--concurrency", 1]
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--pages", 60, *words, "--resolve", served.resolve)
        other = Path(shutil.copytree(folder, tmp_path / "other"))
        done("rebuild", other)
        for each in (folder, other):
            done("crawl", each, "--pages", 75, *words, "--resolve", served.resolve)
    assert set(pages(other)) == set(pages(folder))


def test_labels_change_what_is_relevant_and_survive_a_rebuild(folder):
    scores = "SELECT url, relevance FROM pages ORDER BY number"
    before = dict(rows(folder, scores))
    url = max(before, key=before.get)
    assert "Model retrained" in done("label", folder, url, "--bad").out
    after = dict(rows(folder, scores))
    assert after[url] < before[url]
    assert sum(after[each] != before[each] for each in before) > 60
    hit = done("search", folder, "the", "--json", "--limit", "1000").json
    assert {each["url"]: each["relevance"] for each in hit if each["url"] == url}.get(url, after[url]) == after[url]
    priorities = waiting(folder)
    done("rebuild", folder)
    assert dict(rows(folder, scores)) == after
    assert waiting(folder) == pytest.approx(priorities, abs=0.01)  # evidence comes in another order
    done("label", folder, url, "--good")
    assert dict(rows(folder, scores))[url] > after[url]


def test_a_label_for_a_page_not_at_hand_is_learned_by_the_next_crawl(folder):
    url = next(url for url in BAD if url not in pages(folder))
    said = done("label", folder, url, "--bad")
    assert "The next crawl fetches 1 labelled page not in the collection yet" in said.out
    before = dict(rows(folder, "SELECT url, relevance FROM pages"))
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--pages", 131, "--delay", 0, "--resolve", served.resolve)
        assert url in served.requests
    after = dict(rows(folder, "SELECT url, relevance FROM pages"))
    assert any(after[each] != before[each] for each in before)


# ------------------------------------------------------------ forgetting

SECRET_PAGE = "http://secret.example/"
OWN_FILES = ("lycosa.toml", "seeds.txt", "examples/good.txt")  # the user's, not the crawl's
TRACES = ("Zanzibar", "quixotry", "petrichor", "secret.example")


def secret_world() -> FixedWorld:
    made = site("a.example", leaves=10)
    links = [("http://a.example/3", "petrichor"), (SECRET_PAGE + "deep", "quixotry")]
    made[SECRET_PAGE] = html("Zanzibar quixotry", "honey petrichor Zanzibar", links)
    made[SECRET_PAGE + "deep"] = html("Zanzibar deep", "honey quixotry petrichor", [("http://a.example/7", "Zanzibar")])
    return FixedWorld(made, redirects={})


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that lies in a folder, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield str(path.relative_to(folder)), gzip.decompress(data) if path.suffix == ".gz" else data


def traces(folder: Path, *words: str) -> list[tuple[str, str]]:
    return [
        (name, word)
        for name, data in contents(folder)
        for word in words
        if word.encode().lower() in data.lower() and name not in OWN_FILES
    ]


@pytest.mark.parametrize("what", ["secret.example", SECRET_PAGE + "deep"])
def test_what_was_forgotten_has_left_no_trace_and_is_not_fetched_again(tmp_path, what):
    with WorldServer(secret_world()) as served:
        folder = collection(tmp_path / "c", [SECRET_PAGE, "http://a.example/"], topic='text = "honey petrichor"')
        words = ["--concurrency", 1, "--strategy", "breadth-first", "--resolve", served.resolve]
        done("crawl", folder, "--pages", 8, *words)
        assert SECRET_PAGE + "deep" in pages(folder)
        done("report", folder)
        said = done("forget", folder, what)
        assert said.out.startswith("2 pages" if what == "secret.example" else "1 page ")
        assert "report.html deleted" in said.out
        assert not (folder / "report.html").exists()
        assert done("explain", folder, SECRET_PAGE + "deep").out.startswith(f"{SECRET_PAGE}deep: forgotten\n")
        if what == "secret.example":
            assert traces(folder, *TRACES) == []
        else:
            assert traces(folder, "Zanzibar deep") == []
            assert what not in pages(folder)
        assert what not in {**waiting(folder), **skipped(folder)}
        assert passes_warcio_check(folder)
        asked = len(served.requests)
        done("crawl", folder, *words)
        assert not [url for url in served.requests[asked:] if what in url]
        done("rebuild", folder)
        done("crawl", folder, *words)
        assert not [url for url in served.requests[asked:] if what in url]
        assert set(pages(folder)) <= set(archived(folder))
        assert not [hit for hit in done("search", folder, "quixotry", "--json").json if what in hit["url"]]


def test_what_led_to_a_forgotten_page_by_a_redirect_is_forgotten_with_it(tmp_path):
    pages_ = {**site("a.example", leaves=3), SECRET_PAGE: html("Zanzibar", "honey petrichor")}
    pages_["http://a.example/"] = html("Home", "honey", ["http://a.example/old"])
    with WorldServer(FixedWorld(pages_, redirects={"http://a.example/old": SECRET_PAGE})) as served:
        folder = collection(tmp_path / "c", ["http://a.example/"])
        done("crawl", folder, "--concurrency", 1, "--resolve", served.resolve)
        assert SECRET_PAGE in pages(folder)
        done("forget", folder, "secret.example")
    assert traces(folder, *TRACES) == []


def test_a_forgotten_example_or_label_is_forgotten_too(tmp_path):
    made = {**site("a.example", leaves=6), SECRET_PAGE: html("Zanzibar", "honey petrichor quixotry bees and hives")}
    with WorldServer(FixedWorld(made)) as served:
        listing(tmp_path / "good.txt", [SECRET_PAGE, "honey bees and their hives"])
        listing(tmp_path / "seeds.txt", ["http://a.example/"])
        folder = tmp_path / "c"
        done("new", folder, "--examples", tmp_path / "good.txt", "--seeds", tmp_path / "seeds.txt")
        words = ["--pages", 4, "--delay", 0, "--resolve", served.resolve]
        done("crawl", folder, *words)
        done("label", folder, SECRET_PAGE, "--good")
        done("forget", folder, "secret.example")
        assert traces(folder, *TRACES) == []
        asked = len(served.requests)
        done("crawl", folder, *words)
        assert not [url for url in served.requests[asked:] if "secret" in url]


@pytest.mark.parametrize("what", ["*.example", "http://*.example/*"])
def test_a_pattern_is_not_forgotten_but_told_from_a_name(folder, what):
    host = pages(folder)[0].split("/")[2]
    said = lycosa("forget", folder, what.replace("example", host.rpartition(".")[2]))
    assert said.is_one_clear_line(2, "is a pattern", "whole name of a host; hosts that it may mean: ")
    assert not (folder / "forgotten.txt").exists()


def test_the_end_of_a_name_is_not_the_name_of_a_host(folder):
    end = pages(folder)[0].split("/")[2].rpartition(".")[2]
    assert "To forget hosts with this ending, give the whole name of each: " in done("forget", folder, end).out


def test_forgetting_what_is_not_there_forgets_nothing(folder):
    before = everything(folder)
    said = done("forget", folder, "never.example").out
    assert said.startswith(f"0 pages forgotten: {folder} had nothing from never.example; it will not be fetched")
    assert "deleted" not in said
    assert everything(folder)["pages"] == before["pages"]
    waits = [sorted(url for url, _ in each["waiting"]) for each in (everything(folder), before)]
    assert waits[0] == waits[1]


# ------------------------------------------------------------ other people's archives


def foreign_archive(path: Path, made: dict[str, bytes]) -> Path:
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for url, body in made.items():
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=headers))
    return path


def test_an_archive_of_others_is_taken_in_and_judged(tmp_path):
    archive = foreign_archive(tmp_path / "x.warc.gz", site("f.example", leaves=5))
    folder = collection(tmp_path / "c", ["http://a.example/"])
    assert done("import", folder, archive).out.startswith("6 pages imported, 0 already")
    assert done("import", folder, archive).out.startswith("0 pages imported, 6 already")
    assert set(pages(folder)) == set(site("f.example", leaves=5))
    assert all(relevance > 0 for (relevance,) in rows(folder, "SELECT relevance FROM pages"))
    assert done("search", folder, "honey", "--json").json
    done("report", folder)
    before = pages(folder)
    done("rebuild", folder)
    assert pages(folder) == before
    assert passes_warcio_check(folder)
    with WorldServer(FixedWorld(site("a.example", leaves=4))) as served:
        done("crawl", folder, "--pages", 10, "--resolve", served.resolve)
        assert not [url for url in served.requests if "f.example" in url]
    assert len(pages(folder)) == 10


def test_an_import_counts_what_it_leaves_out_and_show_invents_no_harvest_rate(tmp_path):
    made = site("f.example", leaves=5)
    [*_, last] = made
    made[last] = made[last].replace(b"<head>", b'<head><meta name="robots" content="noindex">')
    archive = foreign_archive(tmp_path / "x.warc.gz", made)
    folder = collection(tmp_path / "c", ["http://a.example/"], topic='examples = "good.txt"')
    (folder / "good.txt").write_text("http://a.example/good\n")
    said = done("import", folder, archive).out
    assert said.startswith("5 pages imported, 1 left out (noindex, or another language), 0 already")
    assert rows(folder, "SELECT count(*) FROM pages WHERE relevance IS NULL") == [(5,)]
    shown = done("show", folder).out
    assert f"harvest rate  unknown, as no page is scored yet; lycosa crawl {folder} scores them\n" in shown


def test_a_page_of_a_time_that_cannot_be_is_not_imported(tmp_path):
    archive = tmp_path / "x.warc.gz"
    with archive.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for host, date in (("early", "1900-01-01"), ("then", "2020-01-01"), ("late", "9999-01-01")):
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                f"http://{host}.example/",
                "response",
                payload=BytesIO(html(host, "honey bees")),
                http_headers=headers,
                warc_headers_dict={"WARC-Date": f"{date}T00:00:00Z"},
            )
            writer.write_record(record)
    folder = collection(tmp_path / "c", ["http://a.example/"])
    assert done("import", folder, archive).out == (
        "1 page imported, 0 already in the collection or forgotten, "
        "2 records ignored (not HTML, damaged, or dated in the future)\n"
    )
    assert pages(folder) == ["http://then.example/"]


def test_an_archive_of_ours_is_taken_in(crawled, tmp_path):
    folder = collection(tmp_path / "c", [WORLD.front_page], topic='text = "honey bees"')
    done("import", folder, *archives(crawled))
    assert set(pages(crawled)) <= set(pages(folder))


def test_an_archive_of_others_among_ours_is_told_of_and_kept_when_the_catalog_is_made_anew(tmp_path):
    folder = collection(tmp_path / "c", ["http://a.example/"])
    done("import", folder, foreign_archive(tmp_path / "x.warc.gz", site("f.example", leaves=5)))
    theirs = foreign_archive(folder / "archive" / "mine-00007.warc.gz", site("g.example", leaves=3))
    content = theirs.read_bytes()
    said = done("rebuild", folder)
    assert said.err.splitlines()[-1].startswith("4 records were left unread in mine-00007.warc.gz: ")
    assert theirs.read_bytes() == content
    assert set(pages(folder)) == set(site("f.example", leaves=5))
    assert "passed over" not in done("import", folder, tmp_path / "x.warc.gz").err


def test_a_damaged_archive_gives_what_can_be_read(tmp_path):
    archive = foreign_archive(tmp_path / "x.warc.gz", site("f.example", leaves=5))
    archive.write_bytes(archive.read_bytes()[:-100])
    folder = collection(tmp_path / "c", ["http://a.example/"])
    said = done("import", folder, archive)
    assert said.out.startswith("5 pages")
    assert "x.warc.gz" in said.err


# ------------------------------------------------------------ topics

JUDGE = """
from pathlib import Path
def judge(page):
    with open(Path(__file__).with_name("ran"), "a") as file:
        file.write("x")
    return "bee" in page.tokens
"""


def test_a_function_is_run_by_a_crawl_and_by_nothing_else(tmp_path):
    (tmp_path / "story_judge.py").write_text(JUDGE, encoding="utf-8")
    ran = tmp_path / "ran"
    options = {"env": environment_with(tmp_path)}
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic='function = "story_judge:judge"')
    archive = foreign_archive(tmp_path / "x.warc.gz", site("f.example", leaves=3))
    with WorldServer(FixedWorld(TOPICAL)) as served:
        command = ["crawl", folder, "--concurrency", 1, "--resolve", served.resolve]
        assert apart("import", folder, archive, **options).code == 0
        assert not ran.exists()
        assert apart(*command, "--pages", 20, **options).code == 0
    times = len(ran.read_text(encoding="ascii"))
    assert times == 20
    assert {relevance for (relevance,) in rows(folder, "SELECT relevance FROM pages")} <= {0.0, 1.0}
    url = pages(folder)[-1]
    for words in (["rebuild"], ["show"], ["search", "bee"], ["explain", url], ["report"], ["export"], ["forget", url]):
        said = apart(words[0], folder, *words[1:], **options)
        assert said.code == 0, said.err
    assert len(ran.read_text(encoding="ascii")) == times
    said = apart("label", folder, url, "--good", **options)
    assert said.is_one_clear_line(2, "rule")


def test_a_function_that_fails_ends_the_crawl_in_one_line_and_can_be_mended(tmp_path):
    module = tmp_path / "story_failing.py"
    module.write_text("def judge(page):\n    return 1 / 0\n", encoding="utf-8")
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic='function = "story_failing:judge"')
    options = {"env": environment_with(tmp_path)}
    with WorldServer(FixedWorld(TOPICAL)) as served:
        command = ["crawl", folder, "--pages", 5, "--resolve", served.resolve]
        assert apart(*command, **options).is_one_clear_line(1, "story_failing:judge", "ZeroDivisionError")
        module.write_text("def judge(page):\n    return 1\n", encoding="utf-8")
        assert apart(*command, **options).code == 0
    assert len(pages(folder)) == 5


def harvest(folder: Path) -> float:
    on_topic = [topic_of(url) == "bees" for url in pages(folder)]
    return sum(on_topic) / len(on_topic)


@pytest.mark.parametrize(
    "topic",
    [
        'text = "bee hive honey queen swarm nectar pollen"',
        'keywords = ["honey", "hive", "/swarm|nectar|pollen/"]',
        'examples = "good.txt"',
        'examples = "good.txt"\nnegatives = "bad.txt"',
        'examples = "good.txt"\ntext = "bees and honey"',
    ],
)
def test_each_way_to_name_a_topic_brings_home_more_of_it(tmp_path, topic):
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic=topic)
    listing(folder / "good.txt", [f"http://bees.example/{number}" for number in range(6)])
    listing(folder / "bad.txt", [f"http://ships.example/{number}" for number in range(6)])
    with WorldServer(FixedWorld(TOPICAL)) as served:
        said = done("crawl", folder, "--pages", 20, "--concurrency", 1, "--resolve", served.resolve)
    if "keywords" in topic:  # a rule says only yes or no, and a page on ships that links to one on bees says yes
        assert set(rows(folder, "SELECT relevance FROM pages WHERE host = 'bees.example'")) == {(1.0,)}
    else:
        assert harvest(folder) > 0.6
    told = "No off-topic examples given" in said.err
    assert told == ("keywords" not in topic and "negatives" not in topic)
    model = folder / "model.json"
    assert model.exists() == ("keywords" not in topic)
    if model.exists():
        json.loads(model.read_text(encoding="utf-8"))


def test_what_the_archive_holds_reads_with_other_tools(crawled):
    kinds = set()
    for path in archives(crawled):
        with path.open("rb") as stream:
            kinds |= {record.rec_type for record in ArchiveIterator(stream)}
    assert kinds == {"warcinfo", "request", "response", "metadata"}
    for path in archives(crawled):
        index = path.with_name(path.name.replace(".warc.gz", ".cdxj"))
        assert len(index.read_text(encoding="utf-8").splitlines()) >= 130
