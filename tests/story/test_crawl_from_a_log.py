"""Crawls that go where people went, from an access log to the explained page, through the command line."""

import json
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import lycosa as lycosa_package
from crawling import (
    apart,
    assert_goes_on_where_it_stopped,
    begin,
    collection,
    done,
    kill,
    lycosa,
    outcomes,
    pages,
    rows,
    skipped,
    wait_until,
    waiting,
)
from fixtures.fixed_world import FixedWorld
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=8, hosts=10, pages=400)
TOPIC = WORLD.topics[0]
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == TOPIC]
ABOUT = 'keywords = ["honey", "nectar", "bee", "swarm", "queen", "pollen", "smoker"]'  # most pages on it
ON_HONEY = 'keywords = ["honey"]'
Access = tuple[str, str, float]  # address, URL, seconds


def squid(accesses: Iterable[Access]) -> str:
    """Accesses as Squid writes them."""
    return "".join(
        f"{at:.3f}     45 {address} TCP_MISS/200 4321 GET {url} - DIRECT/192.0.2.1 text/html\n"
        for address, url, at in sorted(accesses, key=lambda access: access[2])
    )


def readers(people: int = 40, each: int = 25, *, seed: int = 1) -> list[Access]:
    """People of whom each reads mostly about one topic."""
    chance = random.Random(seed)
    about: dict[str | None, list[Url]] = {}
    for url in WORLD.urls():
        about.setdefault(WORLD.topic(url), []).append(url)
    topics = sorted(topic for topic in about if topic)
    accesses = []
    for person in range(people):
        at = 1_700_000_000.0 + chance.random() * 86_400
        for _ in range(each):
            topic = topics[person % len(topics)] if chance.random() < 0.85 else chance.choice(topics)
            at += chance.random() * 120
            accesses.append((f"10.9.{person // 250}.{person % 250}", chance.choice(about[topic]), at))
    return accesses


def log_of(path: Path, accesses: Iterable[Access]) -> Path:
    """A log as `lycosa logs import` makes it."""
    text = path.with_suffix(".squid")
    text.write_text(squid(accesses), encoding="utf-8")
    done("logs", "import", text, "--into", path)
    return path


def urls_of(people: Sequence[str], urls: Sequence[str]) -> list[Access]:
    """Each of some people reads these pages one after the other."""
    return [(person, url, 1.7e9 + 60 * place) for person in people for place, url in enumerate(urls)]


def share_on_topic(folder: Path) -> float:
    found = pages(folder)
    return sum(WORLD.topic(Url(url)) == TOPIC for url in found) / len(found)


def wanted(folder: Path) -> list[tuple[str, str | None]]:
    """Why every page was fetched that is no seed, or waits, and on which page it was found."""
    waits = [json.loads(candidate) for (candidate,) in rows(folder, "SELECT candidate FROM frontier")]
    fetched = rows(folder, "SELECT because, found_on FROM pages WHERE depth > 0")
    return [*fetched, *((str(each["because"]), each["found_on"]) for each in waits)]


def test_a_crawl_without_seeds_goes_where_people_went_and_says_so_without_naming_them(tmp_path):
    log = log_of(tmp_path / "readers.log", readers())
    folder = collection(tmp_path / "c", topic=ABOUT)
    with WorldServer(WORLD) as served:
        command = ["--strategy", "collaborative", "--logs", log, "--pages", 60, "--resolve", served.resolve]
        said = done("crawl", folder, *command, "--concurrency", 1)
    assert "60 through readers" in said.err
    assert share_on_topic(folder) > 2 * len(ON_TOPIC) / 400
    read = rows(folder, "SELECT url, because FROM pages WHERE because LIKE '%readers%' AND relevance >= 0.5")
    assert read
    said = done("explain", folder, read[0][0]).out
    assert "read by " in said
    assert "× as likely because of how many of their pages are on the topic" in said
    for told in (said, done("explain", folder, read[0][0], "--json").out, *(because for _, because in read)):
        assert "10.9." not in told
    done("report", folder)
    assert "through readers" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("strategy", ["collaborative", "combined", "best-first", "adaptive", "intelligent"])
def test_a_crawl_by_a_log_that_was_stopped_goes_on_as_if_it_had_not(tmp_path, strategy):
    log = log_of(tmp_path / "readers.log", readers())
    seeds = ON_TOPIC[:1] if strategy == "adaptive" else ()
    with WorldServer(WORLD) as served:
        command = ["--logs", log, "--strategy", strategy, "--concurrency", 1, "--resolve", served.resolve]
        assert_goes_on_where_it_stopped(tmp_path, seeds, topic=ABOUT, crawl=command)


def test_a_crawl_by_a_log_survives_a_kill(tmp_path):
    log = log_of(tmp_path / "readers.log", readers())
    folder = collection(tmp_path / "c", topic=ABOUT)
    with WorldServer(WORLD, latency=0.005) as served:
        crawl = ["crawl", folder, "--strategy", "collaborative", "--logs", log, "--resolve", served.resolve]
        process = begin(*crawl, "--pages", 80)
        wait_until(lambda: len(served.requests) > 40, process)
        kill(process)
        said = apart(*crawl, "--pages", 80)
        assert said.code == 0, said.err
        assert "ranked again" not in said.err
    found = pages(folder)
    assert len(found) == len(set(found)) == 80
    assert share_on_topic(folder) > len(ON_TOPIC) / 400


FAR = {Url(f"http://far.example/{number}"): html(f"Far {number}", f"honey far{number}") for number in range(6)}
HOME = Url("http://a.example/")
NEAR = {Url(f"{HOME}{number}"): html(f"Near {number}", f"honey near{number}") for number in range(3)}
SHIPS = {Url(f"http://ships.example/{number}"): html(f"Ship {number}", f"mast ship{number}") for number in range(6)}
TWO_PLACES = FixedWorld({HOME: html("Home", "honey and everything", [*NEAR]), **NEAR, **FAR, **SHIPS})
HONEY_LOVERS = [f"10.1.1.{number}" for number in range(8)]
SAILORS = [f"10.2.2.{number}" for number in range(8)]
BOTH = [*urls_of(HONEY_LOVERS, [HOME, *FAR]), *urls_of(SAILORS, list(SHIPS))]


@pytest.mark.parametrize("strategy", ["adaptive", "best-first", "intelligent", "combined"])
def test_pages_that_nothing_links_to_join_links_and_links_are_weighed_by_readers(tmp_path, strategy):
    folder = collection(tmp_path / "c", [WORLD.front_page], topic=ABOUT)
    log = log_of(tmp_path / "readers.log", readers())
    with WorldServer(WORLD) as served:
        crawl = ["crawl", folder, "--strategy", strategy, "--logs", log, "--resolve", served.resolve]
        done(*crawl, "--pages", 120)
    found = {("readers" in because, on is not None) for because, on in wanted(folder)}
    assert found >= {(True, False), (False, True), (True, True)}


def test_the_recipe_can_name_the_log_beside_the_collection_and_python_can_too(tmp_path):
    log = log_of(tmp_path / "readers.log", BOTH)
    rest = '[logs]\nfile = "../readers.log"\nhalf_life = 3\nmin_users = 2\n[requests]\ndelay = 0\n'
    by_recipe = collection(tmp_path / "recipe", topic=ON_HONEY, rest=rest)
    by_python = collection(tmp_path / "python", topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        done("crawl", by_recipe, "--strategy", "collaborative", "--resolve", served.resolve)
        run = lycosa_package.crawl(
            by_python,
            strategy="collaborative",
            logs=str(log),
            log_half_life=3,
            min_users=2,
            resolve=[served.resolve],
        )
        visited = [visit.fetch.url for visit in run]
    assert set(pages(by_recipe)) == set(pages(by_python)) == {HOME, *FAR, *SHIPS}
    assert set(visited) == set(pages(by_python))


def test_pages_that_too_few_people_read_are_left_out(tmp_path):
    rare = "http://far.example/5"
    accesses = [access for access in BOTH if access[1] != rare] + urls_of(HONEY_LOVERS[:1], [rare])
    log = log_of(tmp_path / "readers.log", accesses)
    folder = collection(tmp_path / "c", topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        crawl = ["crawl", folder, "--strategy", "collaborative", "--logs", log, "--resolve", served.resolve]
        done(*crawl, "--min-users", 2)
        assert rare not in served.requests
        done(*crawl)
        assert rare in served.requests


def test_a_log_gets_no_further_than_a_page(tmp_path):
    repeated = "http://far.example/" + "loop/" * 10
    urls = [
        "http://far.example/0",
        "http://far.example/forbidden/page",  # by robots.txt
        "http://outside.example/",  # of the scope
        repeated,
        "http://127.0.0.1:9/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://gone.far.example/",
    ]
    log = log_of(tmp_path / "readers.log", urls_of(HONEY_LOVERS, urls))
    world = FixedWorld(dict(FAR), robots={"far.example": "User-agent: *\nDisallow: /forbidden\n"})
    folder = collection(tmp_path / "c", topic=ON_HONEY)
    with WorldServer(world) as served:
        scope = ["--include-host", "far.example", "--include-host", "127.0.0.1"]
        here = [f"far.example={served.resolve[2:]}", f"gone.far.example={served.resolve[2:]}"]
        crawl = ["crawl", folder, "--strategy", "collaborative", "--logs", log, *scope, "--resolve", here[0]]
        crawl += ["--resolve", here[1]]
        assert "Traceback" not in done(*crawl).err
        asked = {url for url in served.requests if not url.endswith("/robots.txt")}
    assert asked == {"http://far.example/0", "http://gone.far.example/"}
    assert pages(folder) == ["http://far.example/0"]
    assert outcomes(folder)["http://far.example/forbidden/page"] == "forbidden"
    assert outcomes(folder)["http://127.0.0.1:9/"] == "refused"
    assert skipped(folder)["http://outside.example/"] == "scope: host not included"
    assert skipped(folder)[repeated].startswith("trap: ")


def test_a_log_that_has_changed_ranks_what_waits_anew(tmp_path):
    log = log_of(tmp_path / "readers.log", BOTH)
    folder = collection(tmp_path / "c", topic=ON_HONEY)
    new = "http://far.example/5"
    with WorldServer(TWO_PLACES) as served:
        crawl = ["crawl", folder, "--strategy", "collaborative", "--logs", log, "--resolve", served.resolve]
        done(*crawl, "--pages", 3, "--concurrency", 1)
        assert "ranked again" not in done(*crawl, "--pages", 4, "--concurrency", 1).err
        (tmp_path / "more.squid").write_text(squid([(person, new, 1.7e9 + 9_999) for person in SAILORS]))
        done("logs", "import", tmp_path / "more.squid", "--into", log)
        assert "ranked again" in done(*crawl, "--pages", 5, "--concurrency", 1).err
        assert "ranked again" in done(*crawl, "--log-half-life", 1, "--pages", 6, "--concurrency", 1).err
        done(*crawl)
    assert set(pages(folder)) == {HOME, *FAR, *SHIPS}


@pytest.mark.parametrize("strategy", ["collaborative", "best-first"])
def test_a_log_that_went_missing_is_told_and_nothing_is_lost(tmp_path, strategy):
    log = log_of(tmp_path / "readers.log", readers())
    folder = collection(tmp_path / "c", [WORLD.front_page], topic='text = "honey"')
    with WorldServer(WORLD) as served:
        crawl = ["crawl", folder, "--strategy", strategy, "--logs", log, "--resolve", served.resolve]
        done(*crawl, "--pages", 40, "--concurrency", 1)
        before = waiting(folder)
        log.rename(tmp_path / "elsewhere")
        assert lycosa(*crawl).is_one_clear_line(2, "there is no log", str(log))
        not_yet_crawled = next(url for url in reversed(ON_TOPIC) if url not in pages(folder))
        assert "without the access log" in done("label", folder, not_yet_crawled, "--good").err
        assert waiting(folder) == before
        (tmp_path / "elsewhere").rename(log)
        assert (
            "re-scoring 40 pages" in done(*crawl, "--pages", 60, "--concurrency", 1).err
        )  # and so what waits is ranked
        ranked = waiting(folder)
        done("rebuild", folder)
        assert waiting(folder) == ranked
    assert len(pages(folder)) == 60


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--strategy", "collaborative"], "--logs"),
        (["--strategy", "combined"], "--logs"),
        (["--log-half-life", "3"], "--logs"),
        (["--min-users", "3"], "--logs"),
        (["--logs", "nowhere"], "there is no log"),
        (["--logs", "text"], "text"),
        (["--logs", "cut"], "cut"),
        (["--logs", "newer"], "newer"),
        (["--logs", "one", "--strategy", "pagerank"], "pagerank"),
        (["--logs", "one", "--log-half-life", "0"], "half_life"),
        (["--logs", "one", "--log-half-life", "-3"], "half_life"),
        (["--logs", "one", "--log-half-life", "nan"], "half_life"),
        (["--logs", "one", "--min-users", "99"], "that 99 people have read"),
        ([], "--logs"),
    ],
)
def test_logs_that_cannot_be_used_are_one_clear_line_before_anything_is_asked(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    one = log_of(tmp_path / "one", BOTH)
    (tmp_path / "text").write_text("not a log")
    (tmp_path / "cut").write_bytes(one.read_bytes()[:5000])
    (tmp_path / "newer").write_bytes(one.read_bytes())
    with sqlite3.connect(tmp_path / "newer") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    folder = collection(tmp_path / "c", topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        assert lycosa("crawl", folder, *words, "--resolve", served.resolve).is_one_clear_line(2, says)
        assert served.requests == []


def test_pages_of_public_hosts_in_a_log_are_not_asked_for_without_a_contact(tmp_path):
    log = log_of(tmp_path / "readers.log", urls_of(HONEY_LOVERS, ["http://far.example/0", "http://lycosa-test.org/"]))
    folder = collection(tmp_path / "c", topic=ON_HONEY)
    said = lycosa("crawl", folder, "--strategy", "collaborative", "--logs", log)
    assert said.is_one_clear_line(2, "lycosa-test.org", "contact")
