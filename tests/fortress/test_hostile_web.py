"""One crawl over all that servers do wrong: each URL has an outcome, the rest is fetched, memory is bounded."""

import contextlib
import threading
import time
from pathlib import Path

import pytest

from crawling import begin, collection, done, end, most_memory, outcomes, passes_warcio_check, rows, skipped
from crawling import pages as stored
from fortress.conftest import MEMORY
from fortress.hostile_web import PRIVATE, HostileServer, catalogue, sitemaps, tls_servers
from lycosa.reading.html import MAX_LINKS
from processes import Process
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

GOOD = [f"http://good.example/{number}" for number in range(30)]
HOPS = 9  # redirects, one behind the other
MANY = 10_000  # links of one page
MAX_BODY = 300_000  # bytes
LIMITS = f"timeout = 3\nretries = 0\nmax_body = {MAX_BODY}\n"
MOST_MEMORY = 400_000_000  # bytes


def _ordinary() -> dict[str, bytes]:
    """The pages of hosts that mean no harm, though some of them are long."""
    links = [
        *(f"http://{name}.example/" for name in catalogue()),
        *GOOD,
        "http://hops.example/0",
        "http://many.example/",
    ]
    made = {"http://good.example/": response(html("Front", "honey bee hive", links))}
    for number, url in enumerate(GOOD):
        words = " ".join(f"n{number}w{place}" for place in range(9))
        made[url] = response(html(f"Good {number}", f"honey bee hive {words}"))
    for number in range(HOPS):
        made[f"http://hops.example/{number}"] = response(b"", "301 Moved", Location=f"/{number + 1}")
    many = [f"http://many.example/m/{number}" for number in range(MANY)]
    made["http://many.example/"] = response(html("Many", "honey bee hive", many))
    return made


class Crawled:
    """A finished crawl of the whole catalogue."""

    def __init__(self, folder: Path):
        self.folder = collection(
            folder, ["http://good.example/"], rest=f'{LIMITS}[scope]\nexclude_urls = ["*/m/*", "*sitemap-many*/?*"]\n'
        )
        with HostileServer(catalogue(), _ordinary()) as server:
            hosts = [f"{name}.example" for name in ("good", "hops", "many", *catalogue())]
            resolve = [word for host in hosts for word in ("--resolve", f"{host}=127.0.0.1:{server.port}")]
            process = begin("crawl", self.folder, "--concurrency", 64, "--verbose", *resolve)
            self.memory = 0
            watching = threading.Thread(target=self._watch, args=(process,))
            watching.start()
            self.said = end(process)
            watching.join()

    def _watch(self, process: Process) -> None:
        while process.poll() is None:
            self.memory = max(self.memory, most_memory(process))
            time.sleep(0.02)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    return Crawled(tmp_path_factory.mktemp("hostile") / "c")


def test_the_catalogue_is_as_large_as_the_guide_says():
    assert len(catalogue()) >= 300


def test_the_crawl_ends_by_itself_without_a_traceback(crawled):
    assert crawled.said.code == 0, crawled.said.err
    assert "Traceback" not in crawled.said.err
    assert "nothing is left to fetch" in done("show", crawled.folder).out
    assert set(GOOD) <= set(stored(crawled.folder))


def test_every_behaviour_has_the_outcome_that_is_right_for_it(crawled):
    ended = outcomes(crawled.folder)
    wrong = {
        name: ended.get(f"http://{name}.example/")
        for name, hostile in catalogue().items()
        if ended.get(f"http://{name}.example/") not in hostile.outcomes
    }
    assert wrong == {}


def test_no_private_address_is_asked_however_it_is_written(crawled):
    elsewhere = {url: ended for url, ended in outcomes(crawled.folder).items() if ".example" not in url}
    assert len(elsewhere) >= len(PRIVATE) - 8  # some are spellings of the same address
    assert set(elsewhere.values()) <= {"refused", "busy"}  # the latter: no such name
    assert rows(crawled.folder, "SELECT count(*) FROM fetches WHERE url LIKE '%127.%' AND outcome != 'refused'") == [
        (0,)
    ]


def test_what_was_cut_is_marked_and_no_larger_than_allowed(crawled):
    cut = dict(rows(crawled.folder, "SELECT url, truncated FROM pages WHERE truncated != ''"))
    for name in ("body-endless", "bomb-gzip", "bomb-deflate", "bomb-brotli", "bomb-zstd", "chunks-endless"):
        assert cut[f"http://{name}.example/"] == "length", name
    for name in ("body-drip", "body-stalls", "chunks-drip"):
        assert cut[f"http://{name}.example/"] == "time", name
    assert rows(crawled.folder, "SELECT max(bytes) FROM pages")[0][0] <= MAX_BODY


def test_a_response_that_nobody_asked_for_answers_nothing(crawled):
    assert rows(crawled.folder, "SELECT count(*) FROM pages WHERE title = 'Forged'") == [(0,)]


def test_redirects_end_after_five(crawled):
    ended = outcomes(crawled.folder)
    assert [url for url in ended if "hops" in url] == [f"http://hops.example/{number}" for number in range(6)]
    assert "redirect" in skipped(crawled.folder)["http://hops.example/6"]


def test_of_a_page_of_ten_thousand_links_a_bounded_number_is_considered(crawled):
    reasons = [reason for url, reason in skipped(crawled.folder).items() if "/m/" in url]
    assert MAX_LINKS <= len(reasons) <= MANY
    assert set(reasons) == {"scope: URL excluded"}


def test_memory_stays_where_it_is(crawled, record_property):
    record_property(MEMORY, crawled.memory)
    assert 0 < crawled.memory < MOST_MEMORY


def test_the_archive_of_all_that_is_whole(crawled):
    assert passes_warcio_check(crawled.folder)


def test_a_rebuild_comes_to_the_same(crawled):
    folder = crawled.folder
    tables = ("url, outcome, status, detail, at FROM fetches", "number, url, title, relevance, truncated FROM pages")
    before = [rows(folder, f"SELECT {table} ORDER BY rowid") for table in tables] + [sorted(skipped(folder).items())]
    done("rebuild", folder)
    after = [rows(folder, f"SELECT {table} ORDER BY rowid") for table in tables] + [sorted(skipped(folder).items())]
    assert after == before


def test_every_command_that_reads_bears_what_was_stored(crawled):
    for words in (["show"], ["pages"], ["report"], ["export", "--format", "csv"], ["export", "--markdown"]):
        said = done(words[0], crawled.folder, *words[1:], *(["--out", "-"] if words[0] in ("report", "export") else []))
        assert "\x1b[2J" not in said.out


def test_sitemaps_are_read_as_far_as_they_are_any(tmp_path):
    names = list(sitemaps())
    folder = collection(
        tmp_path / "c",
        [f"http://{name}.example/" for name in names],
        rest=f'{LIMITS}[scope]\nexclude_urls = ["*example/?*[0-9x]*"]\n',
    )
    with HostileServer(catalogue(), {}) as server:
        resolve = [word for name in names for word in ("--resolve", f"{name}.example=127.0.0.1:{server.port}")]
        said = done("crawl", folder, "--sitemaps", "--concurrency", 32, *resolve)
    assert "Traceback" not in said.err
    ended = outcomes(folder)
    assert {ended[f"http://{name}.example/"] for name in names} == {"ok"}
    for name in ("good", "text", "broken"):
        assert ended[f"http://sitemap-{name}.example/listed"] == "ok", name
    assert {outcome for url, outcome in ended.items() if ".example" not in url} <= {"refused"}


def test_servers_that_speak_tls_badly_fail_and_the_others_are_fetched(tmp_path):
    servers = tls_servers()
    folder = collection(tmp_path / "c", [*(f"https://{name}.example/" for name in servers), GOOD[0]], rest=LIMITS)
    good = LoopbackServer({"/0": response(html("Good", "honey bee hive"))})
    places = {**{f"{name}.example": server for name, server in servers.items()}, "good.example": good}
    resolve = []
    with contextlib.ExitStack() as stack:
        for host, server in places.items():
            stack.enter_context(server)
            resolve += ["--resolve", f"{host}=127.0.0.1:{server.port}"]
        said = done("crawl", folder, "--concurrency", 32, *resolve)
    assert "Traceback" not in said.err
    ended = outcomes(folder)
    assert ended.pop(GOOD[0]) == "ok"
    assert set(ended) == {f"https://{name}.example/" for name in servers}
    assert set(ended.values()) <= {"busy", "failed"}
