import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.logs.entries import DropReason
from lycosa.logs.page_urls import page_url, without_secrets
from lycosa.vocabulary.urls import normalise


def page(raw: bytes, site: str | None = "https://s.org", *, by_extension: bool = True):
    return page_url(raw, site=site, by_extension=by_extension)


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        (b"/a", "https://s.org/a"),
        (b"/a/../b?x=1#top", "https://s.org/b?x=1"),
        (b"HTTP://Ann:secret@A.org:80/%7Ebob", "http://a.org/~bob"),
        (b"/caf\xe9", "https://s.org/caf%E9"),
        (rb"/a\x22b", "https://s.org/a%22b"),
        (b"//a.org/b", "https://s.org//a.org/b"),
        (b"/v1.2/about", "https://s.org/v1.2/about"),
        (b"/a.php?f=b.gif", "https://s.org/a.php?f=b.gif"),
    ],
)
def test_urls_are_spelt_as_the_crawler_spells_them(raw, url):
    assert page(raw) == url


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"/a.GIF", DropReason.NOT_A_PAGE),
        (b"/a.css?v=3", DropReason.NOT_A_PAGE),
        (b"ftp://a.org/b", DropReason.SCHEME),
        (b"cache_object://localhost/", DropReason.SCHEME),
        (b"a.org:443", DropReason.BAD_URL),
        (b"*", DropReason.BAD_URL),
        (b"http://", DropReason.BAD_URL),
        (b"http://a b/", DropReason.BAD_URL),
        (b"/" + b"a" * 3000, DropReason.LONG_URL),
        (b"/" + b"a" * 30_000, DropReason.LONG_URL),
    ],
)
def test_what_is_no_page(raw, why):
    assert page(raw) is why


def test_a_path_needs_a_site():
    assert page(b"/a", None) is DropReason.NO_HOST


def test_what_the_log_says_is_html_is_a_page_whatever_its_name():
    assert page(b"/a.gif", by_extension=False) == "https://s.org/a.gif"


@pytest.mark.parametrize(
    ("url", "left"),
    [
        ("http://a.org/?token=1", "http://a.org/"),
        ("http://a.org/?page=2&access_token=1&b=3", "http://a.org/?page=2&b=3"),
        ("http://a.org/b;jsessionid=1F.n1?x=1", "http://a.org/b?x=1"),
        ("http://a.org/b;jsessionid=1F/c;v=2", "http://a.org/b/c;v=2"),
        ("http://a.org/(S(lit3py55t21z5v55vlm25s55))/b.aspx", "http://a.org/b.aspx"),
        ("http://a.org/?PHPSESSID=1&q=bees", "http://a.org/?q=bees"),
        ("http://a.org/?sid=1;q=bees", "http://a.org/?q=bees"),
        ("http://a.org/?X-Amz-Signature=1&X-Amz-Credential=2&user[password]=3&q=4", "http://a.org/?q=4"),
        ("http://a.org/?user=ann&uid=7&pw=1&users=3", "http://a.org/?users=3"),
        ("http://a.org/?api_key=1&key=2&apikey=3&pwd=4&sig=5", "http://a.org/"),
        ("http://a.org/?code=1&state=2&q=3", "http://a.org/?q=3"),
        ("http://a.org/?code=DE", "http://a.org/?code=DE"),
        ("http://a.org/?author=ann&keyword=bees&monkey=1", "http://a.org/?author=ann&keyword=bees&monkey=1"),
        ("http://a.org/?to=ann%40b.org&x=1", "http://a.org/?x=1"),
        ("http://a.org/?t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "http://a.org/"),
        ("http://a.org/?gclid=1&fbclid=2", "http://a.org/"),
        ("http://a.org/?a=1;token=x&b=2", "http://a.org/?a=1&b=2"),
        ("http://a.org/?b=2&token=x;y=z", "http://a.org/?b=2"),
        ("http://a.org/?a=1;code=5&state=2;q=3", "http://a.org/?a=1"),
        ("http://a.org/?to=ann;b@c.org&x=1", "http://a.org/?x=1"),
        ("http://a.org/?a=1;2&b=3;c=4", "http://a.org/?a=1;2&b=3;c=4"),
        ("http://a.org/?back=http://ann:pw@b.org/", "http://a.org/"),
    ],
)
def test_secrets_are_left_out(url, left):
    assert without_secrets(url) == left


@given(st.binary(max_size=60), st.sampled_from([None, "https://s.org"]), st.booleans())
def test_whatever_the_bytes_a_page_is_a_url_of_the_crawlers(raw, site, by_extension):
    for made in (raw, b"/" + raw, b"http://a.org/" + raw):
        found = page_url(made, site=site, by_extension=by_extension)
        assert isinstance(found, DropReason) or (found.isascii() and normalise(found) == found)
        if not isinstance(found, DropReason):
            assert without_secrets(found) == found
