import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading import Reader, main_text, page_of_html, page_of_text
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url

HERE = Url("http://site.example/")
ARTICLE = (
    "<html lang=en><title>Wolf spiders</title><body><nav><a href=/home>Home</a></nav><article><h1>Wolf spiders</h1>"
    + "<p>Wolf spiders hunt alone and do not build webs. They run their prey down over short distances.</p>" * 8
    + "</article><footer>Imprint</footer></body></html>"
)


def fetch(content: bytes = ARTICLE.encode(), *headers: tuple[str, str], outcome: Outcome = Outcome.OK) -> Fetch:
    return Fetch(HERE, outcome, at=0.0, headers=headers, content=content)


def read(content: bytes, *headers: tuple[str, str]) -> Page:
    page = Reader()(fetch(content, *headers))
    assert page is not None
    return page


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.OK])
def test_only_a_fetch_that_brought_a_page_is_read(outcome: Outcome) -> None:
    assert Reader()(fetch(outcome=outcome)) is None


def test_a_page_is_read_whole() -> None:
    page = read(ARTICLE.encode())
    assert page.url == HERE
    assert page.title == "Wolf spiders"
    assert page.tokens[:4] == ("wolf", "spiders", "home", "wolf")
    assert page.terms["spiders"] == 10
    assert "not" not in page.terms
    assert page.language == "en"
    assert page.digest and page.fingerprint
    assert page.links[0].anchor == "Home"
    assert page.around(page.links[0], 20).split()[:2] == ["Home", "Wolf"]


def test_a_reader_can_stem() -> None:
    page = Reader(stem=True)(fetch())
    assert page is not None and page.terms["spider"] == 10


@pytest.mark.parametrize(
    ("html", "terms"),
    [
        ("<html lang=de><p>Bienen", {"bien": 1}),
        ("<html lang=de><p>Bienen fliegen", {"bien": 1, "flieg": 1}),
        ("<html lang=ja><p>spiders", {"spiders": 1}),
        ("<p>spiders", {"spider": 1}),
    ],
)
def test_a_page_is_stemmed_by_its_language(html: str, terms: dict[str, int]) -> None:
    page = Reader(stem=True)(fetch(html.encode()))
    assert page is not None and page.terms == terms
    assert sorted(page.words.codes_of([page.text])[0].tolist()) == page.words.term_counts[0].tolist()


@pytest.mark.parametrize(
    ("values", "noindex", "nofollow"),
    [
        (["noindex"], True, False),
        (["NoFollow"], False, True),
        (["none"], True, True),
        (["googlebot: noindex, nofollow"], False, False),
        (["googlebot: nofollow, lycosa: noindex"], True, False),
        (["Lycosa: none"], True, True),
        (["*: nofollow"], False, True),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], True, False),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"], True, False),
        (["unavailable_after: 2010-06-25T15:00:00+01:00 nofollow"], False, True),
        (["noindex nofollow"], True, True),
        (["max-snippet: 20 noindex"], True, False),
        (["max-snippet:-1, max-image-preview:none, max-video-preview:-1"], False, False),
        (["max-image-preview: none; none"], True, True),
        (["rating: adult, noindex"], True, False),
        (["noarchive:yes, none"], True, True),
        (["lycosa/1.0: noindex"], True, False),
        (["googlebot/2.1: noindex", "Other-Bot : none"], False, False),
        (["googlebot: noindex nofollow lycosa: nosnippet"], False, False),
        (["noindex:"], True, False),
        (["noindex=1;nofollow."], True, True),
        (["'noindex'"], True, False),
        (["X-Robots-Tag: noindex"], True, False),
        (["80legs: noindex"], True, False),  # no name of a robot as RFC 9309 has it: in doubt, it is obeyed
        (["noarchive", "nofollow"], False, True),
        ([], False, False),
    ],
)
def test_robots_headers_are_honoured(values: list[str], noindex: bool, nofollow: bool) -> None:
    page = read(b"<p>text", *[("X-Robots-Tag", value) for value in values])
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [
        ("max-image-preview:none", False, False),
        ("max-snippet:20 noindex", True, False),
        ("unavailable_after: 25 Jun 2010 15:00:00 GMT, none", True, True),
        ("lycosa: noindex", True, False),
        ("anybody: nofollow", False, True),  # a meta is for whom its name says
    ],
)
def test_robots_metas_are_read_as_headers_are(content: str, noindex: bool, nofollow: bool) -> None:
    page = read(f"<meta name=robots content='{content}'>".encode())
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


def test_robots_metas_are_honoured() -> None:
    page = read(b"<meta name=robots content='noindex,follow'>")
    assert (page.noindex, page.nofollow) == (True, False)


def test_the_same_text_has_the_same_digest_in_other_markup() -> None:
    assert read(b"<p>one  <b>two</b>").digest == read(b"<div>one</div><i>two</i>").digest


def test_pages_can_be_made_of_text_and_of_html() -> None:
    page = page_of_text(HERE, "Wolf \n spiders", "They  hunt\x00\ud800", stem=True)
    assert (page.title, page.links) == ("Wolf spiders", ())
    assert page.terms == {"wolf": 1, "spider": 1, "hunt": 1}
    assert page_of_html(HERE, ARTICLE) == read(ARTICLE.encode())


def test_main_text_leaves_out_what_surrounds_it() -> None:
    text = main_text(ARTICLE)
    assert "run their prey down" in text
    assert "Imprint" not in text


@pytest.mark.slow
@given(st.binary(max_size=300), st.text(max_size=30), st.booleans())
def test_any_bytes_are_read(content: bytes, content_type: str, stem: bool) -> None:
    page = Reader(stem=stem)(fetch(content, ("Content-Type", content_type)))
    assert page is not None
    assert sum(page.terms.values()) <= len(page.tokens)


@pytest.mark.slow
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_makes_a_page(title: str, text: str) -> None:
    assert page_of_text(HERE, title, text) == page_of_text(HERE, title, text)
    assert isinstance(main_text(text), str)
