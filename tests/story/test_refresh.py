"""A collection that is kept fresh while its web goes on: what changed, what is new, what vanished, and who lies."""

import json
import random
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling import (
    apart,
    archives,
    begin,
    collection,
    copied,
    done,
    end,
    kill,
    lycosa,
    pages,
    passes_warcio_check,
    rows,
    site,
    wait_until,
    waiting,
)
from fixtures.fixed_world import FixedWorld
from lycosa.reading import Reader
from lycosa.refresh import POLICIES
from lycosa.vocabulary.records import Fetch, Outcome
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.synthetic import SyntheticWorld
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

START = SyntheticWorld(pages=1_500, topics=6, seed=4)
HISTORY = {
    "looks": "SELECT page, look, at, change, status, digest, bytes, links, new_links, file, place FROM looks",
    "pages": "SELECT number, url, title, digest, at, bytes, file, place, etag, looked_at, vanished_at, vanished_why,"
    " round(relevance, 9) FROM pages ORDER BY number",
    "links": "SELECT * FROM links",
    "new_links": "SELECT * FROM new_links",
    "fetches": "SELECT url, at, outcome, status, digest, settled, again, place FROM fetches",
    "frontier": "SELECT url, round(priority, 9) FROM frontier ORDER BY url",
}


def history(folder: Path) -> dict[str, list]:
    return {name: rows(folder, sql) for name, sql in HISTORY.items()}


def revisits(folder: Path) -> list:
    found = []
    for path in archives(folder):
        with path.open("rb") as stream:
            found += [record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "revisit"]
    return found


def found(folder: Path, words: str) -> list[str]:
    return [hit["url"] for hit in done("search", folder, words, "--limit", 50, "--json").json]


def look_of(world, url: str) -> tuple[int, frozenset[str]] | None:
    """What a reader sees of a page: its words and links."""
    body = world.page(url)
    if body is None:
        return None
    page = Reader()(Fetch(url, Outcome.OK, 0.0, content=body, headers=(("content-type", "text/html; charset=utf-8"),)))
    return page.digest, frozenset(link.target for link in page.links)


def became(now, later, url: str) -> str:
    before, after = look_of(now, url), look_of(later, url)
    return "vanished" if after is None else "unchanged" if before == after else "changed"


def test_a_world_that_goes_on_is_kept_up_with(tmp_path):
    """Sixty days on, every page that changed, vanished or came is told as what it is, by every command."""
    later = START.at(60.0)
    with WorldServer(START) as served:
        folder = collection(tmp_path / "c", [START.url(0)], topic='keywords = ["e"]')
        words = ["--resolve", served.resolve, "--concurrency", 4]
        done("crawl", folder, "--pages", 150, "--strategy", "breadth-first", *words)
        known = pages(folder)
        served.switch_to(later)
        result = done("refresh", folder, "--budget", 400, "--expand", 0.5, "--json", *words).json
    became_of = {url: became(START, later, url) for url in known}
    assert set(became_of.values()) == {"unchanged", "changed", "vanished"}
    for change in ("unchanged", "changed", "vanished"):
        assert result[change] == sum(became == change for became in became_of.values()), change
    assert result["looked_at"] == 150
    assert result["failed"] == 0
    assert result["requests"] <= 400
    listed = pages(folder)
    assert listed[:150] == known
    assert result["new"] == len(listed) - 150 > 0
    assert {page["url"] for page in result["new_pages"]} <= set(listed[150:])
    assert set(result["expected_changes"]) == set(POLICIES)

    shown = done("show", folder, "--json").json["freshness"]
    assert (shown["looked_again"], shown["changed"], shown["vanished"]) == (150, result["changed"], result["vanished"])
    assert all(became_of[each["url"]] == each["change"] for each in shown["latest_changes"])
    exported = {
        page["url"]: page for page in map(json.loads, done("export", folder, "--format", "jsonl").out.splitlines())
    }
    assert len(exported) == len(listed)
    by_kind = {kind: [url for url in known if became_of[url] == kind] for kind in ("unchanged", "changed", "vanished")}
    for url in by_kind["vanished"]:
        assert exported[url]["state"] == "vanished"
        assert exported[url]["vanished_at"]
    for url in by_kind["changed"][:5]:
        told = done("explain", folder, url, "--json").json
        assert [look["change"] for look in told["looks"]] == ["new", "changed"]
        assert (
            told["looks"][1]["digest"] == told["page"]["digest"] != told["looks"][0]["digest"]
            or told["looks"][1]["new_links"]
        )
        assert "2 versions" in done("explain", folder, url).out
    gone = by_kind["vanished"][0]
    assert done("explain", folder, gone).out.startswith(f"{gone}: vanished")
    assert "404" in done("explain", folder, gone).out
    title = exported[gone]["title"]
    assert gone not in found(folder, f'"{title}"')
    assert exported[by_kind["unchanged"][0]]["url"] in found(folder, f'"{exported[by_kind["unchanged"][0]]["title"]}"')
    done("report", folder)
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "Freshness" in report
    assert f"{result['vanished']} are gone" in report

    before = history(folder)
    done("rebuild", folder)
    assert history(folder) == before, "the archive is the log"
    assert gone not in found(folder, f'"{title}"')
    assert passes_warcio_check(folder)


PAGES = site("s.example", leaves=6)
ONE, TWO = "http://s.example/1", "http://s.example/2"


@pytest.fixture
def served():
    with WorldServer(FixedWorld(PAGES)) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = collection(tmp_path_factory.mktemp("refresh") / "c", ["http://s.example/"])
    with WorldServer(FixedWorld(PAGES)) as served:
        done("crawl", folder, "--resolve", served.resolve)
    return folder


@pytest.fixture
def folder(crawled, tmp_path):
    return copied(crawled, tmp_path / "c")


def refreshed(folder: Path, served: WorldServer, *words: object) -> dict:
    command = ["refresh", folder, "--budget", 50, "--expand", 0, "--json", "--resolve", served.resolve]
    return done(*command, *words).json


def test_unchanged_pages_become_revisits_that_say_what_they_refer_to(folder, served):
    result = refreshed(folder, served)
    assert (result["looked_at"], result["unchanged"]) == (7, 7)
    kept = dict(rows(folder, "SELECT url, at FROM pages"))
    found = revisits(folder)
    assert len(found) == 7
    for headers in found:
        assert headers.get_header("WARC-Profile").endswith("/1.1/revisit/server-not-modified")
        assert headers.get_header("WARC-Refers-To-Target-URI") == headers.get_header("WARC-Target-URI")
        assert headers.get_header("WARC-Refers-To-Date")[:19] == time.strftime(
            "%Y-%m-%dT%H:%M:%S", time.gmtime(kept[headers.get_header("WARC-Target-URI")])
        )
    assert passes_warcio_check(folder)


def test_search_finds_the_newest_text_and_explain_every_version(folder, served):
    for word in ("zebra", "quagga"):
        served.switch_to(FixedWorld({**PAGES, ONE: html("Leaf 1", f"honey bee hive and a {word}", [TWO])}))
        assert refreshed(folder, served)["changed"] == 1
    assert found(folder, "quagga") == [ONE]
    assert found(folder, "zebra") == []
    assert found(folder, "w1x3") == []
    told = done("explain", folder, ONE)
    assert "seen 3 times, 3 versions" in told.out
    assert "bytes, its words have changed" in told.out


def test_a_page_that_vanished_and_came_back_is_alive_again(folder, served):
    served.switch_to(FixedWorld({url: page for url, page in PAGES.items() if url != ONE}))
    result = refreshed(folder, served)
    assert [page["url"] for page in result["vanished_pages"]] == [ONE]
    assert found(folder, "w1x3") == []
    assert refreshed(folder, served)["still_gone"] == 1
    assert "vanished" in done("show", folder).out
    served.switch_to(FixedWorld(PAGES))
    time.sleep(1.5 * gone_for(folder, ONE))
    assert refreshed(folder, served)["returned"] == 1
    assert found(folder, "w1x3") == [ONE]
    assert done("explain", folder, ONE, "--json").json["state"] == "stored"
    assert done("show", folder, "--json").json["freshness"]["vanished"] == 0
    before = history(folder)
    done("rebuild", folder)
    assert history(folder) == before
    assert found(folder, "w1x3") == [ONE]


def gone_for(folder: Path, url: str) -> float:
    return rows(folder, "SELECT looked_at - vanished_at FROM pages WHERE url = ?", url)[0][0]


def test_a_page_that_moved_for_good_has_vanished_and_its_new_place_waits(folder, served):
    moved = "http://s.example/moved"
    rest = {url: page for url, page in PAGES.items() if url != ONE}
    served.switch_to(FixedWorld({**rest, moved: html("Moved", "honey bee hive elsewhere")}, redirects={ONE: moved}))
    result = refreshed(folder, served)
    assert result["vanished"] == 1
    assert moved in waiting(folder)
    assert f"moved to {moved}" in done("explain", folder, ONE).out
    result = refreshed(folder, served, "--expand", 1)
    assert [page["url"] for page in result["new_pages"]] == [moved]


def test_a_page_that_asks_not_to_be_kept_any_more_is_not_found_any_more(folder, served):
    withdrawn = PAGES[ONE].replace(b"<head>", b'<head><meta name="robots" content="noindex">')
    served.switch_to(FixedWorld({**PAGES, ONE: withdrawn}))
    assert refreshed(folder, served)["vanished"] == 1
    assert "noindex" in done("explain", folder, ONE).out
    assert found(folder, "w1x3") == []


def test_new_links_of_changed_pages_are_followed_where_there_is_room_for_new_pages(folder, served):
    fresh = "http://s.example/fresh"
    grown = {ONE: html("Leaf 1", "honey bee hive, see the fresh one", [TWO, fresh])}
    served.switch_to(FixedWorld({**PAGES, **grown, fresh: html("Fresh", "honey bee hive, just hatched")}))
    assert refreshed(folder, served)["new"] == 0
    assert fresh in waiting(folder)
    result = refreshed(folder, served, "--expand", 0.5)
    assert [page["url"] for page in result["new_pages"]] == [fresh]
    assert found(folder, "hatched") == [fresh]


def test_what_waits_is_ranked_anew_with_what_changed_pages_showed(folder, served):
    fresh = [f"http://s.example/fresh{number}" for number in range(4)]
    served.switch_to(FixedWorld({**PAGES, ONE: html("Leaf 1", "honey bee hive and more", [TWO, *fresh])}))
    refreshed(folder, served)
    assert set(waiting(folder)) == set(fresh)
    before = waiting(folder)
    words = ["--resolve", served.resolve, "--concurrency", 1]
    done("crawl", folder, "--pages", 7, "--strategy", "pagerank", *words)
    assert set(waiting(folder)) == set(fresh)
    assert waiting(folder) != before
    again = history(folder)
    done("rebuild", folder)
    assert history(folder) == again
    done("label", folder, ONE, "--bad")
    assert set(waiting(folder)) == set(fresh)


def test_what_is_forgotten_is_forgotten_with_its_history(folder, served):
    served.switch_to(FixedWorld({**PAGES, ONE: html("Leaf 1", "honey bee hive and a zebra", [TWO])}))
    refreshed(folder, served)
    done("forget", folder, ONE)
    assert lycosa("explain", folder, ONE, "--json").json["looks"] == []
    assert found(folder, "zebra") == []
    served.requests.clear()
    assert refreshed(folder, served)["looked_at"] == 6
    assert ONE not in served.requests
    looks = "SELECT url, look, looks.at, change, looks.place FROM looks JOIN pages ON number = page ORDER BY 1, 2"
    before = rows(folder, looks)
    done("rebuild", folder)
    assert rows(folder, looks) == before


def test_what_robots_now_forbids_is_not_asked_for_and_stays(folder, served):
    served.switch_to(FixedWorld(PAGES, robots={"s.example": "User-agent: *\nDisallow: /1\n"}))
    served.requests.clear()
    result = refreshed(folder, served)
    assert ONE not in served.requests
    assert (result["failed"], result["unchanged"]) == (1, 6)
    assert found(folder, "w1x3") == [ONE]


def test_the_budget_is_kept_and_the_most_urgent_come_first(folder, served):
    served.requests.clear()
    for _ in range(2):
        result = refreshed(folder, served, "--budget", 3, "--policy", "fixed")
        assert result["requests"] == 3
    assert len(set(served.requests)) == 6, "those seen first wait while others are due"


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_works(folder, served, policy):
    result = refreshed(folder, served, "--policy", policy, "--budget", 5)
    assert result["policy"] == policy
    assert result["unchanged"] == 5


# ------------------------------------------------------------ servers that do not tell the truth


def lying(server: LoopbackServer, bodies: dict[str, bytes]) -> None:
    """Says "not modified" to everybody who asks by an ETag, and else what there is."""

    def answer(path: str):
        def behave(connection) -> None:
            if b"If-None-Match" in server.requests[-1]:
                connection.sendall(response(b"", "304 Not Modified", Content_Type="", Content_Length=""))
            else:
                connection.sendall(response(bodies[path], ETag='"the only one"', Connection="close"))

        return behave

    server.routes = {path: answer(path) for path in bodies}


def test_a_server_that_never_admits_a_change_is_found_out_now_and_then(tmp_path):
    bodies = {"/": html("Front", "honey bee hive", ["http://l.example/a"]), "/a": html("A", "honey bee hive first")}
    with LoopbackServer({}) as server:
        lying(server, bodies)
        folder = collection(tmp_path / "c", ["http://l.example/"])
        words = ["--resolve", server.everything[0], "--concurrency", 1]
        done("crawl", folder, *words)
        bodies["/a"] = html("A", "honey bee hive second thoughts")
        results = [done("refresh", folder, "--budget", 2, "--expand", 0, "--json", *words).json for _ in range(8)]
    assert [result["changed"] for result in results] == [0] * 7 + [1]
    assert found(folder, "thoughts") == ["http://l.example/a"]


def test_not_modified_is_not_believed_of_a_server_that_says_so_without_being_asked(tmp_path):
    with LoopbackServer({"/": response(html("Front", "honey bee hive"), ETag='"the only one"')}) as server:
        folder = collection(tmp_path / "c", ["http://l.example/"])
        words = ["--resolve", server.everything[0], "--concurrency", 1]
        done("crawl", folder, *words)
        server.routes = {"/": response(b"", "304 Not Modified", Content_Type="", Content_Length="")}
        results = [done("refresh", folder, "--budget", 1, "--expand", 0, "--json", *words).json for _ in range(9)]
    assert [(result["unchanged"], result["failed"]) for result in results] == [(1, 0)] * 7 + [(0, 1)] * 2
    assert found(folder, "honey") == ["http://l.example/"]


def test_a_new_etag_for_the_same_body_is_no_change(tmp_path):
    body = html("Front", "honey bee hive")
    with LoopbackServer({}) as server:
        folder = collection(tmp_path / "c", ["http://l.example/"])
        words = ["--resolve", server.everything[0], "--concurrency", 1]
        for number in range(4):
            server.routes = {
                "/": response(body, ETag=f'"{number}"', Last_Modified=f"Mon, 0{number + 1} Jan 2024 00:00:00 GMT")
            }
            if number == 0:
                done("crawl", folder, *words)
            else:
                result = done("refresh", folder, "--budget", 1, "--expand", 0, "--json", *words).json
                assert (result["unchanged"], result["changed"]) == (1, 0)
        asked = [head for head in server.requests if b"If-None-Match" in head]
        assert b'"2"' in asked[-1], "the newest ETag is asked by"
    found_revisits = revisits(folder)
    assert len(found_revisits) == 3
    for headers in found_revisits:
        assert headers.get_header("WARC-Profile").endswith("identical-payload-digest")
        assert headers.get_header("WARC-Payload-Digest")
        assert headers.get_header("WARC-Refers-To-Date")
    assert passes_warcio_check(folder)
    assert len(done("explain", folder, "http://l.example/", "--json").json["looks"]) == 4


def test_markup_that_changes_with_every_answer_is_no_change(tmp_path):
    with LoopbackServer({}) as server:
        folder = collection(tmp_path / "c", ["http://l.example/"])
        words = ["--resolve", server.everything[0], "--concurrency", 1]
        for number in range(3):
            body = html("Front", "honey bee hive", ["http://l.example/"]).replace(
                b"<p>", b'<p data-token="%d">' % number
            )
            server.routes = {"/": response(body)}
            if number == 0:
                done("crawl", folder, *words)
            else:
                result = done("refresh", folder, "--budget", 1, "--expand", 0, "--json", *words).json
                assert (result["unchanged"], result["changed"]) == (1, 0)
    before = history(folder)
    done("rebuild", folder)
    assert history(folder) == before


def test_a_host_that_fails_costs_no_page(tmp_path):
    with LoopbackServer({"/": response(html("Front", "honey bee hive"))}) as server:
        folder = collection(tmp_path / "c", ["http://l.example/"])
        words = ["--resolve", server.everything[0], "--concurrency", 1]
        done("crawl", folder, *words)
        server.routes = {"/": response(b"down", "500 Internal Server Error")}
        for _ in range(4):
            result = done("refresh", folder, "--budget", 1, "--expand", 0, "--json", *words).json
            assert (result["failed"], result["vanished"]) == (1, 0)
        assert found(folder, "honey") == ["http://l.example/"]
        server.routes = {"/": response(html("Front", "honey bee hive"))}
        assert done("refresh", folder, "--budget", 1, "--expand", 0, "--json", *words).json["unchanged"] == 1


@pytest.mark.parametrize("failure", ["500 Internal Server Error", "503 Service Unavailable"])
def test_pages_that_fail_have_had_their_turn_so_that_others_have_theirs(tmp_path, failure):
    """Of six pages five fail; with a budget of two, three refreshes have looked at every one."""
    front, leaves = "http://l.example/", [f"http://l{number}.example/" for number in range(5)]
    bodies = {"l.example": html("Front", "honey bee hive", leaves)}
    bodies |= {f"l{number}.example": html(f"Leaf {number}", f"honey bee hive w{number}") for number in range(5)}
    with WorldServer(FixedWorld({f"http://{host}/": body for host, body in bodies.items()})) as served:
        folder = collection(tmp_path / "c", [front])
        done("crawl", folder, "--resolve", served.resolve)
    assert len(pages(folder)) == 6
    with LoopbackServer({"/": response(b"down", failure, Retry_After="1")}) as server:
        server.routes["/robots.txt"] = response(b"", "404 Not Found")
        words = ["--resolve", server.everything[0], "--concurrency", 1, "--policy", "fixed"]
        for _ in range(3):
            result = done("refresh", folder, "--budget", 2, "--expand", 0, "--json", *words).json
            assert (result["requests"], result["looked_at"], result["failed"]) == (2, 2, 2)
    assert rows(folder, "SELECT count(*) FROM looks WHERE change = 'failed'") == [(6,)]
    assert rows(folder, "SELECT count(*) FROM pages WHERE looked_at IS NULL") == [(0,)]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_host_that_asks_to_be_left_alone_for_an_hour_does_not_keep_others_from_being_seen(tmp_path, concurrency):
    """The five pages seen longest ago are all of one host, which has no time; the budget is spent on the other."""
    tired = [f"http://tired.example/tired{number}" for number in range(6)]
    awake = [f"http://awake.example/awake{number}" for number in range(6)]
    bodies = {url: html(url, f"honey bee hive {url[-6:]}", [*tired, *awake]) for url in [*tired, *awake]}
    with WorldServer(FixedWorld(bodies)) as served:
        folder = collection(tmp_path / "c", [tired[0]])
        done("crawl", folder, "--strategy", "breadth-first", "--concurrency", 1, "--resolve", served.resolve)
    assert pages(folder)[:6] == tired
    with LoopbackServer({"/robots.txt": response(b"", "404 Not Found")}) as server:
        for url in tired:
            server.routes[f"/{url[-6:]}"] = response(b"busy", "503 Service Unavailable", Retry_After="3600")
        for url in awake:
            server.routes[f"/{url[-6:]}"] = response(bodies[url])
        words = ["--resolve", server.everything[0], "--concurrency", concurrency, "--policy", "fixed", "--expand", 0]
        result = done("refresh", folder, "--budget", 5, "--json", *words).json
        assert (result["requests"], result["unchanged"], result["failed"]) == (5, 4, 1)
        assert sum("tired" in path for path in server.paths()) == 1
        again = done("refresh", folder, "--budget", 9, "--json", *words).json
        assert (again["unchanged"], again["failed"]) == (6, 0), "it is still left alone"
        assert "all remaining hosts asked to wait" in again["stopped"]


def test_a_page_out_of_reach_for_three_looks_and_a_day_has_vanished(folder):
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        connection.execute("UPDATE pages SET at = at - 100000")
    with LoopbackServer({}) as server:
        for path in ("/", *(f"/{number}" for number in range(10))):
            server.routes[path] = response(b"down", "500 Internal Server Error")
        words = ["--resolve", server.everything[0], "--policy", "fixed", "--expand", 0, "--json"]
        results = [done("refresh", folder, "--budget", 7, *words).json for _ in range(3)]
    assert [result["failed"] for result in results] == [7, 7, 0]
    assert results[-1]["vanished"] == 7


# ------------------------------------------------------------ bounds


@pytest.mark.parametrize("policy", POLICIES)
def test_a_budget_larger_than_any_web_is_no_trouble(folder, served, policy):
    result = refreshed(folder, served, "--budget", 10**9, "--expand", 0.7, "--policy", policy)
    assert (result["looked_at"], result["budget"]) == (7, 10**9)


def test_a_large_budget_does_not_keep_a_refresh_from_ending_in_time(folder, served):
    result = refreshed(folder, served, "--budget", 10**9, "--expand", 0.7, "--minutes", 0)
    assert (result["requests"], result["stopped"]) == (0, "0 minutes have passed")


def test_a_budget_that_nobody_can_mean_is_refused(folder):
    said = lycosa("refresh", folder, "--budget", 10**30)
    assert said.is_one_clear_line(2, "budget", "or less")


def grown(folder: Path, served: WorldServer, links: int) -> None:
    """Lets pages appear and the collection know of them, without fetching any."""
    fresh = [f"http://s.example/fresh{number}" for number in range(links)]
    bodies = {url: html(f"Fresh {url}", f"honey bee hive {url[-2:]}") for url in fresh}
    served.switch_to(FixedWorld({**PAGES, **bodies, ONE: html("Leaf 1", "honey bee hive and more", [TWO, *fresh])}))
    refreshed(folder, served)
    assert set(waiting(folder)) == set(fresh)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_refresh_adds_no_more_pages_than_the_recipe_wants(folder, served, concurrency):
    grown(folder, served, links=10)
    with (folder / "lycosa.toml").open("a") as recipe:
        recipe.write("[stop]\npages = 10\n")
    result = refreshed(folder, served, "--expand", 0.7, "--concurrency", concurrency)
    assert (result["pages"], result["new"], result["looked_at"]) == (10, 3, 7)
    assert result["stopped"] == "10 pages, as requested, and nothing is left to recheck"
    again = refreshed(folder, served, "--expand", 1)
    assert (again["pages"], again["new"], again["looked_at"]) == (10, 0, 10), "room is for known pages only"


def test_a_refresh_adds_no_more_bytes_than_the_recipe_wants(folder, served):
    grown(folder, served, links=10)
    size = rows(folder, "SELECT sum(bytes) FROM pages")[0][0]
    with (folder / "lycosa.toml").open("a") as recipe:
        recipe.write(f"[stop]\nbytes = {size + 1}\n")
    result = refreshed(folder, served, "--expand", 0.7, "--concurrency", 1)
    assert (result["new"], result["looked_at"]) == (1, 7)


# ------------------------------------------------------------ stopping, killing, cron

WORLD = PracticeWeb(seed=5, hosts=15, pages=600)


class Later:
    """The practice web with some pages rewritten and some gone."""

    def __init__(self, world: PracticeWeb):
        self._world = world
        self.hosts = world.hosts
        self._fate = {url: number % 5 for number, url in enumerate(world.urls())}

    def page(self, url):
        body, fate = self._world.page(url), self._fate.get(url)
        if body is None or fate == 0:
            return None
        return body.replace(b"</body>", b"<p>An okapi was seen here.</p></body>") if fate == 1 else body

    def redirect(self, url):
        return self._world.redirect(url)

    def robots(self, host):
        return self._world.robots(host)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_refresh_killed_at_random_moments_loses_nothing(tmp_path, seed):
    chance = random.Random(seed)
    with WorldServer(WORLD, latency=0.002) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        words = ["--concurrency", 8, "--resolve", served.resolve]
        done("crawl", folder, "--pages", 100, *words)
        known = set(pages(folder))
        served.switch_to(Later(WORLD))
        for _ in range(4):
            process = begin("refresh", folder, "--budget", 60, "--policy", "fixed", *words)
            enough = len(served.requests) + chance.randrange(0, 40)
            wait_until(lambda: len(served.requests) >= enough, process)  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.05))
            kill(process)
        said = apart("refresh", folder, "--budget", 180, "--policy", "fixed", "--expand", 0.1, *words)
        assert said.code == 0, said.err
    assert known <= set(pages(folder))
    assert passes_warcio_check(folder)
    listed = dict(rows(folder, "SELECT url, vanished_at IS NOT NULL FROM pages"))
    later = Later(WORLD)
    for url in known:
        assert bool(listed[url]) == (later.page(url) is None), url
    assert not set(listed) & set(waiting(folder))
    before = history(folder)
    changed = {url for url in listed if b"okapi" in (later.page(url) or b"")}
    assert set(all_found(folder, "okapi")) == changed
    shutil.copytree(folder, tmp_path / "again")
    done("rebuild", tmp_path / "again")
    again = history(tmp_path / "again")
    for each in (before, again):  # rebuilt, they are ranked by the latest judgements of all pages
        each["frontier"] = [url for url, _ in each["frontier"]]
    assert again == before, "history, versions and archive agree"
    assert set(all_found(tmp_path / "again", "okapi")) == changed


def all_found(folder: Path, words: str) -> list[str]:
    return [hit["url"] for hit in done("search", folder, words, "--limit", 1000, "--json").json]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_refresh_that_is_interrupted_says_so_and_the_next_goes_on_with_what_is_due(tmp_path, number):
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        words = ["--concurrency", 2, "--resolve", served.resolve]
        done("crawl", folder, "--pages", 60, *words)
        served.requests.clear()
        served.latency = 0.1  # so long that the interrupt comes before the end
        command = ["refresh", folder, "--budget", 60, "--expand", 0, "--policy", "fixed", *words]
        process = begin(*command)
        wait_until(lambda: len(served.requests) > 10, process)
        process.send_signal(number)
        said = end(process)
        assert said.code == 0, said.err
        assert "interrupted" in said.out
        assert "Traceback" not in said.err
        seen = rows(folder, "SELECT count(*) FROM pages WHERE looked_at IS NOT NULL")[0][0]
        assert 0 < seen < 60
        rest, served.latency = 60 - seen, 0.0
        done("refresh", folder, "--budget", rest, "--expand", 0, "--policy", "fixed", *words)
    assert rows(folder, "SELECT count(*) FROM pages WHERE looked_at IS NOT NULL")[0][0] == 60


def test_a_refresh_from_cron_is_silent_and_refuses_to_run_beside_another(tmp_path):
    with WorldServer(WORLD, latency=0.05) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        words = ["--concurrency", 2, "--resolve", served.resolve]
        done("crawl", folder, "--pages", 30, *words)
        said = apart("refresh", folder, "--budget", 5, "--quiet", *words)
        assert (said.code, said.out, said.err) == (0, "", "")
        process = begin("refresh", folder, "--budget", 400, *words)
        asked = len(served.requests)
        wait_until(lambda: len(served.requests) > asked, process)
        said = lycosa("refresh", folder, "--budget", 5, "--quiet", *words)
        assert said.is_one_clear_line(1, "another process is writing to", "pid")
        kill(process)


@pytest.mark.parametrize("words", [["--quiet"], ["--json"]])
def test_a_refresh_that_reaches_nobody_has_failed(folder, words):
    """Nobody listens there: robots.txt is out of reach, so not one page is asked for."""
    with LoopbackServer({}) as server:
        nowhere = server.everything[0]
    said = lycosa("refresh", folder, "--budget", 3, "--expand", 0, "--resolve", nowhere, *words)
    assert said.is_one_clear_line(1, "nobody answered", "3 fetches", "robots.txt is out of reach")
    if words == ["--json"]:
        assert (said.json["requests"], said.json["looked_at"], said.json["failed"]) == (0, 3, 3)
        assert "3 more were not" in said.json["stopped"]


def test_addresses_that_are_refused_are_no_looks_and_cost_no_page(tmp_path):
    """Crawled with leave to ask private addresses and refreshed without it, as by a cron job that lacks the option."""
    page = html("Here", "honey bee hive")
    with LoopbackServer({"/": response(page), "/robots.txt": response(b"", "404 Not Found")}) as server:
        url = f"http://127.0.0.1:{server.port}/"
        folder = collection(tmp_path / "c", [url])
        done("crawl", folder, "--allow-private")
        with sqlite3.connect(folder / "catalog.sqlite") as connection:
            connection.execute("UPDATE pages SET at = at - 100000")
        for _ in range(4):
            said = lycosa("refresh", folder, "--budget", 3, "--expand", 0, "--json")
            assert said.is_one_clear_line(1, "every address was refused", "127.0.0.1", "--allow-private")
            counts = [said.json[name] for name in ("requests", "looked_at", "failed", "vanished", "refused")]
            assert counts == [0, 0, 0, 0, 1]
        said = lycosa("refresh", folder, "--budget", 3, "--expand", 0)
        assert "0 pages rechecked" in said.out
        assert "1 not requested, as their addresses are private" in said.out
        assert done("show", folder, "--json").json["freshness"]["looked_again"] == 0
        assert "refused" in done("explain", folder, url).out
        assert done("refresh", folder, "--budget", 3, "--expand", 0, "--json", "--allow-private").json["unchanged"] == 1


def test_pages_that_robots_forbids_are_no_requests(folder, served):
    served.switch_to(FixedWorld(PAGES, robots={"s.example": "User-agent: *\nDisallow: /\n"}))
    result = refreshed(folder, served, "--budget", 5)
    assert (result["requests"], result["looked_at"], result["failed"]) == (0, 5, 5)


def test_what_is_expected_a_day_later_counts_pages_that_will_be_due_by_then(folder, served):
    """All pages have vanished and are not due at once; a day later they are."""
    served.switch_to(FixedWorld({}))
    assert refreshed(folder, served)["vanished"] == 7
    time.sleep(0.5)
    result = refreshed(folder, served)
    assert result["still_gone"] == 7
    assert all(expected > 0 for expected in result["expected_changes"].values())


def test_pages_seen_twice_within_seconds_are_not_expected_to_change_within_a_day(folder, served):
    expected = refreshed(folder, served)["expected_changes"]
    assert all(0 < changes < 0.5 for changes in expected.values()), expected


def test_a_clock_that_was_put_back_makes_no_age_negative(folder, served):
    """The catalog may know of looks that are yet to come; those pages are young, not a trouble."""
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        connection.execute("UPDATE pages SET at = at + 1e6")
    for policy in POLICIES:
        result = refreshed(folder, served, "--policy", policy)
        assert result["looked_at"] >= 1
        assert all(expected >= 0 for expected in result["expected_changes"].values())
    assert done("show", folder).code == 0
