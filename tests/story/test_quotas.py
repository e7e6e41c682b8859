"""No more than so many pages of one host or site: kept to by every run, explained, and raised later."""

from collections import Counter

import pytest

from crawling import begin, collection, done, kill, lycosa, pages, rows, site, skipped, wait_until, waiting
from fixtures.fixed_world import FixedWorld
from lycosa.vocabulary.urls import host_of, site_of
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = pytest.mark.slow

NAMES = ["a.one.org", "b.one.org", "two.org"]


def text_of(name):
    """Words of a host's own, lest its pages be near-duplicates of those of another."""
    return "honey bee hive " + " ".join(f"{name[0]}{number}" for number in range(40))


WORLD = FixedWorld(
    {
        "http://start.example/": html("Start", "honey bee hive", [f"http://{name}/" for name in NAMES]),
        **{url: page for name in NAMES for url, page in site(name, leaves=20, text=text_of(name)).items()},
    }
)


def hosts_of(folder):
    return Counter(map(host_of, pages(folder)))


def crawl(folder, served, *words):
    return done("crawl", folder, "--strategy", "best-first", "--resolve", served.resolve, *words)


def test_no_host_has_more_pages_than_it_may_and_all_that_is_left_out_is_explained(tmp_path):
    folder = collection(tmp_path / "c", ["http://start.example/"])
    with WorldServer(WORLD) as served:
        said = crawl(folder, served, "--per-host", 5)
    assert hosts_of(folder) == {"start.example": 1, **dict.fromkeys(NAMES, 5)}
    left_out = skipped(folder)
    assert len(left_out) == 3 * 16
    assert set(left_out.values()) == {"quota: its host has 5 pages"}
    assert "Done: nothing is left to fetch within the quotas of pages (5 a host), for which 48 links" in said.err
    assert "left out: 48 links skipped, as their hosts or sites have as many pages as they may" in said.err
    assert "0 URLs waiting" in said.err
    some = next(iter(left_out))
    assert "skipped: host or site quota: its host has 5 pages" in done("explain", folder, some).out
    assert done("show", folder, "--json").json["skipped"] == {"quota: its host has 5 pages": 48}


def test_a_share_is_of_the_pages_asked_for_and_a_site_counts_with_its_subdomains(tmp_path):
    folder = collection(tmp_path / "c", ["http://start.example/"])
    with WorldServer(WORLD) as served:
        crawl(folder, served, "--per-site", "25%", "--pages", 30, "--concurrency", 8)
    assert Counter(map(site_of, pages(folder))) == {"start.example": 1, "one.org": 7, "two.org": 7}
    assert {url for url, why in skipped(folder).items() if why == "quota: its site has 7 pages"}


def test_a_higher_quota_brings_what_was_skipped_and_a_lower_one_skips_what_waits(tmp_path):
    folder = collection(tmp_path / "c", ["http://start.example/"])
    with WorldServer(WORLD) as served:
        crawl(folder, served, "--per-host", 3)
        before = set(skipped(folder))
        said = crawl(folder, served, "--per-host", 6, "--pages", 14)
        assert "the waiting links are ranked again" in said.err
        assert waiting(folder) and set(waiting(folder)) <= before
        assert not set(skipped(folder)) & set(waiting(folder)) | set(skipped(folder)) & set(pages(folder))
        crawl(folder, served, "--per-host", 2, "--pages", 20)
        assert len(pages(folder)) == 14  # what there is stays
        assert not waiting(folder)
        everything = {f"http://{name}/{leaf}" for name in NAMES for leaf in range(20)}
        assert everything <= set(pages(folder)) | set(skipped(folder))
        crawl(folder, served)
    assert len(pages(folder)) == 1 + 3 * 21
    assert skipped(folder) == {}


def test_the_recipe_may_say_it_and_a_refresh_keeps_to_it(tmp_path):
    folder = collection(
        tmp_path / "c", ["http://start.example/"], rest='[stop]\nper_host = 4\nper_site = "50%"\npages = 12'
    )
    with WorldServer(WORLD) as served:
        crawl(folder, served)
        assert hosts_of(folder)["two.org"] == 4
        assert hosts_of(folder)["a.one.org"] + hosts_of(folder)["b.one.org"] == 6
        done("refresh", folder, "--budget", 30, "--expand", 0.5, "--delay", 0, "--resolve", served.resolve)
    assert hosts_of(folder)["two.org"] == 4
    assert hosts_of(folder)["a.one.org"] + hosts_of(folder)["b.one.org"] == 6


def test_kills_and_a_rebuild_keep_the_counts(tmp_path):
    folder = collection(tmp_path / "c", ["http://start.example/"])
    with WorldServer(WORLD, latency=0.01) as served:
        command = ["crawl", folder, "--per-host", 8, "--per-site", 12, "--concurrency", 8, "--resolve", served.resolve]
        for enough in (4, 12, 20):
            process = begin(*command)
            wait_until(lambda enough=enough: len(served.requests) >= enough, process)
            kill(process)
        done(*command)
    expected = {"start.example": 1, "one.org": 12, "two.org": 8}
    assert Counter(map(site_of, pages(folder))) == expected
    assert max(hosts_of(folder).values()) == 8
    before = skipped(folder)
    assert len(before) == 3 * 21 - 20
    done("rebuild", folder)
    assert Counter(map(site_of, pages(folder))) == expected
    assert skipped(folder).keys() == before.keys()
    assert not rows(folder, "SELECT url FROM frontier")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--per-host", "20%"), "say how many with --pages"),
        (("--per-site", "0%", "--pages", 9), "at most 100%"),
        (("--per-host", "120%", "--pages", 9), "at most 100%"),
        (("--per-host", "0"), "a number of pages, or a share of them such as 20%"),
        (("--per-site", "many"), "a number of pages, or a share of them such as 20%"),
    ],
)
def test_a_quota_that_makes_no_sense_is_refused_in_one_line(tmp_path, words, said):
    folder = collection(tmp_path / "c", ["http://start.example/"])
    assert lycosa("crawl", folder, *words).is_one_clear_line(2, said)
    assert pages(folder) == [] if (folder / "catalog.sqlite").exists() else True
