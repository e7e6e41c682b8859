"""Examples from which a topic is hard to learn: what is doubtful is told, and the crawl finds pages all the same."""

import random
from collections.abc import Iterator

import pytest

from crawling import done, listing, pages
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

HOST = "http://bees.example"
ENGLISH = [
    "honey",
    "hive",
    "nectar",
    "swarm",
    "queen",
    "comb",
    "pollen",
    "wax",
    "brood",
    "keeper",
    "colony",
    "smoker",
    "frame",
    "sting",
    "mite",
    "bloom",
]
GERMAN = [
    "honig",
    "stock",
    "waben",
    "schwarm",
    "und",
    "imker",
    "nektar",
    "wachs",
    "brut",
    "volk",
    "rahmen",
    "stich",
    "milbe",
    "blüte",
    "die",
    "der",
]
SEA = [
    "ship",
    "sail",
    "mast",
    "anchor",
    "harbour",
    "tide",
    "wave",
    "rope",
    "deck",
    "captain",
    "sailor",
    "storm",
    "keel",
    "rudder",
    "voyage",
    "port",
]
FRAME = "Home, products, services, imprint, contact, basket, account, delivery, returns, newsletter, careers, press."
EXAMPLES = {
    "three": [f"/bee{number}" for number in range(3)],
    "bees": [f"/bee{number}" for number in range(5)],
    "both": [*(f"/bee{number}" for number in range(3)), "/biene0", "/biene1"],
    "framed": [f"/framed{number}" for number in range(5)],
}


def page(name: str, words: list[str], links: list[str], *, frame: str = "") -> bytes:
    chance = random.Random(name)
    text = ". ".join(" ".join(chance.choices(words, k=9)) for _ in range(6))
    content = html(name, f"{frame} {text}", links)
    return response(content.replace(b'lang="en"', b'lang="de"') if words is GERMAN else content)


@pytest.fixture(scope="module")
def served() -> Iterator[LoopbackServer]:
    """Eight pages of each kind, those of a kind linked in a circle, and the first to all others."""
    kinds = {"bee": ENGLISH, "biene": GERMAN, "sea": SEA, "framed": ENGLISH}
    everything = [f"{HOST}/{kind}{number}" for kind in kinds for number in range(8)]
    routes = {
        f"/{kind}{number}": page(
            f"{kind}{number}",
            words[number // 4 :] if kind == "framed" else words,
            everything if number == 0 else [f"{HOST}/{kind}{(number + 1) % 8}"],
            frame=8 * FRAME if kind == "framed" else "",
        )
        for kind, words in kinds.items()
        for number in range(8)
    }
    with LoopbackServer(routes) as server:
        yield server


@pytest.mark.parametrize(
    ("good", "given", "told"),
    [
        ("three", [], ["only 3 examples: scores are rough", "--topic"]),
        ("bees", ["--negatives", "bad.txt"], [f"{HOST}/bee1 is listed as both good and bad, so it is ignored"]),
        ("bees", ["--topic", "zyzzyva"], ['Topic words found on no page: "zyzzyva". Other words']),
        ("both", [], ["the examples are in several languages (3 in en, 2 in de)"]),
        ("framed", [], ["of their words in common, as pages of one template do"]),
    ],
    ids=["three positives", "contradictory", "unknown word", "two languages", "one template"],
)
def test_what_is_doubtful_is_told_and_the_crawl_finds_pages(tmp_path, monkeypatch, served, good, given, told):
    monkeypatch.chdir(tmp_path)
    listing(tmp_path / "good.txt", [HOST + path for path in EXAMPLES[good]])
    listing(tmp_path / "bad.txt", [f"{HOST}/bee1", f"{HOST}/sea0"])
    done("new", "c", "--examples", "good.txt", *given)
    said = done("crawl", "c", "--pages", 14, "--delay", 0, "--resolve", served.everything[0])
    for words in told:
        assert words in said.err, said.err
    found = pages(tmp_path / "c")
    assert len(found) == 14
    other = sum("/sea" in url for url in found)
    assert other < 5, found  # of eight; 18 pages beside the examples are on the topic, or of its language


def test_a_topic_of_one_unknown_word_is_told_and_crawled(tmp_path, monkeypatch, served):
    monkeypatch.chdir(tmp_path)
    done("new", "c", "--topic", "zyzzyva", "--seed", f"{HOST}/bee0")
    said = done("crawl", "c", "--pages", 12, "--delay", 0, "--resolve", served.everything[0])
    assert 'Topic words found on no page: "zyzzyva"' in said.err
    assert len(pages(tmp_path / "c")) == 12
