"""Links of a page, resolved quickly, are what `join` makes of them."""

from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.urls import Joiner, join

NAMES = st.sampled_from(["a", "b.htm", "..", ".", "", "%41", "K%C4%ABlauea.htm", "x y", "c~d"])
PATHS = st.lists(NAMES, max_size=4).map("/".join)
STARTS = st.sampled_from(["", "/", "../", "../../", "../../../", "./", "//b.example/", "http://b.example/", "?"])


@given(PATHS, STARTS, PATHS, st.sampled_from(["", "#part", "?q=1", "?"]))
def test_a_link_is_resolved_as_by_join(base: str, start: str, path: str, end: str) -> None:
    page = join("http://a.example/", base) or "http://a.example/"
    assert Joiner(page)(start + path + end) == join(page, start + path + end)
