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


@settings(deadline=None, max_examples=300)
@given(st.lists(_tags(), min_size=1, max_size=3).map("".join))
def test_attributes_mean_the_same_on_a_large_page(html: str) -> None:
    small, large = _both(html)
    assert [(link.target, link.rel) for link in large.links] == [(link.target, link.rel) for link in small.links]
    assert large.robots == small.robots
    assert large.canonical == small.canonical
