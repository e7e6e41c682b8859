"""A URL with the same fast hash as another, which a site can compute within a minute, does that other no harm."""

import re
from itertools import count
from pathlib import Path

import pytest

import lycosa
from crawling import collection
from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Loop
from lycosa.reading.reader import page_of_html
from lycosa.run.recall import SLOTS, RecallEstimator
from lycosa.run.topic import LABELS_FILE
from lycosa.strategies.hunter import HASH_BUCKETS, Hunter
from lycosa.strategies.infospiders import InfoSpiders
from lycosa.strategies.linkage import LinkMemory
from lycosa.strategies.url_sets import SettledUrls
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa.vocabulary.urls import key_of
from sessions import crawl, opened

GOOD = Url("http://good.example/best")
HOSTILE = Url(
    "http://evil.example/xxxxxxxxxxxx294uc7pjvgzp9h9ffpjcvmpn4nba2t5yxhsnaaueohbzwn73xpysf7ejigszbag2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
)
SEED, MIDDLE = Url("http://seed.example/"), Url("http://middle.example/")
BEES = "<title>Honey bees</title><p>" + "honey bee hive " * 30
PAGES = {
    SEED: f"{BEES}<a href={HOSTILE}>bees</a> <a href={MIDDLE}>honey bees</a>",
    HOSTILE: "<title>Spam</title><p>nothing of interest",
    MIDDLE: f"{BEES}<a href={GOOD}>the best honey bees</a>",
    GOOD: BEES,
}


def test_the_two_urls_have_the_same_fast_hash() -> None:
    assert key_of(HOSTILE) == key_of(GOOD)


@pytest.mark.parametrize("strategy", [Hunter(), InfoSpiders()], ids=["hunter", "infospiders"])
def test_a_page_whose_url_collides_does_not_hide_a_good_page(strategy: Strategy) -> None:
    clock = SimulatedClock(100.0)
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    loop = Loop(strategy, frontier, clock=clock)

    def assess(candidate: Candidate, fetch: Fetch) -> Visit:
        html = PAGES[candidate.url]
        return Visit(candidate, fetch, page_of_html(candidate.url, html), relevance=0.9 if BEES in html else 0.1)

    loop.start((SEED, HOSTILE))
    visited = []
    while candidate := frontier.take(clock.now()):
        visited.append(candidate.url)
        loop.step(candidate, Fetch(candidate.url, Outcome.OK, clock.now(), status=200), assess)
    assert set(visited) == set(PAGES)


def test_what_strategies_remember_of_a_url_is_not_said_of_another() -> None:
    settled, memory = SettledUrls(), LinkMemory(max_waiting=10, max_pages=10, max_visited=10)
    settled.visit(HOSTILE)
    settled.reject(HOSTILE)
    memory.settle(HOSTILE, 0)
    assert HOSTILE in settled
    assert GOOD not in settled
    assert memory.outcome_of(HOSTILE) == 0
    assert memory.outcome_of(GOOD) is None


VICTIM = "good.example/bees"
PATTERN = " .html "  # of URLs as the default strategy counts them


def folder_of_the_same_bucket(suffix: str = "") -> str:
    """A folder on a hostile site with the bucket of the victim's, if hashes have no seed."""
    wanted = key_of(VICTIM + suffix) % (HASH_BUCKETS - 1)
    return next(f"d{n}" for n in count() if key_of(f"evil.example/d{n}{suffix}") % (HASH_BUCKETS - 1) == wanted)


def order_with_dead_links(folders: tuple[str, str], hash_seed: int) -> list[Url]:
    """What the default strategy visits where two folders of a hostile site have fifteen dead links each."""
    clock = SimulatedClock(1.0)
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    loop = Loop(Hunter(hash_seed=hash_seed), frontier, clock=clock)
    dead = [f"http://evil.example/{folder}/{n}.html" for folder in folders for n in range(15)]
    good = [f"<a href=http://{VICTIM}/{n}.html>the best honey bees</a>" for n in range(3)]
    dull = [f"<a href=http://dull.example/dull/{n}.html>shoes</a>" for n in range(40)]
    pages = {
        SEED: BEES
        + "".join(f"<a href={url}>honey bees {n}</a>" for n, url in enumerate(dead))
        + f"<a href={MIDDLE}>bees</a>",
        MIDDLE: BEES + "".join(good) + "".join(dull),
    }

    def assess(candidate: Candidate, fetch: Fetch) -> Visit:
        is_good = "dull" not in candidate.url
        html = pages.get(candidate.url, BEES if is_good else "<p>shoes and boots")
        page = page_of_html(candidate.url, html) if fetch.outcome is Outcome.OK else None
        return Visit(candidate, fetch, page, relevance=(0.9 if is_good else 0.1) if page else None)

    loop.start((SEED,))
    visited = []
    while candidate := frontier.take(clock.now()):
        outcome = Outcome.GONE if candidate.url in dead else Outcome.OK
        visited.append(candidate.url)
        loop.step(
            candidate, Fetch(candidate.url, outcome, clock.now(), status=404 if candidate.url in dead else 200), assess
        )
    return [url for url in visited if "evil" not in url]


def test_dead_links_of_one_site_do_not_rank_another_last() -> None:
    colliding = (folder_of_the_same_bucket(), folder_of_the_same_bucket(PATTERN))
    usual = order_with_dead_links(("x", "y"), hash_seed=7)
    assert order_with_dead_links(colliding, hash_seed=7) == usual
    assert order_with_dead_links(colliding, hash_seed=0) != usual  # the hostile folders would be effective


def test_urls_of_one_site_do_not_take_the_slots_of_another_in_the_estimate_of_recall() -> None:
    wanted = key_of(GOOD) % SLOTS
    hostile = next(f"http://evil.example/{n}" for n in count() if key_of(f"http://evil.example/{n}") % SLOTS == wanted)
    estimator = RecallEstimator(hash_seed=7)
    estimator.add_visited(Url(hostile), is_relevant=False)
    estimator.add_visited(GOOD, is_relevant=True)
    assert estimator.visits == 2


def test_seeds_differ_from_recipe_to_recipe_and_are_kept(tmp_path) -> None:
    def seeds_of(folder: Path) -> tuple[int, int]:
        with opened(folder) as session:
            catalog = session.collection.catalog
            return catalog.get_state("strategy_state")["table"]["by_hash"]["seed"], catalog.get_state("hash_seed")

    words = {"one": "honey bee", "same": "honey bee", "two": "honey bees"}
    folders = [collection(tmp_path / name, [SEED], topic=f'text = "{text}"') for name, text in words.items()]
    for folder in folders:
        crawl(folder, {SEED: BEES.encode(), MIDDLE: BEES.encode()})
    one, same, two = map(seeds_of, folders)
    assert one == same != two  # the same recipe gives the same crawl
    assert 0 not in (*one, *two)
    (folders[0] / LABELS_FILE).write_text(f"bad {MIDDLE}\n")
    crawl(folders[0], {SEED: BEES.encode()})
    assert seeds_of(folders[0]) == one


def test_the_state_of_a_version_without_a_seed_is_restored_without_its_counts_of_dead_links() -> None:
    older, newer = Hunter(), Hunter(hash_seed=7)
    page = Visit(
        Candidate(SEED, 1.0),
        Fetch(SEED, Outcome.OK, 0.0),
        page_of_html(SEED, f"<a href={GOOD}>bees</a>"),
        relevance=0.9,
    )
    older.learn(page)
    list(older.propose(page))
    state = older.state()
    del state["table"]["by_hash"]
    newer.restore(state)
    expected = Hunter(hash_seed=7)
    expected.learn(page)
    list(expected.propose(page))
    restored, anew = (each.state()["table"]["by_hash"] for each in (newer, expected))
    assert (restored["seed"], restored["slots"]) == (7, anew["slots"])
    assert restored["patterns"] == Hunter().state()["table"]["by_hash"]["patterns"]


# Where the fast hash may be used, and why a URL with the hash of another does no harm there.
USES_OF_FAST_HASHES = {
    "collection/catalog.py": "pages are then looked up by their URLs; a skip may be missing from a list",
    "collection/queries.py": "the URL is compared as well",
    "collection/shards.py": "a skip may be missing from a list",
    "frontier/admission.py": "only what the user had forgotten is in the file",
    "logs/access_log.py": "the log is the user's own",
    "parallel/outbox.py": "with a seed",
    "reading/fingerprint.py": "texts with the same digest are copies, which a site could make of any text anyhow",
    "relevance/function.py": "of the user's own code",
    "run/forgotten.py": "only what the user had forgotten is in the file",
    "run/recall.py": "with a seed",
    "run/standing_training.py": "of the user's own files",
    "standing/authority_table.py": "with a seed",
    "standing/ranked_lists.py": "with a seed",
    "strategies/hunter.py": "with a seed",
    "strategies/interest.py": "words of URLs, which any site can have in its URLs anyhow",
    "strategies/target.py": "links between sites that collide count less: a site can only harm itself",
    "vocabulary/urls.py": "where it is defined",
}


def test_fast_hashes_are_used_only_where_collisions_do_no_harm() -> None:
    root = Path(lycosa.__file__).parent
    uses = re.compile(r"\bkey_of\w*\(|\bmap\(key_of\b|\bxxhash\b")
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if uses.search(path.read_text("utf-8"))}
    assert found == set(USES_OF_FAST_HASHES)
