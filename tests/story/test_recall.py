"""How much of what is relevant was found: shown, kept over kills and rebuilds, and a reason to stop."""

import pytest

from crawling import begin, collection, done, kill, lycosa, pages, wait_until
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = pytest.mark.slow

BEES, SHIPS = 60, 300
KEYS = ("recall", "recall_low", "recall_high", "relevant_left")


def words(name, number):
    return " ".join(f"{name}{number}x{place}" for place in range(12))


def bee(number):
    return f"http://bees.example/{number % BEES}"


def ship(number):
    return f"http://ships.example/{number}"


WORLD = FixedWorld(
    {
        **{
            bee(number): html(
                f"Bee {number}",
                f"honey {words('bee', number)}",
                [*(bee(number + step) for step in (1, 2, 5, 11)), ship(5 * number), ship(5 * number + 1)],
            )
            for number in range(BEES)
        },
        **{
            ship(number): html(f"Ship {number}", f"sails {words('ship', number)}", [ship((number + 1) % SHIPS)])
            for number in range(SHIPS)
        },
    }
)
TOPIC = 'keywords = ["honey"]'


def estimate_of(folder):
    shown = done("show", folder, "--json").json
    return {key: shown[key] for key in KEYS}


def test_a_crawl_stops_when_it_has_very_likely_found_as_much_as_asked(tmp_path):
    folder = collection(tmp_path / "c", [bee(0)], topic=TOPIC)
    with WorldServer(WORLD) as served:
        command = ["--strategy", "best-first", "--resolve", served.resolve]
        said = done("crawl", folder, *command, "--stop-at-recall", 0.8)
        assert "Done: recall is 0.8 or more, as requested: " in said.err
        assert "recall " in said.err
        kept = pages(folder)
        found = sum("bees" in url for url in kept)
        assert found >= 0.8 * BEES
        assert len(kept) < BEES + SHIPS
        shown = estimate_of(folder)
        assert 0.8 <= shown["recall_low"] <= shown["recall"] <= shown["recall_high"] <= 1.0
        assert shown["recall"] == pytest.approx(found / (found + shown["relevant_left"]))
        assert f"recall        {shown['recall']:.0%} of the relevant pages within reach" in done("show", folder).out
        assert "0 of" not in done("crawl", folder, *command, "--stop-at-recall", 0.8).err
        assert pages(folder) == kept  # a crawl that has enough fetches nothing
        done("crawl", folder, *command)
    assert len(pages(folder)) == BEES + SHIPS
    assert estimate_of(folder) == {"recall": 1.0, "recall_low": 1.0, "recall_high": 1.0, "relevant_left": 0.0}


def test_kills_and_a_rebuild_change_nothing_of_the_estimate(tmp_path):
    whole, killed = (collection(tmp_path / name, [bee(0)], topic=TOPIC) for name in ("whole", "killed"))
    with WorldServer(WORLD, latency=0.005) as served:
        command = ["--strategy", "best-first", "--concurrency", 1, "--pages", 90, "--resolve", served.resolve]
        done("crawl", whole, *command)
        asked = len(served.requests)
        for enough in (10, 35):
            process = begin("crawl", killed, *command)
            wait_until(lambda enough=enough: len(served.requests) >= asked + enough, process)
            kill(process)
        done("crawl", killed, *command)
    assert pages(killed) == pages(whole)
    assert estimate_of(killed) == pytest.approx(estimate_of(whole))
    done("rebuild", killed)
    assert estimate_of(killed) == pytest.approx(estimate_of(whole))


def test_what_is_out_of_scope_is_not_left_to_find(tmp_path):
    folder = collection(tmp_path / "c", [bee(0)], topic=TOPIC)
    with WorldServer(WORLD) as served:
        command = ["--strategy", "best-first", "--resolve", served.resolve]
        done("crawl", folder, *command, "--include-host", "bees.example")
        assert estimate_of(folder)["relevant_left"] == 0.0
        done("crawl", folder, *command, "--pages", BEES + 1)
        assert estimate_of(folder)["relevant_left"] > 0.0


def test_a_collection_without_relevant_pages_has_no_estimate_and_a_bad_share_is_refused(tmp_path):
    folder = collection(tmp_path / "c", [ship(0)], topic=TOPIC)
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--pages", 5, "--resolve", served.resolve)
    assert estimate_of(folder) == dict.fromkeys(KEYS)
    assert "recall" not in done("show", folder).out
    for share in (0, 1.5, "nan", "most"):
        said = lycosa("crawl", folder, "--stop-at-recall", share)
        assert said.is_one_clear_line(2, "--stop-at-recall is a share above 0 and up to 1, not")
