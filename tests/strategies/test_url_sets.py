"""What was visited is told to strategies, so that their saved state does not grow with it."""

from pathlib import Path

import msgspec
import pytest

from lycosa.strategies.url_sets import SettledUrls
from lycosa.vocabulary.records import Url
from sessions import crawl, opened
from worlds import TOPICAL, TOPICAL_SEED

SEEN, REFUSED, NEW = (Url(f"http://a.example/{name}") for name in ("seen", "refused", "new"))


def test_only_what_was_refused_is_saved_and_the_rest_is_given_back():
    settled = SettledUrls()
    settled.visit(SEEN)
    settled.reject(REFUSED)
    again = SettledUrls(msgspec.json.decode(msgspec.json.encode(settled.state())))
    assert SEEN not in again
    again.restore_visited([SEEN])
    assert [url in again for url in (SEEN, REFUSED, NEW)] == [True, True, False]


def test_what_an_older_version_saved_is_saved_no_longer_once_it_is_known_as_visited():
    older = SettledUrls()
    older.reject(SEEN)  # older versions saved both alike
    settled = SettledUrls(older.state())
    settled.restore_visited([SEEN])
    assert settled.state() == []
    assert SEEN in settled


@pytest.mark.parametrize("strategy", ["pagerank", "infospiders"])
def test_the_saved_state_does_not_hold_what_was_visited_and_no_page_is_visited_twice(tmp_path: Path, strategy):
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "lycosa.toml").write_text('seeds = "seeds.txt"\n[topic]\nkeywords = ["honey"]\n', encoding="utf-8")
    (folder / "seeds.txt").write_text(f"{TOPICAL_SEED}\n", encoding="utf-8")
    first = crawl(folder, TOPICAL, pages=12, strategy=strategy)
    with opened(folder, strategy=strategy) as session:
        assert session.collection.catalog.get_state("strategy_state")["settled"] == []
    second = crawl(folder, TOPICAL, pages=20, strategy=strategy)
    assert len(first) >= 12
    assert set(first).isdisjoint(second)
