"""What the parser gets to see of a large page: nesting is bounded, and what is hidden from readers stays hidden."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from lycosa.reading.html import Parsed, parse_html
from lycosa.reading.prune import FEW_TAGS, MAX_DEPTH, prune
from lycosa.vocabulary.records import Url

NAMES = "div ul li p a table td template noscript button search h1 script style xmp title textarea iframe svg select b"
TAGS = [tag for name in NAMES.split() for tag in (f"<{name}>", f"</{name}>", f"</{name.upper()} >", f"<{name}/>")]
JUNK = ["<!--", "-->", "--!>", "<!-->", "<![CDATA[", "]]>", "<!doctype", "</", "<?", "<", ">", '"', "x", "<a title='"]
LARGE = "<br>" * (FEW_TAGS + 1)
ELEMENTS_OF_ONE_BLOCK = 8  # table, tbody, tr, td, li, p, a, and one to spare


def _depth(html: str) -> int:
    root = LexborHTMLParser(html).root
    deepest, left = 0, [(root, 1)] if root is not None else []
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        child = node.child
        while child is not None:
            left.append((child, depth + 1))
            child = child.next
    return deepest


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(TAGS + JUNK), min_size=1, max_size=5).map("".join))
@example("<div><!--</div>-->")
@example("<div><xmp></div></xmp>")
@example("<div><style></div></style>")
@example("<div></</div>")
@example("<div><?</div>")
@example("<div><textarea></div></TextArea\n>")
@example("<div><script><!--<script></script></div>--></script>")
def test_whatever_is_repeated_the_parser_nests_no_deeper_than_allowed(repeated: str) -> None:
    assert _depth(prune(LARGE + repeated * 2000)) < ELEMENTS_OF_ONE_BLOCK * MAX_DEPTH


@pytest.mark.parametrize(
    "html",
    [
        "one <!-- <p>two</p> --> three",
        "one <!--> two <!---> three <!-- four --!> five",
        "one <!-- never closed <a href=/1>two</a>",
        "one <? <a href=/1>two</a> ?> three",
        "one </ <b>two</b> three",
        "<title>one &amp; <b>two</b></title> three",
        "one <textarea>two <b>three</b> &lt;</TEXTAREA\n> four",
        "one <xmp>two &amp; <b>three</b></xmp> <a href=/1>four</a>",
        "one <script>'<a href=/1>two</a>'</script> three",
        "one <script><!-- '<script>two</script>' --></script> three",
        "one <script><!-- '</p>' </script> two --> three",
        "one <style> a > b {} <p></style> two <iframe src='/1'><p>three</iframe> four",
        "one <noframes><a href=/1>two</a></noframes> <noembed><p>three</noembed> four",
        "<svg><style/><title/></svg> one <a href=/1>two</a>",
        "<ScRiPt>one</sCrIpT> two < three <3",
    ],
)
def test_a_large_page_reads_as_a_small_one_does(html: str) -> None:
    small, large = (parse_html(page, Url("http://site.example/")) for page in (html, html + LARGE))
    assert large.text.split() == small.text.split()
    assert [link.target for link in large.links] == [link.target for link in small.links]
    assert large.title == small.title


NOFOLLOW = [
    f"<a{before}href{blank}={blank}{quote}/x{quote} {name}{blank}={blank}{other}{value}{other}>x</a>"
    for before, blank in ((" ", ""), ("\n", " "), (" title='a > b' ", "\n"), (' data-a="<b>" ', ""), ("/", ""))
    for quote, other in (('"', '"'), ("'", ""), ("", ""))
    for name, value in (("rel", "nofollow"), ("REL", "NoFollow"), ("rel", "ugc&#32;nofollow"))
    if other or " " not in value
]
NOINDEX = [
    f"<{tag} {first}{blank}={blank}{quote}robots{quote}{between}content{blank}={blank}{quote}noindex{quote}{end}"
    for tag, first in (("meta", "name"), ("META", "NAME"), ("meta data-x='>'", "name"))
    for blank in ("", " ", "\n")
    for quote in ('"', "'", "")
    for between, end in ((" ", ">"), ("\n/ ", "/>"), (" lang=en ", " >"))
]


def _both(html: str) -> tuple[Parsed, Parsed]:
    """A page read as a small one, and as one of many tags."""
    small, large = (parse_html(page, Url("http://site.example/")) for page in (html, LARGE + html))
    return small, large


@pytest.mark.parametrize("html", NOFOLLOW)
def test_nofollow_is_seen_however_it_is_written(html: str) -> None:
    for parsed in _both(html):
        assert [(link.target, "nofollow" in link.rel.split()) for link in parsed.links] == [
            ("http://site.example/x", True)
        ]


@pytest.mark.parametrize("html", NOINDEX)
def test_noindex_is_seen_however_it_is_written(html: str) -> None:
    for parsed in _both(html):
        assert "noindex" in {word.rstrip("/") for word in parsed.robots}


def _tags() -> st.SearchStrategy[str]:
    blanks = st.sampled_from(["", " ", "\n", "/", " / ", "\t", "\f"])
    values = st.sampled_from(
        ['"/x"', "'/y'", "/z", '"a>b"', "'<p>'", '"', "'", "a'b", 'a"b', "=", ">", "nofollow", '"noindex"', "robots"]
    )
    keys = st.sampled_from(["href", "rel", "name", "content", "REL", "x", "href", "=", '"', "<", "a'"])
    attributes = st.tuples(blanks, keys, st.sampled_from(["=", " =", "= ", "", " "]), values).map("".join)
    names = st.sampled_from(["a", "A", "meta", "link", "area", "base"])
    return st.tuples(
        names, st.lists(attributes, max_size=5).map("".join), st.sampled_from([">", " >", "/>", "", ">t</a>"])
    ).map(lambda parts: f"<{parts[0]}{parts[1]}{parts[2]}")


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.lists(_tags(), min_size=1, max_size=3).map("".join))
def test_attributes_mean_the_same_on_a_large_page(html: str) -> None:
    small, large = _both(html)
    assert [(link.target, link.rel) for link in large.links] == [(link.target, link.rel) for link in small.links]
    assert large.robots == small.robots
    assert large.canonical == small.canonical


FORBIDDEN = [
    "<meta name=robots content=noindex>",
    '<META NAME = "robots" content="none" />',
    "<meta name=robots content='nofollow'>",
    "<a href=/x rel=nofollow>x</a>",
]
FOREIGN = (
    "svg svg math style script title desc foreignObject annotation-xml mi g p div b table textarea xmp iframe template"
)
FOREIGN_MARKUP = [
    *(tag for name in FOREIGN.split() for tag in (f"<{name}>", f"</{name}>", f"<{name}/>")),
    *(
        "<!--",
        "-->",
        "<!-->",
        "<![CDATA[",
        "]]>",
        '"',
        ">",
        "<",
        "<a title='",
        "'",
        "<br>",
        "</p>",
        "</br>",
        "<svg a=b/>",
    ),
    *("<font color=red>", "<annotation-xml encoding=text/html>"),
]


def _forbids(parsed: Parsed) -> set[str]:
    """What a page says that robots shall not do: index it, follow its links, or follow one of them."""
    words = {"noindex", "nofollow"} if "none" in parsed.robots else set(parsed.robots)
    if "nofollow" not in words:
        words |= {link.target for link in parsed.links if "nofollow" in link.rel.split()}
    return words & {"noindex", "nofollow", *(link.target for link in parsed.links)}


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(FOREIGN_MARKUP), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(FORBIDDEN)), min_size=1, max_size=2),
)
@example(["<svg>", "<style>"], [(2, FORBIDDEN[0])])
@example(["<svg>", "<script>"], [(2, FORBIDDEN[2])])
@example(["<svg>", "<title>"], [(2, FORBIDDEN[1])])
@example(["<title/>", "<!--", "</title>"], [(3, FORBIDDEN[0])])
@example(["<svg>", "<![CDATA[", ">", "<!--", "]]>"], [(5, FORBIDDEN[0])])
@example(["<math>", "<template>"], [(2, FORBIDDEN[0])])
@example(["<svg>", "<desc>", "<p>", "</svg>", "</p>", "</desc>", "<title/>", "<!--"], [(8, FORBIDDEN[0])])
@example(["<div>", "<svg>", "</div>", "<title/>", "<!--", "</title>"], [(6, FORBIDDEN[3])])
def test_what_a_page_forbids_robots_holds_on_a_large_page_too(markup: list[str], placed: list[tuple[int, str]]) -> None:
    for place, forbidden in placed:
        markup = [*markup[:place], forbidden, *markup[place:]]
    small, large = _both("".join(markup))
    held = _forbids(large) | ({link.target for link in small.links} if "nofollow" in _forbids(large) else set())
    followed = {link.target for link in large.links if "nofollow" not in link.rel.split()}
    assert _forbids(small) - held <= {link.target for link in small.links} - followed


LONG_REFERENCE = f"&#{'1' * 5000};"  # which Python refuses to make a number of
UNCERTAIN = "<svg></x><style>"  # from here on, nobody knows what is markup


@pytest.mark.parametrize(
    "html",
    [
        f"<math><annotation-xml encoding='{LONG_REFERENCE}'>",
        f"{UNCERTAIN}{LONG_REFERENCE}",
        f"{UNCERTAIN}<meta name='{LONG_REFERENCE[:1500]}'>",
    ],
)
def test_a_reference_of_thousands_of_digits_hides_nothing_and_ends_nothing(html: str) -> None:
    parsed = parse_html(f"{LARGE}{html}<meta name=robots content='no&#{'0' * 5000}105;ndex'>", Url("http://a.example/"))
    assert "noindex" in parsed.robots


@pytest.mark.parametrize("attribute", [f"data-x='{'x' * 3000}'", "x" * 3000, "/" * 3000])
def test_a_long_meta_forbids_what_it_says_where_nobody_knows_what_is_markup(attribute: str) -> None:
    page = f"{UNCERTAIN}<meta {attribute} name=robots content=noindex>"
    small, large = (parse_html(html, Url("http://site.example/")) for html in (page, LARGE + page))
    assert "noindex" in small.robots and "noindex" in large.robots


@pytest.mark.parametrize("meta", ["<meta name=x content=y>", "<meta "])
def test_thousands_of_metas_where_nobody_knows_what_is_markup_forbid_all(meta: str) -> None:
    """Each of them was read for 2,000 characters, up to the same end: 15 s for a page of a megabyte."""
    few, many = (parse_html(f"{LARGE}{UNCERTAIN}{meta * count}>", Url("http://a.example/")) for count in (300, 5_000))
    assert "noindex" not in few.robots
    assert {"noindex", "nofollow"} <= many.robots


@pytest.mark.parametrize("length", [100, 5_000, 50_000])
@pytest.mark.parametrize(
    "tag",
    [
        "<meta/name=robots content='{}, noindex'>",
        "<meta/name='robots{}' content=noindex>",
        "<meta/name='ro&#{}98;ots' content=noindex>",
        "<a/href=/x rel='{} nofollow'>x</a>",
    ],
)
def test_what_forbids_may_be_of_any_length(tag: str, length: int) -> None:
    html = tag.format(("0" if "&#" in tag else " ") * length)
    small, large = _both(html)
    assert _forbids(small) and _forbids(large) == _forbids(small)


@pytest.mark.parametrize("before", ["<keygen>", "<object></object>", "<input>", "<table><tr><td>", "<embed>", ""])
def test_frames_on_a_large_page_hide_nothing(before: str) -> None:
    """Whether a <frameset> replaces the body depends on elements that the scan drops."""
    page = f"{before}<frameset><frame src=/f>{''.join(FORBIDDEN)}</frameset>"
    small, large = (parse_html(html, Url("http://site.example/")) for html in (page, page + LARGE))
    assert _forbids(small) <= _forbids(large)
    assert not before or "noindex" in _forbids(large)


def test_the_frames_of_a_large_page_are_links() -> None:
    page = "<head><title>Bees</title></head><frameset cols=1,2><frame src=/a /><frame\nsrc='/b'></frameset>"
    parsed = parse_html(page + LARGE, Url("http://site.example/"))
    assert [link.target for link in parsed.links] == ["http://site.example/a", "http://site.example/b"]
    assert parsed.title == "Bees"


def test_what_is_no_markup_forbids_nothing() -> None:
    """Icons as drawing programs write them do not put the rest of a page in doubt."""
    icon = (
        "<svg xmlns='http://www.w3.org/2000/svg'><title>Bee</title><desc>Made by hand</desc>"
        "<style><![CDATA[a>b{}]]></style>"
        "<foreignObject><div><p>Label</p></div></foreignObject><path d='M0 0'/></svg>"
    )
    script = "<script>if (1 < 2) document.write('<meta name=robots content=noindex><a rel=nofollow>')</script>"
    for parsed in _both(f"{icon * 3}{script}<a href=/x>x</a>"):
        assert parsed.robots == frozenset()
        assert [(link.target, link.rel) for link in parsed.links] == [("http://site.example/x", "")]
        assert "a>b" not in parsed.text and "Label" in parsed.text
