"""What is known of a URL, and the way that led to it."""

from crawling import collection
from lycosa.run.explanation import facts_about, way_to
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.records import Url
from sessions import crawl
from worlds import CHAIN


def test_the_way_begins_at_the_seed_and_ends_before_the_page(tmp_path):
    urls = list(CHAIN)
    folder = collection(tmp_path / "c", [urls[0]])
    crawl(folder, CHAIN, 3)
    with open_for_reading(folder) as opened:
        page = opened.catalog.page(urls[2])
        assert [step.url for step in way_to(opened.catalog, page)] == urls[:2]
        assert [facts_about(opened, url)["state"] for url in urls] == ["stored", "stored", "stored", "waiting"]
        assert facts_about(opened, Url("http://unknown.example/"))["state"] == "unknown"
