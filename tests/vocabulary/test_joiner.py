"""Links of a page, resolved quickly, are what `join` makes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.urls import Joiner, host_of, hostname_of, join, normalise, site_of, url_and_host_spellings

NAMES = st.sampled_from(["a", "b.htm", "..", ".", "", "%41", "K%C4%ABlauea.htm", "x y", "c~d"])
PATHS = st.lists(NAMES, max_size=4).map("/".join)
STARTS = st.sampled_from(["", "/", "../", "../../", "../../../", "./", "//b.example/", "http://b.example/", "?"])


@given(PATHS, STARTS, PATHS, st.sampled_from(["", "#part", "?q=1", "?"]))
def test_a_link_is_resolved_as_by_join(base: str, start: str, path: str, end: str) -> None:
    page = join("http://a.example/", base) or "http://a.example/"
    assert Joiner(page)(start + path + end) == join(page, start + path + end)


@given(st.text("%24567eE/.", max_size=12))
def test_a_normalised_url_stays_as_it_is(path: str) -> None:
    url = normalise(f"http://a.example/{path}")
    assert url is not None and normalise(url) == url


def test_an_escape_that_is_decoded_completes_no_other_one() -> None:
    assert normalise("http://a.example/%2%65%2%65/x%%655") == "http://a.example/%2%65%2%65/x%%655"
    assert normalise("http://a.example/%41%42%2565") == "http://a.example/AB%2565"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://v.example./x", "http://v.example/x"),
        ("https://u:p@V.Example.:8443/?q=.", "https://v.example:8443/?q=."),
        ("http://v.example%2e/", "http://v.example/"),
        ("http://v.example。/", "http://v.example/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://127.0.0.1.:8080/", "http://127.0.0.1:8080/"),
        ("http://0x7f.1./", "http://127.0.0.1/"),
        ("http://[::ffff:127.0.0.1]:8080/", "http://[::ffff:7f00:1]:8080/"),
        ("http://a.b./c./d.", "http://a.b/c./d."),
        ("http://./", None),
        ("http://.:80/", None),
        ("http://0x7f.1../", None),
        ("http://v.example../", None),
    ],
)
def test_a_dot_after_the_name_makes_no_other_host(text: str, url: str | None) -> None:
    assert normalise(text) == url == join("http://a.example/", text)
    if url is not None:
        assert normalise(url) == url


def test_what_was_stored_with_the_dot_is_of_the_same_host() -> None:
    stored = "http://v.example.:8080/a/b"
    assert (host_of(stored), hostname_of(stored), site_of(stored)) == ("v.example:8080", "v.example", "v.example")
    assert join(stored, "/x") == "http://v.example:8080/x" == join(stored, "../x")
    assert (
        set(url_and_host_spellings(stored))
        == set(url_and_host_spellings("http://v.example:8080/a/b"))
        == {
            *(f"http://v.example{dot}:8080/a/b" for dot in ("", ".")),
            *(f"v.example{end}" for end in ("", ".", ":8080", ".:8080")),
        }
    )
    assert set(url_and_host_spellings("http://[::1]:8080/")) == {"http://[::1]:8080/", "[::1]:8080", "::1"}
